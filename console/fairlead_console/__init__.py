"""The console: pages in a browser on which people see a fleet and understand it."""
