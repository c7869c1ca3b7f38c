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


@pytest.fixture
def fresh():
    """A home where no daemon has run, with a project of one file."""
    with tempfile.TemporaryDirectory(prefix="ctxd-") as base:
        site = Site(Path(base).resolve())
        (site.folder / "a.py").write_text("def f(): pass\n")
        yield site
        site.close()
