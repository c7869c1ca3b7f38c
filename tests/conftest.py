"""What many tests share: no test touches the user's own ctxd."""

import os

import minilm
import pytest

from ctxd.daemon.indexing.workers import WorkerPool
from projects import opened

KEPT = {"CTXD_HOME", "CTXD_WATCHES_MAX"}  # a run of all tests without inotify sets the second one


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """No test touches the user's own ctxd. Of the settings that the tests are run with only CTXD_WATCHES_MAX holds in them."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("CTXD_HOME", str(folder))
    for name in [name for name in os.environ if name.startswith("CTXD_") and name not in KEPT]:
        monkeypatch.delenv(name)
    return folder


@pytest.fixture(scope="session")
def workers():
    pool = WorkerPool(2)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def transformer(tmp_path_factory):
    """A folder with all-MiniLM-L6-v2."""
    folder = tmp_path_factory.mktemp("minilm")
    minilm.convert(minilm.folder_of_the_package(), str(folder))
    return folder


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def project(folder, home, workers):
    with opened(folder, home, workers) as one:
        yield one
