"""Why a file is or is not searched: the answer of `ctxd why`.

Invariant: the verdict comes from the walker and the file table, as for every answer; only the words are made here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages
from ctxd.indexer.decode import BINARY
from ctxd.indexer.files.file_table import is_hidden

if TYPE_CHECKING:
    from ctxd.daemon.projects.project import Project
    from ctxd.indexer.files.file_table import File
    from ctxd.indexer.files.walker import Judgement

_REASONS = {
    "missing": "there is no such file",
    "special": "it is neither a file nor a folder",
    "git": "git's own folder is never searched",
    "secret": "its name says that it holds secrets; the setting allow_secrets includes such files",
    "unseen": "it has not been looked at yet; `ctxd status` shows how far the project is",
    "outside": "it lies outside the project",
    "binary": "it is binary: its text holds a NUL",
    "unreadable": "it cannot be read",
    "hidden": "it is hidden: in the index, but searched only where a path or --hidden asks for it",
}


def why(project: Project, asked: str) -> dict[str, Any]:
    """`{path, searched, reason, because, indexed, rule, language, symbols, notes}` of an absolute path.

    `searched` is true if a query that names no path searches it. `reason` is one word and `because` a sentence; both are None
    if it is searched.
    """
    path = _inside(project.root, os.path.normpath(os.fsencode(asked)))
    if path is None:
        return _answer(asked, reason="outside")
    shown = path.decode("utf-8", "backslashreplace") or "."
    stale = project.files_now()
    with project.lock:
        judgement = project.walker.explain(path) if path else None
        if judgement is not None and not judgement.accepted:
            return _answer(shown, reason=judgement.reason, because=_because(project, judgement), rule=judgement.rule)
        file = project.table.files.get(path)
        below = sum(1 for _ in project.table.under(path)) if file is None else 0
    notes = _notes(project, judgement)
    if stale:
        notes.append(f"{stale['reason']}: this answer may be slightly old")
    rule = judgement.rule if judgement is not None else None
    if file is not None:
        return _of_file(project, file, shown, rule, notes)
    if os.path.isdir(project.root + b"/" + path):
        return _answer(
            shown,
            reason="hidden" if is_hidden(path) else None,
            rule=rule,
            notes=[f"{below} file{'s' * (below != 1)} in the index", *notes],
        )
    return _answer(shown, reason="unseen", rule=rule, notes=notes)


def _of_file(
    project: Project, file: File, shown: str, rule: tuple[bytes, int, bytes] | None, notes: list[str]
) -> dict[str, Any]:
    language = languages.language_of(file.path)
    content = file.content
    reason = "hidden" if is_hidden(file.path) else None
    symbols = None
    if content is None:
        if project.indexing.has_given_up(file):
            reason = "unreadable"
        else:
            notes = ["not indexed yet: a search reads the file itself", *notes]
    elif content.form == BINARY:
        reason = "binary"
    else:
        # All files with the same bytes share a content, whatever their names.
        symbols = content.symbols if languages.parsed_language_of(file.path) is not None else "none"
        notes = [_of_symbols(project, content.id, symbols), *notes]
    name = language.name if language is not None else None
    return {
        **_answer(shown, reason=reason, rule=rule, notes=notes),
        "indexed": content is not None,
        "language": name,
        "symbols": symbols,
    }


def _of_symbols(project: Project, content_id: int, symbols: str) -> str:
    match symbols:
        case "parsed":
            return "its symbols are indexed"
        case "pending":
            return "its symbols are being indexed"
        case "outdated":
            return "its symbols are indexed, and are being indexed again after an upgrade"
        case "too_large":
            return "too large for symbols; its text is searched"
        case "failed":
            return f"its symbols could not be read: {project.symbols.error_of(content_id) or 'for an unknown reason'}"
    return "its kind has no symbols"


def _answer(
    shown: str,
    *,
    reason: str | None,
    because: str | None = None,
    rule: tuple[bytes, int, bytes] | None = None,
    notes: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "path": shown,
        "searched": reason is None,
        "reason": reason,
        "because": because or (_REASONS[reason] if reason is not None else None),
        "indexed": False,
        "rule": None if rule is None else {"file": _text(rule[0]), "line": rule[1], "pattern": _text(rule[2])},
        "language": None,
        "symbols": None,
        "notes": notes or [],
    }


def _because(project: Project, judgement: Judgement) -> str:
    match judgement.reason:
        case "ignored":
            return f"{_rule(project, judgement)} leaves out {_text(judgement.path)}"
        case "symlink":
            target = _text(os.readlink(project.root + b"/" + judgement.path))
            return f"{_text(judgement.path)} is a symbolic link to {target}; links are not followed"
    return _REASONS[judgement.reason]


def _notes(project: Project, judgement: Judgement | None) -> list[str]:
    if judgement is None or judgement.rule is None:
        return []
    match judgement.reason:
        case "tracked":
            return [f"tracked by git, although {_rule(project, judgement)} leaves it out"]
        case _:
            return [f"included by {_rule(project, judgement)}"]


def _rule(project: Project, judgement: Judgement) -> str:
    if judgement.rule is None:
        return "git"
    file, line, pattern = judgement.rule
    return f"{_text(file.removeprefix(project.root + b'/'))}, line {line} ({_text(pattern)})"


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _inside(root: bytes, path: bytes) -> bytes | None:
    """A path relative to the root: `b""` for the root itself, None outside it. Links below the root are not resolved."""
    for one in (path, os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))):
        if one == root:
            return b""
        if one.startswith(root + b"/"):
            return one[len(root) + 1 :]
    return None
