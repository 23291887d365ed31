"""Checks of area quota."""
