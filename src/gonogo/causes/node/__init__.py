"""Causes of area node."""
