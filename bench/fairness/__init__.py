"""How fair the order is: recorded or generated traffic, simulated under several policies."""
