"""Generate the reference pages from what they describe: `python -m docs.generate`."""
