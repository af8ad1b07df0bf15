"""One module per scenario, P1 to P13: what runs, and which figure has a bar."""
