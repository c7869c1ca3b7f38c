"""The one list of migrations, in order."""

from __future__ import annotations

from sqlite_utils.migrations import Migrations

from ctxd.migrations import m0001_initial, m0002_imported_names, m0003_overview, m0004_chunks, m0005_pages

MIGRATIONS = Migrations("ctxd")
MIGRATIONS(name="m0001_initial")(m0001_initial.apply)
MIGRATIONS(name="m0002_imported_names")(m0002_imported_names.apply)
MIGRATIONS(name="m0003_overview")(m0003_overview.apply)
MIGRATIONS(name="m0004_chunks")(m0004_chunks.apply)
MIGRATIONS(name="m0005_pages")(m0005_pages.apply)
