"""Shape of the database, in numbered steps. Each step file stands alone and opens with its tables and why they are so.

Everything in the database is derived from files and may be deleted at any time.
"""
