"""`ctxd model`: lists, fetches and chooses embedding models.

Invariant: only `pull`, and `use` of a model that is not on this machine, use the network. A setting is written only if the model
can be used, and nothing else in the file changes.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from ctxd.daemon import protocol
from ctxd.mcp_frontend import render
from ctxd.mcp_frontend.client import ask, ask_without_starting
from ctxd.mcp_frontend.launch import DaemonError, Launcher, hello
from ctxd.mcp_frontend.verbs import fields_of, restart

if TYPE_CHECKING:
    import argparse

WITHOUT_FILES = ("builtin", "none")
OWN = (
    ("path:FOLDER", "an ONNX model of your own: a folder with model.onnx and tokenizer.json"),
    ("openai:NAME", "an OpenAI-compatible endpoint: OPENAI_API_KEY, CTXD_OPENAI_BASE_URL where the daemon is started"),
    ("none", "no vectors; questions are answered by words and names"),
)


def list_models(options: argparse.Namespace) -> int:
    models = _known()
    if options.json:
        render.print_json({"models": models})
        return 0
    screen = render.Screen()
    rows = [("model", "dimension", "size", "here", "description")]
    rows += [
        (
            one["name"],
            str(one["dimension"]),
            render.amount(one["bytes"]) if one["bytes"] else "-",
            "yes" if one["here"] else "no",
            one["description"].partition(", Prefixes")[0],
        )
        for one in models
    ]
    rows += [(name, "", "", "", meaning) for name, meaning in OWN]
    render.table(screen, rows)
    return 0


def use(options: argparse.Namespace) -> int:
    """Write the setting and restart the daemon. Sessions go on; the old vectors answer until the new ones are complete."""
    name = _checked(options.name)
    path = protocol.places().settings_file
    _write_setting(path, name)
    render.say(f"model = {json.dumps(name)} in {path}")
    connection = Launcher().open(hello("status"), start=False)
    if connection is not None:
        connection.close()
        restart(options)
        _tell_if_overridden(name, options)
    return 0


def pull(options: argparse.Namespace) -> int:
    name = _canonical(options.name)
    if name in WITHOUT_FILES or name.startswith(("path:", "openai:")):
        raise DaemonError(f"{name} has nothing to fetch.", "`ctxd model list` shows what can be fetched.")
    _fetch(name)
    render.say(f"{name} is here")
    ask("model", start=False, retry=True)
    return 0


def status(options: argparse.Namespace) -> int:
    found = ask("model", start=False, **fields_of(options))
    if found is None:
        raise DaemonError("No daemon runs.", "`ctxd start` starts one.")
    answer = found["model"]
    if options.json:
        render.print_json(answer)
        return 0
    screen = render.Screen()
    screen.print(render.Painted(answer["root"], render.BOLD))
    screen.print(f"  wanted     {answer['wanted']}")
    dimension = f", {answer['dimension']} dimensions" if answer["dimension"] else ""
    screen.print(f"  answering  {answer['answering'] or 'none'}{dimension}")
    screen.print(f"  embedded   {answer['embedded']:,} of {answer['chunks']:,} chunks")
    progress = answer["progress"]
    if progress["done"] < progress["total"]:
        left = f", {render.duration(progress['eta_seconds'])} left" if progress["eta_seconds"] else ""
        screen.print(f"  progress   {progress['done']:,}/{progress['total']:,} files{left}")
    if answer["problem"]:
        screen.print("  ", render.Painted("problem", render.ATTENTION), f": {answer['problem']}")
    return 0


def _checked(name: str) -> str:
    """The value to write. Fetches its model if it is not on this machine. Raises DaemonError."""
    if name.startswith("path:"):
        folder = os.path.abspath(os.path.expanduser(name.removeprefix("path:")))
        models = [file for place in (folder, os.path.join(folder, "onnx")) for file in _names_in(place)]
        if not any(file.endswith(".onnx") for file in models):
            raise DaemonError(
                f"There is no .onnx file in {folder}.", "Name a folder with model.onnx and tokenizer.json."
            )
        return f"path:{folder}"
    if name.startswith("openai:"):
        if name == "openai:":
            raise DaemonError("openai: needs the name of a model.", "For example openai:text-embedding-3-small.")
        return name
    name = _canonical(name)
    if name not in WITHOUT_FILES and not next(one["here"] for one in _known() if one["name"] == name):
        _fetch(name)
    return name


def _canonical(name: str) -> str:
    """The listed name, for a name in any case. The last part of a name is enough if only one model has it."""
    if name in WITHOUT_FILES or name.startswith(("path:", "openai:")):
        return name
    known = [one["name"] for one in _known()] + ["none"]
    found = [one for one in known if name.lower() in {one.lower(), one.lower().rpartition("/")[2]}]
    if len(found) == 1:
        return found[0]
    parts = {one.lower(): one for one in known} | {one.lower().rpartition("/")[2]: one for one in known}
    near = found or [parts[one] for one in difflib.get_close_matches(name.lower(), parts, 3, 0.5)]
    hint = f"Did you mean {' or '.join(dict.fromkeys(near))}? " if near else ""
    raise DaemonError(f"There is no model {name!r}.", f"{hint}`ctxd model list` shows them.")


def _known() -> list[dict[str, Any]]:
    done = subprocess.run([*_command("list")], capture_output=True, cwd="/", check=False)
    if done.returncode:
        raise DaemonError("The models cannot be listed.", done.stderr.decode(errors="replace").strip()[-500:])
    return json.loads(done.stdout)


def _fetch(name: str) -> None:
    """Fetch a model. Its progress goes to our stderr."""
    done = subprocess.run([*_command("pull"), name], stderr=None, cwd="/", check=False)
    if done.returncode:
        raise DaemonError(f"{name} was not fetched.", "Nothing was changed: the model used so far goes on answering.")


def _command(action: str) -> list[str]:
    return [sys.executable, "-P", "-m", "ctxd.indexer.meaning.models", action, protocol.places().models]


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _write_setting(path: str, name: str) -> None:
    """Set `model` in a settings file and keep the rest as it is. Raises DaemonError if the file is not valid TOML."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        text = ""
    line = f"model = {json.dumps(name, ensure_ascii=False)}"
    lines = text.splitlines()
    end = next((at for at, one in enumerate(lines) if re.match(r"\s*\[", one)), len(lines))
    known = next((at for at in range(end) if re.match(r"""\s*["']?model["']?\s*=""", lines[at])), None)
    if known is not None:
        lines[known] = line
    else:
        lines.insert(end, line)
    written = "\n".join(lines) + "\n"
    try:
        expected = {**tomllib.loads(text), "model": name}
        if tomllib.loads(written) != expected:
            raise DaemonError(f"{path} is written in a way that cannot be changed safely.", f"Write into it: {line}")
    except tomllib.TOMLDecodeError as error:
        raise DaemonError(f"{path}: {error}", "Fix it, then try again.") from None
    protocol.make_private_folder(os.path.dirname(path))
    target = os.path.realpath(path)  # a link into somebody's dotfiles stays a link
    temporary = target + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(written)
    os.replace(temporary, target)


def _tell_if_overridden(name: str, options: argparse.Namespace) -> None:
    """Say so if a variable or a project's own file overrides the setting."""
    settings = ask_without_starting("config", **fields_of(options))["settings"]
    row = next(one for one in settings if one["key"] == "model")
    if row["value"] != name:
        render.complain(f"ctxd: in this project {row['source']} says {row['value']}, and wins")
