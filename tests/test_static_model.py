"""The built-in embedding model: what a vector depends on, and that the weights in the package are sane."""

import os
from collections import Counter

import numpy as np
import pytest

from ctxd.indexer.meaning.static_model import WEIGHTS_PATH, StaticModel
from ctxd.indexer.words import tokens

ROWS = {"read": (127, 0, 0), "file": (0, 127, 0), "socket": (0, 0, 127), "sock": (0, 64, 64), "config": (100, 0, 100)}


def write_weights(path, rows):
    words = np.frombuffer("\n".join(rows).encode(), np.uint8)
    table = np.array(list(rows.values()), np.int8)
    np.savez_compressed(path, words=words, rows=table, scales=np.full(len(rows), 1 / 127, np.float16))
    return str(path)


@pytest.fixture
def model(tmp_path):
    return StaticModel(write_weights(tmp_path / "weights.npz", ROWS))


@pytest.fixture(scope="module")
def shipped():
    return StaticModel()


def test_vectors_have_length_one_and_no_known_word_is_zero(model):
    vectors = model.encode(["read the file", "readFile READ_FILE", "", "?!"])
    assert vectors.shape == (4, 3)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def test_a_word_counts_less_each_time_it_is_said_again(model):
    once, often = model.encode(["read file", "read read read read file"])
    np.testing.assert_allclose(often[0] / often[1], 1 + np.log(4), rtol=1e-5)
    np.testing.assert_allclose(once[0], once[1])


def test_unknown_word_is_taken_for_its_longest_known_pieces(model):
    pieces, words = model.encode(["xsocketfile", "socket file"])
    np.testing.assert_allclose(pieces, words, atol=1e-6)


def test_counted_tokens_give_what_their_text_gives(model):
    texts = ["readFile(socket)", "config_file = read(config)", ""]
    np.testing.assert_array_equal(model.encode(texts), model.encode_bags([Counter(tokens(text)) for text in texts]))
    assert model.encode([]).shape == (0, 3)


def test_other_weights_are_another_model(model, tmp_path):
    again = StaticModel(write_weights(tmp_path / "same.npz", ROWS))
    other = StaticModel(write_weights(tmp_path / "other.npz", ROWS | {"file": (0, 126, 0)}))
    assert again.identity == model.identity
    assert other.identity != model.identity


def test_weights_that_do_not_fit_together_are_refused(tmp_path):
    path = tmp_path / "weights.npz"
    np.savez(
        path, words=np.frombuffer(b"a\nb", np.uint8), rows=np.zeros((1, 3), np.int8), scales=np.ones(1, np.float16)
    )
    with pytest.raises(ValueError, match="do not fit"):
        StaticModel(str(path))


def test_weights_are_never_unpickled(tmp_path):
    path = tmp_path / "weights.npz"
    np.savez(path, words=np.array(["a"], object), rows=np.zeros((1, 3), np.int8), scales=np.ones(1, np.float16))
    with pytest.raises(ValueError, match="allow_pickle"):
        StaticModel(str(path))


def test_shipped_weights_fit_a_wheel(shipped):
    assert os.path.getsize(WEIGHTS_PATH) <= 8_000_000
    assert shipped.identity.startswith(f"ctxd-static-{shipped.dimension}-")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("how are passwords hashed", "def make_digest(secret, salt): return bcrypt.hashpw(secret, salt)"),
        ("retry after a failed request", "for attempt in range(attempts_max): sleep(backoff * 2 ** attempt)"),
        ("remove an item from the cache", "void evict(Entry *e) { unlink(lru, e); free(e); }"),
        ("sort numbers in ascending order", "func quick(xs []int) { pivot := partition(xs); quick(xs[:pivot]) }"),
        ("draw text on the screen", "fn render(&mut self, canvas: &Canvas) { canvas.blit(self.glyphs, self.font) }"),
    ],
)
def test_shipped_weights_bring_a_question_near_to_code_that_shares_no_word_with_it(shipped, question, answer):
    answers = [
        "def make_digest(secret, salt): return bcrypt.hashpw(secret, salt)",
        "for attempt in range(attempts_max): sleep(backoff * 2 ** attempt)",
        "void evict(Entry *e) { unlink(lru, e); free(e); }",
        "func quick(xs []int) { pivot := partition(xs); quick(xs[:pivot]) }",
        "fn render(&mut self, canvas: &Canvas) { canvas.blit(self.glyphs, self.font) }",
    ]
    near = shipped.encode(answers) @ shipped.encode([question])[0]
    assert answers[int(near.argmax())] == answer
