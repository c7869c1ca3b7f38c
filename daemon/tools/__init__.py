"""One file per toolset; importing this package fills `tool.TOOLS` in the order in which tools are listed."""

from ctxd.daemon.tools import (
    search,  # noqa: F401
    files,  # noqa: F401  # isort: skip
)
