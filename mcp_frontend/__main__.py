"""`python -m ctxd.mcp_frontend` is the `ctxd` command."""

import sys

from ctxd.mcp_frontend.cli import main

if __name__ == "__main__":
    sys.exit(main())
