"""The wire between a front-end and the daemon, on one page. Standard library only: the relay starts in 20 ms.

A client connects to the Unix socket and sends one *hello* line of JSON:

    {"ctxd": 1, "version", "build", "want", "cwd", "root", "toolsets", "read_only", "text_backend", "files_backend", "only", ...}

The daemon answers one line, `{"ctxd": 1, "version", "build", "pid", "ok": true, ...}` or `{..., "ok": false, "error", "hint"}`.
If `want` is "mcp", the socket speaks plain MCP (one JSON-RPC message a line) from then on. Every other want is a question: the
daemon sends one answer line and closes. They are "status", "add", "remove", "list", "stop", "why", "outline", "edits",
"undo", "languages", "config" and "model", for verbs that people type and MCP does not have.

No line is longer than LINE_BYTES_MAX. The reader of a longer one drops it and answers with the error of `refusal`; the session
goes on.
"""

from __future__ import annotations

import os
import sys

PROTOCOL = 1
VERSION = "0.1.0"

LINE_BYTES_MAX = 64 << 20  # a longer message is an attack or a mistake
LINE_END_BYTES = 1024  # kept of the head and of the tail of a line that is too long: a request's id is there
INVALID_REQUEST = -32600  # of JSON-RPC

SOCKET_PATH_BYTES_MAX = 103  # sun_path holds 104 bytes on macOS (108 on Linux), one of them the final NUL


class Places:
    """The paths of all of ctxd's own files. None is in a project or in the temp folder."""

    __slots__ = ("config", "socket", "state")  # not a dataclass: importing those takes 9 ms of the relay's 30

    def __init__(self, config: str, state: str, socket: str) -> None:
        self.config = config
        self.state = state
        self.socket = socket

    @property
    def settings_file(self) -> str:
        return os.path.join(self.config, "ctxd.toml")

    @property
    def databases(self) -> str:
        return os.path.join(self.state, "databases")

    @property
    def edits(self) -> str:
        """The journal of edits."""
        return os.path.join(self.state, "edits")

    @property
    def models(self) -> str:
        """Models that `ctxd model pull` fetched."""
        return os.path.join(self.state, "models")

    @property
    def registry_file(self) -> str:
        """JSON list of the roots of the registered projects; read by `ctxd list` without a daemon."""
        return os.path.join(self.state, "projects.json")

    @property
    def log_file(self) -> str:
        return os.path.join(self.state, "ctxd.log")

    @property
    def daemon_lock(self) -> str:
        """Held (flock) by the daemon for its whole life: the process that holds it is the daemon."""
        return os.path.join(self.state, "daemon.lock")

    @property
    def start_lock(self) -> str:
        """Held (flock) by a front-end while it starts a daemon."""
        return os.path.join(self.state, "start.lock")


def places() -> Places:
    """Folders of this user: all under `CTXD_HOME` where it is set, else the platform's own."""
    home = os.environ.get("CTXD_HOME")
    if home:
        home = os.path.abspath(os.path.expanduser(home))
        config, state, run = home, home, home
    elif sys.platform == "linux" and os.path.isabs(os.environ.get("HOME", "")):
        # The same as platformdirs does on Linux, without its import time of 9-17 ms.
        config = os.path.join(_xdg_folder("XDG_CONFIG_HOME", "~/.config"), "ctxd")
        state = run = os.path.join(_xdg_folder("XDG_STATE_HOME", "~/.local/state"), "ctxd")
    else:
        import platformdirs

        config = platformdirs.user_config_dir("ctxd", appauthor=False)
        state = platformdirs.user_state_dir("ctxd", appauthor=False)
        run = state
    return Places(config, state, _socket_path(run))


def _xdg_folder(variable: str, default: str) -> str:
    """The folder that `variable` names, else `default`. The XDG specification says to ignore a relative value."""
    path = os.environ.get(variable, "")
    return path if os.path.isabs(path) else os.path.expanduser(default)


def _socket_path(folder: str) -> str:
    path = os.path.join(folder, "ctxd.sock")
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        return path
    import hashlib

    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16] + ".sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR") or ""
    short = os.path.join(runtime, "ctxd") if os.path.isdir(runtime) else os.path.expanduser("~/.ctxd")
    return os.path.join(short, name)


def make_private_folder(path: str) -> None:
    """Create `path` (and parents) with mode 0700. An existing folder of ours is tightened, another user's is refused."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    status = os.stat(path)
    if status.st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user; set CTXD_HOME to a folder of your own")
    if status.st_mode & 0o077:
        os.chmod(path, 0o700)


def refusal(head: bytes, tail: bytes, line_bytes: int) -> bytes:
    """The JSON-RPC error line for a line of `line_bytes` bytes, of which only the head and the tail were kept."""
    import json

    message = f"The message has {line_bytes:,} bytes; a line may have {LINE_BYTES_MAX:,}."
    error = {"code": INVALID_REQUEST, "message": message, "data": {"hint": "Send a shorter message, or several."}}
    return json.dumps({"jsonrpc": "2.0", "id": _id_of_long_line(head, tail), "error": error}).encode() + b"\n"


def _id_of_long_line(head: bytes, tail: bytes) -> str | int | None:
    """The id of a request whose `id` is near the head or the end of the line, where hosts write it.

    Only short members may stand between it and that end, so the `id` belongs to the message itself and to no object inside it.
    None for a host's answer: that id is one of the daemon's.
    """
    import json
    import re

    short = rb'\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*'
    id_ = rb'\s*"id"\s*:\s*(-?\d{1,19}|"(?:[^"\\]|\\.)*")\s*'
    at_head = re.match(rb"\s*\{(?:" + short + rb",)*" + id_ + rb",", head)
    at_tail = re.search(rb"," + id_ + rb"(?:," + short + rb")*\}\s*$", tail)
    found = at_head or at_tail
    if found is None or not (b'"method"' in head or b'"method"' in tail):
        return None
    try:
        return json.loads(found[1])
    except ValueError:
        return None


_CODE_FOLDERS = (
    *("mcp_frontend", "migrations"),
    *("daemon", "daemon/answers", "daemon/edits", "daemon/indexing", "daemon/projects", "daemon/tools"),
    *(
        "indexer",
        "indexer/documents",
        "indexer/files",
        "indexer/languages",
        "indexer/meaning",
        "indexer/meaning/model",
        "indexer/names",
        "indexer/patterns",
        "indexer/structure",
        "indexer/symbols",
        "indexer/text",
    ),
)
_CODE_ENDINGS = (".py", ".scm", ".json", ".npz")


def build() -> str:
    """Fingerprint of the installed code: `<newest mtime in ns, hex>-<hash>`. The leading time orders two builds.

    By it an upgraded or edited installation sees that a daemon runs older code.
    """
    import zlib  # hashlib takes 4 ms and 4 MB more; nobody attacks a fingerprint of their own files

    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    digest = zlib.crc32(f"{VERSION} {sys.version}".encode())
    newest = 0
    for folder in _CODE_FOLDERS:
        with os.scandir(os.path.join(package, folder)) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if entry.name.endswith(_CODE_ENDINGS):
                    status = entry.stat()
                    newest = max(newest, status.st_mtime_ns)
                    line = f"{folder}/{entry.name} {status.st_size} {status.st_mtime_ns}\n"
                    digest = zlib.crc32(os.fsencode(line), digest)
    return f"{newest:x}-{digest:08x}"


def is_newer(ours: str, theirs: str) -> bool:
    """True if build `ours` is of newer code than build `theirs`."""
    try:
        return ours != theirs and int(ours.partition("-")[0], 16) >= int(theirs.partition("-")[0], 16)
    except ValueError:
        return True
