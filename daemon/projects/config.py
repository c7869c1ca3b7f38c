"""Settings, and the user's values: `ctxd.toml` in the config folder, then `CTXD_*` variables.

Invariant: a wrong setting is refused with its file, line and key, never guessed. `project_settings.py` adds a project's own.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_MIB = 1024 * 1024


class Settings(BaseModel):
    """Every setting with its default, its limits and its meaning; `ctxd config` prints this table."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    idle_exit_seconds: Annotated[int, Field(ge=0)] = 3 * 3600
    """The daemon ends after this many seconds without a client; 0: never."""
    workers: Annotated[int, Field(ge=1, le=64)] = min(4, os.cpu_count() or 1)
    """Processes that parse, at low priority; as many more match patterns with look-around while such queries run."""
    worker_memory_mib: Annotated[int, Field(ge=256)] = 2048
    """Address space of one worker; a file that needs more is recorded as failed."""
    parse_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Deadline for parsing one file."""
    settle_ms: Annotated[int, Field(ge=10, le=5_000)] = 150
    """How long an answer waits for changes to be looked at before it says `stale`."""
    symbols_wait_ms: Annotated[int, Field(ge=10, le=9_000)] = 5_000
    """How long a symbol answer waits for changed files to be parsed before it says `stale`."""
    sweep_seconds: Annotated[int, Field(ge=5)] = 60
    """Seconds between comparisons of all files with the disk, which find changes without events."""
    watches_max: Annotated[int, Field(ge=0)] = 100_000
    """Folders of a project to watch by events; above it, or where the system allows fewer, ctxd polls, and `status` says why."""
    index_files_max: Annotated[int, Field(ge=1)] = 500_000
    """A project with more files is not indexed; text and names still answer from the files."""
    index_mib_max: Annotated[int, Field(ge=1)] = 8 * 1024
    """The same limit for the sum of the sizes of the files, in MiB."""
    model: Annotated[str, Field(min_length=1)] = "builtin"
    """The model that embeds code for semantic search: builtin, none, or another from `ctxd model list`."""
    allow_secrets: bool = False
    """Index and list files whose names say that they hold secrets (.env, private keys)."""


class SettingsError(ValueError):
    """A setting that cannot be used; the message names file, line and key."""


class InForce(NamedTuple):
    settings: Settings
    sources: dict[str, str]
    """For each setting that is not a default: the file or variable that sets it."""
    problems: list[str]
    """Settings in a project's own files that do not count, and why."""


def load(config_file: str, environment: dict[str, str]) -> InForce:
    """The user's settings. Raises SettingsError."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    table, data = _table(config_file)
    for key, value in table.items():
        values[key] = check(key, value, f"{config_file}, line {line_of(key, data)}")
        sources[key] = config_file
    for variable, text in environment.items():
        key = variable.removeprefix("CTXD_").lower()
        if variable.startswith("CTXD_") and key in Settings.model_fields:
            values[key] = check(key, text, f"the environment variable {variable}", strict=False)
            sources[key] = variable
    return InForce(Settings(**values), sources, [])


def describe(settings: Settings, sources: dict[str, str]) -> list[dict[str, Any]]:
    """Rows for `ctxd config`: key, value, default, source, meaning."""
    return [
        {
            "key": key,
            "value": getattr(settings, key),
            "default": field.default,
            "source": sources.get(key, "default"),
            "meaning": field.description,
        }
        for key, field in Settings.model_fields.items()
    ]


def _table(path: str) -> tuple[dict[str, Any], bytes]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        return tomllib.loads(data.decode()), data
    except (FileNotFoundError, NotADirectoryError):
        return {}, b""
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: {error}") from None


def check(key: str, value: Any, place: str, *, strict: bool = True) -> Any:
    """The valid value of a setting that `place` (a file or a variable) sets. Raises SettingsError."""
    if key not in Settings.model_fields:
        near = difflib.get_close_matches(key[:_KEY_CHARS_MAX], Settings.model_fields, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; the settings are {', '.join(Settings.model_fields)}"
        raise SettingsError(f"{place}: there is no setting {key[:_KEY_CHARS_MAX]!r}{hint}")
    try:
        checked = Settings.model_validate({key: value}, strict=strict)
    except ValidationError as error:
        raise SettingsError(f"{place}: {key} = {str(value)[:_KEY_CHARS_MAX]!r}: {error.errors()[0]['msg']}") from None
    return getattr(checked, key)


def line_of(key: str, data: bytes) -> int:
    """The line that sets a key in a file; 1 if it cannot be found."""
    found = re.search(rb"^[ \t]*[\"']?%b[\"']?[ \t]*=" % re.escape(key.encode("utf-8", "replace")), data, re.MULTILINE)
    return data.count(b"\n", 0, found.start()) + 1 if found else 1


_KEY_CHARS_MAX = 60  # of a wrong key or value in a message
