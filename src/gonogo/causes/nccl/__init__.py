"""Causes of the area nccl."""
