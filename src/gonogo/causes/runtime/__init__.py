"""Causes of the area runtime."""
