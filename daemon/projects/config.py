"""Settings: defaults, then `ctxd.toml` in the config folder, then `.ctxd.toml` or `[tool.ctxd]` of the project, then `CTXD_*`.

The later wins. Invariant: a wrong setting is refused with its file, line and key; nothing is guessed.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

_MIB = 1024 * 1024


class Settings(BaseModel):
    """Every setting with its default, its limits and its meaning; `ctxd config` prints this table."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    idle_exit_seconds: Annotated[int, Field(ge=0)] = 3 * 3600
    """The daemon ends after so long without a client; 0: never."""
    workers: Annotated[int, Field(ge=1, le=64)] = min(4, os.cpu_count() or 1)
    """Processes that parse, each at low priority; as many more match patterns with look-around, while there are such queries."""
    worker_memory_mib: Annotated[int, Field(ge=256)] = 2048
    """Address space of one worker; a file that needs more is recorded as failed."""
    parse_seconds: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Deadline for parsing one file."""
    settle_ms: Annotated[int, Field(ge=10, le=5_000)] = 150
    """How long an answer waits for changes to be looked at before it says `stale`."""
    symbols_wait_ms: Annotated[int, Field(ge=10, le=9_000)] = 5_000
    """How long a symbol answer waits for changed files to be parsed before it says `stale`."""
    sweep_seconds: Annotated[int, Field(ge=5)] = 60
    """Between comparisons of all files with the disk, for changes that no event tells."""
    watches_max: Annotated[int, Field(ge=0)] = 100_000
    """Folders of a project watched by events; above it, and where the system allows fewer, polling takes over, and `status` says why."""
    index_files_max: Annotated[int, Field(ge=1)] = 500_000
    """Files of a project indexed without asking; above it text and names still answer from the files."""
    index_mib_max: Annotated[int, Field(ge=1)] = 8 * 1024
    """Likewise, the sum of their sizes in MiB."""
    model: Annotated[str, Field(min_length=1)] = "builtin"
    """What embeds code for semantic search: builtin, none, or another that `ctxd model list` shows."""
    allow_secrets: bool = False
    """Whether files that hold secrets by name (.env, private keys) are indexed and listed."""


DAEMON_WIDE = frozenset({"idle_exit_seconds", "workers", "worker_memory_mib"})
"""One daemon serves all projects: a project's own file cannot set these."""


USERS_OWN_MODELS = ("openai:", "path:")
"""A project that somebody else wrote must not send its code to an endpoint, nor have a file of its own loaded as a model."""


class SettingsError(ValueError):
    """A setting that cannot be used; the message names file, line and key."""


def load(config_file: str, root: str | None, environment: dict[str, str]) -> tuple[Settings, dict[str, str]]:
    """Return the settings in force for a project (or for none), and where each non-default one comes from.

    Raises SettingsError.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    layers = [(config_file, _table(config_file, ()))]
    if root is not None:
        own = os.path.join(root, ".ctxd.toml")
        project = os.path.join(root, "pyproject.toml")
        layers += [(project, _table(project, ("tool", "ctxd"))), (own, _table(own, ()))]
    for source, table in layers:
        for key, value in table.items():
            _check(key, value, source)
            if key in DAEMON_WIDE and source != config_file:
                place = f"{source}, line {_line_of(key, source)}"
                raise SettingsError(f"{place}: {key} is one for all projects; set it in {config_file}")
            if key == "model" and source != config_file and str(value).startswith(USERS_OWN_MODELS):
                place = f"{source}, line {_line_of(key, source)}"
                raise SettingsError(
                    f"{place}: a project cannot choose {value!r}; set it in {config_file}, or CTXD_MODEL"
                )
            values[key] = value
            sources[key] = source
    for key, text in environment.items():
        name = key.removeprefix("CTXD_").lower()
        if key.startswith("CTXD_") and name in Settings.model_fields:
            values[name] = _check(name, text, f"the environment variable {key}", strict=False)
            sources[name] = key
    return Settings(**values), sources


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


def _table(path: str, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, tomllib.TOMLDecodeError) as error:
        if keys:  # a broken pyproject.toml is the project's affair
            return {}
        raise SettingsError(f"{path}: {error}") from None
    for key in keys:
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{path}, line {_line_of(key, path)}: {'.'.join(keys)} must be a table of settings")
    return table


def _check(key: str, value: Any, source: str, *, strict: bool = True) -> Any:
    place = source
    if os.path.isabs(source):
        place = f"{source}, line {_line_of(key, source)}"
    if key not in Settings.model_fields:
        near = difflib.get_close_matches(key, Settings.model_fields, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; the settings are {', '.join(Settings.model_fields)}"
        raise SettingsError(f"{place}: there is no setting {key!r}{hint}")
    try:
        checked = Settings.model_validate({key: value}, strict=strict)
    except ValidationError as error:
        raise SettingsError(f"{place}: {key} = {value!r}: {error.errors()[0]['msg']}") from None
    return getattr(checked, key)


def _line_of(key: str, path: str) -> int:
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return number
    return 1
