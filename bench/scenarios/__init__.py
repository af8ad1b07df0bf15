"""One module per scenario, P1 to P12: what runs, and which figure has a bar."""
