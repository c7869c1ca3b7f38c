"""The README and --help tell the truth: every tool, verb and setting is in it, and what it tells to run exists."""

import re
import subprocess
from pathlib import Path

from ctxd.daemon.projects.config import Settings
from ctxd.daemon.tool import TOOLS
from processes import COMMAND

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()


def help_of(*arguments):
    return subprocess.run([*COMMAND, *arguments, "--help"], capture_output=True, text=True, check=True).stdout


def verbs():
    return re.findall(r"^ {2,4}([a-z]+)  ", help_of(), re.MULTILINE)


def test_every_tool_verb_and_setting_is_in_the_readme():
    assert len(verbs()) >= 16
    for name in [*TOOLS, *(f"ctxd {verb}" for verb in verbs()), *Settings.model_fields]:
        assert f"`{name}" in README, name


def test_defaults_in_the_readme_are_those_of_the_settings():
    for name, field in Settings.model_fields.items():
        if name != "workers":
            row = re.search(rf"^\| `{name}` \| (\S+) \|", README, re.MULTILINE)
            assert row, name
            assert row[1] == f"{field.default:g}" if isinstance(field.default, float) else str(field.default).lower()


def test_every_verb_in_the_readme_has_help_with_an_example():
    mentioned = set(re.findall(r"(?:`|^|\$ )ctxd ([a-z]+)", README, re.MULTILINE))
    for verb in sorted(mentioned | set(verbs())):
        assert f"ctxd {verb}" in help_of(verb), verb


def test_linked_files_exist():
    for document in (
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"
    for target in re.findall(r"python ((?:benchmarks|examples)/\S+\.py)", README):
        assert (ROOT / target).exists(), target


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_architecture_names_every_module_and_stays_short():
    assert len(ARCHITECTURE.splitlines()) <= 400
    assert max(map(len, ARCHITECTURE.splitlines())) <= 120
    for package in ("daemon", "indexer", "mcp_frontend"):
        for path in (ROOT / package).rglob("*.py"):
            if not path.stem.startswith("__") and path.parent.name not in {"tools", "languages", "structure"}:
                assert f"`{path.name}`" in ARCHITECTURE, path.name
