"""Causes of the area gpu."""
