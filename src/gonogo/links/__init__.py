"""Which pairs of nodes to measure, and what the measurements say of nodes, links and directions: pure functions."""
