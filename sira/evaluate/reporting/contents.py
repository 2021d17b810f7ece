"""What the reports of one experiment are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sira.corpora.audit import Audit
from sira.evaluate.config import Experiment
from sira.evaluate.macros import MacroResults
from sira.evaluate.results import CollectionResults
from sira.evaluate.selection import Choice


@dataclass(frozen=True, slots=True)
class Report:
    """`results` are those of the collections whose baseline is finished, with their audits by name; `missing` tells of
    what of the experiment is not run, a line each."""

    experiment: Experiment
    results: Sequence[CollectionResults]
    audits: Mapping[str, Audit]
    macros: Sequence[MacroResults] = ()
    choices: Sequence[Choice] = ()
    missing: Sequence[str] = ()

    @property
    def shown(self) -> list[CollectionResults]:
        """The collections with tables and figures of their own: all but those whose macro hides them."""
        told = {name for macro in self.macros for name in macro.of}
        return [item for item in self.results if item.name not in self.experiment.hidden & told]

    @property
    def hidden(self) -> list[CollectionResults]:
        """The others, which stand in the CSV files and in their macro."""
        shown = {item.name for item in self.shown}
        return [item for item in self.results if item.name not in shown]
