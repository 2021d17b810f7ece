"""What turns texts into vectors, as the rest of the package sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""One row a text."""


class Encoder(Protocol):
    """An embedding model with its prompts. The inner product of a topic's vector and a document's is their score."""

    @property
    def dimension(self) -> int: ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """What decides the vectors of documents, as JSON: vectors of another identity are not mixed with these."""
        ...

    @property
    def facts(self) -> Mapping[str, Any]:
        """What else is worth telling, as JSON: versions, device, the prompt of topics."""
        ...

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(number of texts, dimension), 32-bit floats, a row for each text in their order."""
        ...

    def topics(self, texts: Sequence[str]) -> Vectors:
        """The same for the texts of topics, under the prompt of topics."""
        ...
