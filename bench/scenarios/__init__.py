"""One module per scenario, P1 to P12: what is run, and which figure the bar is about."""
