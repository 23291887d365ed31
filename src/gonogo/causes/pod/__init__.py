"""Causes of the area pod."""
