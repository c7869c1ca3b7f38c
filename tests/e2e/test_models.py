"""`ctxd ask` and `ctxd model` with a real daemon."""

import json
import tomllib

import pytest

from ctxd.mcp_frontend import model_verbs
from ctxd.mcp_frontend.launch import DaemonError
from projects import write

SOURCE = {
    "src/table.py": "def read_rows(path):\n    '''Read the rows of a CSV file.'''\n    return list(csv.reader(open(path)))\n",
    "src/login.go": "package login\n\n// Login checks the hash of a password.\nfunc Login(user, password string) bool {\n\treturn false\n}\n",
}


@pytest.fixture(scope="module")
def project(site):
    write(site.folder, SOURCE)
    assert site.run("add").returncode == 0
    return site


def test_ask_finds_code_by_what_it_does(project):
    done = project.run("ask", "read the rows of a CSV file")
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    path, lines, score, text = first.split(":", 3)
    assert (path, lines, text) == ("src/table.py", "1-3", " def read_rows(path):")
    assert 0 < float(score) <= 1
    assert "table.py" not in project.run("ask", "password", "--language", "go").stdout
    assert "table.py" not in project.run("ask", "rows", "src/login.go").stdout
    answer = json.loads(project.run("ask", "check a password", "-n", "1", "--json").stdout)
    assert [one["file_path"] for one in answer["results"]] == ["src/login.go"]


def test_ask_says_what_is_wrong(project):
    assert project.run("ask", "zzyzxqq", "src/login.go", "--language", "python").returncode == 1
    for arguments in (["?!"], ["password", "-n", "99"], ["password", "--language", "klingon"]):
        done = project.run("ask", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("ctxd: ")


def test_a_model_is_used_after_the_setting_is_written(project, transformer):
    settings = project.home / "ctxd.toml"
    settings.write_text("# mine\nsettle_ms = 200  # ms\n")
    done = project.run("model", "use", f"path:{transformer}")
    assert done.returncode == 0, done.stderr
    assert settings.read_text() == f'# mine\nsettle_ms = 200  # ms\nmodel = "path:{transformer}"\n'
    for _ in range(600):
        state = json.loads(project.run("model", "status", "--json").stdout)
        assert not state["problem"]
        if state["answering"] == f"path:{transformer}":
            break
    assert (state["wanted"], state["dimension"], state["embedded"]) == (f"path:{transformer}", 384, state["chunks"])
    assert project.run("ask", "verify who somebody is").stdout.startswith("src/login.go")
    assert project.run("model", "use", "builtin").returncode == 0
    assert tomllib.loads(settings.read_text()) == {"settle_ms": 200, "model": "builtin"}
    assert "answering  builtin" in project.run("model", "status").stdout


def test_what_is_no_model_is_refused_and_changes_nothing(project):
    settings = project.home / "ctxd.toml"
    settings.touch()
    before = settings.read_text()
    done = project.run("model", "use", "bge-smal-en-v1.5")
    assert done.returncode == 1
    assert "Did you mean BAAI/bge-small-en-v1.5" in done.stderr
    assert "no .onnx file" in project.run("model", "use", "path:src").stderr
    assert "nothing to fetch" in project.run("model", "pull", "builtin").stderr
    assert settings.read_text() == before


def test_the_models_are_listed_with_those_that_are_here_first(project):
    models = json.loads(project.run("model", "list", "--json").stdout)["models"]
    assert models[0]["name"] == "builtin"
    assert set(models[0]) == {"name", "dimension", "bytes", "here", "description"}
    by_name = {one["name"]: one for one in models}
    assert by_name["BAAI/bge-small-en-v1.5"]["dimension"] == 384
    assert not by_name["BAAI/bge-small-en-v1.5"]["here"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'model = "x"\n'),
        ("settle_ms = 9\n", 'settle_ms = 9\nmodel = "x"\n'),
        ('model = "y"  # old\nsettle_ms = 9', 'model = "x"\nsettle_ms = 9\n'),
        ("# model = 1\n\"model\" = 'y'\n", '# model = 1\nmodel = "x"\n'),
        ("a = 1\n[b]\nmodel = 2\n", 'a = 1\nmodel = "x"\n[b]\nmodel = 2\n'),
    ],
)
def test_nothing_else_of_the_settings_changes(tmp_path, before, after):
    path = tmp_path / "ctxd.toml"
    path.write_text(before)
    model_verbs._write_setting(str(path), "x")
    assert path.read_text() == after


@pytest.mark.parametrize("text", ["settle_ms = ", 'a = """\nmodel = 1\n"""\n', 'model = """\ny"""\n'])
def test_settings_that_cannot_be_changed_safely_are_left(tmp_path, text):
    path = tmp_path / "ctxd.toml"
    path.write_text(text)
    with pytest.raises(DaemonError):
        model_verbs._write_setting(str(path), "x")
    assert path.read_text() == text
