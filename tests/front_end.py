"""The `ctxd` command, but that it starts the fake daemon beside it. With CTXD_TEST_DAEMON=real it is the command itself."""

import os
import sys

from ctxd.mcp_frontend import cli, launch

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_daemon.py")

if os.environ.get("CTXD_TEST_DAEMON") != "real":
    launch.daemon_command = lambda: [sys.executable, FAKE]
sys.exit(cli.main())
