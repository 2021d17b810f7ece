"""The errors that sira raises on purpose. Every message names the item, the place and the remedy.

SiraError
├── InputError          a file, record or argument that cannot be used (command line: exit status 2)
│   ├── TrecFormatError     a line of a TREC run, qrels or topics file
│   ├── DuplicateIdError    the same id twice where ids identify
│   ├── ProgramError        a program that cannot be run: weights, clauses, JSON
│   └── NotFoundError       a docid, qid or split that the collection does not hold
├── EnvironmentFault    something that the machine lacks: Java, a package, memory
├── IndexFault          an index that is absent, foreign, damaged or lacks what was asked
└── ForkedProcessError  Java was asked for in a forked child process
"""

from __future__ import annotations


class SiraError(Exception):
    """Base of all deliberate errors; `str(error)` is one line for the user."""


class InputError(SiraError):
    """A file, record, setting or argument that cannot be used as it is."""


class TrecFormatError(InputError):
    """A malformed line; `path` and `line_number` (from 1) say where."""

    def __init__(self, path: str, line_number: int, reason: str) -> None:
        super().__init__(f"{path}, line {line_number}: {reason}")
        self.path, self.line_number, self.reason = path, line_number, reason


class DuplicateIdError(InputError):
    """An id that was given twice."""


class ProgramError(InputError):
    """A program that cannot be run as written."""


class EnvironmentFault(SiraError):
    """The machine lacks something; the message holds the one command that mends it."""


class IndexFault(SiraError):
    """An index that is absent, foreign, damaged, or lacks what was asked of it."""


class NotFoundError(InputError):
    """A docid, qid or split that is not there."""


class ForkedProcessError(EnvironmentFault):
    """The Java machine of a parent process cannot be used in a forked child."""

    def __init__(self) -> None:
        super().__init__(
            "this process was forked after Java had started, and Java does not survive a fork: "
            "use threads, or multiprocessing.get_context('spawn'), and open the index in the child"
        )
