"""What runs on nodes: standard library, and torch where it is there. Imports nothing of ours but `gonogo.links`."""
