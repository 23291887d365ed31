"""Causes of the area image."""
