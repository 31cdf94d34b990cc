"""`python -m corehop_symbolizer` is the command, and so is a folder with this file and the package.

Every Python 3 can read this file; the others need what came with 3.11.
"""

import sys

OLDEST = (3, 11)

if sys.version_info < OLDEST:
    sys.exit("it needs Python 3.11 or newer, and this is %d.%d" % sys.version_info[:2])

from corehop_symbolizer.command import main

sys.exit(main())
