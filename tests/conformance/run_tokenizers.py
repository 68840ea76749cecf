#!/usr/bin/env python3
"""Isobit's tokenizer beside Hugging Face `tokenizers`: ids and offsets of every text are the same.

All texts of the shared data, every code point, and hostile texts by a seed, with MiniLM's tokenizer where it is there
(ISOBIT_MINILM, by default .models/minilm), with small ones, and with ones whose rules and added tokens are drawn.
"""
import json
import os
import pathlib
import random
import sys
import tempfile
import unittest

os.environ.setdefault("ISOBIT_STORE", "none")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "conformance"), str(ROOT / "tests" / "text")]

import hostile  # noqa: E402
import make_golden  # noqa: E402
import tokenizers  # noqa: E402
from tokenizer import Refused, Tokenizer  # noqa: E402

DATA = pathlib.Path(os.environ.get("ISOBIT_TEST_DATA", ROOT.parent / "shared" / "data"))
MINILM = pathlib.Path(os.environ.get("ISOBIT_MINILM", ROOT / ".models" / "minilm"))
GOLDEN = ROOT / "tests" / "text" / "golden"
N_FUZZED, N_DRAWN = 20000, 40


def theirs(path):
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def their_encodings(tokenizer, texts, special=True):
    """None where the library panics: tokens that strip white space from each other's inside."""
    try:
        return tokenizer.encode_batch(texts, add_special_tokens=special)
    except BaseException as panic:  # pyo3's PanicException is no Exception
        if "bad split" not in str(panic):
            raise
        return [e for t in texts for e in (their_encodings(tokenizer, [t], special) if len(texts) > 1 else [None])]


class Tokenizers(unittest.TestCase):
    def compare(self, path, texts, special=True, their_path=None):
        ours = Tokenizer(path)
        self.addCleanup(ours.close)
        expected = their_encodings(theirs(their_path or path), texts, special)
        for text, e, (ids, offsets) in zip(texts, expected, ours.encode(texts, not special)):
            if e is not None and (e.ids != ids or e.offsets != offsets):
                self.fail(f"{path}: {text!r}\n  {list(zip(e.ids, e.offsets))}\n  {list(zip(ids, offsets))}")

    def minilm(self):
        if not (MINILM / "tokenizer.json").exists():
            print(f"[  SKIPPED ] {MINILM} is not there (scripts/fetch-minilm, ISOBIT_MINILM)")
            self.skipTest("no MiniLM")
        return MINILM

    def data(self):
        texts = []
        for name in ("banking77", "snips"):
            if not (DATA / name).is_dir():
                print(f"[  SKIPPED ] {DATA / name} is not there (ISOBIT_TEST_DATA)")
                self.skipTest("no data")
            for path in sorted((DATA / name).iterdir()):
                texts += path.read_text(encoding="utf-8").split("\n")
        return texts

    def test_texts_of_the_data(self):
        self.compare(GOLDEN / "lower.json", self.data())

    def test_minilm_on_the_data(self):
        texts = self.data()
        self.compare(self.minilm() / "tokenizer.json", texts)
        self.compare(MINILM / "vocab.txt", texts, their_path=MINILM / "tokenizer.json")
        self.compare(MINILM / "tokenizer.json", [" ".join(texts)])

    def test_minilm_on_hostile_texts(self):
        self.compare(self.minilm() / "tokenizer.json", hostile.texts(7, N_FUZZED))
        self.compare(MINILM / "tokenizer.json", hostile.texts(8, N_FUZZED // 10), special=False)

    def test_hostile_texts(self):
        for seed, (name, _) in enumerate(make_golden.tokenizers()):
            self.compare(GOLDEN / f"{name}.json", hostile.texts(100 + seed, N_FUZZED))

    def test_every_code_point(self):
        points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        path = MINILM / "tokenizer.json" if (MINILM / "tokenizer.json").exists() else GOLDEN / "lower.json"
        for begin in range(0, len(points), 1 << 17):
            part = points[begin:begin + (1 << 17)]
            self.compare(path, [f"a{c}b" for c in part])
            self.compare(path, [f"{c}{c}\u0301{c}\u302e" for c in part])

    def test_bytes_that_are_no_text(self):
        r = random.Random(5)
        alphabet = [*range(256), 0xC3, 0xE4, 0xED, 0xEF, 0xF0, 0xF4, 0x80, 0xBF, 0xA0, 0x20, 0x61]
        raw = [bytes(r.choices(alphabet, k=r.randrange(30))) for _ in range(N_FUZZED)]
        ours = Tokenizer(GOLDEN / "cased.json")
        self.addCleanup(ours.close)
        repaired = theirs(GOLDEN / "cased.json").encode_batch([b.decode("utf-8", "replace") for b in raw])
        for b, e, (ids, offsets) in zip(raw, repaired, ours.encode(raw)):
            self.assertEqual((e.ids, e.offsets), (ids, offsets), b)

    def test_drawn_rules_and_added_tokens(self):
        r = random.Random(11)
        vocab, n_refused = make_golden.vocabulary(True), 0
        for seed in range(N_DRAWN):
            rules = {name: r.random() < 0.5 for name in ("clean_text", "handle_chinese_chars", "lowercase")}
            rules["strip_accents"] = r.choice([None, True, False])
            normalize = tokenizers.normalizers.BertNormalizer(**rules).normalize_str
            settings = hostile.tokenizer(vocab, rules, hostile.random_added(r, vocab, r.randrange(9), normalize),
                                         max_input_chars_per_word=r.choice([1, 3, 10, 100, 100000]),
                                         continuing_subword_prefix=r.choice(["##", "##", "", "xx", "\u2581"]))
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "tokenizer.json"
                path.write_text(json.dumps(settings))
                try:
                    self.compare(path, hostile.texts(1000 + seed, 500), special=r.random() < 0.5)
                except Refused as refused:
                    n_refused += 1
                    self.assertIn("normalised", str(refused))
        self.assertLess(n_refused, N_DRAWN // 4)


if __name__ == "__main__":
    unittest.main()
