"""`python -m kleene` is the command line."""

from __future__ import annotations

import sys

from kleene.cli import main

sys.exit(main())
