"""Tools that search by meaning: `search_semantic_concept` of the toolset `search`, the others of `code`."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.page import TOKEN_BYTES, Page
from ctxd.daemon.answers.semantic_query import Answer, SemanticQuery
from ctxd.daemon.answers.text_query import shortened
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams, Params
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, TARGET_PATHS, CamelListed, Listed, Progress
from ctxd.indexer import languages
from ctxd.indexer.meaning import embedding
from ctxd.indexer.symbols.enclosing import TYPE_OF_KIND, language_name, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TYPES = (
    *("function", "method", "class", "interface", "struct", "enum", "trait", "module", "type", "constant", "variable"),
    "section",
)
_RESULT_SHARE = 2  # one result gets at most half of the room, so that a very long line does not push out the others


class ConceptMatch(TypedDict):
    file_path: str
    start_line: int
    end_line: int
    text: str
    score: float
    snippet_id: str
    text_truncated: NotRequired[bool]


class ConceptResult(Listed):
    status: Literal["success", "no_results_found", "embeddings_not_ready", "error"]
    results: list[ConceptMatch]
    result_count: int
    progress: NotRequired[Progress]
    error_message: NotRequired[str]
    note: NotRequired[str]


class ConceptParams(Params):
    concept_description: Annotated[str, Field(min_length=1, max_length=10_000, description="What the code does")]
    target_paths: TARGET_PATHS = None
    top_n_results: Annotated[int, Field(ge=1, le=20)] = 5
    language: Annotated[str | None, Field(description="Such as python")] = None
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "search_semantic_concept",
    toolset="search",
    title="Search by concept",
    description="Find code by what it does, described in plain words: the best chunk of each file, most relevant first.",
    params=ConceptParams,
    result=ConceptResult,
    error=lambda error: {"status": "error", "results": [], "result_count": 0, "error_message": str(error)},
)
def search_semantic_concept(call: Call, params: ConceptParams) -> dict[str, Any]:
    _say_something(params.concept_description)
    scope = call.view.scope(tuple(map(call.view.resolve, params.target_paths or ())))
    query = SemanticQuery(call, scope, takes=_in_language(params.language))
    if (why := query.not_ready()) is not None:
        return {
            "status": "embeddings_not_ready",
            "results": [],
            "result_count": 0,
            "progress": query.progress(),
            "error_message": why,
        }
    page = _Ranked(params, params.top_n_results)
    for answer in query.ask(params.concept_description, page.wanted):
        page.add_ranked(lambda one=answer, room=page.room: _concept(call, one, room))
    result: dict[str, Any] = {
        "status": "success" if page.results else "no_results_found",
        "results": page.results,
        "result_count": len(page.results),
        **page.rest(call),
    }
    return _with_state(result, query)


def _concept(call: Call, answer: Answer, room: int) -> dict[str, Any]:
    shown = call.view.shown(answer.path)
    text = answer.text[:room]
    match: dict[str, Any] = {
        "file_path": shown,
        "start_line": answer.start_line,
        "end_line": answer.end_line,
        "text": text,
        "score": round(answer.score, 3),
        "snippet_id": f"{shown}:{answer.start_line}-{answer.end_line}",
    }
    if len(text) < len(answer.text):
        match["text_truncated"] = True
    return match


class CodeMatch(TypedDict):
    rank: int
    score: str
    type: str
    name: str
    file: str
    lines: str
    language: str
    description: str
    content: str
    contentTruncated: NotRequired[bool]


class CodeResult(CamelListed):
    success: bool
    query: NotRequired[str]
    status: NotRequired[Literal["embeddings_not_ready"]]
    totalResults: int
    results: list[CodeMatch]
    progress: NotRequired[Progress]
    error: NotRequired[str]
    note: NotRequired[str]


class CodeParams(CamelParams):
    query: Annotated[str, Field(min_length=1, max_length=10_000, description="What it does, or its name")]
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    type: Annotated[str | None, Field(description="Such as function, class, method")] = None
    language: str | None = None
    min_similarity: Annotated[float, Field(ge=0, le=1)] = 0.7
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "search_code",
    toolset="code",
    title="Search code by meaning",
    description="Find functions, classes and other code by description or name, with scores.",
    params=CodeParams,
    result=CodeResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def search_code(call: Call, params: CodeParams) -> dict[str, Any]:
    _say_something(params.query)
    kind = _type(params.type)
    query = SemanticQuery(call, call.view.scope(), takes=_in_language(params.language))
    asked = {"query": params.query}
    if (why := query.not_ready()) is not None:
        return _not_ready(query, why, asked)
    page = _Ranked(params, params.limit)
    answers = query.ask_elements(params.query, page.wanted, kind=kind)
    return _coded(call, params, query, page, answers, asked)


class SimilarParams(CamelParams):
    code_snippet: Annotated[str, Field(min_length=1, max_length=100_000)]
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    min_similarity: Annotated[float, Field(ge=0, le=1)] = 0.8
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "find_similar_code",
    toolset="code",
    title="Find similar code",
    description="Find code like a snippet: copies, variants, other places that do the same.",
    params=SimilarParams,
    result=CodeResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def find_similar_code(call: Call, params: SimilarParams) -> dict[str, Any]:
    _say_something(params.code_snippet)
    query = SemanticQuery(call, call.view.scope())
    if (why := query.not_ready()) is not None:
        return _not_ready(query, why, {})
    page = _Ranked(params, params.limit)
    return _coded(call, params, query, page, query.similar(params.code_snippet), {})


def _coded(
    call: Call, params: Any, query: SemanticQuery, page: _Ranked, answers: Iterable[Answer], asked: dict[str, str]
) -> dict[str, Any]:
    for rank, answer in enumerate(answers, 1):
        if answer.score < params.min_similarity:
            break  # answers come in the order of their scores
        if not page.add_ranked(lambda one=answer, at=rank, room=page.room: _code(call, one, at, room)):
            break
    result = {
        "success": True,
        **asked,
        "totalResults": page.total,
        "results": page.results,
        **page.rest(call, cursor="nextCursor"),
    }
    return _with_state(result, query)


def _code(call: Call, answer: Answer, rank: int, room: int) -> dict[str, Any]:
    element = answer.element
    content = answer.text[:room]
    match: dict[str, Any] = {
        "rank": rank,
        "score": f"{answer.score:.3f}",
        "type": type_of(element) if element is not None else "section",
        "name": element.name if element is not None else "",
        "file": call.view.shown(answer.path),
        "lines": f"{answer.start_line}-{answer.end_line}",
        "language": answer.language,
        "description": answer.description[:300],
        "content": content,
    }
    if len(content) < len(answer.text):
        match["contentTruncated"] = True
    return match


class _Ranked(Page):
    """A page of a ranking. Its place is the number of results before it."""

    def __init__(self, params: Any, limit: int) -> None:
        super().__init__(params, results_max=limit)
        self._skipped = self.earlier
        self.wanted = self.earlier + limit + 1
        """Ask for one result more than `limit`, to know if there are more."""
        self.room = params.max_tokens * TOKEN_BYTES // _RESULT_SHARE

    def add_ranked(self, make: Callable[[], Any]) -> bool:
        """As `add`, but skips the results of earlier pages."""
        if self._skipped:
            self._skipped -= 1
            return True
        return self.add(make, [])

    def rest(self, call: Call, *, cursor: str = "next_cursor") -> dict[str, Any]:
        """As `tail`."""
        fields = self.tail(cursor=cursor)
        if cursor in fields:
            fields["total_is_exact"] = False
        if call.timed_out():
            fields["timed_out"] = True
        return fields


class StatusResult(TypedDict):
    success: bool
    status: Literal["ready", "indexing", "disabled", "error"]
    model: str | None
    dimension: int | None
    progress: Progress
    totalFiles: int
    vectorizedFiles: int
    totalElements: int
    vectorizedElements: int
    lastUpdated: str | None
    byLanguage: dict[str, int]
    byType: dict[str, int]
    error: str | None


class StatusParams(CamelParams):
    pass


@tool(
    "code_vectorization_status",
    toolset="code",
    title="State of semantic search",
    description="Whether code is embedded, by which model, how far.",
    params=StatusParams,
    result=StatusResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def code_vectorization_status(call: Call, _params: StatusParams) -> dict[str, Any]:
    project = call.view.project
    project.files_now()
    model = project.model
    answering = model.answering()
    statistics = project.semantic.statistics(answering)
    elements = done = vectorized = total = 0
    by_language: Counter[str] = Counter()
    by_type: Counter[str] = Counter()
    with project.lock:
        files = list(call.view.scope().files(project.table))
    for file in files:
        language, content = languages.chunked_language_of(file.path), file.content
        if language is None or file.is_binary:
            continue
        total += 1
        if content is None or content.chunks == "pending":
            continue
        chunks = statistics.chunks.get(content.id, 0)
        elements += chunks
        if chunks and content.id not in statistics.embedded:
            continue
        done += 1  # contents that are too large or could not be cut never get vectors
        vectorized += content.chunks not in {"too_large", "failed"}
        by_language[language_name(language.name)] += chunks
        for kind, count in statistics.kinds.get(content.id, {}).items():
            by_type[TYPE_OF_KIND.get(kind, kind) or "section"] += count
    by_language, by_type = +by_language, +by_type
    status = "ready" if project.indexing.chunks_ready else "indexing"
    if model.specification == embedding.NONE:
        status = "disabled"
    elif model.problem is not None and status == "ready":
        status = "error"
    elif project.indexing.derivation.vectors.pending and not model.complete:
        status = "indexing"
    return {
        "success": True,
        "status": status,
        "model": answering.specification if answering is not None else None,
        "dimension": answering.dimension if answering is not None else None,
        "progress": {"done": done, "total": total, "eta_seconds": project.model_status()["progress"]["eta_seconds"]},
        "totalFiles": total,
        "vectorizedFiles": vectorized,
        "totalElements": elements,
        "vectorizedElements": by_language.total(),
        "lastUpdated": _time(statistics.updated),
        "byLanguage": dict(by_language.most_common()),
        "byType": dict(by_type.most_common()),
        "error": model.problem,
    }


def _time(seconds: int | None) -> str | None:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else None


def _with_state(result: dict[str, Any], query: SemanticQuery) -> dict[str, Any]:
    if not result["results"]:
        result["coverage"] = query.coverage()
    return result | query.state()


def _not_ready(query: SemanticQuery, why: str, asked: dict[str, str]) -> dict[str, Any]:
    return {
        "success": False,
        **asked,
        "status": "embeddings_not_ready",
        "totalResults": 0,
        "results": [],
        "progress": query.progress(),
        "error": why,
    }


def _say_something(text: str) -> None:
    if not any(character.isalnum() for character in text):
        raise ToolError(f"{shortened(text)} holds no word", "Describe the code in plain words, or give a name")


def _type(name: str | None) -> str | None:
    if name is None:
        return None
    if name.lower() in TYPES:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), TYPES, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise ToolError(f"there is no type {name!r}", f"{hint}Types: {', '.join(TYPES)}")


def _in_language(name: str | None) -> Callable[[bytes], bool] | None:
    """A function that tells by the name if a path is in a language; None if no language is asked for."""
    if name is None:
        return None
    known = {one.name: {one.name} for one in languages.LANGUAGES if languages.is_chunked(one)}
    for one in list(known):
        known.setdefault(language_name(one), set()).add(one)
    wanted = known.get(name.lower())
    if wanted is None:
        hint = f"Did you mean {near}? " if (near := languages.nearest_name(name, known)) else ""
        raise ToolError(
            f"there is no language {name!r} in semantic search", f"{hint}Languages: {', '.join(sorted(known))}"
        )

    def takes(path: bytes) -> bool:
        language = languages.chunked_language_of(path)
        return language is not None and language.name in wanted

    return takes
