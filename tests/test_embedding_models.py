"""Embedding models beside the built-in one: a real transformer, an endpoint, and what happens where they cannot be had."""

import contextlib
import http.server
import json
import threading
import time

import numpy as np
import pytest
from test_semantic import LOGIN, READ_CSV, call, concept, paths

from ctxd.daemon import protocol
from ctxd.daemon.indexing import chosen_model as project_model
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects import project_settings
from ctxd.daemon.projects.view import View
from ctxd.indexer.decode import content_hash
from ctxd.indexer.meaning import embedding, endpoint_model, onnx_model
from ctxd.indexer.meaning.chunk_job import EmbedJob, EncodeJob
from ctxd.indexer.meaning.chunk_rows import stored_models
from projects import opened, ready, until, write

KEY = "sk-secret-of-the-test"
TREE = {"table.py": READ_CSV, "auth.py": LOGIN}
# By sentence-transformers 6.2 with torch 2.13: the first four of 384 numbers, and how near the first two texts are.
TEXTS = [
    "def read_rows(path):\n    with open(path) as file:\n        return list(csv.reader(file))",
    "reads a CSV file",
    "x",
]
FIRST_NUMBERS = [
    [0.011961, 0.02073, -0.133146, 0.032327],
    [0.047237, 0.064589, -0.130726, 0.009036],
    [-0.09791, -0.064001, -0.023181, -0.046197],
]
NEARNESS = 0.625988


@pytest.fixture(scope="module")
def embedders():
    """As the daemon has them."""
    pool = WorkerPool(1, job_seconds=120, memory_bytes=8 << 30, renew_rss_bytes=1 << 30)
    yield pool
    pool.close()


class Endpoint(http.server.ThreadingHTTPServer):
    """A server that speaks OpenAI's protocol: vectors of letter counts; what it does next can be planned."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.planned = []
        """Status, body and headers of the next answers; a status of 0 waits until the client has gone."""
        self.asked = []
        self.dimension = 26
        self.released = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers.get("Authorization"), body))
        status, answer, headers = self.server.planned.pop(0) if self.server.planned else (200, None, {})
        if not status:
            self.server.released.wait(10)
            return
        if answer is None:
            answer = {"data": [self._row(at, text) for at, text in enumerate(body["input"])][::-1]}
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _row(self, at, text):
        counts = [1.0 + text.lower().count(chr(97 + one % 26)) for one in range(self.server.dimension)]
        return {"index": at, "object": "embedding", "embedding": counts}

    def log_message(self, *_):
        pass


@pytest.fixture
def endpoint(monkeypatch):
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("CTXD_OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedding.identity_of.cache_clear()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()
    embedding.identity_of.cache_clear()


def refused(action, *arguments):
    with pytest.raises(embedding.ModelError) as caught:
        action(*arguments)
    assert KEY not in str(caught.value)
    return str(caught.value)


# A transformer


def test_a_transformer_gives_the_vectors_that_its_makers_give(transformer, embedders):
    model = onnx_model.local_model(str(transformer))
    rows = model.encode(TEXTS)
    assert model.dimension == 384
    np.testing.assert_allclose(rows[:, :4], FIRST_NUMBERS, atol=2e-6)
    np.testing.assert_allclose(rows[0] @ rows[1], NEARNESS, atol=2e-6)
    np.testing.assert_allclose(model.encode_question(TEXTS[1]), rows[1], atol=1e-6)
    assert model.encode([]).shape == (0, 384)
    assert np.isfinite(model.encode(["", "\0", "я" * 9_000])).all()


def test_a_worker_embeds_in_slices_with_less_than_500_mb(transformer, folder, embedders):
    text = b"".join(b"def f%d(a):\n    return [one.value for one in a.all if one.%d]\n" % (at, at) for at in range(600))
    write(folder, {"a.py": text})
    chunks = [(at, 1 + 20 * at, 20 + 20 * at) for at in range(40)]
    job = EmbedJob(
        str(folder / "a.py").encode(), content_hash(text), chunks, f"path:{transformer}", "", slice_seconds=0.01
    )
    result = embedders.submit(job).result(120)
    assert result.outcome == "embedded", result.reason
    assert 0 < len(result.vectors) < len(chunks)
    assert {len(vector) for _, vector in result.vectors} == {384}
    assert embedders.stats().peak_rss_bytes < 500e6


def test_another_model_embeds_in_the_background_while_the_old_vectors_answer(
    transformer, folder, home, workers, embedders, monkeypatch
):
    monkeypatch.setattr(project_model, "_DROP_SECONDS", 0.0)
    write(folder, TREE)
    with opened(folder, home, workers) as project:
        ready(project)
    wanted = f"path:{transformer}"
    with opened(folder, home, workers, embedders=embedders, model=wanted) as project:
        view = View(ready(project))
        if not project.model.complete:
            answer = concept(view, "read the rows of a CSV file")
            assert answer["status"] == "success"
            assert paths(answer)[0] == "table.py"
        until(lambda: project.model.complete)
        assert project.model_status() == {
            "root": str(folder.resolve()),
            "wanted": wanted,
            "answering": wanted,
            "dimension": 384,
            "chunks": 2,
            "embedded": 2,
            "progress": {"done": 2, "total": 2, "eta_seconds": 0},
            "problem": None,
        }
        assert paths(concept(view, "verify who somebody is"))[0] == "auth.py"
        assert call(view, "code_vectorization_status")["model"] == wanted
        write(folder, {"new.py": "def walrus(tusks):\n    return tusks\n"})
        assert paths(concept(view, "walrus tusks"))[0] == "new.py"
        until(lambda: not project.indexing.derivation.vectors.pending)
    with opened(folder, home, workers, embedders=embedders, model=wanted) as project:
        ready(project)
        assert project.model.answering().specification == wanted  # at once: nothing is embedded anew
        assert not project.indexing.derivation.vectors.pending
    with opened(folder, home, workers) as project:
        ready(project)
        until(lambda: [one.specification for one in stored_models(project.database)] == ["builtin"])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "there is no .onnx file in"),
        ({"model.onnx": b"no model"}, "cannot be loaded"),
    ],
)
def test_a_folder_without_a_model_says_what_belongs_there(tmp_path, files, told):
    write(tmp_path, files)
    assert told in refused(onnx_model.local_model, str(tmp_path))
    assert "there is no folder" in refused(onnx_model.local_model, str(tmp_path / "none"))


def test_a_model_that_is_not_here_leaves_the_built_in_one_answering_and_names_the_mend(
    folder, home, workers, embedders
):
    write(folder, TREE)
    name = "BAAI/bge-small-en-v1.5"
    with opened(folder, home, workers, embedders=embedders, model=name) as project:
        view = View(ready(project))
        until(lambda: project.model.problem)
        assert f"`ctxd model pull {name}`" in project.model.problem
        answer = concept(view, "read the rows of a CSV file")
        assert paths(answer)[0] == "table.py"
        assert "ctxd model pull" in answer["note"]
        state = call(view, "code_vectorization_status")
        assert (state["status"], state["model"]) == ("error", "builtin")
        assert any("ctxd model pull" in problem for problem in project.status()["problems"])
        assert project.status()["state"] == "ready"
        retry_at = project.model.retry_at
        assert retry_at > time.monotonic()
        project.model.retry()
        assert project.model.retry_at == 0


def test_an_unknown_model_is_told_from_one_that_is_not_here(embedders, home):
    told = embedders.submit(EncodeJob("no/such-model", str(home), "x")).result(60)
    assert told == "there is no model 'no/such-model'; `ctxd model list` lists them"


def test_a_failure_is_remembered_for_a_while(monkeypatch, tmp_path):
    tried = []
    monkeypatch.setattr(onnx_model, "local_model", lambda folder: tried.append(folder) or _fail())
    for _ in range(3):
        refused(embedding.load, f"path:{tmp_path}")
    assert len(tried) == 1


def _fail():
    raise embedding.ModelError("no")


# An endpoint


def test_an_endpoint_is_asked_as_openai_is(endpoint):
    model = endpoint_model.EndpointModel("letters")
    rows = model.encode(["abc", " ", "zzz"])
    assert rows.shape == (3, 26)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1], atol=1e-6)
    assert rows[2].argmax() == 25  # in the order of their index, not of the answer
    path, authorization, body = endpoint.asked[-1]
    assert (path, authorization) == ("/v1/embeddings", f"Bearer {KEY}")
    assert body == {"model": "letters", "input": ["abc", "zzz"], "encoding_format": "float"}
    assert len(endpoint.asked) == 2  # one asked for the dimension
    model.encode(["a"] * 100)
    assert [len(body["input"]) for _, _, body in endpoint.asked[2:]] == [64, 36]


def test_a_busy_endpoint_is_asked_again(endpoint, monkeypatch):
    monkeypatch.setattr(endpoint_model, "_FIRST_PAUSE_SECONDS", 0.001)
    model = endpoint_model.EndpointModel("letters")
    endpoint.planned = [(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"}), (503, b"", {})]
    assert model.encode(["abc"]).shape == (1, 26)
    endpoint.planned = [(429, b"", {"Retry-After": "60"})]
    assert "rate limit" in refused(model.encode, ["abc"])


@pytest.mark.parametrize(
    ("planned", "told"),
    [
        ((401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}, {}), "refuses the key"),
        ((404, b"", {}), "knows no model letters"),
        ((400, {"error": {"message": f"bad input by {KEY}"}}, {}), "bad input by ..."),
        ((307, b"", {"Location": "http://127.0.0.1:1/elsewhere"}), "redirect"),
        ((200, b"<html>", {}), "broke off"),
        ((200, {"answer": 42}, {}), "does not answer as OpenAI's does"),
        ((200, {"data": []}, {}), "for 1 texts"),
        ((200, {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, {}), "dimensions"),
    ],
)
def test_what_an_endpoint_does_wrong_is_told_without_the_key(endpoint, monkeypatch, planned, told):
    monkeypatch.setattr(endpoint_model, "_FIRST_PAUSE_SECONDS", 60)  # above its patience: not asked again
    model = endpoint_model.EndpointModel("letters")
    endpoint.planned = [planned]
    assert told in refused(model.encode, ["abc"])


def test_an_endpoint_that_does_not_answer_costs_a_question_its_time_and_no_more(endpoint, monkeypatch):
    model = endpoint_model.EndpointModel("letters")
    monkeypatch.setattr(endpoint_model, "_QUESTION_SECONDS", 0.05)
    endpoint.planned = [(0, None, {})]
    assert "did not answer within 0.05 s" in refused(model.encode_question, "abc")


def test_an_endpoint_is_off_unless_it_is_configured(monkeypatch):
    for name in ("CTXD_OPENAI_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert "set OPENAI_API_KEY" in refused(endpoint_model.EndpointModel, "letters")
    for url in ("ftp://host/v1", "http://user:pass@host/v1", "host"):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert "pass@" not in refused(endpoint_model.endpoint_fingerprint)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert "cannot be reached" in refused(endpoint_model.EndpointModel, "letters")


def test_a_project_by_an_endpoint_and_one_that_fails_later(endpoint, folder, home, workers, monkeypatch):
    monkeypatch.setattr(project_model, "_QUESTION_REST_SECONDS", 0.0)
    write(folder, TREE)
    pool = WorkerPool(1)
    with contextlib.closing(pool), opened(folder, home, workers, embedders=pool, model="openai:letters") as project:
        view = View(ready(project))
        until(lambda: project.model.complete)
        assert project.model.answering().dimension == 26
        assert paths(concept(view, "read the rows of a CSV file"))[0] == "table.py"
        endpoint.planned = [(401, b"", {})]
        answer = concept(view, "read the rows of a CSV file")
        assert paths(answer)[0] == "table.py"
        assert "OPENAI_API_KEY" in answer["note"]
        assert "note" not in concept(view, "read the rows of a CSV file")  # it answers again
        endpoint.dimension = 30
        write(folder, {"new.py": "walrus = 1\n"})
        concept(view, "walrus")
        until(lambda: project.model.problem)
        assert "dimensions" in project.model.problem
    with open(home / "databases" / "test.db", "rb") as file:
        assert KEY.encode() not in file.read()


def test_a_project_cannot_send_its_code_to_an_endpoint_or_load_a_model_of_its_own(tmp_path, home):
    for model in ("openai:x", "path:model", "BAAI/bge-small-en-v1.5"):
        (tmp_path / ".ctxd.toml").write_text(f'model = "{model}"\n')
        loaded = project_settings.load(protocol.places(), str(tmp_path), {})
        assert loaded.settings.model == "builtin"
        assert "only a model that is on this machine" in loaded.problems[0]
    (tmp_path / ".ctxd.toml").write_text('model = "none"\n')
    assert project_settings.load(protocol.places(), str(tmp_path), {}).settings.model == "none"
