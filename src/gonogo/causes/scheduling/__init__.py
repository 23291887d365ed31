"""Causes of area scheduling."""
