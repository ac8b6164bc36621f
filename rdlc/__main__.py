"""`python -m rdlc` is the command `rdlc`."""

from rdlc.cli import main

if __name__ == "__main__":
    main()
