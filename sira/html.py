"""Pieces of the pages of HTML that sira writes. A page is one file that needs nothing beside itself: no script, no
font, no network; a policy in its head also forbids the browser to load or run anything.

Colours are Okabe and Ito's, told apart by people of any colour vision, and never carry meaning alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sira import __version__
from sira.tables import printable

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1b1b; --soft: #5c5c5c; --line: #d5d5d5; --card: #f6f6f6;
  --good: #0072b2; --mixed: #e69f00; --bad: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181b; --ink: #ececec; --soft: #a9adb2; --line: #3b4046; --card: #1f2226;
    --good: #56b4e9; --mixed: #e69f00; --bad: #f0803c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin: 0 0 .4rem; }
p { margin: .3rem 0; } footer, .soft { color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .4rem; padding: .8rem; min-width: 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .15rem .8rem .15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); } .number { text-align: right; white-space: nowrap; }
details { margin: .4rem 0; } summary { cursor: pointer; }
"""


def safe(text: str) -> str:
    """A text for HTML, in an element or a quoted attribute: nothing in it acts."""
    return escape(printable(text), quote=True)


def document(title: str, body: str, style: str = "") -> str:
    """A whole page. `title` is a text; `body` and the `style` of this kind of page are HTML and CSS."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n{body}"
        f"<footer><p>Written by sira {safe(__version__)}.</p></footer>\n</body>\n</html>\n"
    )


def section(title: str, parts: Iterable[str], classes: str = "", anchor: str = "") -> str:
    """A titled part of a page; links go to its `anchor`."""
    given = [(name, value) for name, value in (("id", anchor), ("class", classes)) if value]
    opening = "".join(f' {name}="{safe(value)}"' for name, value in given)
    return f"<section{opening}>\n<h2>{safe(title)}</h2>\n{''.join(parts)}\n</section>\n"


def paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{safe(line)}</p>\n" for line in lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (0,)) -> str:
    """The columns `texts` hold texts of any script, the others figures. Wide tables scroll, by keyboard too."""
    kinds = [' dir="auto"' if column in texts else ' class="number"' for column in range(len(head))]
    top = "".join(f"<th{kind}>{safe(cell)}</th>" for kind, cell in zip(kinds, head, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{safe(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>\n"
        for row in rows
    )
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>\n{body}</tbody></table></div>'
