"""`sira doctor`: what this machine has, what it lacks, and the one command that mends it. Starts no Java."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from sira import __version__
from sira.cli.environment import Finding, findings

HELP = "say what this machine has, what it lacks, and the command that mends it"

_MARKS = {"ok": " ", "missing": "!", "absent": "-", "note": "-"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        f"{HELP}. Exit status: 0 when `sira index` and `sira search` have all they need, 1 when they lack something "
        "(the line is marked with !); what only other commands need (marked with -) does not count."
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON on stdout")


def run(arguments: argparse.Namespace) -> int:
    found = list(findings())
    missing = [finding for finding in found if finding.state == "missing"]
    if arguments.json:
        report = {"sira": __version__, "ready": not missing, "findings": [asdict(finding) for finding in found]}
        json.dump(report, sys.stdout, indent=2, ensure_ascii=False)
        print()
    else:
        print(render(found))
    return 1 if missing else 0


def render(found: Sequence[Finding]) -> str:
    """The report as text: a block a part, a line a finding, the remedy below its finding; the sum of it last."""
    lines = [f"sira {__version__}"]
    for part, members in groupby(found, key=lambda finding: finding.part):
        lines += ["", part]
        for finding in members:
            lines.append(f"{_MARKS[finding.state]} {finding.name:<13} {finding.value}")
            if finding.remedy:
                lines.append(f"                  {finding.remedy}")
    missing = [finding.name for finding in found if finding.state == "missing"]
    lines += ["", f"index and search lack: {', '.join(missing)}" if missing else "index and search have all they need"]
    return "\n".join(lines)
