"""One file per toolset; importing this package fills `tool.TOOLS` in the order in which tools are listed."""

from ctxd.daemon.tools import (
    files,  # noqa: F401  # isort: skip
    search,  # noqa: F401
)
