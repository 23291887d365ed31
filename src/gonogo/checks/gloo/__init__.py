"""Checks of the area gloo."""
