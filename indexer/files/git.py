"""Asks git about paths: which are ignored, which are tracked. The one place that runs git.

Invariant: no setting of a repository can run a program, reach the network or write. Every call has the same options and
an environment without GIT_* variables from outside.
"""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

from ctxd.indexer.decode import Unreadable
from ctxd.indexer.project_file import read_small

if TYPE_CHECKING:
    from typing import IO

ANSWER_SECONDS_MAX = 5  # one answer takes 5-50 microseconds; after 5 s git hangs (a dead network disk, a FIFO)
ANSWER_SECONDS_PER_PATH = 0.001  # twenty times the usual; hostile rules may take a second for each path
RUN_SECONDS_MAX = 60  # 80,000 paths take 1 s; a FIFO in place of git's index would block the project for ever
OUTPUT_BYTES_MAX = 256 << 20  # 500,000 paths take 50 MB; a hostile index of a megabyte can list gigabytes
LINK_BYTES_MAX = 4096  # of a `.git` file: one path
FOLDERS_DEEP_MAX = 20
"""git keeps a list of rules for each folder above a path. At the 25th it moves all lists, and its own pointers to the
names of the rules' files dangle: `check-ignore -v` then answers wrongly or crashes, for shallow paths too (2.39)."""
MANY_PATHS = 1000
"""From this many paths on, it pays to start a process (3 ms) that lists only the ignored ones, without their rules."""
PIPE_BYTES = 65536  # a pipe takes this much at once
ERROR_BYTES_MAX = 1000  # of git's error message, for `ctxd status`


class GitError(Exception):
    """git cannot answer for this repository."""


class Tracked:
    """The paths of a git index, held as hashes: 7 MB for 80,000 paths."""

    def __init__(self, listing: bytes = b"") -> None:
        paths = listing.split(b"\0")[:-1]
        self.digest = digest_of(listing)
        self._files = set(map(hash, paths))
        folders: set[bytes] = set()
        for folder in {path.rpartition(b"/")[0] for path in paths}:
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition(b"/")[0]  # noqa: PLW2901 (climbs to the root)
        self._folders = set(map(hash, folders))

    def has(self, path: bytes, *, is_folder: bool) -> bool:
        """True if a path is tracked, or a folder with tracked files. The caller knows if it is a folder on disk now."""
        key = hash(path)
        return key in self._files or (is_folder and key in self._folders)

    def added_since(self, old: Tracked, listing: bytes) -> list[bytes]:
        """The paths of our listing that `old` does not have."""
        added = self._files - old._files
        return [path for path in listing.split(b"\0")[:-1] if hash(path) in added] if added else []


def digest_of(listing: bytes) -> bytes:
    return hashlib.blake2b(listing, digest_size=16).digest()


class Git:
    """One repository as seen from one folder inside its work tree; paths are relative to that folder."""

    def __init__(self, binary: str, git_folder: bytes, work_tree: bytes, folder: bytes) -> None:
        self.git_folder = git_folder
        self.work_tree = work_tree
        self.folder = folder
        self._command: list[str | bytes] = [
            binary,
            *("-c", "safe.directory=*"),  # the daemon may read what its user may read, whoever owns it
            *("-c", "core.fsmonitor=false"),  # it could name a program
            *("-c", f"core.hooksPath={os.devnull}"),
            b"--git-dir=" + git_folder,
            b"--work-tree=" + work_tree,
        ]
        self._slashes_max = FOLDERS_DEEP_MAX - os.path.relpath(folder, work_tree).count(b"/")
        self._process: subprocess.Popen[bytes] | None = None
        self._running: subprocess.Popen[bytes] | None = None

    def ignored(self, paths: list[bytes]) -> list[bool]:
        """For each path: True if a rule ignores it or a folder above it, tracked or not. Raises GitError."""
        if len(paths) < MANY_PATHS and all(path.count(b"/") <= self._slashes_max for path in paths):
            return self._ignored_in_dialogue(paths)
        ignored = set(self._ignored_at_once(paths))
        return [path in ignored for path in paths]

    def _ignored_in_dialogue(self, paths: list[bytes]) -> list[bool]:
        verdicts: list[bool] = []
        while len(verdicts) < len(paths):
            rest = paths[len(verdicts) :]
            # git keeps the rules of the folder it looked at last. A question about a name at the top makes it read the
            # ignore files below again: they may have come or gone with a whole folder.
            answers = self._ask([b"ctxd", *rest])
            if not answers:
                self.close()
                answers = self._ask([b"ctxd", *rest])
                if not answers:
                    self.close()
                    raise GitError("git check-ignore does not answer")
            verdicts += answers[1:]
            if len(answers) <= len(rest):
                # git gave up on the next path: a parent has just become a link. An event will report it.
                self.close()
                verdicts.append(True)
        return verdicts

    def ignores(self, path: bytes) -> bool:
        """True if one path is ignored. The process ends after this question."""
        try:
            return self.ignored([path])[0]
        finally:
            self.close()

    def rule_of(self, path: bytes) -> tuple[bytes, int, bytes] | None:
        """The rule that decides about a path or a folder above it: its file (absolute), its line number, its pattern.

        None if no rule does, or if the path lies too deep for git to say. Raises GitError.
        """
        if path.count(b"/") > self._slashes_max:
            return None
        try:
            done = subprocess.run(
                [*self._command, "check-ignore", "--stdin", "-z", "-v", "--no-index"],
                check=False,
                cwd=self.folder,
                env=_environment(),
                input=_question([path]),
                capture_output=True,
                timeout=ANSWER_SECONDS_MAX,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(str(error)) from error
        fields = done.stdout.split(b"\0")
        if len(fields) < 4 or not fields[0]:
            return None
        return os.path.normpath(os.path.join(self.work_tree, fields[0])), int(fields[1]), fields[2]

    def _ignored_at_once(self, paths: list[bytes]) -> list[bytes]:
        """The ignored ones of the paths, from processes that need not name the rule. Raises GitError."""
        end = time.monotonic() + ANSWER_SECONDS_MAX + ANSWER_SECONDS_PER_PATH * len(paths)
        command = ("check-ignore", "--stdin", "-z", "--no-index")
        ignored: list[bytes] = []
        parts = [paths]
        while parts:
            part = parts.pop()
            status, output, error = self._run(*command, question=part, end=end)
            if status in {0, 1}:
                ignored += (path.removeprefix(b"./") for path in output.split(b"\0")[:-1])
            elif part is paths and self._run(*command, question=[b"ctxd"], end=end)[0] not in {0, 1}:
                raise GitError(_last_words("check-ignore", status, error))  # it would fail for each path
            elif len(part) == 1:
                ignored += part  # a parent has just become a link
            else:
                middle = len(part) // 2
                parts += (part[:middle], part[middle:])
        return ignored

    def tracked(self) -> bytes:
        """All tracked paths at or below the folder, each ended by a NUL. Raises GitError."""
        status, output, error = self._run("ls-files", "-c", "-z", end=time.monotonic() + RUN_SECONDS_MAX)
        if status != 0:
            raise GitError(_last_words("ls-files", status, error))
        return output

    def _run(self, *arguments: str, question: list[bytes] | None = None, end: float) -> tuple[int, bytes, bytes]:
        """Exit status, output and errors of one process. Kills it and raises GitError if it is not done at `end`."""
        with tempfile.TemporaryFile() as errors:
            process = self._running = self._popen(*arguments, errors=errors)
            try:
                output = _exchange(process, _question(question or []), None, end)
                status = process.wait(max(0.0, end - time.monotonic()))
            except (GitError, subprocess.TimeoutExpired) as error:
                raise GitError(f"git {arguments[0]} does not answer: {error}") from error
            finally:
                self._running = None
                _end(process)
            errors.seek(0)
            return status, output, errors.read(ERROR_BYTES_MAX)

    def _popen(self, *arguments: str, errors: IO[bytes] | int) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                [*self._command, *arguments],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error}") from error
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process

    def close(self) -> None:
        """End the process that answers; the next question starts a new one, which reads all rules again."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)

    def stop(self) -> None:
        """Have a question that another thread waits for fail now."""
        for process in (self._process, self._running):
            if process is not None:
                process.kill()

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def _ask(self, paths: list[bytes]) -> list[bool]:
        """The verdicts that git gave, from the first path on; fewer than paths if it ended. Raises GitError."""
        if self._process is None:
            self._process = self._popen(
                "check-ignore", "--stdin", "-z", "-v", "-n", "--no-index", errors=subprocess.DEVNULL
            )
        end = time.monotonic() + ANSWER_SECONDS_MAX + ANSWER_SECONDS_PER_PATH * len(paths)
        try:
            answer = _exchange(self._process, _question(paths), 4 * len(paths), end)
        except GitError as error:
            self.close()  # otherwise it would go on
            raise GitError(f"git check-ignore does not answer: {error}") from error
        fields = answer.split(b"\0")
        # Each answer is source, line, pattern, path; the first three are empty if no rule matches.
        complete = (len(fields) - 1) // 4 * 4
        return [
            bool(source) and not pattern.startswith(b"!")
            for source, pattern in zip(fields[0:complete:4], fields[2:complete:4], strict=True)
        ]


def git_folder_of(folder: bytes) -> bytes | None:
    """The git folder that `folder/.git` is or names; None if it holds no repository."""
    path = folder + b"/.git"
    if not os.path.isdir(path):
        try:
            link = read_small(folder, b".git", LINK_BYTES_MAX)
        except Unreadable:
            return None
        if not link.startswith(b"gitdir: ") or b"\0" in link:
            return None
        path = os.path.join(folder, link[8:].rstrip(b"\r\n"))
    common = common_folder_of(path)
    is_repository = (
        os.path.lexists(path + b"/HEAD") and os.path.isdir(common + b"/objects") and os.path.isdir(common + b"/refs")
    )
    return os.path.normpath(path) if is_repository else None


def common_folder_of(git_folder: bytes) -> bytes:
    """The folder that all worktrees of a repository share; it holds `info/exclude`."""
    try:
        link = read_small(git_folder, b"commondir", LINK_BYTES_MAX).rstrip(b"\r\n")
    except Unreadable:
        return git_folder
    return git_folder if b"\0" in link else os.path.normpath(os.path.join(git_folder, link))


def is_worktree_of(folder: bytes, git_folder: bytes) -> bool:
    """True if a linked worktree's git folder names `folder` in return: anybody can write a `.git` file naming yours."""
    try:
        link = read_small(git_folder, b"gitdir", LINK_BYTES_MAX).rstrip(b"\r\n")
    except Unreadable:
        return False
    return b"\0" not in link and os.path.realpath(os.path.join(git_folder, link)) == os.path.realpath(folder + b"/.git")


def user_ignore_files() -> list[bytes]:
    """The default paths of the user's files that can change what git ignores."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return [
        os.fsencode(path)
        for path in (
            os.path.join(config, "git", "ignore"),
            os.path.join(config, "git", "config"),
            os.path.join(home, ".gitconfig"),
        )
    ]


def make_empty_repository(binary: str, folder: str) -> bytes:
    """Make an empty bare repository, for questions about folders outside any repository. Raises GitError."""
    if not os.path.exists(os.path.join(folder, "HEAD")):
        os.makedirs(folder, exist_ok=True)
        command = [binary, "-c", "init.templateDir=", "init", "--quiet", "--bare", folder]
        try:
            done = subprocess.run(
                command,
                check=False,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=RUN_SECONDS_MAX,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitError(str(error)) from error
        if done.returncode != 0:
            raise GitError(os.fsdecode(done.stderr).strip())
    return os.fsencode(folder)


def _question(paths: list[bytes]) -> bytes:
    """The input for git: a path with a leading colon gets `./`, or git would take it for pathspec magic."""
    return b"".join((b"./" if path[:1] == b":" else b"") + path + b"\0" for path in paths)


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
        # An index may name missing objects, and the configuration a place to fetch them: `ext::` runs a program.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def _exchange(process: subprocess.Popen[bytes], question: bytes, fields: int | None, end: float) -> bytes:
    """Send a whole question and read until `fields` NULs came back or git ended. Without `fields` it is the last one.

    Raises GitError if git hangs, takes longer than until `end`, or does not stop talking.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    to_git, from_git = process.stdin.fileno(), process.stdout.fileno()
    answer = bytearray()
    rest = memoryview(question)
    poller = select.poll()
    poller.register(from_git, select.POLLIN)
    poller.register(to_git, select.POLLOUT)
    while fields is None or fields > 0:
        left = end - time.monotonic()
        ready = poller.poll(1000 * min(left, ANSWER_SECONDS_MAX if fields is not None else left)) if left > 0 else []
        if not ready:
            raise GitError("it took too long")
        for descriptor, _ in ready:
            if descriptor == to_git:
                try:
                    rest = rest[os.write(to_git, rest[:PIPE_BYTES]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    rest = rest[len(rest) :]
                if not rest:
                    poller.unregister(to_git)
                    if fields is None:
                        process.stdin.close()
            else:
                data = os.read(from_git, PIPE_BYTES)
                if not data:
                    return bytes(answer)
                answer += data
                if len(answer) > OUTPUT_BYTES_MAX:
                    raise GitError(f"it said more than {OUTPUT_BYTES_MAX >> 20} MiB")
                if fields is not None:
                    fields -= data.count(b"\0")
    return bytes(answer)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()


def _last_words(verb: str, status: int, errors: bytes) -> str:
    return os.fsdecode(errors).strip() or f"git {verb} ended with {status}"
