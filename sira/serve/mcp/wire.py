"""stdout for the protocol alone.

Java, a C library or a stray `print` write to descriptor 1 whenever they like, at exit too. So that descriptor is
pointed at stderr before any of them is there, and stays so; the protocol goes through a duplicate that nobody else
knows. This module imports nothing that could print.
"""

from __future__ import annotations

import fcntl
import os
import sys
from typing import NamedTuple


class Wire(NamedTuple):
    """Descriptors of the protocol."""

    source: int
    sink: int


def claim() -> Wire:
    """Take stdin and stdout for the protocol: what else reads 0 finds it empty, what else writes 1 writes to stderr.

    To be called once, before Java or a library with buffers of its own is loaded.
    """
    sys.stdout.flush()
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(line_buffering=True)  # among the lines of stderr, where they belong
    wire = Wire(*(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # no stderr
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.close(nothing)
    return wire
