"""Causes of the area capacity."""
