"""tables/main.tex: the table of quality for a paper, with the lines of the booktabs package."""

from __future__ import annotations

from collections.abc import Sequence

from sira.evaluate.config import Experiment
from sira.evaluate.reporting.tables import SIGNIFICANT, is_best, is_significant, short, value_text
from sira.evaluate.results import CollectionResults, Row

_ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
     "<": r"\textless{}", ">": r"\textgreater{}", **{letter: f"\\{letter}" for letter in "#$%&_"}}
)  # fmt: skip


def escaped(text: str) -> str:
    """A text in which no letter acts."""
    return text.translate(_ESCAPES)


def latex(experiment: Experiment, results: Sequence[CollectionResults], config: str) -> str:
    """A tabular to \\input: systems by measures, one block a collection; the best of each bold. The run and the cell of
    each row stand beside it as comments."""
    measures = list(results[0].rows[0].evaluation.mean)
    lines = [
        f"% {experiment.name}: config.json {short(config)}. Needs \\usepackage{{booktabs}}.",
        f"% Bold: best. *: differs from {experiment.baseline}, p < {SIGNIFICANT} (randomisation test, Holm).",
        f"\\begin{{tabular}}{{l{'r' * len(measures)}}}",
        "\\toprule",
        " & ".join(["System", *map(escaped, measures)]) + r" \\",
    ]
    for collection in results:
        lines.append("\\midrule")
        if len(results) > 1:
            title = f"{escaped(collection.name)}, {collection.rows[0].evaluation.topics} topics"
            lines.append(f"\\multicolumn{{{len(measures) + 1}}}{{l}}{{\\emph{{{title}}}}} \\\\")
        for row in collection.rows:
            cells = [escaped(row.cell.system), *(_value(collection, row, measure) for measure in measures)]
            lines.append(" & ".join(cells) + f" \\\\ % {row.run} {short(row.cell.fingerprint)}")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def _value(collection: CollectionResults, row: Row, measure: str) -> str:
    text = value_text(row, measure)
    bold = f"\\textbf{{{text}}}" if is_best(collection, row, measure) else text
    # The mark takes no width, so that the figures stay in line.
    return bold + (r"\rlap{$^{*}$}" if is_significant(collection, row, measure) else "")
