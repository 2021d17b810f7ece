"""scripts/readme-commands: which blocks it takes for commands, and that a failing one fails."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "readme-commands"


@pytest.fixture(scope="module")
def readme_commands() -> ModuleType:
    spec = importlib.util.spec_from_loader("readme_commands", SourceFileLoader("readme_commands", str(SCRIPT)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    write, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # its cache would lie beside it, without a suffix
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = write
    return module


TEXT = """\
# Title

```bash
echo one
echo two
```

<!-- not run: needs a GPU -->

```bash
sira expand
```

<!-- not run: belongs to the sentence, not to the block -->
A sentence.
```bash
echo three
```

```text
echo never
```

~~~python
```bash
~~~
"""


def test_blocks(readme_commands: ModuleType) -> None:
    assert [tuple(block) for block in readme_commands.blocks(TEXT)] == [
        (4, "echo one\necho two", None),
        (11, "sira expand", "needs a GPU"),
        (17, "echo three", None),
    ]


def test_a_fence_without_end_is_an_error(readme_commands: ModuleType) -> None:
    with pytest.raises(ValueError, match="line 2"):
        list(readme_commands.blocks("text\n```bash\necho\n"))


def test_the_blocks_are_run_and_the_others_named(
    readme_commands: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(TEXT, encoding="utf-8")
    assert readme_commands.main([str(readme)]) == 0
    out = capfd.readouterr().out.splitlines()
    assert [line for line in out if line in ("one", "two", "three", "never")] == ["one", "two", "three"]
    assert "-- README.md, line 11: not run: needs a GPU" in out


def test_a_command_that_fails_in_the_middle_fails_the_whole(
    readme_commands: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("```bash\nfalse | cat\necho on\n```\n```bash\necho next\n```\n", encoding="utf-8")
    assert readme_commands.main([str(readme)]) == 1
    out, err = capfd.readouterr()
    assert "on" not in out.splitlines()
    assert "next" not in out.splitlines()
    assert err == "README.md, line 2: exit status 1\n"
