"""Causes of the area gloo."""
