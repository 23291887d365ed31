"""Checks of area pod."""
