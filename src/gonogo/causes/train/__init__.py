"""Causes of the area train."""
