"""Tables as text: Markdown for reports, aligned columns for the terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """Columns that a text takes in a terminal: two for wide letters (CJK), none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def printable(text: str) -> str:
    """A text for a terminal or a report: control and format characters as escapes, so that none of them acts."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _pad(text: str, columns: int, *, right: bool) -> str:
    blanks = " " * (columns - width(text))
    return blanks + text if right else text + blanks


def _numeric(cells: Sequence[str]) -> bool:
    return all(cell.strip() == "" or cell.lstrip("+-[<").lstrip()[:1].isdigit() or cell == "-" for cell in cells)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[int], list[bool]]:
    table = [head, *rows]
    widths = [max(width(row[column]) for row in table) for column in range(len(head))]
    right = [bool(rows) and _numeric([row[column] for row in rows]) for column in range(len(head))]
    return widths, right


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns, numbers to the right; ends with a newline."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths, right = _columns(head, rows)

    def line(cells: Sequence[str]) -> str:
        padded = (_pad(cell, columns, right=r) for cell, columns, r in zip(cells, widths, right, strict=True))
        return "  ".join(padded).rstrip() + "\n"

    return line(head) + "  ".join("-" * columns for columns in widths) + "\n" + "".join(line(row) for row in rows)


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table that is also readable as text; ends with a newline."""
    head = [cell.replace("|", "\\|") for cell in head]
    rows = [[printable(cell).replace("|", "\\|") for cell in row] for row in rows]
    widths, right = _columns(head, rows)

    def line(cells: Sequence[str]) -> str:
        padded = (_pad(cell, columns, right=r) for cell, columns, r in zip(cells, widths, right, strict=True))
        return "| " + " | ".join(padded) + " |\n"

    rule = (
        "|"
        + "|".join("-" * (columns + 1) + (":" if r else "-") for columns, r in zip(widths, right, strict=True))
        + "|\n"
    )
    return line(head) + rule + "".join(line(row) for row in rows)
