"""Causes of the area mpi."""
