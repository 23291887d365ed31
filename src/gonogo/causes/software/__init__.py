"""Causes of the area software."""
