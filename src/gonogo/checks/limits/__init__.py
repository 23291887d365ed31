"""Checks of the area limits."""
