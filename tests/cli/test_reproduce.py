#!/usr/bin/env python3
"""isobit reproduce: the same bits from a record, a changed record found and named, hostile records refused in words."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
SMALL = ["--model", "cnn", "--data", "synthetic", "--batch-size", "16", "--quiet", "--no-eval"]
STEPS = 5


def isobit(*words, **options):
    environment = dict(os.environ, ISOBIT_STORE="none")
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, env=environment, **options)


class Reproduce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.made = pathlib.Path(cls.kept.name) / "made"
        result = isobit("train", "vision", *SMALL, "--steps", STEPS, "--threads", "2", "--augment", "--record", cls.made)
        assert result.returncode == 0, result.stderr

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.run_folder = self.path / "moved"  # a record may be carried elsewhere
        shutil.copytree(self.made, self.run_folder)

    def same(self, *words):
        result = isobit("reproduce", *words)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("the same: ", result.stdout)
        return result.stdout

    def differs(self, *says, run=None):
        result = isobit("reproduce", run or self.run_folder)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        for text in says:
            self.assertIn(text, result.stdout + result.stderr)

    def edit(self, change):
        file = self.run_folder / "run.json"
        run = json.loads(file.read_text())
        change(run)
        file.write_text(json.dumps(run))

    def test_the_record_is_enough(self):
        self.assertEqual(sorted(p.name for p in self.run_folder.iterdir()), ["hashes.tsv", "isobit.lock", "run.json"])
        run = json.loads((self.run_folder / "run.json").read_text())
        for field in ("isobit_version", "libraries", "cpu", "isa", "threads", "policy", "seed", "train_data_hash", "test_data_hash",
                      "command", "argv", "folder", "hash_log"):
            self.assertIn(field, run["manifest"])
        self.assertEqual(run["manifest"]["argv"][1:3], ["train", "vision"])
        self.assertIn(f"the same: {STEPS} steps, weights {run['weights_hash']}", self.same(self.run_folder))

    def test_other_threads_give_the_same(self):
        kept = self.path / "again.tsv"
        self.same(self.run_folder, "--threads", "1", "--keep", kept)
        self.assertEqual(kept.read_text(), (self.run_folder / "hashes.tsv").read_text())
        self.same(self.run_folder, "--threads", "3")

    def tamper(self, step, name, column):
        file = self.run_folder / "hashes.tsv"
        lines, found = file.read_text().splitlines(), 0
        for i, line in enumerate(lines):
            fields = line.split("\t")
            if fields[0] == str(step) and (fields[1] == name or name == "*" and fields[1] not in ("start", "batch", "loss")):
                fields[column] = "0" * 32
                lines[i] = "\t".join(fields)
                found += 1
        self.assertTrue(found)
        file.write_text("\n".join(lines) + "\n")

    def test_one_changed_line_is_found_and_named(self):
        for name, column, says in (("loss", 2, "the loss"), ("7.weight", 2, "the gradient of 7.weight"), ("0.bias", 3, "the weights of 0.bias")):
            for step in (0, 3, STEPS - 1):
                shutil.copy(self.made / "hashes.tsv", self.run_folder)
                self.tamper(step, name, column)
                self.differs(f"differs from step {step}: {says} was {'0' * 32}, now ")

    def test_the_first_difference_is_the_one_computed_first(self):
        self.tamper(2, "*", 3)
        self.tamper(2, "*", 2)
        self.differs("differs from step 2: the gradient of 9.bias")
        self.tamper(1, "*", 3)
        self.differs("differs from step 1: the weights of 0.weight")

    def test_a_short_or_damaged_log(self):
        file = self.run_folder / "hashes.tsv"
        lines = file.read_text().splitlines(keepends=True)
        for damaged, says in ((lines[:-1], "ends before"), (lines[:12] + ["rubbish\n"] + lines[13:], "damaged"),
                              (lines[:12] + lines[13:], "another step or tensor"), ([], "no hashes"),
                              (lines[:12] + ["1\t" + "n" * 400 + "\t0\t0\n"], "damaged")):
            file.write_text("".join(damaged))
            self.differs(says)

    def test_what_differs_before_the_first_step(self):
        lock = self.run_folder / "isobit.lock"
        text = lock.read_text()
        lock.unlink()
        self.differs("isobit.lock", "not there")
        lines = text.splitlines(keepends=True)
        lock.write_text("".join(lines[:-1]))
        self.differs("lock")
        lock.write_text(text)
        self.same(self.run_folder)
        for field, says in (("train_data_hash", "training data"), ("isobit_version", "version")):
            kept = (self.run_folder / "run.json").read_text()
            self.edit(lambda run: run["manifest"].update({field: "elsewhere"}))
            self.differs("cannot repeat", says, "elsewhere")
            (self.run_folder / "run.json").write_text(kept)

    def test_hostile_records(self):
        def argv(words):
            return lambda run: run["manifest"].update(argv=words)

        whole = (self.run_folder / "run.json").read_text()
        for change in (argv(["isobit"]), argv("train"), argv([1, 2, 3]), argv(["isobit", "train", "vision", "--help"]),
                       argv(["isobit", "train", "vision", "--wings"]), argv(["isobit", "train", "vision", None]),
                       argv(["isobit", "train", "vision"] + ["--quiet"] * 500), argv(["isobit", "compare", "vision"]),
                       lambda run: run.update(manifest=7), lambda run: run.update(steps=-4), lambda run: run.update(weights_hash=None),
                       lambda run: run["manifest"].update(policy="repro=always"), lambda run: run["manifest"].update(policy="x" * 5000),
                       lambda run: run["record"].update(hash_log="/no/such/file"), lambda run: run["manifest"].update(isa="avx1024"),
                       lambda run: run["manifest"].update(argv=run["manifest"]["argv"] + ["--model", "vgg"])):
            (self.run_folder / "run.json").write_text(whole)
            self.edit(change)
            self.differs("isobit: ")
        for text in ("", "{", "[]", "null", '"' + "a" * 100000 + '"', "[" * 100000):
            (self.run_folder / "run.json").write_text(text)
            self.differs("run.json")
        self.differs("/no/such/run", run="/no/such/run")
        self.assertEqual(isobit("reproduce").returncode, 2)

    def test_json_alone_compares_the_end(self):
        out = self.path / "out.json"
        self.assertEqual(isobit("train", "vision", *SMALL, "--steps", "3", "--json", out).returncode, 0)
        self.assertIn("no hash log", self.same(out))
        run = json.loads(out.read_text())
        out.write_text(json.dumps(dict(run, weights_hash="1" * 32)))
        self.differs("differs at the end", "1" * 32, run=out)

    def test_a_hash_log_beside_json(self):
        result = isobit("train", "vision", *SMALL, "--steps", "3", "--json", "out.json", "--hash-log", "log.tsv", cwd=self.path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("no hash log", self.same(self.path / "out.json"))

    def test_a_resumed_run(self):
        resumed = self.path / "resumed"
        words = ["--checkpoint", self.path / "ck", "--resume", "--schedule", "constant", "--record", resumed]
        for steps in (2, 4):
            result = isobit("train", "vision", *SMALL, "--steps", steps, *words)
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the same: 4 steps", self.same(resumed))
        log = resumed / "hashes.tsv"
        log.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if line[0] in "23"))  # its beginning was lost
        self.assertIn("the same: 4 steps", self.same(resumed))

    def test_a_lockfile_of_one_s_own(self):
        lock = self.path / "my.lock"
        for _ in range(2):  # written, then replayed
            result = isobit("train", "vision", *SMALL, "--steps", "2", "--lock", lock, "--json", self.path / "out.json")
            self.assertEqual(result.returncode, 0, result.stderr)
        self.same(self.path / "out.json")
        lock.unlink()
        self.differs("my.lock", run=self.path / "out.json")

    def test_record_and_hash_log_exclude_each_other(self):
        result = isobit("train", "vision", *SMALL, "--record", self.path / "x", "--hash-log", "y")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--hash-log", result.stderr)

    def test_other_bits_without_the_promise_are_explained(self):
        free = self.path / "free"
        self.assertEqual(isobit("train", "vision", *SMALL, "--steps", "3", "--policy", "fast", "--record", free).returncode, 0)
        hashes = free / "hashes.tsv"
        hashes.write_text("0\tloss\t" + "0" * 32 + "\t-\n" + hashes.read_text().split("\n", 1)[1])
        result = isobit("reproduce", free, "--threads", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("repro=off, does not promise the same bits", result.stdout)


if __name__ == "__main__":
    unittest.main()
