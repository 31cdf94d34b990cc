"""`python -m corehop_fleet` is the command, and so is a folder with this file and the package.

Pythons from 3.6 on can read this file; the others need what came with 3.11.
"""

import sys

OLDEST = (3, 11)

# Processes that a local scheduler starts read this file too, under another name.
if __name__ == "__main__":
    if sys.version_info < OLDEST:
        major, minor = sys.version_info[:2]
        sys.exit(f"it needs Python 3.11 or newer, and this is {major}.{minor}")
    from corehop_fleet.command import main

    sys.exit(main())
