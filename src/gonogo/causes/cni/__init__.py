"""Causes of the area cni."""
