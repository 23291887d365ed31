"""Causes of area kubernetes."""
