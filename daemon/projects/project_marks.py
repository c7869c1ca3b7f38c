"""Marks that make a folder a project without `ctxd add`: a git work tree, or a file of a build tool or package manager.

Invariant: no file is opened here except `.git` files, by `project_file.py`.
"""

from __future__ import annotations

import os

from ctxd.indexer.files.git import git_folder_of

PROJECT_FILES = frozenset(
    (
        *(".ctxd.toml", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"),
        *("package.json", "tsconfig.json", "deno.json", "go.mod", "go.work", "Cargo.toml"),
        *("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "build.xml"),
        *("CMakeLists.txt", "Makefile", "meson.build", "configure.ac", "MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"),
        *("composer.json", "Gemfile", "mix.exs", "rebar.config", "build.sbt", "Package.swift", "build.zig"),
        *("stack.yaml", "cabal.project", "package.yaml", "dune-project", "pubspec.yaml", "Project.toml", "DESCRIPTION"),
    )
)
PROJECT_SUFFIXES = (".sln", ".csproj", ".fsproj", ".vbproj", ".cabal", ".gemspec", ".rockspec", ".xcodeproj")


def holds_project_file(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(one.name in PROJECT_FILES or one.name.endswith(PROJECT_SUFFIXES) for one in entries)
    except OSError:
        return False


def is_repository(folder: bytes) -> bool:
    """True if this folder is the top of a git work tree."""
    return git_folder_of(folder) is not None


def work_tree_around(folder: str) -> str | None:
    """The top of the git work tree around a folder, if there is one.

    A home folder under git is none: some people keep their settings so, and not everything in it is one project.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    while folder not in {"/", home}:
        if is_repository(os.fsencode(folder)):
            return folder
        folder = os.path.dirname(folder)
    return None
