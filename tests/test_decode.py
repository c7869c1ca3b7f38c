import os

import pytest

from ctxd.indexer import decode as decode_module
from ctxd.indexer.decode import BINARY, DECODED, PLAIN, Unreadable, decode, read_inside, read_regular


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", (PLAIN, b"")),
        (b"a\nb", (PLAIN, b"a\nb")),
        ("é\n".encode(), (PLAIN, "é\n".encode())),
        (b"\xef\xbb\xbfa\n", (DECODED, b"a\n")),
        (b"a\r\nb\r\n", (DECODED, b"a\nb\n")),
        (b"a\rb\n", (DECODED, b"a\rb\n")),
        (b"a\r\r\n", (DECODED, b"a\r\n")),
        (b"caf\xe9\n", (DECODED, "café\n".encode())),
        ("h\u00e9\r\n".encode("utf-16"), (DECODED, "hé\n".encode())),
        ("\ufeffx".encode("utf-16-be"), (DECODED, b"x")),
        (b"a\0b", (BINARY, None)),
        ("a\0b".encode("utf-16"), (BINARY, None)),
        (b"\xff\xfea", (DECODED, "\ufffd".encode())),
    ],
)
def test_bytes_become_canonical_text(data, expected):
    assert decode(data) == expected


def test_only_regular_files_are_read(tmp_path):
    fifo, link, file = tmp_path / "fifo", tmp_path / "link", tmp_path / "file"
    os.mkfifo(fifo)
    file.write_bytes(b"x")
    link.symlink_to(file)
    for path, reason in [
        (fifo, "not_a_file"),
        (link, "unreadable"),
        (tmp_path, "not_a_file"),
        (tmp_path / "no", "missing"),
    ]:
        with pytest.raises(Unreadable) as error:
            read_regular(os.fsencode(path))
        assert error.value.reason == reason
    assert read_regular(os.fsencode(file))[0] == b"x"


@pytest.mark.parametrize("by_link", [True, False])
def test_no_link_leads_out_of_a_project(tmp_path, monkeypatch, by_link):
    if not by_link:
        monkeypatch.setattr(decode_module, "_is_at", lambda _descriptor, _path: False)
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "a" / "b", outside / "b"):
        folder.mkdir(parents=True)
        (folder / "f").write_text(folder.parent.name)
    (root / "top").write_bytes(b"x")
    assert read_inside(os.fsencode(root), b"a/b/f")[0] == b"a"
    assert read_inside(os.fsencode(root), b"top")[0] == b"x"
    (root / "a").rename(root / "old")
    (root / "a").symlink_to(outside)
    for path in (b"a/b/f", b"nothing/f", b"a/nothing", b"top/f"):
        with pytest.raises(Unreadable) as error:
            read_inside(os.fsencode(root), path)
        assert error.value.reason == "missing"


def test_of_a_large_binary_file_only_the_beginning_is_read(tmp_path):
    image, text, log = tmp_path / "image", tmp_path / "text", tmp_path / "log"
    with open(image, "wb") as file:
        file.truncate(1 << 33)
    data, status = read_regular(os.fsencode(image))
    assert (decode(data)[0], len(data) < 1 << 21, status.st_size) == (BINARY, True, 1 << 33)
    text.write_bytes("\ufeffé\n".encode("utf-16-le") * 500_000)
    log.write_bytes(b"line\n" * 500_000)
    for path in (text, log):
        assert read_regular(os.fsencode(path))[0] == path.read_bytes()
