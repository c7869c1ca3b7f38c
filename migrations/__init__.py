"""The tables of the database, in numbered steps. Each step file stands alone; its docstring explains its tables.

Everything in the database is derived from files and may be deleted at any time.
"""

LATEST = 5
"""The number of steps. A database keeps it in `PRAGMA user_version`: an up-to-date one opens without sqlite-utils
(15 MB and 0.1 s if numpy is installed).
"""
