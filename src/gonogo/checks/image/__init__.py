"""Checks of area image."""
