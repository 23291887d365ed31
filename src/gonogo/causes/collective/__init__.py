"""Causes of the area collective."""
