#!/usr/bin/env python3
"""Writes tests/text/golden/: small tokenizers with hostile texts, their ids and offsets by Hugging Face `tokenizers`.

Run in the environment of scripts/peers-venv. NAME.json is a tokenizer; NAME.cases a JSON object a line: text "t", ids "i",
offsets "o" flat. all.digests: for NAME a FNV-1a hash of ids and offsets of "a?a" over each 4096 code points, so that every
code point is held.
"""
import json
import pathlib
import random

import hostile
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

FOLDER = pathlib.Path(__file__).resolve().parent / "golden"
N_CASES = 130


def vocabulary(cased):
    words = """the of and to in is it you that run runn hello world don t foo un aff able ist an bul how do i my card what ing a b c d e
               s ss fi ffi dz k strasse""".split()
    pieces = "##s ##ning ##ing ##able ##aff ##anbul ##bul ##o ##oo ##ld ##a ##b ##c ##e ##\u0301 ##\u1161 ##\u11a8 ##\ufe0f ##\U0001d165".split()
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + ["##" + c for c in "dfghijklmnpqrtuvwxyz0123456789"]
    other = "\u4e2d \u8c48 \u4e3d \u03c3 \u03b1 ##\u03c3 \u0131 i\u0307 \u1100 \u11a8 \u302e \U0001d158 \u00e9 e\u0301 \u3042 \u30ac \u30ab \u2019 \u00a1 \U00020000 \ue000".split()
    upper = "The Hello World Foo FOO I IST \u00c9 ##N ##L".split() if cased else []
    tokens = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words, *pieces, *letters, *other, *upper])
    return {token: i for i, token in enumerate(tokens)}


def tokenizers():
    lower, cased = vocabulary(False), vocabulary(True)
    r = random.Random(3)
    yield "lower", hostile.tokenizer(lower, {})
    yield "cased", hostile.tokenizer(cased, dict(lowercase=False))
    yield "raw", hostile.tokenizer(cased, dict(clean_text=False, handle_chinese_chars=False, strip_accents=False), max_input_chars_per_word=12,
                                   continuing_subword_prefix="", post_processor=dict(type="BertProcessing", sep=["[SEP]", 3], cls=["[CLS]", 2]))
    yield "added", hostile.tokenizer(lower, dict(strip_accents=True), hostile.random_added(r, lower, 9, BertNormalizer(strip_accents=True).normalize_str))


def fnv(h, numbers):
    for v in numbers:
        h = ((h ^ v) * 0x100000001B3) % 2**64
    return h


def digests(tokenizer):
    """One 64-bit hash, over ids and offsets as numbers, for each 4096 code points."""
    result = []
    for begin in range(0, 0x110000, 4096):
        points = [c for c in range(begin, begin + 4096) if not 0xD800 <= c < 0xE000]
        h = 0xCBF29CE484222325
        for e in tokenizer.encode_batch([f"a{chr(c)}a" for c in points]):
            h = fnv(h, [*e.ids, *(v for pair in e.offsets for v in pair)])
        result.append(f"{h:016x}")
    return result


def main():
    all_digests = []
    for number, (name, settings) in enumerate(tokenizers()):
        (FOLDER / f"{name}.json").write_text(json.dumps(settings, indent=None, separators=(",", ":")) + "\n")
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{name}.json"))
        texts = hostile.texts(number, N_CASES)
        with open(FOLDER / f"{name}.cases", "w", encoding="utf-8") as file:
            for text, e in zip(texts, tokenizer.encode_batch(texts)):
                offsets = [v for pair in e.offsets for v in pair]
                file.write(json.dumps({"t": text, "i": e.ids, "o": offsets}, separators=(",", ":")) + "\n")
        all_digests += [f"{name} {' '.join(digests(tokenizer))}"]
    (FOLDER / "all.digests").write_text("\n".join(all_digests) + "\n")


if __name__ == "__main__":
    main()
