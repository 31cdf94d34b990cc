"""Entry point of `python -m corehop_symbolizer`, and of a folder with this file and the package.

Python 3.6 and newer can parse this file; the others require Python 3.11.
"""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:
    major, minor = sys.version_info[:2]
    sys.exit(f"it needs Python 3.11 or newer, and this is {major}.{minor}")

from corehop_symbolizer.command import main  # noqa: E402 (an older one could not read it)

sys.exit(main())
