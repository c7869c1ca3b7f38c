import os

import pytest

from ctxd.indexer.decode import BINARY, DECODED, PLAIN, Unreadable, decode, read_regular


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
