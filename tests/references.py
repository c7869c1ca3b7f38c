"""Independent readers of Markdown, reStructuredText, TOML, JSON, YAML and INI, and our structure in each one's terms.

Each pair of functions takes canonical text and gives the same value where they agree. A reference raises `Refused` for what it
cannot read. References: cmark (a program), docutils, PyYAML's C parser, and of the standard library tomllib, json, configparser.
"""

import collections
import configparser
import html
import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ET

from ctxd.indexer.structure import scan


class Refused(Exception):  # noqa: N818
    pass


def markdown(text):
    structure = scan("markdown", text)
    found = []
    for section in structure.sections:
        after = text.find(b"\n", section.name_end) + 1 or len(text)  # with the id that we take off
        title = text[section.name_start : after].decode()
        found.append(("heading", text.count(b"\n", 0, section.start) + 1, section.level, Title(title)))
    for block in structure.code_blocks:
        inside = text[block.body_start : block.body_end]
        lines = inside.count(b"\n") + (inside != b"" and not inside.endswith(b"\n"))
        found.append(("fence", block.start_line, block.language, lines))
    return sorted(found, key=lambda one: one[:2])


class Title(str):
    """As the reference renders it, or as it is written: marks, links and entities are no letters of it."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other):
        ours, theirs = sorted((letters(self), letters(other)), key=len, reverse=True)
        rest = iter(ours)
        return all(letter in rest for letter in theirs)


def letters(title):
    return [character for character in html.unescape(title) if character.isalnum()]


def cmark(text):
    frontmatter = scan("markdown", text).frontmatter
    if frontmatter:
        text = b"\n" * frontmatter.end_line + text[frontmatter.end :]
    command = ["cmark", "-t", "xml", "--sourcepos"]
    xml = subprocess.run(command, input=text.replace(b"\r", b" "), capture_output=True, check=True).stdout
    found = []
    # Control characters are no XML.
    for node in ET.fromstring(re.sub(rb"[\x00-\x08\x0b-\x1f]", b"?", xml)).iter():
        tag = node.tag.partition("}")[2]
        if tag not in {"heading", "code_block"}:
            continue
        line, column = map(int, node.get("sourcepos").split("-")[0].split(":"))  # the end is wrong in half of the cases
        content = "".join(node.itertext())
        if tag == "heading":
            found.append(("heading", line, int(node.get("level")), Title(content)))
            continue
        first, *_ = text.split(b"\n", line)[line - 1 :]
        written = first[column - 1 :]
        info = node.get("info") or ""
        # An indented block may begin with what looks like a fence.
        is_fence = info or not content.startswith(written.decode() + "\n")
        if written.lstrip(b" ").startswith((b"```", b"~~~")) and is_fence:
            found.append(("fence", line, next(iter(info.split()), ""), content.count("\n")))
    return sorted(found, key=lambda one: one[:2])


def restructuredtext(text):
    return [(s.level, s.names[0]) for s in scan("restructuredtext", text).sections]


def docutils(text):
    from docutils import frontend, nodes, utils
    from docutils.parsers.rst import Parser, roles

    # Sphinx's roles and directives are unknown here, which is no matter of titles.
    settings = frontend.get_default_settings(Parser)
    settings.report_level, settings.halt_level, settings.file_insertion_enabled = 5, 5, False
    document = utils.new_document("x", settings)
    roles._roles.clear()
    Parser().parse(text.decode(), document)

    def depth(node):
        count = 0
        while node is not document:
            count += isinstance(node, nodes.section)
            node = node.parent
        return count

    return [
        (depth(title), " ".join(title.rawsource.split()))
        for title in document.findall(nodes.title)
        if isinstance(title.parent, nodes.section)
    ]


def toml(text):
    sections = scan("toml", text).sections
    paths = set()
    for section in sections:
        if not section.in_list:
            above = section.parent
            names = section.names
            while section.kind == "key" and above >= 0:
                names = (*sections[above].names, *names)
                above = sections[above].parent if sections[above].kind == "key" else -1
            paths.update(names[: length + 1] for length in range(len(names)))
    return sorted(paths)


def by_tomllib(text):
    try:
        return sorted(paths_of(tomllib.loads(text.decode())))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused from error


def paths_of(value, above=()):
    if isinstance(value, dict):
        for key, below in value.items():
            yield (*above, key)
            yield from paths_of(below, (*above, key))


def json_keys(text):
    sections = scan("json", text).sections
    return [(s.names[0], len(chain(sections, s))) for s in sections]


def chain(sections, section):
    found = []
    while section.parent >= 0:
        section = sections[section.parent]
        found.append(section)
    return found


def by_json(text):
    found = []

    def visit(value, depth):
        if isinstance(value, Pairs):
            for key, below in value:
                found.append((key.encode("utf-8", "replace").decode(), depth))
                visit(below, depth + 1)
        elif isinstance(value, list):
            for below in value:
                visit(below, depth)

    try:
        visit(json.loads(text, object_pairs_hook=Pairs, strict=False), 0)
    except (ValueError, RecursionError) as error:
        raise Refused from error
    return found


class Pairs(list):
    pass


def yaml(text):
    return [(s.names[0].split(), s.start, *value_of(s.body_start, s.end)) for s in scan("yaml", text).sections]


def value_of(start, end):
    """A value's span; where none is, its place is anybody's guess."""
    return (start, end) if end > start else (None, None)


def pyyaml(text):
    import yaml

    source = text.decode()
    found = []
    frames = []  # of each open collection: is it a list, is it in brackets, start, key that awaits its value, end of the last child

    def byte(mark):
        return mark.index if len(source) == len(text) else len(source[: mark.index].encode())

    def done(start, end, name=None):
        if not frames:
            return
        frame = frames[-1]
        frame[4] = end
        if not frame[0]:
            if frame[3] is None:
                if name is None:
                    raise Refused  # a key that is no word
                frame[3] = (name.split(), start)
            else:
                found.append((*frame[3], *value_of(start, end)))
                frame[3] = None

    try:
        for event in yaml.parse(source, yaml.CLoader):
            start, end = byte(event.start_mark), byte(event.end_mark)
            match event:
                case yaml.ScalarEvent():
                    if event.style in ("|", ">"):
                        end = start + len(text[start:end].rstrip())
                    done(start, end, event.value)
                case yaml.AliasEvent():
                    done(start, end, text[start:end].decode())
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    frames.append(
                        [
                            isinstance(event, yaml.SequenceStartEvent),
                            event.flow_style,
                            start,
                            None,
                            end if event.flow_style else start,
                        ]
                    )
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    # The mark of one without brackets is the next token: past blanks and comments.
                    _, is_flow, first, _, last = frames.pop()
                    done(first, end if is_flow else last)
    except yaml.YAMLError as error:
        raise Refused from error
    return sorted(found, key=lambda key: key[1])


def ini(text):
    found = collections.OrderedDict()
    sections = scan("ini", text).sections
    for section in sections:
        if section.kind == "section":
            found[section.names[0]] = {}
        elif section.parent >= 0:
            found[sections[section.parent].names[0]][section.names[0].lower()] = plain(
                text[section.body_start : section.end].decode()
            )
    return found


def by_configparser(text):
    parser = configparser.RawConfigParser(default_section="\0", strict=False)
    try:
        parser.read_string(text.decode())
    except configparser.Error as error:
        raise Refused from error
    return {
        name: {key: plain(value) for key, value in parser[name].items() if value is not None}
        for name in parser.sections()
    }


def plain(value):
    return [line.strip() for line in value.split("\n") if line.strip() and line.strip()[0] not in "#;"]


READERS = {
    "markdown": (markdown, cmark, lambda: shutil.which("cmark")),
    "restructuredtext": (restructuredtext, docutils, lambda: installed("docutils")),
    "toml": (toml, by_tomllib, lambda: True),
    "json": (json_keys, by_json, lambda: True),
    "yaml": (yaml, pyyaml, lambda: installed("yaml")),
    "ini": (ini, by_configparser, lambda: True),
}


def installed(module):
    return importlib.util.find_spec(module) is not None
