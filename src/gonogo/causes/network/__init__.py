"""Causes of the area network."""
