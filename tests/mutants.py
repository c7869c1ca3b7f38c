"""Do the golden answers notice what goes wrong? Breaks the ranking, the grades and the tables of languages, one thing at a time, and
puts the golden questions again.

    python tests/mutants.py [--sample N] [--seed S] [--kind KIND]...

Prints how many mutants of each kind were made and how many changed an answer ("killed"), and those that changed none. Exits with 1
unless all of the kinds REQUIRED were killed; the other kinds are reported alone. What is broken is found, not listed: every weight,
every module-level table whose keys are languages or their extensions. All is patched in this process and put back; where a table is
read while files are parsed, they are indexed again with workers in this process.
"""

import argparse
import contextlib
import copy
import dataclasses
import functools
import importlib
import itertools
import pkgutil
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import ctxd.indexer
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.indexer import languages
from ctxd.indexer.meaning import semantic_ranking
from ctxd.indexer.names import file_ranking
from ctxd.indexer.symbols import candidates, element_ranking, occurrence_search, resolution
from goldens import checks, indexed

RANKING_CHECKS = ("search_semantic_concept", "search_code")
GRADE_CHECKS = ("grades", "find_symbol_occurrences")
TABLE_CHECKS = ("samples", *GRADE_CHECKS)
NOT_OF_LANGUAGES = ("files.secret_names",)
"""Their extensions say which names are harmless, whatever language they are of."""
KEPT_CACHES = ("embedding", "static_model")  # they hold the model: a second to load, and no mutant touches them


class Mutant(NamedTuple):
    kind: str
    about: str
    made: Callable[[], contextlib.AbstractContextManager[Any]]
    first: tuple[str, ...]
    """Kinds of checks that may notice it; the others are put after them."""
    language: str = ""
    """Whose files are indexed again where nothing noticed it."""
    always_indexed: bool = False
    """It is in effect only while files are parsed."""
    of_projects: bool = False
    """`made` wants the projects."""


# Patching


def modules():
    """All modules of the indexer, then those of the daemon that are loaded: they have names for what is the indexer's."""
    for one in pkgutil.walk_packages(ctxd.indexer.__path__, "ctxd.indexer."):
        importlib.import_module(one.name)
    ours = [module for name, module in sorted(sys.modules.items()) if name.startswith("ctxd.")]
    return sorted(ours, key=lambda one: not one.__name__.startswith("ctxd.indexer."))


@contextlib.contextmanager
def patched(pairs):
    """Names of modules (`(module, name, value)`) with other values for a while, and no cache that remembers the old ones."""
    pairs = list(pairs)
    before = [(module, name, getattr(module, name)) for module, name, _ in pairs]
    for module, name, value in pairs:
        setattr(module, name, value)
    forget()
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
        forget()


def everywhere(value, other):
    """A value replaced under all names that modules have for it."""
    return patched(
        (module, name, other) for module in modules() for name, one in list(vars(module).items()) if one is value
    )


def forget():
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name.startswith("ctxd.indexer.") and not name.endswith(KEPT_CACHES):
            for one in list(vars(module).values()):
                if hasattr(one, "cache_clear") and one.__module__ == name:
                    one.cache_clear()


# The mutants


def weights():
    """Each weight of ranking.json at 0 and negated; and what demotes prose."""
    whole = semantic_ranking._weights()
    for path, weight in leaves(whole):
        for how, value in (("0", 0.0), ("negated", -weight)):
            changed = copy.deepcopy(whole)
            functools.reduce(dict.__getitem__, path[:-1], changed)[path[-1]] = value
            change = functools.partial(
                patched, [(semantic_ranking, "_weights", functools.cache(lambda one=changed: one))]
            )
            yield Mutant("weights", f"{'.'.join(path)} {how}", change, RANKING_CHECKS)
    for how, value in (("0", 0.0), ("negated", -semantic_ranking._PROSE_WEIGHT)):
        change = functools.partial(patched, [(semantic_ranking, "_PROSE_WEIGHT", value)])
        yield Mutant("weights", f"prose {how}", change, RANKING_CHECKS)


def leaves(tree, path=()):
    for name, value in tree.items():
        yield from leaves(value, (*path, name)) if isinstance(value, dict) else [((*path, name), value)]


def tables():
    """Each language dropped from each table of languages; one that several modules have a name for is one table."""
    names = {one.name for one in languages.LANGUAGES}
    of_file = {extension: one.name for one in languages.LANGUAGES for extension in one.extensions}
    of_file |= {name: one.name for one in languages.LANGUAGES for name in one.file_names}
    seen = {id(languages.LANGUAGES)}
    rows = {one.name: [one] for one in languages.LANGUAGES}
    derived = [
        (name, table)
        for name, table in vars(languages).items()
        if isinstance(table, dict | frozenset) and len(_by_language(table, names, of_file)) > 1
    ]
    for language, row in rows.items():
        pairs = [(languages, "LANGUAGES", without(languages.LANGUAGES, row))]
        pairs += [
            (module, other, without(table, _by_language(table, names, of_file).get(language, ())))
            for name, table in derived
            for module in modules()
            for other, value in list(vars(module).items())
            if value is table
        ]
        about = f"{language} in languages.LANGUAGES and what is made of it"
        yield Mutant("languages in tables", about, functools.partial(patched, pairs), TABLE_CHECKS, language)
    for module in modules():
        if module.__name__.endswith(NOT_OF_LANGUAGES):
            continue
        for name, table in list(vars(module).items()):
            if not isinstance(table, dict | set | frozenset | tuple | list) or id(table) in seen:
                continue
            by_language = _by_language(table, names, of_file)
            if table is languages.COMMON_NAMES:  # `CMakeLists.txt` is found by its extension as well
                by_language = {one: keys for one, keys in by_language.items() if not all(map(_has_extension, keys))}
            seen.add(id(table))
            for language, keys in by_language.items():
                change = functools.partial(everywhere, table, without(table, keys))
                about = f"{language} in {module.__name__.removeprefix('ctxd.')}.{name}"
                yield Mutant("languages in tables", about, change, TABLE_CHECKS, language)


def _by_language(table, names, of_file):
    """The keys of a table by the language each stands for; none where it is no table of languages."""
    found = {}
    for key in table:
        language = of_file.get(key) if isinstance(key, bytes) else key
        if not isinstance(language, str) or language not in names:
            return {}
        found.setdefault(language, []).append(key)
    is_of_files = any(isinstance(key, bytes) for key in table)
    return {} if is_of_files and len(found) == 1 else found  # some names of files are no table of languages


def _has_extension(name):
    return b"." + name.rpartition(b".")[2] in languages.COMMON_EXTENSIONS


def without(table, keys):
    if isinstance(table, dict):
        return {key: value for key, value in table.items() if key not in keys}
    return type(table)(one for one in table if one not in keys)


def grades():
    """Each two grades swapped: in their order, and where uses get them."""
    order = resolution.GRADES
    for one, other in itertools.combinations(order, 2):
        swapped = tuple({one: other, other: one}.get(grade, grade) for grade in order)
        if one != resolution.DEFINITION:  # which come first whatever the order says
            change = functools.partial(everywhere, order, swapped)
            yield Mutant("grades", f"{one} and {other} in the order", change, GRADE_CHECKS)
        pairs = [
            (module, name, other if value == one else one)
            for module in modules()
            for name, value in list(vars(module).items())
            if name.isupper() and isinstance(value, str) and value in (one, other)
        ]
        yield Mutant("grades", f"{one} and {other} as given", functools.partial(patched, pairs), GRADE_CHECKS)


def file_names():
    """Each two grades of the finder of file names swapped; each part of a rank left out and reversed."""
    constants = {
        name: value
        for name, value in vars(file_ranking).items()
        if name.isupper() and type(value) is int and name != "STOP_EVERY"
    }
    for (one, first), (other, second) in itertools.combinations(constants.items(), 2):
        pairs = [(file_ranking, one, second), (file_ranking, other, first)]
        yield Mutant("file names", f"{one} and {other} swapped", functools.partial(patched, pairs), ("search_files",))
    parts = ("worst grade", "sum of the grades", "length", "folders")
    for at, part in enumerate(parts):
        for how, factor in (("left out", 0), ("reversed", -1)):
            change = functools.partial(patched, [(file_ranking, "_ranked", _ranked_otherwise(at, factor))])
            yield Mutant("file names", f"{part} {how}", change, ("search_files",))


def _ranked_otherwise(at, factor):
    ranked = file_ranking._ranked

    def changed(*arguments):
        rank = list(ranked(*arguments))
        rank[at] *= factor
        return tuple(rank)

    return changed


def orders():
    """The order of symbols and of elements turned round."""
    has_sections = candidates.has_sections
    both = [(module, "has_sections", lambda path: not has_sections(path)) for module in (candidates, occurrence_search)]
    change = functools.partial(patched, both)
    yield Mutant("orders", "headings before definitions in code", change, GRADE_CHECKS)
    key_elements = element_ranking.key_elements
    change = functools.partial(patched, [(element_ranking, "key_elements", lambda *asked: key_elements(*asked)[::-1])])
    yield Mutant("orders", "elements that are referred to least come first", change, ("explore_codebase",))
    for about, count in (("one element of each file is ranked", 1), ("no element is ranked", 0)):
        change = functools.partial(ranked_anew, count)
        yield Mutant("orders", about, change, ("explore_codebase",), of_projects=True)


@contextlib.contextmanager
def ranked_anew(count, projects):
    """So many elements of each file are ranked."""
    database = projects.views["corpus"].project.database
    with patched([(element_ranking, "ELEMENTS_MAX", count)]):
        element_ranking.rank_elements(database)
        yield
    element_ranking.rank_elements(database)


def traits():
    """Each thing that a language says of itself and that is not the default, at its default."""
    for one in languages.LANGUAGES:
        for name in ("comments", "counts_as", "claims"):
            yield from _at_default(one, one, name, lambda changed: changed, "traits of languages")
        for field in dataclasses.fields(one.scoping):
            whole = functools.partial(_with, one, "scoping")
            yield from _at_default(one, one.scoping, field.name, whole, "traits of languages")
        for field in dataclasses.fields(one.rules) if one.rules is not None else ():
            yield from _at_default(
                one, one.rules, field.name, functools.partial(_with, one, "rules"), "rules of languages"
            )


def _with(one, name, value):
    return dataclasses.replace(one, **{name: value})


def _at_default(language, holder, name, whole, kind):
    field = next(field for field in dataclasses.fields(holder) if field.name == name)
    default = NOTHING.get(name) if field.default is dataclasses.MISSING else field.default
    if (default is None and field.default is dataclasses.MISSING) or getattr(holder, name) == default:
        return
    change = functools.partial(replaced, language, whole(_with(holder, name, default)))
    is_parsing = kind == "rules of languages"
    first = ("grades",) if is_parsing else TABLE_CHECKS
    yield Mutant(kind, f"{language.name}: {name}", change, first, language.name, always_indexed=is_parsing)


def replaced(one, other):
    """The row of a language replaced wherever it is looked up."""
    pairs = []
    for table in list(vars(languages).values()):
        if isinstance(table, dict) and any(value is one for value in table.values()):
            changed = {key: other if value is one else value for key, value in table.items()}
        elif isinstance(table, tuple) and any(value is one for value in table):
            changed = tuple(other if value is one else value for value in table)
        else:
            continue
        pairs += [
            (module, found, changed)
            for module in modules()
            for found, value in list(vars(module).items())
            if value is table
        ]
    return patched(pairs)


NOTHING = {"modifiers": frozenset(), "imports": lambda _node, _text: ()}
"""What stands for the fields of rules that have no default."""
KINDS = (weights, tables, grades, file_names, orders, traits)
REQUIRED = ("weights", "languages in tables", "grades", "file names", "orders")


def made():
    """All mutants, those of one kind side by side."""
    return [one for kind in KINDS for one in kind()]


# Running them


class InThisProcess(WorkerPool):
    """Workers as threads: what is patched here is patched for them."""

    def __init__(self):
        super().__init__(1)
        self._threads = ThreadPoolExecutor(1)

    def submit(self, job, *, urgent=False):
        del urgent

        def done():
            try:
                return job.run(job.deadline_seconds)
            except Exception as error:  # as a process that ends without a result
                return job.failed(str(error))

        return self._threads.submit(done)

    def close(self):
        self._threads.shutdown(cancel_futures=True)
        super().close()


def killed_by(projects, mutant, all_checks):
    """The first check that notices a mutant, None where none does."""
    ordered = sorted(all_checks, key=lambda one: one.kind.split(" with")[0] not in mutant.first)
    own = [one for one in ordered if mutant.language and _is_of(one, mutant.language)]
    with mutant.made(*([projects] if mutant.of_projects else [])):
        if mutant.always_indexed:
            return _killed_when_indexed(mutant, own)
        for some in (own, None, [one for one in ordered if one not in own]):
            if some is None:
                noticed = _killed_when_indexed(mutant, own) if own else None
            else:
                noticed = next(filter(None, (_noticed(projects, one) for one in some)), None)
            if noticed:
                return noticed
    return None


def _is_of(check, language):
    """Whether it is about the samples of one language."""
    return check.project != "corpus" and re.split("[:/]", check.about)[0] == language


def _noticed(projects, check):
    try:
        return projects.wrong(check)
    except Exception as error:  # a tool that breaks is noticed
        return f"{check.kind}: {check.about}: {type(error).__name__}: {error}"


def _killed_when_indexed(mutant, own):
    pool = InThisProcess()
    names = {one.project for one in own}
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            indexed(Path(folder), pool, names=names, language=mutant.language) as projects,
        ):
            return next(filter(None, (_noticed(projects, one) for one in own)), None)
    finally:
        pool.close()
    return None


def sample(mutants, count, seed):
    """Some of each kind, at least one."""
    chosen = []
    dice = random.Random(seed)
    for _, group in itertools.groupby(mutants, key=lambda one: one.kind):
        of_kind = list(group)
        chosen += dice.sample(of_kind, min(len(of_kind), max(1, round(count * len(of_kind) / len(mutants)))))
    return chosen


def run(projects, mutants, all_checks, *, verbose=False):
    """`{kind: [made, killed]}`, and the mutants that nothing noticed."""
    counts: dict[str, list[int]] = {}
    alive = []
    for mutant in mutants:
        of_kind = counts.setdefault(mutant.kind, [0, 0])
        of_kind[0] += 1
        noticed = killed_by(projects, mutant, all_checks)
        of_kind[1] += noticed is not None
        if noticed is None:
            alive.append(mutant)
        if verbose:
            print(f"{mutant.kind}: {mutant.about}: {noticed or 'not noticed'}", flush=True)
    return counts, alive


def main():
    parser_ = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser_.add_argument("--sample", type=int, help="so many mutants, drawn from all kinds")
    parser_.add_argument("--seed", type=int, default=int(time.time()))
    parser_.add_argument("--kind", action="append", choices=[*REQUIRED, "traits of languages", "rules of languages"])
    parser_.add_argument("--verbose", action="store_true")
    options = parser_.parse_args()
    all_checks = checks()
    pool = WorkerPool(2)
    with tempfile.TemporaryDirectory() as folder, indexed(Path(folder), pool) as projects:
        wrong = [noticed for check in all_checks if (noticed := _noticed(projects, check))]
        if wrong:
            raise SystemExit("the answers are wrong before anything is broken:\n" + "\n".join(wrong))
        mutants = [one for one in made() if not options.kind or one.kind in options.kind]
        if options.sample:
            mutants = sample(mutants, options.sample, options.seed)
            print(f"seed {options.seed}")
        counts, alive = run(projects, mutants, all_checks, verbose=options.verbose)
    pool.close()
    for mutant in alive:
        print(f"not noticed: {mutant.kind}: {mutant.about}")
    print(f"{'kind':24}{'made':>6}{'killed':>8}")
    for kind, (count, killed) in counts.items():
        print(f"{kind:24}{count:>6}{killed:>8}{'' if kind in REQUIRED else '  (reported alone)'}")
    return int(any(mutant.kind in REQUIRED for mutant in alive))


if __name__ == "__main__":
    sys.exit(main())
