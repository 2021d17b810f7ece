"""Python's own deep recursion must not end the process once Java runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import json
from sira.lucene.analyzers import analyze
analyze(["kiln"])
for depth in (10, 100_000, 1_000_000):
    try:
        json.loads("[" * depth)
    except (ValueError, RecursionError) as error:
        print(type(error).__name__)
"""


@pytest.mark.java
def test_deeply_nested_json_is_an_error_and_no_crash() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["JSONDecodeError", "RecursionError", "RecursionError"]
    assert done.returncode == 0
