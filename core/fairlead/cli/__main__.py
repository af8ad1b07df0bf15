"""`python -m fairlead.cli`, the same as `fairlead`."""

from fairlead.cli.program import main

main()
