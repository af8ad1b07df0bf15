"""The site of these pages: what Sphinx is told (`conf`) and taught (`pages`, `navigation`)."""
