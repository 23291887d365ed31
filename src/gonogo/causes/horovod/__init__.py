"""Causes of the area horovod."""
