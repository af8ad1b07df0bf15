"""`python -m fairlead_cli`, the same as `fairlead`."""

from fairlead_cli.main import main

main()
