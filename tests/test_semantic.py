"""Search by meaning: what specifications 000 and 003 show of it, freshness, and what is embedded again and what is not."""

import json
import os
from concurrent.futures import Future

import jsonschema
import numpy as np
import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.daemon.tools.semantic import TYPES
from ctxd.indexer.database import Database
from ctxd.indexer.files.scope import Scope
from ctxd.indexer.meaning import embedding
from ctxd.indexer.meaning.chunk_rows import stored_models
from ctxd.indexer.meaning.semantic_ranking import FEATURES, Evidence, Question, features, scores
from ctxd.indexer.meaning.vectors import KEPT_BYTES, NARROWED, VectorIndex
from projects import git, needs_git, opened, ready, until, write

READ_CSV = '''import csv


def read_rows(path):
    """Read the rows of a CSV file."""
    with open(path, newline="") as file:
        rows = []
        for row in csv.reader(file):
            rows.append(row)
    return rows
'''
LOGIN = '''class AuthenticationService:
    """Handles user authentication: password hashing and login."""

    def authenticate_user(self, user, password):
        """Authenticate a user by the hash of the password."""
        stored = self.users[user]
        if hash_password(password, stored.salt) != stored.password_hash:
            raise AuthenticationError(user)
        return self.sessions.open(user)
'''
TREE = {
    "src/table.py": READ_CSV,
    "src/auth/service.py": LOGIN,
    "src/matrix.go": "package matrix\n\n// Multiply multiplies two matrices.\nfunc Multiply(a, b Matrix) Matrix {\n\treturn a\n}\n",
    "web/menu.js": "// Opens the menu of the page when a button is clicked.\nfunction openMenu(button) {\n  button.menu.open();\n}\n",
    "notes.md": "# Garden\n\nTomatoes want sun and water.\n",
    "logo.png": b"\x89PNG\0\0",
    "big.py": b"# nothing\n" * 110_000,
}


def call(view, tool, **arguments):
    answer = TOOLS[tool].call(Call(view), arguments)
    jsonschema.validate(answer, TOOLS[tool].output_schema)
    return answer


def concept(view, text, **arguments):
    return call(view, "search_semantic_concept", concept_description=text, **arguments)


def paths(answer):
    return [one.get("file_path") or one.get("file") for one in answer["results"]]


def embedded_rows(project):
    """How often contents were embedded: grows with each, whatever was deleted since."""
    with project.database.reader() as connection:
        return connection.execute("SELECT ifnull(max(step), 0) FROM embedded").fetchone()[0]


class Held(WorkerPool):
    """Workers that begin nothing before they are let."""

    def __init__(self, count):
        super().__init__(count)
        self.kept = []

    def submit(self, job, *, urgent=False):
        future = Future()
        self.kept.append((job, future))
        return future

    def let(self, takes=lambda _job: True):
        """Do the jobs kept so far that `takes` says."""
        kept, self.kept = self.kept, []
        for job, future in kept:
            if takes(job):
                future.set_result(super().submit(job).result(30))
            else:
                self.kept.append((job, future))


@pytest.fixture
def view(project, folder):
    write(folder, TREE)
    ready(project)
    project.files_now()
    until(lambda: not project.indexing.derivation.chunks.pending and not project.table.without_content)
    return View(project)


# What the specifications show


def test_the_example_of_000_finds_the_code_with_its_lines_and_a_score(view):
    answer = concept(view, "Code that reads data from a CSV file and processes it.", top_n_results=3, language="python")
    assert answer["status"] == "success"
    assert answer["result_count"] == len(answer["results"]) <= 3
    first = answer["results"][0]
    assert first["file_path"] == "src/table.py"
    assert (first["start_line"], first["end_line"]) == (1, 10)
    assert first["text"] == READ_CSV.rstrip("\n")
    assert first["snippet_id"] == "src/table.py:1-10"
    assert 0 <= first["score"] <= 1
    assert all(path.endswith(".py") for path in paths(answer))


def test_target_paths_narrow_and_one_outside_is_refused(view):
    assert paths(concept(view, "password hashing", target_paths=["web/", "src/table.py"]))[:1] != [
        "src/auth/service.py"
    ]
    assert set(paths(concept(view, "password hashing", target_paths=["src/auth"]))) == {"src/auth/service.py"}
    with pytest.raises(ToolError):
        concept(view, "password hashing", target_paths=["../other"])


def test_the_example_of_003_gives_ranked_elements_with_scores_as_strings(view):
    answer = call(
        view,
        "search_code",
        query="function that handles user authentication",
        limit=15,
        type="method",
        minSimilarity=0.0,
    )
    assert answer["success"] is True
    assert answer["query"] == "function that handles user authentication"
    assert answer["totalResults"] == len(answer["results"])
    first = answer["results"][0]
    assert {key: first[key] for key in ("rank", "type", "name", "file", "language")} == {
        "rank": 1,
        "type": "method",
        "name": "authenticate_user",
        "file": "src/auth/service.py",
        "language": "python",
    }
    assert len(first["score"].split(".")[1]) == 3
    assert first["description"] == "Authenticate a user by the hash of the password."
    assert "hash_password" in first["content"]
    assert {one["type"] for one in answer["results"]} == {"method"}


def test_scores_never_rise_and_those_below_the_least_are_left_out(view):
    every = [float(one["score"]) for one in call(view, "search_code", query="open menu", minSimilarity=0)["results"]]
    assert every == sorted(every, reverse=True)
    least = every[0]
    kept = call(view, "search_code", query="open menu", minSimilarity=least - 0.001)["results"]
    assert all(float(one["score"]) >= least - 0.001 for one in kept)
    assert kept
    assert call(view, "search_code", query="tomatoes in space", minSimilarity=1)["results"] == []


def test_twins_in_one_file_are_both_found_each_by_its_own_score_and_name(view, folder):
    close = "    def close(self):\n" + "        self.pool.shut()\n" * 30
    chase = (
        '    def chase(self):\n        """Follow redirects until a limit."""\n' + "        self.redirects += 1\n" * 30
    )
    twins = "".join(f"class {name}:\n{close}\n{chase}\n\n" for name in ("Client", "AsyncClient"))
    write(folder, {"src/client.py": twins})
    found = call(view, "search_code", query="follow redirects until a limit")["results"]
    assert [(one["type"], one["name"], one["file"]) for one in found] == [("method", "chase", "src/client.py")] * 2
    whole = call(view, "search_code", query="follow redirects until a limit", limit=6, minSimilarity=0)
    first = call(view, "search_code", query="follow redirects until a limit", limit=3, minSimilarity=0)
    second = call(
        view,
        "search_code",
        query="follow redirects until a limit",
        limit=3,
        minSimilarity=0,
        cursor=first["nextCursor"],
    )
    assert first["results"] + second["results"] == whole["results"]


def test_a_comment_comes_with_the_function_below_it(view, folder):
    comment = "/**\n * Send a JSON response to the browser.\n" + " * @param {string} body of it\n" * 20 + " */\n\n"
    write(folder, {"web/send.js": comment + "function emit(body) {\n" + "  queue.push(body);\n" * 60 + "}\n"})
    found = call(view, "search_code", query="send a JSON response to the browser")["results"]
    assert [(one["type"], one["name"], one["lines"]) for one in found] == [("function", "emit", "1-86")]


def test_a_long_function_is_one_result(view, folder):
    steps = "".join(f"    wash_the_salad({at})\n    # dry the salad before step {at}\n" for at in range(200))
    write(folder, {"src/salad.py": f"def make_lunch():\n{steps}"})
    found = call(view, "search_code", query="wash and dry the salad")["results"]
    assert [one["name"] for one in found] == ["make_lunch"]


def test_pages_go_on_where_the_last_ended(view):
    whole = paths(concept(view, "user password menu rows matrix", top_n_results=4))
    first = concept(view, "user password menu rows matrix", top_n_results=2)
    second = concept(view, "user password menu rows matrix", top_n_results=2, cursor=first["next_cursor"])
    assert paths(first) + paths(second) == whole
    assert len(paths(first)) == 2


def test_max_tokens_cut_the_answer_and_say_so(view):
    answer = concept(view, "authenticate user password", max_tokens=200)
    assert len(json.dumps(answer["results"])) < 200 * 4 * 1.5
    assert answer["truncated"] is True or any(one.get("text_truncated") for one in answer["results"])


def test_a_copy_is_most_alike_and_a_variant_with_other_names_comes_next(view, folder):
    variant = READ_CSV.replace("rows", "lines").replace("row", "line").replace("path", "name")
    write(folder, {"src/variant.py": variant, "src/copy.py": READ_CSV + "\n"})
    answer = call(view, "find_similar_code", codeSnippet=READ_CSV, minSimilarity=0)
    assert set(paths(answer)[:2]) == {"src/table.py", "src/copy.py"}
    assert float(answer["results"][0]["score"]) > 0.98
    assert paths(answer)[2] == "src/variant.py"
    assert "src/table.py" in paths(call(view, "find_similar_code", codeSnippet=READ_CSV))


def test_the_status_counts_files_languages_and_types(view):
    answer = call(view, "code_vectorization_status")
    assert answer["status"] == "ready"
    assert answer["model"] == "builtin"
    assert answer["dimension"] == embedding.load(embedding.BUILT_IN).dimension
    assert answer["progress"]["done"] == answer["progress"]["total"]
    assert answer["vectorizedElements"] == answer["totalElements"] > 0
    assert answer["totalFiles"] == answer["vectorizedFiles"] + 1  # the one that is too large
    assert {"python", "go", "javascript", "markdown"} <= set(answer["byLanguage"])
    assert sum(answer["byLanguage"].values()) == answer["vectorizedElements"]
    assert sum(answer["byType"].values()) == answer["vectorizedElements"]
    assert set(answer["byType"]) <= set(TYPES)
    assert answer["progress"]["total"] == answer["totalFiles"]
    assert answer["error"] is None
    assert answer["lastUpdated"].endswith("Z")


def test_an_empty_answer_says_what_it_covers(view):
    answer = concept(view, "zzyzx qwrtpsd", target_paths=["logo.png", "big.py"])
    assert answer["status"] == "no_results_found"
    assert answer["coverage"] == {"files_searched": 0, "skipped": {"binary": 1, "too_large": 1}}


@pytest.mark.parametrize("arguments", [{"language": "pyton"}, {"language": "klingon"}])
def test_an_unknown_language_names_those_there_are(view, arguments):
    with pytest.raises(ToolError, match=r"Languages: .*python"):
        concept(view, "password", **arguments)
    with pytest.raises(ToolError, match=r"Types: .*function"):
        call(view, "search_code", query="password", type="fonction")


@pytest.mark.parametrize(("name", "meant"), [("py", "python"), (".TS", "typescript"), ("pyton", "python")])
def test_an_extension_in_place_of_a_language_is_understood_in_the_error(view, name, meant):
    with pytest.raises(ToolError, match=f"Did you mean {meant}"):
        call(view, "search_code", query="password", language=name)
    with pytest.raises(ToolError, match=f"Did you mean {meant}"):
        call(view, "find_symbol_occurrences", symbol_name="password", language=name)


@pytest.mark.parametrize(
    "text",
    ["word " * 1_900, "sql \0 nul", "пароль пользователя", "密碼 驗證", "'\" OR NEAR( * -a:b {x} ^", "a" * 9_999],
)
def test_a_strange_question_is_answered(view, text):
    assert concept(view, text)["status"] in {"success", "no_results_found"}
    assert call(view, "search_code", query=text)["success"] is True
    assert call(view, "find_similar_code", codeSnippet=text)["success"] is True


@pytest.mark.parametrize("text", ["?!", "\n\t", "--- ***"])
def test_a_question_without_a_word_is_refused(view, text):
    for tool, name in (
        ("search_semantic_concept", "concept_description"),
        ("search_code", "query"),
        ("find_similar_code", "codeSnippet"),
    ):
        with pytest.raises(ToolError, match="holds no word"):
            call(view, tool, **{name: text})
        with pytest.raises(ToolError, match="holds no word") as refused:
            call(view, tool, **{name: text * 1_000})
        assert len(str(refused.value)) < 500


# Before the first pass is done, and after


def test_before_the_first_pass_a_scope_that_is_done_answers_and_others_say_how_far_it_is(folder, home):
    write(folder, {"done/a.py": READ_CSV, "later/b.py": LOGIN})
    held = Held(2)
    with opened(folder, home, held) as project:
        view = View(project)
        until(lambda: len(held.kept) == 2)
        held.let()  # their symbols
        until(lambda: held.kept)
        held.let(lambda job: b"done" in job.path)
        until(lambda: len(project.indexing.derivation.chunks.pending) == 1)
        assert paths(concept(view, "read a CSV file", target_paths=["done"])) == ["done/a.py"]
        early = concept(view, "read a CSV file")
        assert early["status"] == "embeddings_not_ready"
        assert early["progress"]["total"] == 2
        assert early["results"] == []
        assert "1 files" in early["error_message"]
        coded = call(view, "search_code", query="read a CSV file")
        assert (coded["success"], coded["status"]) == (False, "embeddings_not_ready")
        assert call(view, "code_vectorization_status")["status"] == "indexing"
        held.let()
        ready(project)
        assert concept(view, "read a CSV file")["status"] == "success"
    held.close()


def test_a_change_is_found_by_its_new_words_in_the_very_next_call(view, folder):
    for word in ("giraffe", "pelican", "walrus"):
        write(folder, {"src/table.py": f"def feed_{word}(animal):\n    return animal.{word}\n"})
        answer = concept(view, f"feed the {word}")
        assert answer["status"] == "success"
        assert paths(answer)[0] == "src/table.py"
        assert word in answer["results"][0]["text"]
        assert "stale" not in answer


def test_a_deleted_file_is_not_found(view, folder):
    (folder / "src/auth/service.py").unlink()
    assert "src/auth/service.py" not in paths(concept(view, "password hash authentication", top_n_results=20))


def test_a_renamed_and_a_copied_file_are_found_and_not_embedded_again(view, folder):
    before = embedded_rows(view.project)
    os.rename(folder / "src/table.py", folder / "src/spreadsheet.py")
    write(folder, {"other/copy.py": LOGIN})
    found = paths(concept(view, "read rows of a CSV file", top_n_results=20))
    assert "src/spreadsheet.py" in found
    assert "src/table.py" not in found
    assert "other/copy.py" in paths(concept(view, "password hash", target_paths=["other"]))
    assert embedded_rows(view.project) == before


@needs_git
def test_a_branch_switch_and_a_second_worktree_embed_nothing_again(folder, home, workers, tmp_path):
    write(folder, {"a.py": READ_CSV, "b.py": LOGIN})
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "1")
    git(folder, "switch", "-c", "two")
    write(folder, {"a.py": READ_CSV.replace("rows", "animals")})
    git(folder, "commit", "-am", "2")
    with opened(folder, home, workers) as project:
        view = View(ready(project))
        git(folder, "switch", "main")
        assert "rows" in concept(view, "read CSV", target_paths=["a.py"])["results"][0]["text"]
        before = embedded_rows(project)
        git(folder, "switch", "two")
        assert "animals" in concept(view, "read CSV", target_paths=["a.py"])["results"][0]["text"]
        assert embedded_rows(project) == before
    git(folder, "worktree", "add", str(tmp_path / "second"), "main")
    with opened(tmp_path / "second", home, workers) as project:  # the database of the repository
        assert "rows" in concept(View(ready(project)), "read CSV", target_paths=["a.py"])["results"][0]["text"]
        assert embedded_rows(project) == before


def test_new_weights_of_the_built_in_model_keep_the_chunks_and_drop_the_old_vectors(folder, home, workers):
    write(folder, TREE)

    def chunk_ids(project):
        with project.database.reader() as connection:
            return connection.execute("SELECT id FROM chunk ORDER BY id").fetchall()

    with opened(folder, home, workers) as project:
        before = chunk_ids(ready(project))
        with project.database.transaction() as connection:
            connection.execute("UPDATE model SET identity = 'builtin-of-before'")
    with opened(folder, home, workers) as project:
        view = View(ready(project))
        assert paths(concept(view, "authenticate a user by password"))[0] == "src/auth/service.py"
        assert chunk_ids(project) == before
        identity = embedding.identity_of(embedding.BUILT_IN)
        until(lambda: [one.identity for one in stored_models(project.database)] == [identity])


def test_without_a_model_words_and_names_answer(folder, home, workers):
    write(folder, TREE)
    with opened(folder, home, workers, model="none") as project:
        view = View(ready(project))
        assert paths(concept(view, "authenticate a user by password"))[0] == "src/auth/service.py"
        assert paths(call(view, "find_similar_code", codeSnippet=READ_CSV))[0] == "src/table.py"
        assert call(view, "code_vectorization_status")["status"] == "disabled"
        assert stored_models(project.database) == []
        assert embedded_rows(project) == 0


# The ranking


def test_words_side_by_side_are_found_as_one_identifier_however_it_is_spelled(folder, home, workers):
    write(
        folder,
        {
            "a.py": "def open_all(connection_pool, pool, connection):\n    return connection_pool\n",
            "b.java": "class Other { ConnectionPool pool; Connection connection; }\n",
            "c.py": "def other(pool, connection):\n    return pool, connection\n",
        },
    )
    with opened(folder, home, workers) as project:
        question = Question("how the connection pool is closed")
        assert ("connectionpool", "connection_pool") in question.compounds
        assert not any("howthe" in spellings for spellings in question.compounds)
        found, _ = ready(project).semantic.candidates(question, Scope(), lambda: False, meaning=None)
        assert {one.path: one.compounds for _, one in found} == {b"a.py": 1, b"b.java": 1, b"c.py": 0}


def test_of_files_that_say_the_same_that_comes_first_whose_folders_the_question_names(folder, home, workers):
    classes = {
        f"src/{name}/worker.py": f"class Worker:\n    def run(self, task):\n        return task.run_{name[0]}()\n"
        for name in ("audio", "images", "queue")
    }
    write(folder, classes)
    with opened(folder, home, workers, model="none") as project:
        view = View(ready(project))
        for name in ("audio", "images", "queue"):
            assert paths(concept(view, f"how the {name} worker runs a task"))[0] == f"src/{name}/worker.py"


def test_every_feature_lies_between_0_and_1_and_has_its_weights():
    question = Question("how does the connection pool of HttpClient reconnect")
    deep = b"a/" * 40 + b"tests/v1/pool.py"
    evidence = [Evidence(deep, 900, {1: 30.0, 2: 12.5}, [0.9, -0.2], 9, 1.0, True), Evidence(b"pool")]
    for row in features(question, evidence, {"connection": 0.7, "pool": 0.3}):
        assert tuple(row) == FEATURES
        assert all(0 <= value <= 1 for value in row.values())
    for with_vectors in (True, False):
        assert len(scores(question, evidence, {}, with_vectors=with_vectors)) == 2


# The vectors


@pytest.mark.parametrize(("kept_bytes", "least"), [(0, 0.93), (KEPT_BYTES, 0.98)])
def test_the_nearest_chunks_are_those_of_an_exact_search(home, monkeypatch, kept_bytes, least):
    random = np.random.default_rng(1)
    centres = random.normal(size=(50, 64))
    vectors = (centres[random.integers(0, 50, 6 * NARROWED)] + 0.7 * random.normal(size=(6 * NARROWED, 64))).astype(
        np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    database = Database(str(home / "vectors.db"))
    with database.transaction() as connection:
        connection.execute("INSERT INTO model VALUES (1, 'm', 'm', 64)")
        connection.execute("CREATE TABLE vector_1 (chunk_id INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
        connection.execute(
            "INSERT INTO content (id, hash, form, symbols, last_used) VALUES (1, x'00', 'plain', 'none', 0)"
        )
        count = len(vectors)
        connection.executemany("INSERT INTO chunk VALUES (?, 1, 1, 1, '')", ((at,) for at in range(count)))
        connection.executemany("INSERT INTO vector_1 VALUES (?, ?)", enumerate(embedding.quantised(vectors)))
        connection.execute("INSERT INTO embedded (model_id, content_id, embedded_at) VALUES (1, 1, 0)")
    monkeypatch.setattr("ctxd.indexer.meaning.vectors.KEPT_BYTES", kept_bytes)
    index = VectorIndex(database, 1, 64)
    kept = []
    for at in range(0, 200, 10):
        exact = np.argsort(-(vectors @ vectors[at]))[:10]
        found = [near.chunk_id for near in index.nearest(vectors[at], 10)]
        assert found[0] == at
        kept.append(len(set(exact) & set(found)) / 10)
    assert np.mean(kept) > least
    database.close()


def test_what_every_chunk_holds_is_no_reason_to_call_one_relevant(folder, home, workers):
    body = "\n".join(
        f"        self.{word} = {word} or self.{word}_default" for word in ("size", "name", "owner", "colour")
    )
    classes = {
        f"m{n}.py": f"class Thing{n}:\n    def __init__(self, size, name, owner, colour):\n{body}\n" for n in range(250)
    }
    write(folder, classes)
    with opened(folder, home, workers) as project:
        view = View(ready(project))
        assert call(view, "search_code", query="self")["results"] == []
        assert call(view, "search_code", query="Thing7")["results"][0]["file"] == "m7.py"


def test_what_a_file_held_before_does_not_push_out_what_others_hold(project, folder):
    question = "retry a failed request with exponential backoff"
    write(
        folder,
        {
            "zeta.py": 'def qq(n):\n    """Retry with exponential backoff."""\n    return 2 ** n\n'
            + "unrelated = 1\n" * 50
        },
    )
    ready(project)
    for number in range(30):
        functions = [
            f'def retry_{at}():\n    """Retry a failed request with exponential backoff, {number}."""\n'
            + f"    x = {at}\n" * 150
            for at in range(20)
        ]
        write(folder, {"hot.py": "\n".join(functions)})
        concept(View(project), question)
    write(folder, {"hot.py": "x = 1\n"})
    assert paths(concept(View(project), question))[0] == "zeta.py"
