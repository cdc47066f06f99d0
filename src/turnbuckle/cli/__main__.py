"""`python -m turnbuckle.cli`: the command, where it is not on the PATH."""

from turnbuckle.cli import main

main()
