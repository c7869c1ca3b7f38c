"""A project's own settings: `[tool.ctxd]` of its `pyproject.toml`, then its `.ctxd.toml`. Their author may be a stranger.

Invariants: they only tighten the user's settings. No file of a project makes this module raise: a value that cannot be used
becomes a problem of that project, and the user's value holds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ctxd.daemon.projects import config
from ctxd.daemon.projects.config import InForce, Settings, SettingsError
from ctxd.indexer.decode import Unreadable
from ctxd.indexer.project_file import WORDS, read_small

if TYPE_CHECKING:
    from ctxd.daemon.protocol import Places

FILES = (("pyproject.toml", ("tool", "ctxd")), (".ctxd.toml", ()))
"""Each file with the path of its table for ctxd. The later file wins."""
FILE_BYTES_MAX = 512 << 10  # ten times the largest pyproject.toml in practice
KEYS_MAX = 100  # there are a dozen settings; the file is searched once for each key
PROBLEMS_MAX = 10  # reported for one file
WITHOUT_FILES = ("builtin", "none")
"""Models that need no fetching."""
_DAEMON_WIDE = ("idle_exit_seconds", "workers", "worker_memory_mib")
"""No project may set these: one daemon serves all projects."""
_PARSE_SECONDS_MAX = 2  # of processor time; the largest pyproject.toml takes 0.05
_PARSE_WALL_SECONDS_MAX = 30  # for a busy machine
_PARSE_BYTES_MAX = 512 << 20
_LIST_SECONDS_MAX = 60  # importing fastembed takes 0.5
_VALUE_CHARS_MAX = 60  # of a value in a message

# A key with 64,000 dots takes tomllib minutes, and 1,000 brackets end in a RecursionError. So it runs in a process that can be
# ended.
_PARSER = """
import json, resource, sys, tomllib
seconds, size, *keys = sys.argv[1:]
for limit, value in ((resource.RLIMIT_CPU, int(seconds)), (resource.RLIMIT_AS, int(size))):
    try:
        resource.setrlimit(limit, (value, value))
    except (ValueError, OSError):
        pass
try:
    table = tomllib.loads(sys.stdin.buffer.read().decode())
    for key in keys:
        table = table.get(key, {}) if isinstance(table, dict) else table
    answer = json.dumps({"table": table}, default=str)
except UnicodeDecodeError as error:
    answer = json.dumps({"error": f"is not UTF-8 (byte {error.start})"})
except ValueError as error:
    answer = json.dumps({"error": f"is not TOML: {error}"})
except (RecursionError, MemoryError):
    answer = json.dumps({"error": "is nested too deep"})
print(answer)
"""


def load(places: Places, root: str, environment: dict[str, str]) -> InForce:
    """The settings in force for a project. Raises SettingsError for the user's mistakes, never for the project's own files."""
    users = config.load(places.settings_file, environment)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in FILES:
        path = os.path.join(root, name)
        own, wrong = _usable(path, keys, users, places)
        values |= own
        sources |= dict.fromkeys(own, path)
        problems += (
            wrong
            if len(wrong) <= PROBLEMS_MAX
            else [*wrong[:PROBLEMS_MAX], f"{path}: and {len(wrong) - PROBLEMS_MAX} more"]
        )
    for key, source in users.sources.items():
        if source.startswith("CTXD_"):  # a variable overrides every file
            values.pop(key, None)
            sources.pop(key, None)
    settings = Settings(**{**users.settings.model_dump(), **values})
    return InForce(settings, {**users.sources, **sources}, problems)


def stamps(root: str) -> tuple[tuple[int, int, int] | None, ...]:
    """Stamps of the settings files; they differ after one of the files was written."""
    found: list[tuple[int, int, int] | None] = []
    for name, _ in FILES:
        try:
            status = os.lstat(os.path.join(root, name))
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)


def _usable(path: str, keys: tuple[str, ...], users: InForce, places: Places) -> tuple[dict[str, Any], list[str]]:
    """The settings in a file that may take effect, and the problems of the others."""
    folder, name = os.path.split(os.fsencode(path))
    try:
        data = read_small(folder, name, FILE_BYTES_MAX)
    except Unreadable as error:
        return {}, [] if error.reason == "missing" else [f"{path} {WORDS[error.reason]}; the user's settings hold"]
    if keys and keys[-1].encode() not in data:  # the file does not mention ctxd: no matter if it is broken
        return {}, []
    try:
        table = _parsed(data, keys)
    except SettingsError as error:
        return {}, [f"{path} {error}; the user's settings hold"]
    if not isinstance(table, dict):
        line = config.line_of(keys[-1], data)
        return {}, [f"{path}, line {line}: {'.'.join(keys)} must be a table of settings; the user's settings hold"]
    if len(table) > KEYS_MAX:
        return {}, [f"{path} has more than {KEYS_MAX} settings; the user's hold"]
    usable: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in table.items():
        place = f"{path}, line {config.line_of(key, data)}"
        try:
            checked = config.check(key, value, place)
            reason = _goes_further(key, checked, users.settings, places)
        except SettingsError as error:
            problems.append(str(error))
            continue
        if reason is None:
            usable[key] = checked
        else:
            left = getattr(users.settings, key)
            problems.append(f"{place}: {key} = {_short(value)}: {reason}; it stays {_short(left)}")
    return usable, problems


def _parsed(data: bytes, keys: tuple[str, ...]) -> Any:
    command = [sys.executable, "-I", "-S", "-c", _PARSER, str(_PARSE_SECONDS_MAX), str(_PARSE_BYTES_MAX), *keys]
    try:
        done = subprocess.run(command, check=False, input=data, capture_output=True, timeout=_PARSE_WALL_SECONDS_MAX)
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError, RecursionError):
        raise SettingsError("takes too much to parse") from None
    if "error" in answer:
        raise SettingsError(answer["error"])
    return answer["table"]


def _goes_further(key: str, value: Any, users: Settings, places: Places) -> str | None:
    """Why a project may not set this; None if it may."""
    allowed = getattr(users, key)
    if value == allowed:
        return None
    if key in _DAEMON_WIDE:
        return f"it is one for all projects; set it in {places.settings_file}"
    if key == "allow_secrets":
        return None if not value else f"a project cannot allow secrets; set it in {places.settings_file}"
    if key == "model":
        if value in WITHOUT_FILES or (":" not in value and value in _fetched(places.models)):
            return None
        return f"a project can choose only a model that is on this machine; set it in {places.settings_file}, or CTXD_MODEL"
    return None if value < allowed else "a project can only lower it"


def _fetched(models: str) -> set[str]:
    """Names of the models on this machine. A separate process lists them, because importing fastembed takes 70 MB."""
    command = [sys.executable, "-P", "-m", "ctxd.indexer.meaning.models", "list", models]
    try:
        done = subprocess.run(command, check=False, capture_output=True, cwd="/", timeout=_LIST_SECONDS_MAX)
        return {one["name"] for one in json.loads(done.stdout) if one["here"]}
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return set()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _VALUE_CHARS_MAX else text[:_VALUE_CHARS_MAX] + "..."
