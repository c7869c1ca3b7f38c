"""Finds the files of a project that count: regular files that git, `.ignore`, `.ctxdignore` and names of secrets leave.

Invariant: a path is accepted only if its folder is, so the walker never enters an ignored folder or `.git`.
One judgement (`_judge`) serves the first listing, each change and each sweep; they cannot disagree.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxd.indexer.files import git as git_module
from ctxd.indexer.files.git import Git, GitError, Tracked
from ctxd.indexer.files.ignore import IgnoreFile, Rule, read_ignore_file
from ctxd.indexer.files.secret_names import is_secret
from ctxd.indexer.project_file import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Known = Callable[[bytes], tuple[set[bytes], set[bytes]]]

OWN_IGNORE_NAMES = (b".ctxdignore", b".ignore")
"""The stronger first; both overrule git."""
IGNORE_NAMES = frozenset((*OWN_IGNORE_NAMES, b".gitignore"))

RULES_OF_PROJECT_MAX = 100_000  # of all its ignore files that we read: 200 MB; the kernel has 2,000

GIT_PROCESSES_MAX = 4
"""Processes of `git check-ignore` kept alive between questions; a project may hold hundreds of submodules."""

TEMPORARY_PREFIX, TEMPORARY_SUFFIX = b".ctxd-", b".tmp"
"""Parts of the names of files that are about to replace another file: they never count."""


def stamp_of(status: os.stat_result) -> int:
    """A signed 64-bit number that changes whenever inode, size, modification time or change time do."""
    return hash((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@dataclass(slots=True)
class Listing:
    """All files that count, and all folders that may hold such files (the root is `b""`)."""

    files: dict[bytes, os.stat_result]
    directories: set[bytes]


@dataclass(slots=True)
class Scan:
    """The accepted entries of one folder, as they are on disk."""

    files: dict[bytes, os.stat_result] = field(default_factory=dict)
    folders: set[bytes] = field(default_factory=set)
    rules_changed: bool = False
    """True if paths accepted before, at or below this folder, must be judged again."""
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why a path counts or does not."""

    accepted: bool
    path: bytes
    """The path that decided: the path itself, or a folder above it."""
    reason: str = ""
    """"missing", "symlink", "special" (neither file nor folder), "git" (its own folder), "secret", "ignored", "unseen"
    (not looked at yet); for an accepted path "included" (by an own rule) or "tracked" (although a rule ignores it)."""
    rule: tuple[bytes, int, bytes] | None = None
    """File (absolute), line and pattern of the rule, if one decided and is known."""


class Walker:
    """The rules of one project. Remembers for each folder seen which rules apply; `scan` keeps this up to date."""

    def __init__(self, root: bytes, *, scratch: str, allow_secrets: bool = False) -> None:
        self.root = root
        self.allow_secrets = allow_secrets
        self.problems: set[str] = set()
        """The reasons why git cannot be asked, if any."""
        self.rule_problems: dict[bytes, str] = {}
        """Ignore files that do not count as a whole, and why."""
        self.landmark_revision = 0
        """Grows when `landmarks` may have changed."""
        self._scratch = scratch
        state = os.path.realpath(os.fsencode(os.path.dirname(scratch)))
        self._state_folder = state[len(root) + 1 :] if state.startswith(root + b"/") else None
        """ctxd's own state, if inside the project. It does not count: indexing its own database would never end."""
        self._binary = shutil.which("git")
        self._places: dict[bytes, _Place] = {}
        self._repositories: dict[bytes, _Repository] = {}
        self._reincluded: set[bytes] = set()
        self._own_rules = dict.fromkeys(OWN_IGNORE_NAMES, 0)
        """The number of folders that hold each of these files, mostly 0."""
        self._rules_held = 0

    def list(self, folder: bytes = b"") -> Listing:
        """All paths that count at or below `folder`, which must itself count (the root does)."""
        files: dict[bytes, os.stat_result] = {}
        folders: set[bytes] = set()
        level = [folder]
        while level:
            below: list[bytes] = []
            for path, scan in self.scan(level).items():
                if scan is not None:
                    folders.add(path)
                    files.update(scan.files)
                    below += scan.folders
            level = below
        return Listing(files, folders)

    def scan(
        self,
        paths: Iterable[bytes],
        *,
        known: Known | None = None,
        entering: Callable[[bytes], object] | None = None,
    ) -> dict[bytes, Scan | None]:
        """Look at accepted folders, not at the folders below; None for a path that is no folder any more.

        `known(path)` gives the files and folders accepted there before: they are judged again only if rules changed.
        `entering` is called before a folder is read.
        """
        scans: dict[bytes, Scan | None] = {}
        candidates: list[tuple[bytes, bool]] = []
        statuses: dict[bytes, os.DirEntry[bytes]] = {}
        for path in paths:
            if entering is not None:
                entering(path)
            scan, files, folders = self._read(path, statuses)
            scans[path] = scan
            if scan is None:
                continue
            old_files, old_folders = known(path) if known is not None and not scan.rules_changed else (set(), set())
            scan.folders = folders & old_folders
            _add_statuses(scan, files & old_files, statuses)
            candidates += ((file, False) for file in files - old_files)
            candidates += ((folder, True) for folder in folders - old_folders)
        accepted = self._judge(candidates)
        for path, is_folder in candidates:
            if path in accepted:
                scan = scans[path.rpartition(b"/")[0]]
                assert scan is not None
                if is_folder:
                    scan.folders.add(path)
                else:
                    _add_statuses(scan, (path,), statuses)
        return scans

    def accepts(self, files: Iterable[bytes], folders: Iterable[bytes] = ()) -> set[bytes]:
        """The paths that count. A path does not count if its folder has not been scanned and accepted."""
        candidates = [(path, False) for path in files] + [(path, True) for path in folders]
        return self._judge(
            [
                (path, is_folder)
                for path, is_folder in candidates
                if path.rpartition(b"/")[0] in self._places and not _is_nobodys(path[path.rfind(b"/") + 1 :])
            ]
        )

    def explain(self, path: bytes) -> Judgement:
        """Explain why a path counts or does not: `accepts` judges it and every folder above it in the same way."""
        above = b""
        for name in path.split(b"/"):
            one = above + b"/" + name if above else name
            if name == b".git":
                return Judgement(accepted=False, path=one, reason="git")
            kind = _kind_of(self._absolute(one))
            if above not in self._places and kind != "missing":
                return Judgement(accepted=False, path=above, reason="unseen")
            if kind not in {"file", "folder"}:
                return Judgement(accepted=False, path=one, reason=kind)
            judgement = self._explain(one, is_folder=kind == "folder")
            if not judgement.accepted or one == path:
                return judgement
            above = one
        raise AssertionError("the last name is the path")

    def _explain(self, path: bytes, *, is_folder: bool) -> Judgement:
        accepted = path in self._judge([(path, is_folder)])
        if not accepted and not is_folder and not self.allow_secrets and is_secret(path):
            return Judgement(accepted, path, "secret")
        found = self._own_rule(path, is_folder=is_folder)
        if found is not None:
            return Judgement(accepted, path, "included" if accepted else "ignored", self._place_of(found))
        place = self._places[path.rpartition(b"/")[0]]
        repository = place.repository
        rule = None
        if place.reincluded or repository.git is None:
            found = self._git_rule_read(path, place, is_folder=is_folder)
            rule = self._place_of(found) if found is not None else None
        else:
            with contextlib.suppress(GitError):  # the verdict holds without its reason
                rule = repository.git.rule_of(path[len(repository.folder) + 1 :] if repository.folder else path)
        if not accepted:
            return Judgement(accepted, path, "ignored", rule)
        if rule is not None and not rule[2].startswith(b"!"):
            return Judgement(accepted, path, "tracked", rule)
        return Judgement(accepted, path, rule=rule)

    def _place_of(self, found: tuple[bytes, Rule]) -> tuple[bytes, int, bytes]:
        file, rule = found
        return os.path.join(self.root, file), rule.line, rule.pattern

    def forget_folder(self, path: bytes) -> None:
        """A folder is gone or no longer accepted. The caller reports each folder below it, too."""
        place = self._places.pop(path, None)
        self._reincluded.discard(path)
        if place is not None:
            self._drop_rules(path, place)
        if path in self._repositories:
            self._repositories.pop(path).close()

    def rules_changed(self, folder: bytes) -> None:
        """An ignore file in this folder was written, or one outside the tree that affects it."""
        place = self._places.get(folder)
        if place is not None:
            for name, (_, rules) in place.ignore_files.items():
                self._rules_held -= len(rules.rules) if rules is not None else 0
                place.ignore_files[name] = _UNREAD
            if place.repository.folder == folder:
                place.repository.close()
                place.repository.outer_stamps = ()

    def landmarks(self) -> dict[bytes, set[bytes]]:
        """Folders outside the tree (git's own, and those above the root) that can change the rules; absolute paths.

        Each has the project's folders to scan again after a change in it.
        """
        found: dict[bytes, set[bytes]] = {}
        for folder, place in self._places.items():
            if place.git_entry is not None:
                found.setdefault(self._absolute(folder) + b"/.git", set()).add(folder)
        for folder, repository in self._repositories.items():
            for outer in repository.outer_folders:
                found.setdefault(outer, set()).add(folder)
        return found

    def stop(self) -> None:
        """Have a listing in another thread wait for git no longer."""
        for repository in list(self._repositories.values()):
            if repository.git is not None:
                repository.git.stop()

    def close(self) -> None:
        for repository in self._repositories.values():
            repository.close()

    # Reading one folder

    def _read(
        self, path: bytes, statuses: dict[bytes, os.DirEntry[bytes]]
    ) -> tuple[Scan | None, set[bytes], set[bytes]]:
        """Read the names and kinds of a folder's entries, and update its place among the rules."""
        absolute = self._absolute(path)
        files: set[bytes] = set()
        folders: set[bytes] = set()
        found_rules: dict[bytes, int] = {}
        odd_rules: set[bytes] = set()
        git_entry: int | None = None
        scan = Scan()
        try:
            if path and not stat.S_ISDIR(os.lstat(absolute).st_mode):
                return None, files, folders  # it is a link now, which scandir would follow
            prefix = path + b"/" if path else b""
            with os.scandir(absolute) as entries:
                for entry in entries:
                    name = entry.name
                    if name == b".git":
                        git_entry = entry.inode()
                    elif entry.is_dir(follow_symlinks=False):
                        folders.add(prefix + name)
                    elif entry.is_file(follow_symlinks=False) and not _is_nobodys(name):
                        files.add(prefix + name)
                        statuses[prefix + name] = entry
                        if name in IGNORE_NAMES:
                            found_rules[name] = _stamp(entry)
                    elif name in IGNORE_NAMES:
                        odd_rules.add(name)
        except (FileNotFoundError, NotADirectoryError):
            return None, files, folders
        except OSError as error:
            scan.problem = f"folder cannot be read: {error.strerror}"
            return scan, files, folders
        scan.rules_changed = self._place(path, git_entry, found_rules)
        for name in IGNORE_NAMES - found_rules.keys() if odd_rules or self.rule_problems else ():
            self.rule_problems.pop(prefix + name, None)
        for name in odd_rules:
            reason = "link" if os.path.islink(self._absolute(prefix + name)) else "not_a_file"
            self.rule_problems[prefix + name] = f"{WORDS[reason]}; its patterns do not count"
        return scan, files, folders

    def _place(self, path: bytes, git_entry: int | None, found_rules: dict[bytes, int]) -> bool:
        """Update the rules known for a folder. Return whether any of them is new or has changed."""
        old = self._places.get(path)
        own_git = git_module.git_folder_of(self._absolute(path)) if git_entry is not None else None
        if old is not None and old.git_entry != git_entry and path in self._repositories:
            self._repositories.pop(path).close()
        repository = self._repository_of(path, own_git)
        changed = old is None or old.repository is not repository
        if repository.folder == path:
            changed |= self._refresh(repository)
        parent = self._places.get(path.rpartition(b"/")[0]) if path else None
        reincluded = path in self._reincluded or (
            parent is not None and parent.reincluded and parent.repository is repository
        )
        if old is None:
            old = self._places[path] = _Place(repository)
        if (old.git_entry, old.repository) != (git_entry, repository) or changed:
            old.git_entry, old.repository = git_entry, repository
            self.landmark_revision += 1
        changed |= old.reincluded != reincluded
        old.reincluded = reincluded
        if {name: stamp for name, (stamp, _) in old.ignore_files.items()} != found_rules:
            self._drop_rules(path, old)
            for name, stamp in found_rules.items():
                rules = None
                if name in self._own_rules:
                    self._own_rules[name] += 1
                    rules = self._read_rules(path, name)
                old.ignore_files[name] = (stamp, rules)
            if repository.folder == path:
                repository.close()  # git reads only ignore files below the top again for each question
            changed = True
        return changed

    def _repository_of(self, path: bytes, own_git: bytes | None) -> _Repository:
        """The repository whose rules apply in a folder: its own, the one around it, or none (git asks an empty one)."""
        current = self._repositories.get(path)
        absolute = self._absolute(path)
        if path and own_git is None:
            if current is not None:
                self._repositories.pop(path).close()
            return self._places[path.rpartition(b"/")[0]].repository
        git_folder, top = own_git, absolute
        if own_git is None:
            git_folder, top = self._outer_repository()
        if current is not None and current.git_folder == git_folder:
            return current
        if current is not None:
            current.close()
        repository = self._repositories[path] = _Repository(path, git_folder)
        if self._binary is not None:
            try:
                if git_folder is not None:
                    repository.git = Git(self._binary, git_folder, top, absolute)
                    if top != absolute and Git(self._binary, git_folder, top, top).ignores(
                        os.path.relpath(absolute, top)
                    ):
                        repository.git = None  # the outer repository ignores the project, so its rules do not apply
                if repository.git is None:
                    empty = git_module.make_empty_repository(self._binary, os.path.join(self._scratch, "empty.git"))
                    repository.git = Git(self._binary, empty, absolute, absolute)
                else:
                    repository.outer_folders = _outer_folders(git_folder, top, absolute)
            except GitError as error:
                self.problems.add(f"git cannot be asked: {error}")
                repository.git = None
        return repository

    def _outer_repository(self) -> tuple[bytes | None, bytes]:
        top = self.root
        while True:
            found = git_module.git_folder_of(top)
            if found is not None:
                return found, top
            above = os.path.dirname(top)
            if above == top:
                return None, self.root
            top = above

    def _refresh(self, repository: _Repository) -> bool:
        """Look for changes of the files outside the tree that affect a repository: index, exclude file, user's files.

        Return whether verdicts may have changed.
        """
        changed = False
        stamps = tuple(_stamp_at(path) for path in repository.outer_files())
        if stamps != repository.outer_stamps:
            repository.outer_stamps = stamps
            if repository.exclude_file:
                repository.exclude = read_ignore_file(*os.path.split(repository.exclude_file))
            repository.close()
            changed = True
        if repository.git is not None and repository.git_folder is not None:
            index = _stamp_at(repository.git_folder + b"/index")
            if index != repository.index_stamp:
                repository.index_stamp = index
                changed = self._read_index(repository, is_listed=not changed) or changed
        return changed

    def _read_index(self, repository: _Repository, *, is_listed: bool) -> bool:
        """Load the tracked paths. Return whether this changes the verdict about any path that a rule ignores.

        If the folder is judged again anyway (not `is_listed`), do not check this and return False.
        """
        assert repository.git is not None
        try:
            listing = repository.git.tracked()
        except GitError as error:
            self.problems.add(f"git's index cannot be read: {error}")
            return False
        if repository.tracked.digest == git_module.digest_of(listing):
            return False  # the index was written by a commit or `git status`, with the same paths
        old, repository.tracked = repository.tracked, Tracked(listing)
        if not is_listed:
            return False
        if any(not repository.tracked.has(path, is_folder=True) for path in repository.forced):
            repository.forced.clear()
            return True
        added = repository.tracked.added_since(old, listing)
        try:
            return any(repository.git.ignored(added))
        except GitError:
            return False

    # Judging

    def _judge(self, candidates: list[tuple[bytes, bool]]) -> set[bytes]:
        """The paths that count, of pairs (path, is a folder). The folders they lie in must count."""
        accepted: set[bytes] = set()
        questions: dict[_Repository, list[tuple[bytes, bool, bool]]] = {}
        has_own_rules = any(self._own_rules.values())
        for path, is_folder in candidates:
            if path == self._state_folder or (not is_folder and not self.allow_secrets and is_secret(path)):
                continue
            included = False
            if has_own_rules:
                verdict = self._own_verdict(path, is_folder=is_folder)
                if verdict is False:
                    continue
                included = verdict is True
            if included and not is_folder:
                accepted.add(path)
                continue
            place = self._places[path.rpartition(b"/")[0]]
            if place.reincluded or place.repository.git is None:
                ignored = self._ignored_by_reading(path, place, is_folder=is_folder)
                if included or not ignored:
                    accepted.add(path)
                    if is_folder:
                        self._mark(path, reincluded=ignored)
            else:
                questions.setdefault(place.repository, []).append((path, is_folder, included))
        for repository, asked in questions.items():
            # Do not ask a repository that has just been replaced: its folders are scanned again soon.
            if self._repositories.get(repository.folder) is repository:
                self._ask(repository, asked, accepted)
        return accepted

    def _ask(self, repository: _Repository, asked: list[tuple[bytes, bool, bool]], accepted: set[bytes]) -> None:
        assert repository.git is not None
        if not repository.git.is_running:
            running = [other for other in self._repositories.values() if other.git is not None and other.git.is_running]
            for other in running[: max(0, len(running) - GIT_PROCESSES_MAX + 1)]:
                other.close()
        skip = len(repository.folder) + 1 if repository.folder else 0
        try:
            verdicts = repository.git.ignored([path[skip:] for path, _, _ in asked])
        except GitError as error:
            self.problems.add(f"git cannot be asked: {error}")
            repository.git = None
            accepted |= self._judge([(path, is_folder) for path, is_folder, _ in asked])
            return
        for (path, is_folder, included), ignored in zip(asked, verdicts, strict=True):
            if ignored and not included:
                if not repository.tracked.has(path[skip:], is_folder=is_folder):
                    continue
                repository.forced.add(path[skip:])
            accepted.add(path)
            if is_folder:
                self._mark(path, reincluded=ignored and included)

    def _mark(self, path: bytes, *, reincluded: bool) -> None:
        if reincluded:
            self._reincluded.add(path)
        else:
            self._reincluded.discard(path)

    def _own_verdict(self, path: bytes, *, is_folder: bool) -> bool | None:
        """The verdict of .ctxdignore and .ignore: True takes the path in, False leaves it out, None says nothing."""
        found = self._own_rule(path, is_folder=is_folder)
        return None if found is None else found[1].includes

    def _own_rule(self, path: bytes, *, is_folder: bool) -> tuple[bytes, Rule] | None:
        for name in OWN_IGNORE_NAMES:
            if self._own_rules[name]:
                found = self._nearest(path, name, b"", is_folder=is_folder)
                if found is not None:
                    return found
        return None

    def _ignored_by_reading(self, path: bytes, place: _Place, *, is_folder: bool) -> bool:
        """True if our own reading of `.gitignore` files or the exclude file says that this path is ignored.

        Used without git, and in a folder that git ignores but an own rule takes in: git would call all in it ignored.
        """
        found = self._git_rule_read(path, place, is_folder=is_folder)
        return found is not None and not found[1].includes

    def _git_rule_read(self, path: bytes, place: _Place, *, is_folder: bool) -> tuple[bytes, Rule] | None:
        repository = place.repository
        top = repository.folder
        found = self._nearest(path, b".gitignore", top, is_folder=is_folder)
        if found is None and repository.exclude is not None and repository.exclude_file is not None:
            rule = repository.exclude.match(path[len(top) + 1 :] if top else path, is_folder=is_folder)
            found = None if rule is None else (repository.exclude_file, rule)
        return found

    def _nearest(self, path: bytes, name: bytes, top: bytes, *, is_folder: bool) -> tuple[bytes, Rule] | None:
        """(file, rule): the first rule about a path in ignore files of one name, from its own folder up to `top`."""
        folder = path
        while folder != top:
            folder = folder.rpartition(b"/")[0]
            found = self._places[folder].ignore_files.get(name)
            if found is not None:
                stamp, rules = found
                if rules is None:
                    rules = self._read_rules(folder, name)
                    self._places[folder].ignore_files[name] = (stamp, rules)
                rule = rules.match(path[len(folder) + 1 :] if folder else path, is_folder=is_folder)
                if rule is not None:
                    return (folder + b"/" + name if folder else name), rule
        return None

    def _read_rules(self, folder: bytes, name: bytes) -> IgnoreFile:
        path = folder + b"/" + name if folder else name
        rules = read_ignore_file(self._absolute(folder), name) or IgnoreFile(b"")
        if self._rules_held + len(rules.rules) > RULES_OF_PROJECT_MAX:
            rules = IgnoreFile(b"", f"its patterns do not count: the project has more than {RULES_OF_PROJECT_MAX}")
        self._rules_held += len(rules.rules)
        if rules.problem is not None:
            self.rule_problems[path] = rules.problem
        return rules

    def _drop_rules(self, folder: bytes, place: _Place) -> None:
        """Forget the rules of the ignore files of a folder."""
        for name, (_, rules) in place.ignore_files.items():
            if name in self._own_rules:
                self._own_rules[name] -= 1
            self._rules_held -= len(rules.rules) if rules is not None else 0
        place.ignore_files = {}
        for name in IGNORE_NAMES if self.rule_problems else ():
            self.rule_problems.pop(folder + b"/" + name if folder else name, None)

    def _absolute(self, path: bytes) -> bytes:
        return self.root + b"/" + path if path else self.root


_UNREAD: tuple[int, IgnoreFile | None] = (0, None)


class _Place:
    """The rules that apply to the entries of one folder."""

    __slots__ = ("git_entry", "ignore_files", "reincluded", "repository")

    def __init__(self, repository: _Repository) -> None:
        self.repository = repository
        self.ignore_files: dict[bytes, tuple[int, IgnoreFile | None]] = {}
        self.git_entry: int | None = None
        """Inode of its `.git`, which may not be a repository (yet)."""
        self.reincluded = False
        """True if git ignores the folder and an own rule took it in."""


class _Repository:
    """One git repository, or none, and the project's folder where it begins (`b""` also if that is above the root)."""

    def __init__(self, folder: bytes, git_folder: bytes | None) -> None:
        self.folder = folder
        self.git_folder = git_folder
        self.git: Git | None = None
        self.tracked = Tracked()
        self.forced: set[bytes] = set()
        """Paths that a rule ignores, but that are accepted because they are tracked."""
        self.index_stamp = 0
        self.outer_stamps: tuple[int, ...] = ()
        self.outer_folders: list[bytes] = []
        self.exclude_file = git_module.common_folder_of(git_folder) + b"/info/exclude" if git_folder else None
        self.exclude: IgnoreFile | None = None

    def outer_files(self) -> list[bytes]:
        files = git_module.user_ignore_files()
        if self.git_folder is not None and self.exclude_file is not None:
            files += [self.exclude_file, os.path.dirname(os.path.dirname(self.exclude_file)) + b"/config"]
        return files + [folder + b"/.gitignore" for folder in self.outer_folders]

    def close(self) -> None:
        if self.git is not None:
            self.git.close()


def _is_nobodys(name: bytes) -> bool:
    return name == b".git" or (name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX))


def _outer_folders(git_folder: bytes | None, top: bytes, absolute: bytes) -> list[bytes]:
    folders: list[bytes] = []
    if git_folder is not None:
        common = git_module.common_folder_of(git_folder)
        folders += dict.fromkeys((git_folder, common, common + b"/info"))
    while absolute != top:
        absolute = os.path.dirname(absolute)
        folders.append(absolute)
    return folders


def _add_statuses(scan: Scan, paths: Iterable[bytes], entries: dict[bytes, os.DirEntry[bytes]]) -> None:
    for path in paths:
        try:
            status = entries[path].stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            scan.problem = f"files in it cannot be read: {error.strerror}"
            continue
        if stat.S_ISREG(status.st_mode):
            scan.files[path] = status


def _kind_of(path: bytes) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "missing"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    return "symlink" if stat.S_ISLNK(mode) else "special"


def _stamp(entry: os.DirEntry[bytes]) -> int:
    try:
        return stamp_of(entry.stat(follow_symlinks=False))
    except OSError:
        return 0


def _stamp_at(path: bytes) -> int:
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return 0
