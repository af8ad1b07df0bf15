"""`python -m fairlead`, the same as `fairlead`."""

from fairlead_cli.__main__ import main

main()
