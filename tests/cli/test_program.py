#!/usr/bin/env python3
"""The program as its users meet it: help, errors that name the value, JSON, kill -9 and resume, a full disk."""
import json
import os
import pathlib
import random
import re
import resource
import signal
import stat
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")
SMALL = ["--model", "mlp", "--data", "synthetic", "--batch-size", "16", "--quiet"]


def isobit(*words, **options):
    environment = dict(os.environ, **options.pop("env", {}))
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600, env=environment, **options)


class Help(unittest.TestCase):
    def test_every_command_has_help(self):
        for words in ([], ["train", "vision"], ["reproduce"], ["eval"], ["compare", "vision"], ["plans"], ["policy"]):
            result = isobit(*words, "--help")
            self.assertEqual(result.returncode, 0, words)
            self.assertIn("usage: isobit", result.stdout)
            self.assertEqual(result.stderr, "")

    def test_policies_are_explained(self):
        for name in ("fast", "balanced", "reproducible", "default", "portable", "plain", "workspace_limit"):
            result = isobit("policy", "explain", name)
            self.assertEqual(result.returncode, 0)
            self.assertGreater(len(result.stdout), 40)


class BadInput(unittest.TestCase):
    CASES = [
        (["fly"], 2, "fly"),
        (["train", "audio"], 2, "audio"),
        (["train", "vision", "--steps", "many"], 2, "many"),
        (["train", "vision", "--steps", "-1"], 2, "-1"),
        (["train", "vision", "--steps"], 2, "--steps"),
        (["train", "vision", "--wings", "2"], 2, "--wings"),
        (["train", "vision", "--policy", "fastest"], 2, "fastest"),
        (["train", "vision", "--set", "workspace_limit=lots"], 2, "lots"),
        (["train", "vision", "--set", "colour=red"], 2, "colour"),
        (["train", "vision", "--leaves", "3"], 2, "3"),
        (["train", "vision", "--isa", "avx1024"], 1, "avx1024"),
        (["train", "vision", "--model", "vgg", "--data", "synthetic"], 1, "vgg"),
        (["train", "vision", "--data", "/no/such/folder"], 1, "/no/such/folder"),
        (["train", "vision", "--resume"], 2, "--checkpoint"),
        (["eval"], 2, "--checkpoint"),
        (["eval", "--checkpoint", "/no/such/folder"], 1, "/no/such/folder"),
        (["compare", "vision", "--policies", "fast,slow"], 2, "slow"),
        (["compare", "vision", "--policies", "fast,fast"], 2, "fast"),
        (["plans", "conv9d f32 n1"], 1, "conv9d"),
        (["plans", "gemm f32 m4 n4 k-4"], 1, "-4"),
        (["policy", "explain", "quick"], 2, "quick"),
    ]

    def test_errors_name_the_value(self):
        for words, code, value in self.CASES:
            result = isobit(*words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            self.assertIn(value, result.stderr, words)
            self.assertEqual(result.stderr.count("\n"), max(1, result.stderr.count("\n")))

    def test_environment_is_read_and_checked(self):
        result = isobit("plans", "gemm f32 m8 n8 k8", env={"ISOBIT_SEED": "abc"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("abc", result.stderr)
        result = isobit("plans", "gemm f32 m8 n8 k8", env={"ISOBIT_ISA": "scalar"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("limited to scalar", result.stdout)

    def test_unwritable_json(self):
        result = isobit("train", "vision", *SMALL, "--steps", "1", "--no-eval", "--json", "/no/such/folder/x.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/no/such/folder/x.json", result.stderr)

    def test_json_into_a_pipe_leaves_the_pipe(self):
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
            self.assertEqual(isobit("plans", "gemm f32 m4 n4 k4", "--json", pipe).returncode, 0)
            self.assertIn("problems", json.loads(reader.communicate(timeout=60)[0]))
            self.assertEqual(os.listdir(folder), ["pipe"])
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_full_standard_output(self):
        for words in (["--version"], ["policy"], ["train", "vision", "--steps", "1", "--no-eval", *SMALL]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
            self.assertEqual(result.returncode, 1, words)
            self.assertIn("standard output", result.stderr)

    def test_closed_descriptors_are_not_reused_for_files(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [PROGRAM, "train", "vision", "--steps", "1", "--no-eval", "--checkpoint", folder, *SMALL]
            script = " ".join(words) + " <&- >&- 2>&-"
            self.assertEqual(subprocess.run(["sh", "-c", script], timeout=600).returncode, 0)
            self.assertEqual(isobit("eval", "--checkpoint", folder, "--data", "synthetic").returncode, 0)

    def test_memory_limit_says_so(self):
        result = isobit("train", "vision", *SMALL, "--steps", "1", "--set", "memory_limit=1MiB")
        self.assertEqual(result.returncode, 1)
        self.assertIn("limit", result.stderr)


def write_png(path, width, height, pixel):
    """8-bit RGB; pixel(x, y) gives three numbers."""
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in pixel(x, y)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make_pictures(folder):
    """Discs and bars of any size and colour."""
    draw = random.Random(5)
    for split, n in (("train", 24), ("val", 10)):
        for kind in ("bars", "discs"):
            place = folder / split / kind
            place.mkdir(parents=True)
            for i in range(n):
                w, h, colour = draw.randint(28, 60), draw.randint(28, 60), [draw.randint(120, 255) for _ in range(3)]
                disc = kind == "discs"
                write_png(place / f"{i}.png", w, h, lambda x, y: colour if (
                    (x - w / 2) ** 2 + (y - h / 2) ** 2 < 130 if disc else x // 5 % 2) else (10, 20, 30))


class Pictures(unittest.TestCase):
    """The README's command, on a folder of images."""

    def test_readme_command(self):
        line = re.search(r"^    isobit (train vision --data pictures .*)$", (ROOT / "README.md").read_text(), re.M)[1].split()
        with tempfile.TemporaryDirectory() as folder:
            make_pictures(pathlib.Path(folder) / "pictures")

            def run(*more):
                result = isobit(*line, "--quiet", "--json", "result.json", *more, cwd=folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                return json.loads((pathlib.Path(folder) / "result.json").read_text())

            whole = run("--steps", "7")
            self.assertIn("libjpeg-turbo", whole["manifest"]["libraries"]["images"])
            self.assertRegex(whole["manifest"]["train_data_hash"], "^[0-9a-f]{32}$")
            self.assertEqual(run("--steps", "7", "--workers", "0", "--threads", "1")["weights_hash"], whole["weights_hash"])
            fixed = ("--steps", "7", "--schedule", "constant", "--checkpoint", "ck")
            straight = run("--steps", "7", "--schedule", "constant")
            run(*fixed[2:], "--steps", "4")
            self.assertEqual(run(*fixed, "--resume")["weights_hash"], straight["weights_hash"])
            result = isobit("eval", "--checkpoint", "ck", "--data", "pictures", "--image-size", "32", cwd=folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = isobit(*line, *fixed, "--resume", "--image-sizes", "24,40", cwd=folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("image_sizes", result.stderr)
            result = isobit(*line, "--image-sizes", "24;40", cwd=folder)
            self.assertIn("'24;40'", result.stderr)
            (pathlib.Path(folder) / "pictures/val/bars/3.png").write_bytes(b"no image")
            result = isobit(*line, cwd=folder)
            self.assertEqual(result.returncode, 1)
            self.assertIn("val/bars/3.png: is neither a PNG nor a JPEG image", result.stderr)


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def train(self, *words, **options):
        out = self.path / "out.json"
        result = isobit("train", "vision", *SMALL, "--json", str(out), *words, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(out.read_text())

    def test_json_has_the_promised_fields(self):
        result = self.train("--steps", "3", "--eval-limit", "64")
        for field in ("weights_hash", "loss", "accuracy", "steps", "peak_memory_mib", "manifest"):
            self.assertIn(field, result)
        self.assertEqual(len(result["weights_hash"]), 32)
        for field in ("isobit_version", "policy", "seed", "threads", "train_data_hash", "command"):
            self.assertIn(field, result["manifest"])

    def test_eval_repeats_the_closing_evaluation(self):
        trained = self.train("--steps", "5", "--checkpoint", str(self.path / "ck"))
        out = self.path / "eval.json"
        result = isobit("eval", "--checkpoint", str(self.path / "ck"), "--data", "synthetic", "--json", str(out), "--threads", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        evaluated = json.loads(out.read_text())
        for field in ("accuracy", "weights_hash", "test_loss"):
            self.assertEqual(trained[field], evaluated[field])

    def test_killed_anywhere_and_resumed(self):
        words = ["--steps", "120", "--no-eval", "--augment"]
        expected = self.train(*words)["weights_hash"]
        chance = random.Random(7)
        checkpoint = ["--checkpoint", str(self.path / "ck"), "--every", "3", "--resume"]
        kills = 0
        for _ in range(6):
            process = subprocess.Popen([PROGRAM, "train", "vision", *SMALL, *words, *checkpoint],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.05, 0.6))
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.assertEqual(self.train(*words, *checkpoint, "--threads", "1")["weights_hash"], expected)
        print(f"killed {kills} times", flush=True)

    def test_interrupt_saves_a_checkpoint(self):
        process = subprocess.Popen([PROGRAM, "train", "vision", *SMALL, "--steps", "1000000", "--checkpoint", str(self.path / "ck")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, errors)
        self.assertTrue((self.path / "ck" / "checkpoint.safetensors").exists())

    def test_full_disk_keeps_the_old_checkpoint(self):
        words = ["--steps", "6", "--no-eval", "--checkpoint", str(self.path / "ck")]
        self.train(*words)
        before = (self.path / "ck" / "checkpoint.safetensors").read_bytes()

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        result = isobit("train", "vision", *SMALL, "--steps", "9", "--no-eval", "--checkpoint", str(self.path / "ck"), preexec_fn=small_files)
        self.assertEqual(result.returncode, 1)
        self.assertIn("checkpoint.safetensors", result.stderr)
        self.assertEqual((self.path / "ck" / "checkpoint.safetensors").read_bytes(), before)
        self.assertEqual([p.name for p in (self.path / "ck").iterdir()], ["checkpoint.safetensors"])

    def test_damaged_checkpoint_is_an_error(self):
        words = ["--steps", "4", "--no-eval", "--checkpoint", str(self.path / "ck")]
        self.train(*words)
        file = self.path / "ck" / "checkpoint.safetensors"
        whole = file.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", b"\xff" * 64, whole[:8] + b"{" * 64 + whole[72:]):
            file.write_bytes(damaged)
            result = isobit("train", "vision", *SMALL, *words, "--resume")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("checkpoint.safetensors", result.stderr)

    def test_hash_logs_of_two_thread_counts_are_equal(self):
        logs = []
        for threads in ("1", "2"):
            path = self.path / f"log{threads}"
            self.train("--steps", "4", "--no-eval", "--threads", threads, "--hash-log", str(path))
            logs.append(path.read_text())
        self.assertEqual(logs[0], logs[1])
        self.assertIn("loss", logs[0])

    def test_interrupted_and_killed_compare(self):
        words = ["compare", "vision", *SMALL, "--steps", "100000", "--policies", "reproducible"]
        for kill, code in ((False, 130), (True, 1)):
            # A group of its own, as on a terminal: the runs get the signal, too.
            process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       start_new_session=True)
            time.sleep(1)
            if kill:
                children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                os.kill(int(children[0]), signal.SIGKILL)
            else:
                os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, code, errors)
            self.assertIn("ended early" if kill else "interrupted", errors)

    def test_compare(self):
        out = self.path / "compare.json"
        result = isobit("compare", "vision", "--model", "cnn", "--data", "synthetic", "--batch-size", "16", "--steps", "12",
                        "--policies", "fast,balanced,reproducible,default", "--eval-limit", "64", "--quiet", "--json", str(out))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("same bits", result.stdout)
        policies = {p["policy"]: p for p in json.loads(out.read_text())["policies"]}
        self.assertEqual(list(policies), ["fast", "balanced", "reproducible", "default"])
        for name in ("reproducible", "default"):
            self.assertTrue(policies[name]["same_bits"])
            self.assertIsNone(policies[name]["first_differing_step"])
        self.assertEqual(policies["reproducible"]["weights_hash"], policies["default"]["weights_hash"])
        for field in ("step_ms_median", "step_ms_p95", "step_ms_low", "step_ms_high", "first_step_ms", "images_per_s", "peak_memory_mib",
                      "loss", "accuracy", "threads", "steps"):
            self.assertIn(field, policies["default"])

    def test_compare_with_plain(self):
        out = self.path / "compare.json"
        result = isobit("compare", "vision", *SMALL[:-1], "--batch-size=4", "--steps", "4", "--policies", "plain,default", "--eval-limit", "8",
                        "--quiet", "--json", str(out))
        self.assertEqual(result.returncode, 0, result.stderr)
        plain = json.loads(out.read_text())["policies"][0]
        self.assertEqual((plain["policy"], plain["steps"], plain["same_bits"]), ("plain", 2, True))


if __name__ == "__main__":
    unittest.main()
