"""The names that `import sira` promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import sira


@pytest.mark.parametrize("name", sira.__all__)
def test_every_promised_name_is_there(name: str) -> None:
    assert getattr(sira, name) is not None


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = sira.nonsense  # pyright: ignore[reportAttributeAccessIssue]
    assert set(sira.__all__) == {"__version__", *sira._HOMES}


def test_importing_sira_starts_no_java() -> None:
    code = "import sira, sys; sira.Index; print('jnius' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"
