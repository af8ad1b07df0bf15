"""One small script per peer, run by an environment of the peers' own."""
