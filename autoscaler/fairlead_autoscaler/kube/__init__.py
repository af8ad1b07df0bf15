"""The cluster as the controller sees it: what it reads, what it writes, who leads."""
