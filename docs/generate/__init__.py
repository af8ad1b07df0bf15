"""Write the reference from what it describes: `python -m docs.generate`, held to it by a test."""
