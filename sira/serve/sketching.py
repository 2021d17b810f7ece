"""The server's own model: it sketches topics. What model that is, the server alone says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sira.errors import EnvironmentFault, InputError, SiraError
from sira.records import FAILURES, Sketch, Topic
from sira.serve.requests import Asking

if TYPE_CHECKING:
    from sira.llm import Generator, ModelSettings


_log = logging.getLogger(__name__)


class SketchModel:
    """Opened when it is first asked; one topic at a time, since not every backend takes more."""

    def __init__(self, settings: ModelSettings, prompt: str | None = None, replies: Path | None = None) -> None:
        self._settings, self._prompt, self._replies = settings, prompt, replies
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._generator: Generator | None = None

    def sketch(self, topic: Topic, asking: Asking) -> tuple[Sketch, Mapping[str, Any]]:
        """The sketch, and how it came about. Raises InputError for what the model cannot be asked, EnvironmentFault
        where it gives no reply."""
        from sira.compile.sketch_job import SketchJob
        from sira.llm.sketches import SketchForm, sketch_topics

        form = SketchForm(roles=asking.roles, facets=asking.facets, searches=asking.searches)
        job = SketchJob.of(self._settings, self._prompt, form, asking.samples)
        with self._lock:
            try:
                found = list(
                    sketch_topics(
                        [topic],
                        self._opened(),
                        job.prompt,
                        max_tokens=self._settings.max_tokens,
                        seed=self._settings.seed,
                        samples=job.samples,
                        form=form,
                    )
                )
            except SiraError as error:  # it may name the model's address
                _log.warning("the model gave no reply: %s", error)
                found = []
        if not found:
            raise EnvironmentFault("the model gave no reply: ask again, or give a sketch")
        (done,) = found
        if done.status in FAILURES and not done.sketch.phrases and not done.sketch.facets:
            raise EnvironmentFault("the model gave no usable sketch: ask again, or give a sketch")
        return done.sketch, {"status": done.status.value, "dropped": dict(done.dropped), "prompt": job.prompt.label}

    def close(self) -> None:
        self._stack.close()

    def _opened(self) -> Generator:
        if self._generator is None:
            from sira.llm.cache import open_cached

            self._generator = self._stack.enter_context(closing(open_cached(self._settings, self._replies)))
        return self._generator


def no_model() -> InputError:
    return InputError("llm: this server has no model: give a sketch, or ask for one started with --llm")
