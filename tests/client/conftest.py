"""A real server over a small index, one for all tests of the client."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.client.support import DOCUMENTS, Served, serving
from tests.conftest import MakeIndex

TOKEN = "a-token-for-the-tests-of-the-client"


@pytest.fixture(scope="session")
def pottery(make_index: MakeIndex) -> Path:
    return make_index(DOCUMENTS, {"raku": (["thermal", "shock"], []), "wash": (["releas", "agent"], ["releas agent"])})


@pytest.fixture(scope="session")
def served(pottery: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    """`pottery`, with a token."""
    environment = {"SIRA_TOKEN": TOKEN}
    with serving(tmp_path_factory.mktemp("serve"), f"pottery={pottery}", environment=environment) as server:
        yield server
