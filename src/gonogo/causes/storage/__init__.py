"""Causes of area storage."""
