"""JSON Lines in which every row must be good: expansion stores and sketches, where a lost row is a wrong result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from sira.corpora.files import byte_lines
from sira.errors import InputError
from sira.records import Place


def json_rows(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The objects of a .jsonl or .jsonl.gz file, one a line, blank lines left out.

    Raises InputError naming file and line for a row that is no JSON object.
    """
    for number, raw in byte_lines(path):
        if not raw.strip():
            continue
        place = Place(str(path), number)
        try:
            row = json.loads(raw.decode())
        except UnicodeDecodeError as error:
            raise InputError(f"{place}: not UTF-8 ({error.reason}): convert the file to UTF-8") from None
        except (ValueError, RecursionError) as error:
            fault = str(error).partition(";")[0]  # what follows is advice to programmers
            raise InputError(f"{place}: not JSON ({fault}): repair or remove the line") from None
        if not isinstance(row, dict):
            raise InputError(f"{place}: a row must be a JSON object")
        yield place, cast(dict[str, Any], row)
