"""What the tests of parity share: a small index, where it is served, and the command as a process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from sira.records import Document

DOCUMENTS = (
    Document("wash", "A coating for kiln shelves, so that glaze does not stick.", "Kiln wash", values={"year": 1975}),
    Document(
        "raku", "Ware from a glowing kiln. The glaze crackles.", "Raku", ("category:firing",), None, {"year": 1550}
    ),
    Document("celadon", "A pale green glaze of iron.", "Celadon", ("category:glazes",), None, {"year": 1100}),
    Document("odd/id ü?#%", "A glaze of iron and cobalt.", "Odd", ("category:glazes",), None, {"year": 1980}),
    Document("slip", "Liquid clay for casting.", "Slip", values={"year": 1900}),
)


@dataclass(frozen=True)
class Place:
    url: str
    good: Path
    damaged: Path
    gone: Path


def sira(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sira", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
