"""Checks of area storage."""
