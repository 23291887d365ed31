"""Checks of the area node."""
