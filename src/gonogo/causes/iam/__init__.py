"""Causes of the area iam."""
