"""A shop: orders, and jobs that confirm them."""
