"""Shape of the database, in numbered steps. Each step file stands alone and opens with its tables and why they are so.

Everything in the database is derived from files and may be deleted at any time.
"""

LATEST = 5
"""How many steps there are; kept in `PRAGMA user_version`, so that a database in today's shape opens without sqlite-utils
(15 MB and 0.1 s where numpy is installed).
"""
