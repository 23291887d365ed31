"""Checks of area scheduling."""
