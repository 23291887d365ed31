"""gonogo tells you whether a cluster can train, before you pay for finding out."""

__version__ = "0.1.0"
