"""How fair the order is: recorded or generated traffic played under several policies."""
