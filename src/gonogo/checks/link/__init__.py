"""Checks of the area link."""
