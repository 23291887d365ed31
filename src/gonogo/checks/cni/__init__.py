"""Checks of area cni."""
