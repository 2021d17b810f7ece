"""The Python client of `sira serve`, sync and async. It needs neither Java nor an index, only the package httpx2.

from sira.client import SiraClient

with SiraClient("http://127.0.0.1:8321") as client:
    page = client.search(query="celadon", k=10, titles=True)
"""

from sira.client.answers import (
    ClauseFacts,
    Compiled,
    DocumentPage,
    Explained,
    Indexes,
    IndexFacts,
    IndexState,
    Match,
    Matches,
    SearchPage,
    SessionFacts,
    TermFacts,
    Terms,
    ToolAnswer,
    ToolFacts,
    Version,
)
from sira.client.asynchronous import AsyncSiraClient
from sira.client.errors import (
    AbsentError,
    BusyError,
    ClosedError,
    ForeignAnswerError,
    InvalidRequestError,
    Problem,
    ServerFaultError,
    SlowError,
    UnauthorizedError,
    UnavailableError,
    UnreachableError,
)
from sira.client.options import (
    AskingOptions,
    CompileOptions,
    ExplainOptions,
    FindOptions,
    SearchOptions,
    SettingsOptions,
    SourceOptions,
)
from sira.client.sync import SiraClient

__all__ = [
    "AbsentError",
    "AskingOptions",
    "AsyncSiraClient",
    "BusyError",
    "ClauseFacts",
    "ClosedError",
    "CompileOptions",
    "Compiled",
    "DocumentPage",
    "ExplainOptions",
    "Explained",
    "FindOptions",
    "ForeignAnswerError",
    "IndexFacts",
    "IndexState",
    "Indexes",
    "InvalidRequestError",
    "Match",
    "Matches",
    "Problem",
    "SearchOptions",
    "SearchPage",
    "ServerFaultError",
    "SessionFacts",
    "SettingsOptions",
    "SiraClient",
    "SlowError",
    "SourceOptions",
    "TermFacts",
    "Terms",
    "ToolAnswer",
    "ToolFacts",
    "UnauthorizedError",
    "UnavailableError",
    "UnreachableError",
    "Version",
]
