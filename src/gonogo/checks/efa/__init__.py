"""Checks of area efa."""
