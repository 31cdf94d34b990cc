"""`python -m corehop_symbolizer` is the command."""

import sys

from corehop_symbolizer.command import main

sys.exit(main())
