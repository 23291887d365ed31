"""Checks of the area train."""
