"""The settings of the tools as values and as a table of a TOML file."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest

from sira.agent.settings import PI_SERINI, SIRA, SWITCHES, ToolSettings
from sira.agent.tables import ToolsTable, read_tools
from sira.errors import InputError
from sira.program import PROFILES


def read(tmp_path: Path, text: str) -> ToolSettings:
    path = tmp_path / "tools.toml"
    path.write_text(f"[tools]\n{text}\n")
    return read_tools(path)[0]


def test_the_profiles_differ_in_what_is_ours_alone() -> None:
    assert all(getattr(SIRA, name) for name in SWITCHES)
    assert not any(getattr(PI_SERINI, name) for name in SWITCHES)
    differing = {
        item.name for item in fields(ToolSettings) if getattr(SIRA, item.name) != getattr(PI_SERINI, item.name)
    }
    assert differing == {"profile", "excerpt_ranks", *SWITCHES}
    assert len(SWITCHES) == 13


def test_every_setting_has_a_key_and_is_recorded(tmp_path: Path) -> None:
    names = {item.name for item in fields(ToolSettings)} - {"scoring"}
    assert names <= set(ToolsTable.model_fields)
    assert read(tmp_path, "") == SIRA
    assert json.loads(json.dumps(SIRA.to_json()))["scoring"]["k1"] == 0.9


def test_keys_change_the_profile(tmp_path: Path) -> None:
    settings = read(
        tmp_path, "profile = 'pi-serini'\nmarks = true\nbm25 = 'long'\nb = 0.5\nexcerpt_ranks = 'all'\ndepth = 5"
    )
    assert settings.scoring.k1 == PROFILES["long"].k1
    assert settings.scoring.b == 0.5
    assert (settings.marks, settings.excerpt_ranks, settings.depth) == (True, None, 5)
    assert not settings.wrap_lines
    assert read(tmp_path, "excerpt_ranks = 0").excerpt_ranks == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profile = 'pi'", "there is no profile 'pi': choose sira, pi-serini"),
        ("bm25 = 'best'", "there is no BM25 profile 'best': choose anserini, sira, long"),
        ("depth = 0", "depth = 0: give 1 or more"),
        ("depth = '5'", "depth"),
        ("depth = true", "depth"),
        ("marks = 1", "marks"),
        ("k1 = -1", "k1 = -1.0"),
        ("fold_similarity = 0.0", "fold_similarity"),
        ("pattern_seconds = 0.0", "pattern_seconds"),
        ("max_bytes = 1000", "one page would not hold one hit: give at least"),
        ("excerpt_ranks = -1", "excerpt_ranks = -1: give 0 or more"),
        ("excerpt_ranks = 'none'", "excerpt_ranks"),
        ("colour = 1", "tools.colour"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert told in str(error.value)
    assert "tools.toml" in str(error.value)
