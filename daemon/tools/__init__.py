"""One file per toolset or large tool. Importing this package fills `tool.TOOLS` in the order of the list of tools."""

# isort: off
from ctxd.daemon.tools import search  # noqa: F401
from ctxd.daemon.tools import search_in_files  # noqa: F401
from ctxd.daemon.tools import files  # noqa: F401
from ctxd.daemon.tools import code  # noqa: F401
from ctxd.daemon.tools import explore  # noqa: F401
from ctxd.daemon.tools import semantic  # noqa: F401
from ctxd.daemon.tools import text  # noqa: F401
from ctxd.daemon.tools import edit  # noqa: F401
