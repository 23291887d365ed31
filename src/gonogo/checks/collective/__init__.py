"""Checks of the area collective."""
