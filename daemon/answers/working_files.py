"""The files of one edit while it is prepared: read once, changed in memory, then all written or none.

Invariant: the new bytes were made from the bytes that were read. If a file has changed meanwhile, the whole edit is prepared
again; if the caller passed an expected hash, the edit is refused.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

from ctxd.daemon.answers.live_elements import readable
from ctxd.daemon.answers.page import TOKEN_BYTES
from ctxd.daemon.edits.editor import backup_of, hash_of
from ctxd.daemon.edits.replacement import EDIT_BYTES_MAX, FileChange, FileChanged, read_to_edit, too_large
from ctxd.daemon.errors import ToolError
from ctxd.daemon.tool import Call
from ctxd.indexer.documents.draft import Draft, DraftError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ctxd.indexer.documents.unified_diff import Change

    Answer = TypeVar("Answer")

TRIES = 5  # while other programs write to the files
DIFF_BYTES_MAX = 15_000 * TOKEN_BYTES
_HASH = re.compile("sha256:[0-9a-f]{64}")


def worked_out(make: Callable[[], Answer], *, knows_hash: bool) -> Answer:
    """The result of `make`, which is called again if a file changes meanwhile. Raises ToolError."""
    name = ""
    for _ in range(TRIES):
        try:
            return make()
        except FileChanged as error:
            name = os.fsdecode(error.path)
            if knows_hash:
                raise _changed(name) from None
    raise ToolError(f"{name!r} is written to all the time", "Nothing was changed; call again", name="RuntimeError")


class WorkingFile:
    def __init__(self, path: bytes, argument: str, data: bytes, links: int) -> None:
        """Open a file for changes in memory. Raises ToolError for a binary file."""
        self.path = path
        self.argument = argument
        self.data = data
        self.new = data
        """After WorkingFiles.write: the bytes that the file holds, or would hold after a dry run."""
        self._links = links
        try:
            self.draft = Draft(data)
        except DraftError as error:
            raise ToolError(f"{argument!r} cannot be edited: {error}", "Name a text file") from None

    def change(self, changes: Sequence[Change]) -> None:
        """Make changes in memory. Raises ToolError."""
        try:
            self.draft.change(changes)
        except DraftError as error:
            raise self._impossible(error) from None

    def finish(self) -> None:
        """Make the new bytes. Raises ToolError."""
        try:
            self.new = self.draft.to_bytes()
        except DraftError as error:
            raise self._impossible(error) from None

    @property
    def is_changed(self) -> bool:
        return self.new != self.data

    def notes(self) -> list[str]:
        """Remarks about the edit of this file."""
        notes = [self.draft.note] if self.draft.note else []
        if not self.is_changed:
            return [*notes, "the file already has this text: nothing was written"]
        if self._links > 1:
            notes.append(f"the file had {self._links} names (hard links): the others keep the old content")
        return notes

    def _impossible(self, error: DraftError) -> ToolError:
        return ToolError(f"{self.argument!r} cannot be edited this way: {error}", "Nothing was changed")


class WorkingFiles:
    def __init__(self, call: Call) -> None:
        self._call = call
        self._files: dict[bytes, WorkingFile] = {}
        self._bytes = 0

    def __iter__(self) -> Iterator[WorkingFile]:
        return iter(self._files.values())

    def open(self, argument: str, expected_hash: str | None) -> WorkingFile:
        """The file that a caller names, with the changes made until now. Raises ToolError."""
        if expected_hash is not None and not _HASH.fullmatch(expected_hash):
            raise ToolError(
                f"expectedHash {expected_hash[:80]!r} is no hash", "Pass the field hash of an answer as it was given"
            )
        path = editable(self._call, argument)
        file = self._files.get(path)
        if file is None:
            data, status = read_to_edit(self._call.view.project.root, path)
            self._bytes += len(data)
            if self._bytes > EDIT_BYTES_MAX:
                raise too_large("the files of this edit are larger together")
            file = self._files[path] = WorkingFile(path, argument, data, status.st_nlink)
        if expected_hash is not None and hash_of(file.data) != expected_hash:
            raise _changed(argument)
        return file

    def write(self, tool: str, *, dry_run: bool, backup: bool) -> dict[str, Any]:
        """Make the edit, unless `dry_run`. Returns the answer's fields about it. Raises FileChanged, ToolError."""
        for file in self:
            file.finish()
        changed = [file for file in self if file.is_changed]
        if dry_run:
            return {"dryRun": True, **self._diff(changed)}
        root = self._call.view.project.root
        changes: list[FileChange] = []
        copies: list[str] = []
        for file in changed:
            change = FileChange(file.path, file.data, file.new)
            copy = backup_of(root, change) if backup else None
            if copy is not None:
                copies.append(self._call.view.shown(copy.path))
                changes.append(copy)
            changes.append(change)
        if changes:
            self._call.view.project.editor.commit(tool, root, changes, stop=self._call.stop)
        return {"backup": copies} if copies else {}

    def _diff(self, changed: list[WorkingFile]) -> dict[str, Any]:
        diff = "".join(file.draft.diff(self._call.view.shown(file.path)) for file in changed)
        if len(diff) <= DIFF_BYTES_MAX:
            return {"diff": diff}
        return {"diff": diff[: diff.rfind("\n", 0, DIFF_BYTES_MAX) + 1 or DIFF_BYTES_MAX], "diffTruncated": True}


def editable(call: Call, argument: str) -> bytes:
    """The path of a file that a caller may change: a readable one that is not inside a `.git`. Raises ToolError."""
    path = readable(call.view, argument)
    if b".git" in path.lower().split(b"/"):
        raise ToolError(f"{argument!r} is git's own and never written", "Run git instead", name="PermissionError")
    return path


def _changed(argument: str) -> ToolError:
    return ToolError(
        f"{argument!r} has changed since it was read: it is not what expectedHash names",
        "Nothing was changed; read it again, then repeat the edit with its new hash",
    )
