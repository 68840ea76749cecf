#!/usr/bin/env python3
"""`isobit data`: rows, classes, lengths and warnings, beside what Python's own readers say of the same files."""
import collections
import csv
import gzip
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
SHARED = pathlib.Path(os.environ.get("ISOBIT_TEST_DATA", ROOT.parent / "shared" / "data"))


class TextData(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def isobit(self, *words, code=0):
        result = subprocess.run([PROGRAM, "data", *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, code, (words, result.stdout[-2000:], result.stderr[-2000:]))
        return result

    def json_of(self, *words):
        out = self.path / "out.json"
        self.isobit(*words, "--json", str(out))
        return json.loads(out.read_text())

    def kinds(self, *words):
        return [w["kind"] for w in self.json_of(*words)["warnings"]]

    def vocabulary(self):
        return self.write("vocab.txt", "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(f"w{i}" for i in range(50))]) + "\n")

    def test_banking77_as_pythons_reader_has_it(self):
        train, test = SHARED / "banking77" / "train.csv", SHARED / "banking77" / "test.csv"
        if not train.exists():
            self.skipTest(f"{train} is not there (ISOBIT_TEST_DATA)")
        result = self.json_of(str(train), "--test", str(test))
        for name, path in (("file", train), ("test", test)):
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            counts = collections.Counter(row["category"] for row in rows)
            self.assertEqual(result[name]["n_rows"], len(rows))
            self.assertEqual({c["name"]: c["n_rows"] for c in result[name]["classes"]}, counts)
        self.assertEqual([c["name"] for c in result["file"]["classes"]], sorted(counts))
        seen = [{" ".join(row["text"].lower().split()) for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines(keepends=True))} for path in (train, test)]
        leak = next(w["text"] for w in result["warnings"] if w["kind"] == "leak")
        self.assertTrue(leak.startswith(f"{len(seen[0] & seen[1])} of 3080 rows"), leak)

    def test_snips(self):
        train = SHARED / "snips" / "train.tsv"
        if not train.exists():
            self.skipTest(f"{train} is not there (ISOBIT_TEST_DATA)")
        rows = [line.split("\t") for line in train.read_text(encoding="utf-8").splitlines()]
        result = self.json_of(str(train))["file"]
        self.assertEqual({c["name"]: c["n_rows"] for c in result["classes"]}, collections.Counter(label for label, _ in rows))

    def test_formats_hash_alike(self):
        rng = random.Random(3)
        rows = [("".join(rng.choice('ab,"\n é') for _ in range(rng.randrange(30))) + f"{i}", f"c{rng.randrange(3)}") for i in range(300)]
        with open(self.path / "a.csv", "w", newline="", encoding="utf-8-sig") as file:
            writer = csv.writer(file)
            writer.writerow(["n", "label", "text"])
            writer.writerows([i, label, text] for i, (text, label) in enumerate(rows))
        with gzip.open(self.path / "b.jsonl.gz", "wt", encoding="utf-8") as file:
            for text, label in rows:
                file.write(json.dumps({"text": text, "label": label}) + "\n")
        hashes = [self.json_of(str(self.path / name))["file"]["hash"] for name in ("a.csv", "b.jsonl.gz")]
        self.assertEqual(*hashes)

    def test_lengths_and_padding(self):
        rng = random.Random(1)
        lengths = [rng.randrange(60) for _ in range(999)] + [80]
        lines = ["text,label"] + [f"{' '.join(f'w{rng.randrange(50)}' for _ in range(n))},{i % 2}" for i, n in enumerate(lengths)]
        train = self.write("train.csv", "\n".join(lines))
        result = self.json_of(train, "--tokenizer", self.vocabulary())
        ordered = sorted(n + 2 for n in lengths)
        self.assertEqual(result["lengths"]["longest"], 82)
        self.assertEqual(result["lengths"]["median"], ordered[499])
        self.assertEqual(result["lengths"]["p90"], ordered[899])
        self.assertEqual(result["lengths"]["n_tokens"], sum(ordered))
        shares = [p["share"] for p in result["padding"]]
        self.assertEqual([p["bucket_batches"] for p in result["padding"]], [1, 10, 50])
        self.assertGreater(shares[0], 0.3)
        self.assertLess(shares[2], 0.15)
        self.assertEqual(result["padding"][0]["largest_length"], 88)
        cut = self.json_of(train, "--tokenizer", self.vocabulary(), "--max-length", "40")
        self.assertEqual(cut["lengths"]["n_truncated"], sum(n > 40 for n in ordered))
        self.assertIn("truncated", [w["kind"] for w in cut["warnings"]])

    def test_warnings(self):
        clean = "".join(f"some text {i},{'ab'[i % 2]}\n" for i in range(40))
        train = self.write("train.csv", "text,label\n" + clean)
        self.assertEqual(self.json_of(train)["warnings"], [])
        self.assertIn("no warnings", self.isobit(train).stdout)
        cases = {
            "duplicates": "  SOME  text 3 ,b\n",
            "contradictions": "some text 3,a\n",
            "empty": ",a\n",
            "few_rows": "new,c\n",
        }
        for kind, more in cases.items():
            self.assertIn(kind, self.kinds(self.write("more.csv", "text,label\n" + clean + more)), kind)
        imbalance = "text,label\n" + clean + "".join(f"x{i},a\n" for i in range(400))
        self.assertIn("imbalance", self.kinds(self.write("im.csv", imbalance)))
        self.assertIn("one_class", self.kinds(self.write("one.csv", "text,label\nx,a\ny,a\n")))
        self.assertIn("many_classes", self.kinds(self.write("ids.csv", "text,label\nx,1\ny,2\nz,3\n")))
        test = self.write("test.csv", "text,label\nsome text 7,a\nother,a\nsome text 7,b\n")
        result = self.json_of(train, "--test", test)
        leak = [w["text"] for w in result["warnings"] if w["kind"] == "leak"]
        self.assertEqual(len(leak), 1)
        self.assertTrue(leak[0].startswith("2 of 3 rows"), leak)
        self.assertIn("line 2", leak[0])
        self.assertIn("line 9", leak[0])
        self.assertIn("untested", self.kinds(train, "--test", self.write("half.csv", "text,label\nq,a\n")))
        bad = self.write("bad.csv", b"text,label\nx \xff,1\n" + clean.encode())
        self.assertIn("invalid", self.kinds(bad, "--tokenizer", self.vocabulary()))

    def test_errors_name_their_row(self):
        train = self.write("train.csv", "text,label\nx,a\ny,b\n")
        for content, part in (("text,label\nx,a\ny\n", "row 2 (line 3) has 1 fields, the first row has 2"), ("text,label\n\"x,a\n", "row 1 (line 2), field 1: a quote is never closed")):
            self.assertIn(part, self.isobit(self.write("bad.csv", content), code=1).stderr)
        unknown = self.write("test.csv", "text,label\nx,a\ny,new\n")
        self.assertIn("row 2 (line 3): label 'new' is unknown; the 2 known ones are a, b", self.isobit(train, "--test", unknown, code=1).stderr)
        self.assertIn("which file", self.isobit(code=2).stderr)
        self.assertIn("none.csv", self.isobit(str(self.path / "none.csv"), code=1).stderr)
        self.assertIn("vocab", self.isobit(train, "--tokenizer", str(self.path / "vocab"), code=1).stderr)


if __name__ == "__main__":
    unittest.main()
