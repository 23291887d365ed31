"""Checks of the area software."""
