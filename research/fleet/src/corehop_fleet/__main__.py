"""`python -m corehop_fleet` runs the command, as does a folder with this file and the package.

Python 3.6 and newer can read this file; the other files need Python 3.11.
"""

import sys

OLDEST = (3, 11)

# Processes of a local scheduler also read this file, under another name.
if __name__ == "__main__":
    if sys.version_info < OLDEST:
        major, minor = sys.version_info[:2]
        sys.exit(f"it needs Python 3.11 or newer, and this is {major}.{minor}")
    from corehop_fleet.command import main

    sys.exit(main())
