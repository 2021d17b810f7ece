"""One server for the tests of parity: an index, a damaged one, and one that is not there."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.client.support import serving
from tests.conftest import MakeIndex
from tests.serve.parity.support import DOCUMENTS, Place


@pytest.fixture(scope="package")
def place(make_index: MakeIndex, tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    good, damaged = (make_index(DOCUMENTS, value_fields={"year": "integer"}) for _ in range(2))
    (segments,) = damaged.glob("segments_*")
    segments.write_bytes(b"")
    gone = damaged.with_name("gone")
    with serving(tmp_path_factory.mktemp("parity"), f"pots={good}", f"damaged={damaged}", f"gone={gone}") as server:
        yield Place(server.url, good, damaged, gone)
