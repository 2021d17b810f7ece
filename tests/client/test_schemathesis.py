"""schemathesis against a real server: whatever it makes of the OpenAPI document, no answer is a fault of the server's.

Skipped where schemathesis is absent: `pip install schemathesis` into any environment, and name its command by
SIRA_SCHEMATHESIS where it is not that of this one. SIRA_SCHEMATHESIS_EXAMPLES makes it try harder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.client.support import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.fixture
def command() -> str:
    beside = Path(sys.executable).with_name("schemathesis")
    found = os.environ.get("SIRA_SCHEMATHESIS") or (str(beside) if beside.exists() else shutil.which("schemathesis"))
    if not found:
        pytest.skip("schemathesis is not installed: pip install schemathesis, or name it by SIRA_SCHEMATHESIS")
    return found


def test_no_request_is_a_fault_of_the_server(command: str, pottery: Path, tmp_path: Path) -> None:
    examples = os.environ.get("SIRA_SCHEMATHESIS_EXAMPLES", "20")
    (tmp_path / "config.toml").write_text('[parameters]\n"path.index" = "pottery"\n"query.docid" = "raku"\n')
    hooks = {"SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    with serving(tmp_path, f"pottery={pottery}") as server:
        done = subprocess.run(
            [command, "--config-file", "config.toml", "run", f"{server.url}/openapi.json", "--no-color", "--seed", "7",
             "--max-examples", examples, "--phases", "coverage,fuzzing", "--continue-on-failure", "--checks", CHECKS],
            cwd=tmp_path, env={**os.environ, **hooks}, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-5000:]
    lines = (tmp_path / "access.log").read_text().splitlines()
    told = Counter(json.loads(line)["status"] for line in lines)
    assert not [status for status in told if status >= 500], told
    assert told[200] > 100, told
    assert "Traceback" not in server.stderr.read_text()
