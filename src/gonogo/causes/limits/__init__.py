"""Causes of the area limits."""
