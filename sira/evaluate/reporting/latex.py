"""tables/main.tex and costs.tex: the tables of quality and of costs for a paper, with the lines of booktabs."""

from __future__ import annotations

from collections.abc import Iterator

from sira.evaluate.reporting.contents import Report
from sira.evaluate.reporting.over_all import is_best_over, is_significant_over, value_over
from sira.evaluate.reporting.tables import SIGNIFICANT, costs, is_best, is_significant, short, value_text

_ESCAPES = str.maketrans(
    {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
     "<": r"\textless{}", ">": r"\textgreater{}", **{letter: f"\\{letter}" for letter in "#$%&_"}}
)  # fmt: skip


def escaped(text: str) -> str:
    """A text in which no letter acts."""
    return text.translate(_ESCAPES)


def latex(report: Report, config: str) -> str:
    """A tabular to \\input: systems by measures, one block a macro and a collection; the best of each bold. The run and
    the cell of each row stand beside it as comments."""
    experiment, results = report.experiment, report.results
    measures = list(results[0].rows[0].evaluation.mean) if results else []
    titled = len(report.shown) + len(report.macros) > 1
    lines = [
        f"% {experiment.name}: config.json {short(config)}. Needs \\usepackage{{booktabs}}.",
        f"% Bold: best. *: differs from {experiment.baseline}, p < {SIGNIFICANT} (randomisation test, Holm).",
        f"\\begin{{tabular}}{{l{'r' * len(measures)}}}",
        "\\toprule",
        " & ".join(["System", *map(escaped, measures)]) + r" \\",
    ]
    for title, rows in _blocks(report, measures):
        lines.append("\\midrule")
        if titled:
            lines.append(f"\\multicolumn{{{len(measures) + 1}}}{{l}}{{\\emph{{{escaped(title)}}}}} \\\\")
        lines += rows
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"]) + "\n"


def costs_latex(report: Report, config: str) -> str:
    """A tabular a collection with the table of costs, price and tokens among it."""
    parts = [f"% {report.experiment.name}: config.json {short(config)}. Needs \\usepackage{{booktabs}}.\n"]
    for item in report.shown:
        table = costs(item)
        lines = [
            f"% {item.name}: {table.after}",
            f"\\begin{{tabular}}{{l{'r' * (len(table.head) - 1)}}}",
            "\\toprule",
            " & ".join(map(escaped, table.head)) + r" \\",
            "\\midrule",
            *(
                _line(cells[0], list(map(escaped, cells[1:])), f"{row.run} {short(row.cell.fingerprint)}")
                for cells, row in zip(table.rows, item.rows, strict=True)
            ),
            "\\bottomrule",
            "\\end{tabular}",
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _blocks(report: Report, measures: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The title and the lines of each block."""
    for macro in report.macros:
        yield (
            f"{macro.name}, mean over {len(macro.of)} collections",
            [
                _line(
                    row.system,
                    [
                        _value(
                            value_over(macro, row.system, name),
                            best=is_best_over(macro, row.system, name),
                            differs=is_significant_over(macro, row.system, name),
                        )
                        for name in measures
                    ],
                    f"{row.run} {short(row.cell)}",
                )
                for row in macro.rows
            ],
        )
    for item in report.shown:
        yield (
            f"{item.name}, {item.rows[0].evaluation.topics} topics",
            [
                _line(
                    row.cell.system,
                    [
                        _value(
                            value_text(row, name),
                            best=is_best(item, row, name),
                            differs=is_significant(item, row, name),
                        )
                        for name in measures
                    ],
                    f"{row.run} {short(row.cell.fingerprint)}",
                )
                for row in item.rows
            ],
        )


def _line(system: str, values: list[str], source: str) -> str:
    return " & ".join([escaped(system), *values]) + f" \\\\ % {source}"


def _value(text: str, *, best: bool, differs: bool) -> str:
    bold = f"\\textbf{{{text}}}" if best else text
    # The mark takes no width, so that the figures stay in line.
    return bold + (r"\rlap{$^{*}$}" if differs else "")
