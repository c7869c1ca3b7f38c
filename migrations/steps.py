"""The one list of migrations, in order."""

from __future__ import annotations

from sqlite_utils.migrations import Migrations

from ctxd.migrations import m0001_initial

MIGRATIONS = Migrations("ctxd")
MIGRATIONS(name="m0001_initial")(m0001_initial.apply)
