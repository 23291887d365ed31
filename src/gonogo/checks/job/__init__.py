"""Checks of the area job."""
