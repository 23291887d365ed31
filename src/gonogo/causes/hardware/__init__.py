"""Causes of the area hardware."""
