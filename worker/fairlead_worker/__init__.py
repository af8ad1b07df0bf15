"""The worker: claims jobs, runs their handlers and writes how they ended."""
