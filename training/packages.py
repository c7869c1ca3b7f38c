"""The named packages that pairs are mined from: fetched at their pinned versions, read without being unpacked or run.

packages.tsv names them. Their archives are kept in a folder outside the checkout; nothing of them is ever committed.
"""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer.languages import parsed_language_of

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_BYTES_MIN = 200
FILE_BYTES_MAX = 400_000  # larger ones are generated
FILES_MAX = 1_000
"""Of one package: a corpus of many hands teaches more than all of a large one."""

NO_SOURCE_OF_ITS_OWN = frozenset((
    "test", "tests", "testing", "testsuite", "testdata", "spec", "specs", "fixtures", "locale", "locales", "i18n", "migrations", "debian",
    "vendor", "_vendor", "vendored", "third_party", "third-party", "thirdparty", "external", "externals", "extern", "deps", "bundled",
    "node_modules", "dist", "umd", "_cjs", "_esm", "_types", "esm", "cjs", "esm5", "esm2015", "fesm2015", "fesm2022",
))  # fmt: skip
"""Folders of what repeats itself, is generated, or is a copy of another project."""


@dataclass(frozen=True, slots=True)
class Package:
    registry: str
    """pypi, npm, debian or git."""
    name: str
    version: str
    """The commit where the registry is git."""
    licence: str


def named_packages() -> list[Package]:
    with open(os.path.join(os.path.dirname(__file__), "packages.tsv"), encoding="utf-8", newline="") as file:
        return [Package(**row) for row in csv.DictReader(file, delimiter="\t")]


def excluded_projects() -> frozenset[str]:
    """Lower-cased folder names of the projects that retrieval is judged on: no file below such a folder is read."""
    with open(os.path.join(os.path.dirname(__file__), "excluded.txt"), encoding="utf-8") as file:
        return frozenset(line.strip() for line in file if line.strip() and not line.startswith("#"))


def archives_of(package: Package, folder: str) -> list[str]:
    """Paths of a package's archives below `folder`, fetched by its registry's ordinary client if they are not there yet.

    Raises CalledProcessError where the client fails.
    """
    own = os.path.join(folder, f"{package.registry}-{package.name.replace('/', '-')}")
    if not os.path.isdir(own):
        partial = own + ".partial"
        os.makedirs(partial, exist_ok=True)
        for command in _client(package):
            subprocess.run(command, cwd=partial, check=True, stdout=subprocess.DEVNULL)
        os.rename(partial, own)
    return sorted(os.path.join(own, name) for name in os.listdir(own) if not name.endswith((".dsc", ".asc")))


def _client(package: Package) -> list[list[str]]:
    match package.registry:
        case "pypi":
            # A wheel holds the Python source as it is; fetching an sdist would run its build.
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
            return [[*pip, f"{package.name}=={package.version}"]]
        case "npm":
            return [["npm", "pack", "--silent", f"{package.name}@{package.version}"]]
        case "debian":  # needs a deb-src line of the release; apt checks the signatures
            return [["apt-get", "source", "--quiet", "--download-only", f"{package.name}={package.version}"]]
        case "git":
            url = f"https://github.com/{package.name}.git"
            return [
                ["git", "init", "--quiet", "--bare", "repository"],
                ["git", "-C", "repository", "fetch", "--quiet", "--depth=1", url, package.version],
                ["git", "-C", "repository", "archive", "--output=../source.tar", package.version],
                ["rm", "-r", "repository"],
            ]
    raise ValueError(f"packages.tsv: no registry is called {package.registry!r}")


def source_files(archives: list[str]) -> list[tuple[str, bytes]]:
    """Path and bytes of at most FILES_MAX source files, in order of the hashes of their paths: a sample that every run repeats."""
    excluded = excluded_projects()
    found = [
        (hashlib.blake2b(path.encode(), digest_size=8).digest(), path, data)
        for archive in archives
        for path, data in _members(archive, excluded)
    ]
    return [(path, data) for _, path, data in sorted(found)[:FILES_MAX]]


def _members(archive: str, excluded: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    if archive.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                if _is_wanted(info.filename, info.file_size, excluded):
                    yield info.filename, wheel.read(info)
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and _is_wanted(member.name, member.size, excluded):
                file = tar.extractfile(member)
                if file is not None:
                    yield member.name, file.read()


def _is_wanted(path: str, size: int, excluded: frozenset[str]) -> bool:
    if not FILE_BYTES_MIN <= size <= FILE_BYTES_MAX or ".min." in path or path.endswith(".d.ts"):
        return False
    language = parsed_language_of(path.encode("utf-8", "surrogateescape"))
    if language is None or language.has_sections:
        return False
    folders = path.lower().split("/")[:-1]
    return not any(part in NO_SOURCE_OF_ITS_OWN or part in excluded for part in folders)
