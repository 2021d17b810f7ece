"""`python -m sira` is the command `sira`."""

from __future__ import annotations

import sys

from sira.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
