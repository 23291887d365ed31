"""`python -m gonogo.cli`, for where the entry point isn't on the PATH."""

from gonogo.cli import main

main()
