"""C: declarators, and macros that the grammar cannot read. C++ shares all of it.

Blanking guesses by shape. It removes words that compiler headers and projects put around declarations, and branches of
`#if` that leave braces open. A wrong guess costs a definition, never a reference: blanked words still count as names.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import ImportedName, Language, Prepared, Rules, Scoping, Span, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

MODIFIERS = frozenset(
    (
        "static", "inline", "extern", "const", "volatile", "virtual", "explicit", "constexpr", "consteval", "constinit",
        "thread_local", "mutable", "friend", "template", "typedef",
    )
)  # fmt: skip

KEYWORDS = frozenset(
    (
        "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern", "float", "for",
        "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
        "switch", "typedef", "union", "unsigned", "void", "volatile", "while", "defined", "ifdef", "ifndef", "elif", "endif", "define",
        "undef", "include", "pragma", "error",
    )
)  # fmt: skip


def imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    path = node.child_by_field_name("path")
    if path is not None:
        yield ImportedName(node_text(path, text).strip('<>"'), "*", "", path.start_byte)


# Declarators nest: *f(int) declares f, a function that returns a pointer.

_NAMES = frozenset(
    (
        "identifier",
        "field_identifier",
        "type_identifier",
        "operator_name",
        "destructor_name",
        "operator_cast",
        "primitive_type",
    )
)
_DEPTH_MAX = 16


def declared(node: Node, kind: str, head: bytes) -> tuple[Node | Span, Node | None, tuple[int, int] | None] | None:
    """The name that a declarator defines. None for a prototype or an `extern`, which are defined elsewhere."""
    parameters: Node | None = None
    owner: tuple[int, int] | None = None
    is_function = False
    current: Node | None = node
    for _ in range(_DEPTH_MAX):
        if current is None:
            return None
        if current.type in _NAMES:
            break
        if current.type == "qualified_identifier":
            scope = current.child_by_field_name("scope")
            if scope is not None:
                owner = (owner[0] if owner else scope.start_byte, scope.end_byte)
            current = current.child_by_field_name("name")
        elif current.type == "template_function":
            current = current.child_by_field_name("name")
        else:
            if current.type == "function_declarator":
                is_function = True
                parameters = current.child_by_field_name("parameters")
            elif current.type in ("pointer_declarator", "array_declarator"):
                is_function = False  # the declarator nearest to the name decides; it comes last: int *f(void)
            following = current.child_by_field_name("declarator")
            if following is None:  # parentheses, attributes and references have no such field
                following = next(
                    (
                        child
                        for child in current.named_children
                        if child.type.endswith("declarator") or child.type in _NAMES
                    ),
                    None,
                )
            current = following
    else:
        return None
    if kind == "function" and node.type == "parenthesized_declarator" and _is_behind_macro(node):
        return None if current is None else (current, None, None)
    if current is None or (kind != "type" and is_function != (kind == "function") and current.type != "operator_cast"):
        return None
    if current.type == "operator_cast":
        return _conversion(current, owner)
    if current.text in _NEVER_NAMES or (kind == "variable" and (_EXTERN.search(head) or _is_stray(node))):
        return None
    if kind == "function" and current.type == "identifier" and owner is None and _is_macro(current, node):
        return _named_by_macro(current, parameters)
    return current, parameters if kind == "function" else None, owner


def _is_stray(declarator: Node) -> bool:
    """True if a variable is probably a line of a function that the grammar did not recognise."""
    declaration = declarator.parent
    around = declaration.parent if declaration is not None else None
    return (
        declaration is not None and around is not None and around.type == "ERROR" and declaration.start_point.column > 0
    )


def _is_macro(name: Node, declarator: Node) -> bool:
    """True if a body follows a macro, as in `TEST_F(Cache, Prune) {`: an upper-case name without a type before it."""
    definition = declarator.parent
    written = name.text
    return (
        definition is not None
        and definition.child_by_field_name("type") is None
        and written is not None
        and _UPPER_CASE_NAME.fullmatch(written) is not None
    )


def _is_behind_macro(declarator: Node) -> bool:
    """True if it is the only argument of such a macro. The grammar takes the macro for a type before `(name)`."""
    macro = declarator.parent.child_by_field_name("type") if declarator.parent is not None else None
    return macro is not None and macro.text is not None and _UPPER_CASE_NAME.fullmatch(macro.text) is not None


def _named_by_macro(macro: Node, parameters: Node | None) -> tuple[Node, None, None] | None:
    """The name that such a macro defines: the last argument of a test, the first of any other; None without a name."""
    arguments = [] if parameters is None else parameters.named_children
    if not arguments:
        return None
    argument = arguments[-1 if macro.text is not None and b"TEST" in macro.text else 0]
    name = argument.child_by_field_name("type")
    is_bare = argument.type == "parameter_declaration" and len(argument.children) == 1
    return (name, None, None) if is_bare and name is not None and name.type == "type_identifier" else None


_UPPER_CASE_NAME = re.compile(rb"[A-Z][A-Z0-9_]+")


def _conversion(node: Node, owner: tuple[int, int] | None) -> tuple[Span, Node | None, tuple[int, int] | None]:
    """The name of a conversion: `operator bool` in `operator bool() const`, which the grammar takes for one name."""
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "abstract_function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    end = node.end_byte if declarator is None else declarator.start_byte
    written = (node.text or b"")[: end - node.start_byte].rstrip()
    parameters = None if declarator is None else declarator.child_by_field_name("parameters")
    return Span(node.start_byte, node.start_byte + len(written)), parameters, owner


_NEVER_NAMES = frozenset(
    (
        b"if", b"else", b"for", b"while", b"do", b"switch", b"return", b"sizeof", b"void", b"char", b"short", b"int", b"long", b"float",
        b"double", b"signed", b"unsigned",
    )
)  # fmt: skip
"""Keywords that the grammar may take for a name after a macro."""

_EXTERN = re.compile(rb"\bextern\b(?!\s*\")")


def owner(scope: str) -> str:
    """The owner without template arguments: `a::X` for `a::X<T>`."""
    return _TEMPLATE_ARGUMENTS.sub("", scope).removesuffix("::")


_TEMPLATE_ARGUMENTS = re.compile(r"\s*<.*>")

# Words around declarations.

# The patterns begin with a literal, not with a look-behind: so the search jumps from one candidate to the next.

_ATTRIBUTE = re.compile(
    rb"__(?:"
    rb"(?:init|exit|meminit|devinit|cpuinit|ref|net_init|net_exit|initdata\w*|initconst\w*|exitdata|refdata|refconst|read_mostly"
    rb"|ro_after_init|user|kernel|iomem|percpu|rcu|force|nocast|bitwise|private|safe|used|unused|maybe_unused|always_unused|packed"
    rb"|must_check|always_inline|forceinline|noreturn|weak|pure|cold|hot|visible|deprecated|latent_entropy|randomize_layout"
    rb"|no_randomize_layout|noclone|flatten|malloc|nonstring|(?:__)?cacheline_aligned\w*|sched|lockfunc|kprobes|cpuidle|no_kcsan"
    rb"|no_sanitize\w*|cdecl|stdcall|fastcall|THROW\w*|wur|attribute_\w+__)\b(?![ \t]*\()"
    rb"|(?:printf|scanf|aligned|acquires?|releases?|must_hold|section|alloc_size|assume_aligned|counted_by|cond_acquires|guarded_by"
    rb"|designated_init|diagnose_as|error|warning|cond_lock|nonnull|declspec)"
    rb"[ \t]*\((?:[^();{}]|\([^();{}]*\)){0,200}\)(?=\s*[\w*;{=,)\]]))"
)
_ATTRIBUTE_WORDS = (b"asmlinkage", b"noinline", b"notrace")
_ATTRIBUTE_WORD = re.compile(rb"(?:asmlinkage|noinline\w*|notrace)\b")
_UPPER_CASE_WORD = re.compile(rb"[A-Z](?<!\w.)[A-Z0-9_]{2,}+(?=\(|[ \t\n]+[A-Za-z_*])")
_UNDERSCORE_WORD = re.compile(rb"__(?<!\w__)[a-z]\w*+(?<!_t)(?=\(|[ \t\n]+[A-Za-z_*])")
_NAME_AFTER = re.compile(rb"[ \t]+\**([A-Za-z_]\w*)[ \t]*\(")
_ARGUMENTS = re.compile(rb"\([^()\n]{0,200}\)")
_TYPE_AFTER = re.compile(
    rb"[ \t\n]+(?:(?:const|unsigned|struct|class|template|static|inline|constexpr|void|auto)\b"
    rb"|[A-Za-z_][\w:<>]*[ \t]+\**&?[ \t]*[A-Za-z_~]\w*[ \t]*[(;=\[:])"
)
_TYPE_BEFORE = re.compile(rb"[\w*>][ \t]+\**$")
_START_OR_SPECIFIER_BEFORE = re.compile(rb"(?:^|\n|\b(?:static|inline|virtual|extern)[ \t])[ \t]*$")
_BEFORE_BYTES_MAX = 120
_CLASS_MACRO = re.compile(
    rb"\b(?:class|struct|union|enum)[ \t]+((?:[A-Z][A-Z0-9_]{2,}|__[a-z]\w*)(?:[ \t]*\([^()\n]{0,200}\))?(?:[ \t]+[A-Z][A-Z0-9_]{3,})*)(?=[ \t]+[A-Za-z_][\w:]*(?:<[^;{}()]{0,200}>)?[ \t]*(?:final[ \t]*)?[:{\n])"
)
_ALONE_ON_LINE = re.compile(
    rb"\n[ \t]*((?:[A-Z][A-Z0-9_]{3,}+(?:\((?:[^()\n]|\([^()\n]{0,200}\)){0,200}\))?(?:[ \t]+(?=[A-Z]))?)+)[ \t]*(?://[^\n]*)?(?=\n|\Z)"
)
_CLASS_NAME = re.compile(rb"(?:class|struct)[ \t]+(?:[A-Z][A-Z0-9_]{3,}[ \t]+)*(\w+)\s*(?:final\s*)?(?::(?!:)|\{)")
_NAME_ON_NEXT_LINE = re.compile(rb"\n\**(?![A-Z][A-Z0-9_]+\()[A-Za-z_]\w*[ \t]*\(")  # the line before may be its type
_COLON_AT_END = re.compile(rb":(?=[ \t]*(?:\n|\Z))")
_ACCESS_MACRO = re.compile(
    rb"[ \t]*(?:(?:public|private|protected)[ \t]+(\w+)[ \t]*|((?:[A-Z][A-Z0-9_]{3,}+|signals)[ \t]*:))\Z"
)
_AFTER_PARAMETERS = re.compile(
    rb"\)[ \t\n]*(?:(?:const|noexcept|override)[ \t\n]*)?([A-Z][A-Z0-9_]{3,}(?:\([^(){};\n]{0,200}(?:\([^()\n]{0,200}\))?[^(){};\n]{0,200}\))?)"
    rb"(?=[ \t\n]*(?:[{;]|override\b|const\b|noexcept\b|= *0))"
)
_AFTER_MEMBER = re.compile(rb"[A-Z](?<!\w.)[A-Z0-9_]{3,}+\([^(){};\n]{0,200}\)(?=[ \t]*;)")
_MEMBER_BEFORE = re.compile(rb"\w[\w:<>*&]*[ \t]+\**(\w+)[ \t]+$")
_NEVER_BEFORE = frozenset(
    (
        b"return", b"goto", b"case", b"else", b"define", b"undef", b"ifdef", b"ifndef", b"struct", b"union", b"enum", b"class",
        b"new", b"sizeof", b"delete", b"throw", b"defined", b"if", b"elif", b"namespace", b"include",
    )
)  # fmt: skip
_CALLING_CONVENTION = re.compile(rb"\(([A-Z][A-Z0-9_]{2,}+)[ \t]*\*[ \t]*\w+[ \t]*\)[ \t\n]*\(")
_SPECIFIERS = frozenset((b"static", b"inline", b"extern", b"const", b"volatile", b"virtual", b"explicit", b"constexpr"))
_NEVER_MACRO = frozenset(
    (
        b"__inline", b"__inline__", b"__const", b"__volatile__", b"__restrict", b"__extension__", b"__signed__", b"__attribute__",
        b"__typeof__", b"__asm__", b"__int128", b"BOOL", b"FILE", b"DIR", b"CHAR", b"VOID", b"INT", b"UINT", b"DWORD", b"LONG", b"WORD",
        b"BYTE", b"HANDLE", b"LPVOID",
    )
)  # fmt: skip


def prepare(text: bytes, classes: frozenset[bytes] = frozenset()) -> Prepared:
    """Blank macros and attributes. `classes` are names of constructors: no type stands before them, but a macro may."""
    spans = [
        match.span()
        for match in _ATTRIBUTE.finditer(text)
        if _is_word_start(text, match.start()) and not _in_directive(text, match.start())
    ]
    if any(word in text for word in _ATTRIBUTE_WORDS):
        spans += [match.span() for match in _ATTRIBUTE_WORD.finditer(text) if _is_word_start(text, match.start())]
    for pattern in (_UPPER_CASE_WORD, _UNDERSCORE_WORD):
        for match in pattern.finditer(text):
            start, end = match.span()
            before = text[max(0, start - _BEFORE_BYTES_MAX) : start]
            named = _NAME_AFTER.match(text, end)
            if named and _TYPE_BEFORE.search(before):
                if _word_before(text, start) in _SPECIFIERS and named[1] not in classes:
                    continue  # the word is the type: `static __be32 encode(...)`
            elif _START_OR_SPECIFIER_BEFORE.search(before):
                arguments = _ARGUMENTS.match(text, end)
                if arguments:
                    end = arguments.end()
                    named = _NAME_AFTER.match(text, end)
                if not _TYPE_AFTER.match(text, end) and not (named and named[1] in classes):
                    continue
            else:
                continue
            if (
                match[0] not in _NEVER_MACRO
                and _word_before(text, start) not in _NEVER_BEFORE
                and not _in_directive(text, start)
            ):
                spans.append((start, end))
    spans += _comments_in_macros(text)
    spans += [match.span(1) for match in _CALLING_CONVENTION.finditer(text)]
    spans += [match.span(1) for match in _ALONE_ON_LINE.finditer(text) if _stands_alone(text, match)]
    return _blanked(text, spans, _unbalanced_branches(text))


def _comments_in_macros(text: bytes) -> Iterator[tuple[int, int]]:
    """Comments inside macros: the grammar ends the macro there and takes the rest of it for code."""
    for macro in _MACRO.finditer(text):
        if b"/*" in macro[0]:
            end = macro.start() + len(macro[0].rstrip())
            for comment in _BLOCK_COMMENT.finditer(text, macro.start(), end):
                if comment.end() < end:
                    yield comment.span()


def _is_word_start(text: bytes, byte: int) -> bool:
    return not byte or not (text[byte - 1 : byte].isalnum() or text[byte - 1] == _UNDERSCORE)


_UNDERSCORE = ord("_")


def _blanked(text: bytes, words: list[tuple[int, int]], branches: list[tuple[int, int]]) -> Prepared:
    if not words and not branches:
        return Prepared(text)
    blank = bytearray(text)
    for start, end in words:
        blank[start:end] = b" " * (end - start)
    for start, end in branches:
        blank[start:end] = _NOT_NEWLINE.sub(b" ", text[start:end])
    return Prepared(bytes(blank), tuple(words + branches))


def prepare_cpp(text: bytes) -> Prepared:
    prepared = prepare(text, frozenset(match[1] for match in _CLASS_NAME.finditer(text)))
    spans = [match.span(1) for match in _CLASS_MACRO.finditer(prepared.text)]
    spans += [
        match.span(1) for match in _AFTER_PARAMETERS.finditer(prepared.text) if not _in_directive(text, match.start(1))
    ]
    for match in _AFTER_MEMBER.finditer(prepared.text):
        before = _MEMBER_BEFORE.search(prepared.text[max(0, match.start() - _BEFORE_BYTES_MAX) : match.start()])
        if before and before[1] not in _NEVER_BEFORE:
            spans.append(match.span())
    spans += _access_macros(prepared.text)
    more = _blanked(prepared.text, spans, [])
    return Prepared(more.text, prepared.tokens + more.tokens)


def _access_macros(text: bytes) -> Iterator[tuple[int, int]]:
    """Spans of `slots` in `public slots:`, and of macros in place of `public:`."""
    for colon in _COLON_AT_END.finditer(text):
        start = text.rfind(b"\n", max(0, colon.start() - _BEFORE_BYTES_MAX), colon.start()) + 1
        macro = _ACCESS_MACRO.match(text, start, colon.start()) or _ACCESS_MACRO.match(text, start, colon.end())
        if macro is not None and start:
            yield macro.span(macro.lastindex or 0)


def _stands_alone(text: bytes, match: re.Match[bytes]) -> bool:
    """True if a line with only a macro belongs neither to the line before nor to the line after."""
    before = _COMMENTS_AT_END.sub(b"", text[max(0, match.start() - 400) : match.start()]).rstrip()
    after = text[match.end() : match.end() + 80].lstrip()
    if after[:1] in (b"", b",", b"|", b"&", b"+", b"=", b")", b"<", b">", b"?", b"*", b"(", b"{", b"-", b"."):
        return False
    if before.endswith(b"\\") or _NAME_ON_NEXT_LINE.match(text, match.end()):
        return False
    last_line = _LINE_COMMENT.sub(b"", before[before.rfind(b"\n") + 1 :].lstrip()).rstrip()
    if last_line.startswith(b"#") and after.startswith(b"}"):
        return False  # the last entry of an enum
    if not before or not last_line or last_line.startswith(b"#") or last_line.endswith((b";", b"}", b"*/", b":")):
        return True
    if last_line.endswith(b"{"):
        return not after.startswith(b"}")
    return _ALONE_ON_LINE.match(b"\n" + last_line) is not None


_LINE_BYTES_MAX = 2000
_LINE_COMMENT = re.compile(rb"//.*")
_NOT_NEWLINE = re.compile(rb"[^\n]")
_LAST_WORD = re.compile(rb"(\w+)[\s*]*$")


def _word_before(text: bytes, byte: int) -> bytes:
    match = _LAST_WORD.search(text[max(0, byte - 40) : byte])
    return match[1] if match else b""


def _in_directive(text: bytes, byte: int) -> bool:
    line = text[text.rfind(b"\n", max(0, byte - _LINE_BYTES_MAX), byte) + 1 : byte].lstrip()
    return line.startswith((b"#", b"*", b"//", b"/*"))


_MACRO = re.compile(rb"#[ \t]*define\b[^\n\\]*+(?>\\(?s:.)[^\n\\]*+)*+")
_COMMENTS_AT_END = re.compile(rb"(?:/\*(?>[^*]|\*(?!/))*+\*/\s*|//[^\n]*(?:\n\s*|\Z))+\Z")
_BLOCK_COMMENT = re.compile(rb"/\*(?s:.*?)\*/")

# Conditional branches.

_DIRECTIVE = re.compile(rb"#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_BRACE_OR_OPAQUE = re.compile(
    rb"/\*(?s:.*?)\*/|//[^\n]*|#[ \t]*define\b[^\n\\]*+(?>\\(?s:.)[^\n\\]*+)*+|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n]){1,8}'|[{}]"
)


_IFS_MAX = 16  # levels of nesting that are examined; each level reads all the text inside it again


def _unbalanced_branches(text: bytes) -> list[tuple[int, int]]:
    """Spans to blank: the directives of an `#if` and all branches except the first, so that one reading remains.

    Only if one of its branches leaves braces open or holds a part of a statement.
    """
    spans: list[tuple[int, int]] = []
    open_ifs: list[list[tuple[int, int]]] = []
    for match in _DIRECTIVE.finditer(text):
        word = match[1]
        if not _starts_line(text, match.start()):
            continue
        if word in (b"if", b"ifdef", b"ifndef"):
            open_ifs.append([match.span()])
        elif open_ifs:
            open_ifs[-1].append(match.span())
            if word == b"endif":
                directives = open_ifs.pop()
                if len(open_ifs) > _IFS_MAX:
                    continue
                inside = list(itertools.pairwise(directives))
                if len(inside) == 1 and not open_ifs and directives[-1][0] - directives[0][1] > len(text) // 2:
                    continue  # the guard of a header
                if any(
                    _is_unbalanced(text, before[1], after[0]) or _is_part(text, before[1], after[0])
                    for before, after in inside
                ):
                    spans.append(directives[0])
                    spans += [(before[0], after[0]) for before, after in inside[1:]]
                    spans.append(directives[-1])
    return spans


def _starts_line(text: bytes, byte: int) -> bool:
    return not text[text.rfind(b"\n", max(0, byte - _LINE_BYTES_MAX), byte) + 1 : byte].strip()


def _is_part(text: bytes, start: int, end: int) -> bool:
    """True if a branch continues the text before it (`: member(1)`) or ends too early (`if (a)`, `int f(int b)`)."""
    if _GOES_ON.match(text, start, end):
        return True
    branch = text[max(start, end - _BRANCH_BYTES_MAX) : end].rstrip()
    if branch.endswith(b"*/"):
        branch = _COMMENTS_AT_END.sub(b"", branch).rstrip()
    if not branch.endswith((b")", b"(", b"=", b"&&", b"||", b"+", b"?")):
        return False
    line = branch.rfind(b"\n") + 1
    while line and branch[:line].rstrip(b"\n").endswith(b"\\"):
        line = branch.rfind(b"\n", 0, line - 1) + 1
    return line > 0 and not branch[line:].lstrip().startswith((b"#", b"//"))


_BRANCH_BYTES_MAX = 500  # bytes at the end of a branch that are examined
_GOES_ON = re.compile(rb"\s*(?::(?!:)|[,)?]|&&|\|\||<<|else\b)")


def _is_unbalanced(text: bytes, start: int, end: int) -> bool:
    if text.find(b"{", start, end) < 0 and text.find(b"}", start, end) < 0:
        return False
    depth = 0
    for match in _BRACE_OR_OPAQUE.finditer(text, start, end):
        if match[0] == b"{":
            depth += 1
        elif match[0] == b"}":
            depth -= 1
            if depth < 0:
                return True
    return depth != 0


LANGUAGE = Language(
    name="c",
    extensions=(b".c", b".h"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="c",
        queries=("c.scm",),
        modifiers=MODIFIERS,
        imports=imports,
        prepare=prepare,
        declared=declared,
        keywords=KEYWORDS,
    ),
    scoping=Scoping(open_kinds=frozenset(("enum",)), includes=True),
)
