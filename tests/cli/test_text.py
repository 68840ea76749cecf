#!/usr/bin/env python3
"""isobit train text, eval, predict, embed, export: the same bits after kills, on other threads; bad input in words; the real data where it is."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
DATA = pathlib.Path(os.environ.get("ISOBIT_TEST_DATA", ROOT.parent / "shared" / "data"))
MINILM = pathlib.Path(os.environ.get("ISOBIT_MINILM", ROOT / ".models" / "minilm"))


def command(*words):
    return [PROGRAM, *map(str, words)]


def isobit(*words, timeout=600):
    environment = dict(os.environ, ISOBIT_STORE="none")
    return subprocess.run(command(*words), capture_output=True, encoding="utf-8", errors="replace", timeout=timeout, env=environment)


def rows(path, n, seed):
    """Three classes with words of their own among words of all."""
    draw = random.Random(seed)
    own = [["card", "arrive", "Karte"], ["rate", "exchange", "café"], ["pin", "blocked", "naïve"]]
    lines = ["text,label"]
    for i in range(n):
        words = [draw.choice(own[i % 3]) for _ in range(2)] + [f"w{draw.randrange(40)}" for _ in range(draw.randrange(12))]
        draw.shuffle(words)
        lines.append(f"{' '.join(words)},class{i % 3}")
    path.write_text("\n".join(lines) + "\n")


class Text(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.kept.name)
        cls.train, cls.test = cls.path / "train.csv", cls.path / "test.csv"
        rows(cls.train, 300, 1), rows(cls.test, 60, 2)
        cls.files = ["--data", cls.train, "--test", cls.test, "--quiet"]
        cls.done = cls.path / "done"
        result = isobit("train", "text", *cls.files, "--lr", "0.05", "--threads", "2", "--checkpoint", cls.done, "--json", cls.path / "done.json")
        assert result.returncode == 0, result.stderr
        cls.finished = json.loads((cls.path / "done.json").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def ok(self, *words):
        result = isobit(*words)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def refused(self, code, *words, says):
        result = isobit(*words)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        for text in says:
            self.assertIn(text, result.stderr)

    # ---- training ----

    def test_learns_and_eval_agrees(self):
        self.assertGreater(self.finished["accuracy"], 0.95)
        out = self.path / "eval.json"
        self.ok("eval", "--checkpoint", self.done, "--json", out, "--threads", "1")
        again = json.loads(out.read_text())
        for field in ("accuracy", "test_loss", "test_samples"):
            self.assertEqual(again[field], self.finished[field])
        self.assertEqual(again["manifest"]["test_data_hash"], self.finished["manifest"]["test_data_hash"])

    def test_held_out_part_is_found_again(self):
        folder, out = self.path / "part", self.path / "part.json"
        self.ok("train", "text", "--data", self.train, "--held-out", "0.2", "--steps", "20", "--quiet", "--checkpoint", folder, "--json", out)
        trained = json.loads(out.read_text())
        self.assertEqual(trained["test_samples"], 60)
        self.ok("eval", "--checkpoint", folder, "--json", out)
        self.assertEqual(json.loads(out.read_text())["test_loss"], trained["test_loss"])

    def kill_and_resume(self, words, n_kills):
        """Kills at random moments, on alternating thread counts, until the job is done; returns its result."""
        folder, out, draw = self.path / f"killed-{time.time_ns()}", self.path / f"killed-{time.time_ns()}.json", random.Random(7)
        kills = 0
        for attempt in range(100):
            more = ["--checkpoint", folder, "--every", "1", "--resume", "--json", out, "--threads", 1 + attempt % 3, "--workers", attempt % 2]
            job = subprocess.Popen(command(*words, *more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, ISOBIT_STORE="none"))
            if kills < n_kills:
                before = (folder / "checkpoint.safetensors").stat().st_mtime_ns if folder.exists() and any(folder.iterdir()) else 0
                deadline = time.time() + 120
                while job.poll() is None and time.time() < deadline:  # at least one checkpoint more, so that it ends
                    file = folder / "checkpoint.safetensors"
                    if file.exists() and file.stat().st_mtime_ns > before:
                        time.sleep(draw.random() * 0.02)
                        break
                    time.sleep(0.001)
                job.kill()
                kills += job.wait() == -signal.SIGKILL
            stderr = job.communicate()[1]
            if job.returncode == 0:
                self.assertGreaterEqual(kills, min(n_kills, 2))
                return json.loads(out.read_text())
            self.assertEqual(job.returncode, -signal.SIGKILL, stderr)
        self.fail("never finished")

    def test_kills_change_no_bit(self):
        for model in ("textclassifier", "textcnn"):
            words = ["train", "text", *self.files, "--model", model, "--steps", "40", "--clip-norm", "1"]
            expected = self.path / "whole.json"
            self.ok(*words, "--threads", "2", "--json", expected)
            expected = json.loads(expected.read_text())
            got = self.kill_and_resume(words, 6)
            for field in ("weights_hash", "accuracy", "test_loss", "steps"):
                self.assertEqual(got[field], expected[field], model)

    def test_interrupt_saves(self):
        folder = self.path / "interrupted"
        words = ["train", "text", *self.files, "--model", "textcnn", "--steps", "100000", "--checkpoint", folder]
        job = subprocess.Popen(command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        job.send_signal(signal.SIGINT)
        _, stderr = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130, stderr)
        self.assertIn("interrupted after step", stderr)
        self.assertTrue((folder / "checkpoint.safetensors").exists())

    def test_other_options_are_refused_on_resume(self):
        self.refused(1, "train", "text", *self.files, "--lr", "0.01", "--checkpoint", self.done, "--resume", says=["lr"])

    def test_record_is_reproduced(self):
        folder = self.path / "record"
        self.ok("train", "text", *self.files, "--steps", "5", "--record", folder, "--threads", "2")
        self.assertIn("the same: 5 steps", self.ok("reproduce", folder, "--threads", "1"))

    def test_compare(self):
        out = self.path / "compare.json"
        self.ok("compare", "text", *self.files, "--steps", "6", "--policies", "fast,default", "--json", out)
        table = {row["policy"]: row for row in json.loads(out.read_text())["policies"]}
        self.assertTrue(table["default"]["same_bits"])
        self.assertGreater(table["default"]["texts_per_s"], 0)

    # ---- predicting ----

    def test_predict(self):
        questions = self.path / "questions.txt"
        texts = ["card arrive w3", "exchange rate café", "my naïve\u00a0pin is blocked"]
        questions.write_text("\n".join(texts) + "\n")
        lines = [line.split("\t") for line in self.ok("predict", "--checkpoint", self.done, "--data", questions, "--quiet").splitlines()]
        self.assertEqual(lines[0], ["label", "probability", "text"])
        self.assertEqual([line[0] for line in lines[1:]], ["class0", "class1", "class2"])
        self.assertEqual([line[2] for line in lines[1:]], texts)
        out = self.path / "answers.jsonl"
        self.ok("predict", "--checkpoint", self.done, "--data", questions, "--all", "--top", "2", "--out", out, "--quiet")
        answers = [json.loads(line) for line in out.read_text().splitlines()]
        for answer, line, text in zip(answers, lines[1:], texts):
            self.assertEqual(answer["text"], text)
            self.assertEqual(f"{answer['probability']:.6g}", f"{float(line[1]):.6g}")
            self.assertAlmostEqual(sum(answer["probabilities"].values()), 1, places=5)
            self.assertEqual(len(answer["top"]), 2)
        # alone, on another thread count, in other company: the same figures
        for text, line in zip(texts, lines[1:]):
            alone = self.ok("predict", "--checkpoint", self.done, "--text", text, "--threads", "1", "--quiet").splitlines()[1]
            self.assertEqual(alone.split("\t"), line)

    def test_embed_and_search(self):
        words = ["embed", "--checkpoint", self.done, "--data", self.test, "--quiet"]
        vectors = [line.split("\t") for line in self.ok(*words).splitlines()]
        self.assertEqual(len(vectors), 60)
        for vector in vectors:
            self.assertAlmostEqual(sum(float(v) ** 2 for v in vector[:-1]), 1, places=5)
        query = vectors[7][-1]
        hits = [line.split("\t") for line in self.ok(*words, "--search", query, "--top", "3").splitlines()]
        self.assertEqual((hits[0][0], hits[0][1]), ("1.000000", query))
        self.assertEqual(len(hits), 3)
        npy = self.path / "vectors.npy"
        self.ok(*words, "--out", npy)
        self.assertEqual(npy.read_bytes()[:6], b"\x93NUMPY")

    # ---- bad input ----

    def write(self, name, content):
        path = self.path / name
        path.write_text(content)
        return path

    def test_bad_input_is_named(self):
        head = "text,label\n"
        unknown = self.write("unknown.csv", head + "card,class0\nrate,class9\n")
        ragged = self.write("ragged.csv", head + "card,class0\nrate,class1,more\n")
        single = self.write("single.csv", head + "card,class0\nrate,class0\n")
        long = self.write("long.csv", head + "card,class0\n" + "rate " * 90 + ",class1\n")
        pair = self.write("pair.csv", head + "card,class0\nrate,class1\n")
        broken = self.path / "broken"
        broken.mkdir()
        (broken / "checkpoint.safetensors").write_bytes((self.done / "checkpoint.safetensors").read_bytes()[:5000])
        self.refused(1, "train", "text", "--quiet", says=["data"])
        self.refused(1, "train", "text", "--data", self.train, "--test", unknown, says=["class9", "row 2"])
        self.refused(1, "eval", "--checkpoint", self.done, "--test", unknown, says=["class9", "row 2"])
        self.refused(1, "train", "text", "--data", ragged, says=["row 2", "line 3"])
        self.refused(1, "train", "text", "--data", single, says=["class0"])
        self.refused(1, "train", "text", "--data", long, "--test", pair, "--max-length", "20", says=["row 2", "20"])
        self.refused(1, "train", "text", "--data", self.train, "--test", long, "--max-length", "20", says=["row 2", "20"])
        self.ok("train", "text", "--data", self.train, "--test", long, "--max-length", "20", "--truncate", "--steps", "1", "--quiet")
        self.refused(1, "train", "text", "--data", self.train, "--model", "gpt", says=["gpt", "textclassifier"])
        self.refused(1, "train", "text", "--data", self.path / "none.csv", says=["none.csv"])
        self.refused(1, "predict", "--checkpoint", broken, "--text", "card", says=["checkpoint.safetensors"])
        self.refused(1, "predict", "--checkpoint", self.path, "--text", "card", says=["neither"])
        self.refused(2, "predict", "--text", "card", says=["--checkpoint"])
        self.refused(2, "predict", "--checkpoint", self.done, says=["--data"])
        self.refused(1, "export", "--checkpoint", self.done, "--out", self.path / "out", says=["TextClassifier"])
        self.refused(2, "train", "sound", says=["'vision' or 'text'"])

    def test_empty_texts_and_bytes_that_are_no_text(self):
        odd = self.path / "odd.csv"
        odd.write_bytes(b"text,label\n,class0\n\xff\xfe card,class0\n\"rate\n\"\"exchange\"\"\",class1\n\0,class1\n")
        self.ok("train", "text", "--data", odd, "--test", odd, "--steps", "2", "--quiet")
        self.assertEqual(len(self.ok("predict", "--checkpoint", self.done, "--data", odd, "--quiet").splitlines()), 5)


class RealData(unittest.TestCase):
    """The bars of the small models, by the plain command; and that the weights are the same on one thread and on two."""

    def hash_and_accuracy(self, folder, train, test, *more):
        if not (DATA / folder / train).exists():
            self.skipTest(f"no {DATA / folder}")
        found = []
        with tempfile.TemporaryDirectory() as place:
            for threads in (1, 2):
                out = pathlib.Path(place) / "out.json"
                result = isobit("train", "text", "--data", DATA / folder / train, "--test", DATA / folder / test, "--quiet", "--threads", threads,
                                "--json", out, *more)
                self.assertEqual(result.returncode, 0, result.stderr)
                found.append(json.loads(out.read_text()))
        self.assertEqual(found[0]["weights_hash"], found[1]["weights_hash"])
        return found[0]["accuracy"]

    def test_textclassifier_on_banking77(self):
        self.assertGreaterEqual(self.hash_and_accuracy("banking77", "train.csv", "test.csv"), 0.84)

    def test_textclassifier_on_snips(self):
        self.assertGreaterEqual(self.hash_and_accuracy("snips", "train.tsv", "validate.tsv"), 0.975)


class MiniLM(unittest.TestCase):
    def setUp(self):
        if not (MINILM / "model.safetensors").exists():
            self.skipTest(f"no {MINILM}")
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.train, self.test = self.path / "train.csv", self.path / "test.csv"
        rows(self.train, 60, 1), rows(self.test, 20, 2)
        self.words = ["train", "text", "--data", self.train, "--test", self.test, "--weights", MINILM, "--batch-size", "4", "--quiet"]

    def run_json(self, *words):
        out = self.path / "out.json"
        result = isobit(*words, "--json", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(out.read_text())

    def test_fine_tuning_resumes_on_other_threads(self):
        whole = self.run_json(*self.words, "--steps", "6", "--threads", "2")
        folder = self.path / "ck"
        job = subprocess.Popen(command(*self.words, "--steps", "6", "--threads", "1", "--checkpoint", folder, "--every", "1"), stdout=subprocess.DEVNULL)
        while job.poll() is None and not (folder / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        job.kill()
        job.wait()
        resumed = self.run_json(*self.words, "--steps", "6", "--threads", "2", "--checkpoint", folder, "--resume")
        self.assertEqual(resumed["weights_hash"], whole["weights_hash"])
        self.assertEqual(resumed["test_loss"], whole["test_loss"])

    def test_export_predicts_the_same(self):
        self.run_json(*self.words, "--steps", "2", "--checkpoint", self.path / "ck")
        self.assertEqual(isobit("export", "--checkpoint", self.path / "ck", "--out", self.path / "mine").returncode, 0)
        first = isobit("predict", "--checkpoint", self.path / "ck", "--data", self.test, "--all", "--quiet")
        second = isobit("predict", "--weights", self.path / "mine", "--data", self.test, "--all", "--quiet", "--threads", "1")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, second.stdout, second.stderr)

    def test_positions_are_the_limit(self):
        long = self.path / "long.csv"
        long.write_text("text,label\ncard,class0\n" + "rate " * 600 + ",class1\n")
        result = isobit("train", "text", "--data", long, "--test", long, "--weights", MINILM)
        self.assertEqual(result.returncode, 1)
        for text in ("row 2", "602", "512"):
            self.assertIn(text, result.stderr)

    def test_weights_that_are_no_numbers(self):
        bad = self.path / "bad"
        bad.mkdir()
        for name in ("config.json", "vocab.txt", "tokenizer_config.json"):
            (bad / name).write_bytes((MINILM / name).read_bytes())
        content = bytearray((MINILM / "model.safetensors").read_bytes())
        header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
        at = 8 + int.from_bytes(content[:8], "little") + header["encoder.layer.3.output.dense.weight"]["data_offsets"][0]
        content[at:at + 4] = b"\0\0\xc0\x7f"
        (bad / "model.safetensors").write_bytes(content)
        for words in (["embed", "--weights", bad, "--text", "card"], ["train", "text", "--data", self.train, "--weights", bad]):
            result = isobit(*words)
            self.assertEqual(result.returncode, 1)
            self.assertIn("encoder.layer.3.output.dense.weight", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
