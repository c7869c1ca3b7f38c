"""Reads the files of a project that ctxd needs for itself: settings, ignore files, `.git` files, manifests.

A project is hostile input. Invariant: a read ends soon and takes little memory, even if the name is a link, a FIFO,
a device or a file without an end.
"""

from __future__ import annotations

import os
import stat
import time

from ctxd.indexer.decode import Unreadable, open_inside

READ_SECONDS_MAX = 5.0
"""For a disk that returns a little at a time. One that returns nothing blocks its reader, a thread of that project."""
_STEP_BYTES = 1 << 16


def read_small(root: bytes, path: bytes, bytes_max: int) -> bytes:
    """All bytes of a regular file at `path` below `root`; no link is followed on the way from there.

    Raises Unreadable; `reason` may be "link", "too_large" or "too_slow" as well.
    """
    try:
        descriptor = open_inside(root, path)
    except Unreadable:
        if os.path.islink(os.path.join(root, path)):
            raise Unreadable("link") from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not_a_file")
        if status.st_size > bytes_max:
            raise Unreadable("too_large")
        end = time.monotonic() + READ_SECONDS_MAX
        data = bytearray()
        while chunk := os.read(descriptor, _STEP_BYTES):
            data += chunk
            if len(data) > bytes_max:
                raise Unreadable("too_large")
            if time.monotonic() > end:
                raise Unreadable("too_slow")
        return bytes(data)
    except OSError:
        raise Unreadable("unreadable") from None
    finally:
        os.close(descriptor)


WORDS = {
    "missing": "is not there",
    "link": "is a symbolic link, which is not followed",
    "not_a_file": "is no regular file",
    "unreadable": "cannot be read",
    "too_large": "is too large",
    "too_slow": "takes too long to read",
}
"""The text for each reason, to stand after the name of the file."""
