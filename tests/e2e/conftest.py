import tempfile
from pathlib import Path

import pytest

from processes import Site


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory(prefix="ctxd-") as base:
        one = Site(Path(base).resolve())
        yield one
        one.close()
