"""The first answers to the golden questions, the grades and the samples of every language; and that they notice what goes wrong."""

import pytest

import goldens
import mutants
from ctxd.indexer import languages

CHECKS = goldens.checks()
KINDS = list(dict.fromkeys(one.kind for one in CHECKS))
SEED = 1
MUTANTS = 20
"""Drawn with a fixed seed, so that a failure repeats; `make mutants` makes them all."""
DRAWN = [one for one in mutants.REQUIRED if one != "languages in tables"]
"""The kinds they are of: what breaks a table of languages may have to be indexed anew, which takes a second each."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory, workers):
    with goldens.indexed(tmp_path_factory.mktemp("golden"), workers) as found:
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_answers_are_those_that_are_written_down(projects, kind):
    wrong = [problem for one in CHECKS if one.kind == kind and (problem := projects.wrong(one))]
    assert not wrong, "\n".join(wrong)


def test_every_language_has_its_samples():
    graded = {one.about.partition(":")[0] for one in CHECKS if one.kind == "grades"}
    sampled = {one.about.partition("/")[0] for one in CHECKS if one.kind == "samples"}
    assert graded == {one.name for one in languages.LANGUAGES if one.has_symbols and not one.has_sections}
    assert sampled == {one.name for one in languages.LANGUAGES}


def test_what_goes_wrong_in_a_ranking_or_a_grade_changes_an_answer(projects):
    made = [one for one in mutants.made() if one.kind in DRAWN]
    chosen = mutants.sample(made, MUTANTS, SEED)
    _, unnoticed = mutants.run(projects, chosen, CHECKS)
    assert not unnoticed, f"{[f'{one.kind}: {one.about}' for one in unnoticed]}"
