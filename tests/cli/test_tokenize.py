#!/usr/bin/env python3
"""`isobit tokenize`: ids, tokens and offsets of a text and of a file, refusals, and bytes that are no text."""
import json
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
GOLDEN = ROOT / "tests" / "text" / "golden"


class Tokenize(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def isobit(self, *words, code=0):
        result = subprocess.run([PROGRAM, "tokenize", *words], capture_output=True, timeout=300)
        self.assertEqual(result.returncode, code, (words, result.stdout[-2000:], result.stderr[-2000:]))
        return result.stdout.decode(), result.stderr.decode()

    def vocabulary(self, *more):
        path = self.path / "vocab.txt"
        path.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "my", "card", "##s", ".", "My", *more]) + "\n")
        return str(path)

    def json_of(self, *words):
        out = self.path / "out.json"
        self.isobit(*words, "--json", str(out))
        return json.loads(out.read_text())

    def test_a_text(self):
        out, _ = self.isobit("--tokenizer", self.vocabulary(), "--text", "My  cards.")
        rows = [line.split() for line in out.splitlines()]
        self.assertEqual(rows, [["2", "0", "0", "[CLS]"], ["4", "0", "2", "my"], ["5", "4", "8", "card"], ["6", "8", "9", "##s"],
                                ["7", "9", "10", "."], ["3", "0", "0", "[SEP]"]])
        out, _ = self.isobit("--tokenizer", self.vocabulary(), "--text", "My x", "--cased", "--no-special")
        self.assertEqual([line.split()[3] for line in out.splitlines()], ["My", "[UNK]"])

    def test_golden_cases_as_json(self):
        cases = [json.loads(line) for line in (GOLDEN / "lower.cases").read_text(encoding="utf-8").splitlines()]
        data = self.path / "texts.jsonl"
        data.write_text("".join(json.dumps({"text": c["t"]}) + "\n" for c in cases))
        result = self.json_of("--tokenizer", str(GOLDEN / "lower.json"), "--data", str(data))
        self.assertEqual(len(result["texts"]), len(cases))
        for text, case in zip(result["texts"], cases):
            self.assertEqual(text["ids"], case["i"])
            self.assertEqual([v for pair in text["offsets"] for v in pair], case["o"])
            self.assertEqual(len(text["tokens"]), len(case["i"]))
        self.assertEqual(result["tokenizer"]["padding"], 0)
        self.assertEqual(result["n_invalid"], 0)
        cut = self.json_of("--tokenizer", str(GOLDEN / "lower.json"), "--data", str(data), "--max-length", "5", "--limit", "20")
        self.assertEqual([t["ids"] for t in cut["texts"]], [c["i"] if len(c["i"]) <= 5 else c["i"][:4] + [3] for c in cases[:20]])

    def test_bytes_that_are_no_text(self):
        out, errors = self.isobit("--tokenizer", self.vocabulary(), "--text", b"my \xff card\xed\xa0\x80".decode("utf-8", "surrogateescape"))
        self.assertEqual([line.split()[3] for line in out.splitlines()], ["[CLS]", "my", "card", "[SEP]"])
        self.assertIn("4 places in the texts are no UTF-8", errors)

    def test_refusals(self):
        vocabulary = self.vocabulary()
        for words, code, part in (
                (["--text", "x"], 2, "--tokenizer is missing"),
                (["--tokenizer", vocabulary], 2, "neither --text nor --data"),
                (["--tokenizer", vocabulary, "--text", "x", "--data", "y"], 2, "exclude each other"),
                (["--tokenizer", str(self.path / "none"), "--text", "x"], 1, "cannot open"),
                (["--tokenizer", vocabulary, "--data", str(self.path / "none.csv")], 1, "none.csv"),
                (["--tokenizer", vocabulary, "--text", "x", "--max-length", "1"], 1, "the special tokens alone are 2")):
            self.assertIn(part, self.isobit(*words, code=code)[1], words)
        errors = self.isobit("--tokenizer", self.vocabulary("card"), "--text", "x", code=1)[1]
        self.assertIn("token 'card' is there twice: lines 6 and 10", errors)


if __name__ == "__main__":
    unittest.main()
