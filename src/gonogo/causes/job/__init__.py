"""Causes of the area job."""
