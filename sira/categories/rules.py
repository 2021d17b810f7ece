"""Which categories serve the upkeep of the wiki: read from a TOML file that a user may replace."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from sira.config import read_toml
from sira.errors import InputError

DEFAULT_RULES = Path(__file__).with_name("rules.toml")


class RulesFile(BaseModel):
    """The file as written; rules.toml explains each list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden_parents: tuple[str, ...] = ()
    hidden_templates: tuple[str, ...] = ()
    redirect_templates: tuple[str, ...] = ()
    maintenance: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules, compiled. `fingerprint` is SHA-256 over what they say, not over comments."""

    file: RulesFile
    maintenance: re.Pattern[str] | None
    fingerprint: str

    def is_maintenance(self, name: str) -> bool:
        """Whether a canonical name matches one of the maintenance patterns as a whole."""
        return self.maintenance is not None and self.maintenance.fullmatch(name) is not None


def read_rules(path: Path = DEFAULT_RULES) -> Rules:
    """Read and compile a rules file. Raises InputError naming the file and the pattern that cannot be used."""
    file = read_toml(path, RulesFile)
    for pattern in file.maintenance:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise InputError(f"{path}: pattern {pattern!r} is no regular expression ({error}): mend it") from None
    joined = re.compile("|".join(f"(?:{pattern})" for pattern in file.maintenance)) if file.maintenance else None
    return Rules(file, joined, hashlib.sha256(file.model_dump_json().encode()).hexdigest())
