"""Causes of area eks."""
