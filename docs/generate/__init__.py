"""Write the reference from what it describes: `python -m docs.generate`."""
