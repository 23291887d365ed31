"""Causes of the area quota."""
