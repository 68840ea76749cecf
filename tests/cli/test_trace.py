#!/usr/bin/env python3
"""isobit trace: the events are a valid Chrome trace, nest, add up to the steps' time, and are as many as the model has; the summary agrees with them."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ISOBIT_PROGRAM", str(ROOT / "build" / "release" / "isobit"))
STEPS = 3


def isobit(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300, env=dict(os.environ, ISOBIT_STORE="none"))


def trace(*words, job=("train", "vision"), model="mlp", steps=STEPS, data="synthetic"):
    with tempfile.TemporaryDirectory() as folder:
        out, summary = os.path.join(folder, "trace.json"), os.path.join(folder, "summary.json")
        result = isobit("trace", *job, "--model", model, *(["--data", data] if data else []), "--batch-size", "16", "--policy", "reproducible", "--threads", "1",
                        "--steps", str(steps), "--skip", "4", "--out", out, "--json", summary, *words)
        if result.returncode:
            raise AssertionError(result.stderr)
        return json.loads(pathlib.Path(out).read_text()), json.loads(pathlib.Path(summary).read_text()), result.stdout


def has_gpu():
    devices = re.search(r"^devices +(.*)$", isobit("doctor").stdout, re.M)
    return devices is not None and "cuda" in devices[1]


class Checks(unittest.TestCase):
    def check_events(self, document, processes):
        """Fields of the Trace Event Format, and proper nesting on every track."""
        events = document["traceEvents"]
        names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertEqual(sorted(names.values()), sorted(processes))
        tracks = {}
        for e in events:
            self.assertIn(e["ph"], ("M", "X"))
            if e["ph"] == "M":
                continue
            self.assertTrue(e["name"] and e["cat"] in ("run", "copy", "wait", "span") and e["dur"] >= 0 and e["pid"] in names, e)
            self.assertIn(e["args"]["phase"], ("forward", "backward", "update", "data"))
            if e["cat"] == "run":
                self.assertTrue(e["args"]["problem"].startswith(e["name"] + " ") and "@" in e["args"]["engine"] and e["args"]["class"], e)
            tracks.setdefault((e["pid"], e["tid"]), []).append(e)
        for track in tracks.values():
            open_until = []
            for e in sorted(track, key=lambda e: (e["ts"], -e["dur"])):
                while open_until and open_until[-1] <= e["ts"] + 1e-3:
                    open_until.pop()
                if open_until:
                    self.assertLessEqual(e["ts"] + e["dur"], open_until[-1] + 1e-3, e)
                open_until.append(e["ts"] + e["dur"])
        return {names[p]: [e for (q, _), t in tracks.items() if q == p for e in t] for p in names}


class OnTheCpu(Checks):
    def test_an_mlp(self):
        document, summary, text = trace()
        host = self.check_events(document, ["host"])["host"]
        steps = [e for e in host if e["name"] == "step"]
        runs = [e for e in host if e["cat"] == "run"]
        self.assertEqual((len(steps), summary["steps"]), (STEPS, STEPS))
        self.assertEqual(len({e["args"]["step"] for e in steps}), STEPS)
        # Three linear layers: a product each forward, two each backward but the first layer's input; six tensors are updated.
        count = lambda name, phase: sum(e["name"] == name and e["args"]["phase"] == phase for e in runs)
        self.assertEqual((count("gemm", "forward"), count("gemm", "backward")), (3 * STEPS, 5 * STEPS))
        self.assertEqual(sum(e["args"]["phase"] == "update" for e in runs), 6 * STEPS)
        self.assertEqual(count("cross_entropy.fwd", "forward"), STEPS)
        self.assertEqual({e["args"].get("module") for e in runs if e["name"] == "gemm"}, {"1", "3", "5"})
        flops = sum(e["args"]["flops"] for e in runs if e["name"] == "gemm" and e["args"]["phase"] == "forward")
        self.assertEqual(flops, STEPS * 2 * 16 * (3 * 32 * 32 * 256 + 256 * 128 + 128 * 10))
        # The summary adds up to the events.
        self.assertAlmostEqual(summary["runs_per_step"], len(runs) / STEPS)
        self.assertAlmostEqual(summary["launches_per_step"], len(runs) / STEPS)
        self.assertAlmostEqual(sum(o["runs_per_step"] for o in summary["operators"] if o["kind"] == "run"), len(runs) / STEPS)
        self.assertAlmostEqual(sum(o["share"] for o in summary["operators"]), 1, 6)
        mean = sum(e["dur"] for e in steps) / STEPS / 1e3
        self.assertTrue(mean <= summary["traced_step_ms"] < 1.2 * mean + 0.1, summary)
        worked = sum(e["dur"] for e in host if e["cat"] in ("run", "copy") and e["args"]["phase"] != "data")
        self.assertAlmostEqual(summary["busy_ms"], worked / STEPS / 1e3, 6)
        waited = sum(e["dur"] for e in host if e["name"] == "data") / STEPS / 1e3
        self.assertAlmostEqual(summary["data_ms"], waited, 6)
        self.assertAlmostEqual(summary["outside_share"], 1 - (summary["busy_ms"] + waited) / summary["traced_step_ms"], 6)
        self.assertTrue(0 <= summary["outside_share"] < 1)
        self.assertGreater(summary["peak_gflops"], 0)
        self.assertGreater(summary["copy_gb_s"], 0)
        self.assertIsNone(summary["idle_share"])
        self.assertTrue(summary["advice"] and all(f"- {sentence}\n" in text for sentence in summary["advice"]))

    def test_a_convolution_in_three_directions_with_module_names(self):
        document, summary, _ = trace(model="resnet8", steps=1)
        runs = [e for e in self.check_events(document, ["host"])["host"] if e["cat"] == "run"]
        forward = [e["args"]["module"] for e in runs if e["name"] == "conv2d.fwd"]
        weights = [e["args"]["module"] for e in runs if e["name"] == "conv2d.bwd_weights"]
        data = [e["args"]["module"] for e in runs if e["name"] == "conv2d.bwd_data"]
        self.assertEqual(len(forward), len(set(forward)))  # each has a name of its own
        self.assertEqual(sorted(forward), sorted(weights))
        self.assertEqual(len(data), len(forward) - 1)  # images need no gradient
        self.assertTrue(any(name.count(".") >= 1 for name in forward), forward)

    def test_calls_as_a_server_makes_them(self):
        document, summary, text = trace("--side", "16", job=("forward",), model="cnn", data=None)
        runs = [e for e in self.check_events(document, ["host"])["host"] if e["cat"] == "run"]
        self.assertEqual({e["args"]["phase"] for e in runs}, {"forward"})
        self.assertEqual(sum(e["name"] == "conv2d.fwd" for e in runs), 2 * STEPS)
        self.assertEqual(sum(e["name"] == "gemm" for e in runs), 2 * STEPS)
        self.assertTrue(all(" n16 " in e["args"]["problem"] for e in runs if e["name"] == "conv2d.fwd"))
        self.assertFalse(summary["captured"])
        self.assertRegex(text, r"(?m)^call +[0-9.]+ ms; traced")
        self.assertEqual(isobit("trace", "forward", "--capture", "maybe").returncode, 1)
        self.assertEqual(isobit("trace", "forward", "--model", "nothing").returncode, 1)
        self.assertEqual(isobit("trace", "forward", "--optimizer", "adam").returncode, 2)
        self.assertIn("--length", isobit("trace", "forward", "--help").stdout)

    def test_a_text_classifier(self):
        document, summary, _ = trace("--length", "24", job=("forward",), model="textclassifier", data=None, steps=1)
        runs = [e for e in self.check_events(document, ["host"])["host"] if e["cat"] == "run"]
        self.assertEqual({e["args"].get("module") for e in runs}, {"embedding", "linear"})
        gemm = [e for e in runs if e["name"] == "gemm"]
        self.assertEqual([e["args"]["flops"] for e in gemm], [2 * 16 * 128 * 10])

    def test_the_job_behind_two_dashes(self):
        _, summary, _ = trace(job=("--no-cpu", "--", "train", "vision"), steps=1)
        self.assertEqual(summary["steps"], 1)
        self.assertIn("--no-cpu -- train vision", summary["manifest"]["command"])

    def test_what_is_no_job(self):
        for words in ((), ("vision",), ("--steps", "3"), ("--", "eval"), ("train",)):
            result = isobit("trace", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn("usage: isobit trace", result.stderr)
        self.assertEqual(isobit("trace", "train", "vision", "--steps", "0").returncode, 2)
        result = isobit("trace", "train", "vision", "--model", "mlp", "--data", "synthetic", "--out", "/nowhere/trace.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("--out '/nowhere/trace.json'", result.stderr)

    def test_waiting_for_data_is_said(self):
        """Pictures are decoded by the loop itself: a tiny model waits for them."""
        with tempfile.TemporaryDirectory() as folder:
            make_pictures(pathlib.Path(folder))
            _, summary, _ = trace("--data", folder, "--image-size", "16")
        self.assertGreater(summary["data_ms"], 0)
        self.assertTrue(any("--workers" in sentence for sentence in summary["advice"]), summary)


def make_pictures(folder):
    """24 pictures of two classes, large enough that decoding takes longer than a step."""
    import struct
    import zlib

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = 400
    rows = b"".join(b"\0" + bytes((x * y) & 255 for x in range(3 * side)) for y in range(side))
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    for split in ("train", "val"):
        for name in ("a", "b"):
            (folder / split / name).mkdir(parents=True)
            for i in range(12):
                (folder / split / name / f"{i}.png").write_bytes(png)


@unittest.skipUnless(has_gpu(), "no CUDA device can be used here (isobit doctor says why)")
class OnADevice(Checks):
    def test_a_cnn(self):
        document, summary, _ = trace("--device", "cuda:0", "--policy", "portable", model="cnn")
        tracks = self.check_events(document, ["host", "cuda:0"])
        runs = [e for e in tracks["cuda:0"] if e["cat"] == "run"]
        self.assertEqual(len(runs), len([e for e in tracks["host"] if e["cat"] == "run"]))
        self.assertGreaterEqual(summary["launches_per_step"], summary["runs_per_step"])
        busy = sum(e["dur"] for e in tracks["cuda:0"] if e["cat"] in ("run", "copy")) / STEPS / 1e3
        self.assertAlmostEqual(summary["busy_ms"], busy, 6)
        self.assertTrue(0 <= summary["idle_share"] < 1)
        self.assertLess(summary["busy_ms"], 1.25 * summary["step_ms"])
        self.assertGreater(summary["cpu_step_ms"], 0)
        for o in summary["operators"]:
            self.assertLess(o["roofline"], 3, o)

    def test_captured_calls_of_a_small_model(self):
        """Four short texts: the CPU is the better place, and the summary says so."""
        _, summary, text = trace("--device", "cuda:0", "--batch-size", "4", "--skip", "300", job=("forward",), model="textclassifier", data=None)
        self.assertTrue(summary["captured"])
        self.assertIn(", captured; traced", text)
        said = any("small model: the CPU is" in sentence for sentence in summary["advice"])
        self.assertEqual(said, summary["cpu_step_ms"] < summary["step_ms"], summary)


if __name__ == "__main__":
    unittest.main()
