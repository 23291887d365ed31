"""Causes of the area efa."""
