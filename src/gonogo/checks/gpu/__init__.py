"""Checks of area gpu."""
