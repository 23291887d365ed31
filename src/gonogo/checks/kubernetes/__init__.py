"""Checks of area kubernetes."""
