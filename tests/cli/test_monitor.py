#!/usr/bin/env python3
"""isobit monitor, against management libraries of the tests' own (and a real one, where there is a GPU)."""
import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ISOBIT_PROGRAM", str(ROOT / "build" / "release" / "isobit"))
STUBS = ROOT / "build" / "release" / "tests"


def monitor(*words, library="libstub_nvml.so", code=0, **env):
    named = {} if library is None else {"ISOBIT_NVML": str(STUBS / library)}
    result = subprocess.run([PROGRAM, "monitor", *words], capture_output=True, text=True, timeout=60, env=dict(os.environ, **named, **env))
    if result.returncode != code:
        raise AssertionError((words, result.returncode, result.stdout, result.stderr))
    return result


def rows(*words, **env):
    return [json.loads(line) for line in monitor(*words, "--json", "-", **env).stdout.splitlines()]


@unittest.skipUnless((STUBS / "libstub_nvml.so").exists(), "the tests' libraries are not built here")
class Stub(unittest.TestCase):
    def test_all_fields(self):
        first, second = rows("--once")
        self.assertRegex(first.pop("time"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(first, {"index": 0, "name": "Stub GPU", "utilization_percent": 87, "memory_utilization_percent": 42, "memory_used_bytes": 2 << 30,
                                 "memory_total_bytes": 8 << 30, "sm_mhz": 1980, "memory_mhz": 3201, "temperature_c": 41, "power_w": 345.678, "power_limit_w": 700,
                                 "limited_by": "", "error": None})
        # What a device does not support is null, and no error.
        self.assertEqual([k for k, v in second.items() if v is None], ["utilization_percent", "memory_utilization_percent", "memory_mhz", "temperature_c",
                                                                       "power_w", "power_limit_w", "error"])
        self.assertEqual((second["memory_used_bytes"], second["sm_mhz"]), (1 << 29, 1980))

    def test_the_table(self):
        lines = monitor("--once").stdout.splitlines()
        self.assertEqual(len(lines), 4)
        self.assertIn("libstub_nvml.so", lines[0])
        self.assertRegex(lines[2], r"^  0 Stub GPU +87 +42 +2\.00 +8\.00 +1980 +3201 +41 +345\.7 +700  -$")
        self.assertRegex(lines[3], r'^  1 Old, with a "quote" +- +- +0\.50 +8\.00 +1980 +- +- +- +-  -$')

    def test_csv_names_every_field_and_leaves_empty_what_is_not_told(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "gpu.csv")
            self.assertIn("Stub GPU", monitor("--count", "2", "--interval", "0.01", "--csv", path).stdout)  # beside the table
            found = list(csv.DictReader(io.StringIO(pathlib.Path(path).read_text())))
        self.assertEqual([r["index"] for r in found], ["0", "1", "0", "1"])
        self.assertEqual(list(found[0]), list(rows("--once")[0]))
        self.assertEqual((found[1]["name"], found[1]["power_w"], found[0]["power_w"]), ('Old, with a "quote"', "", "345.678"))
        self.assertTrue(monitor("--once", "--csv", "-").stdout.startswith("time,index,name,"))

    def test_what_keeps_the_clock_down(self):
        for bits, word in ((0x1, ""), (0x4, "power"), (0x80, "power"), (0x20, "heat"), (0x44, "heat"), (0x8, "hardware slowdown"), (0x2, "a setting")):
            self.assertEqual(rows("--once", STUB_REASONS=str(bits))[0]["limited_by"], word)

    def test_one_call_fails_and_the_others_are_shown(self):
        first, second = rows("--once", STUB_UTILIZATION="15")
        self.assertEqual((first["utilization_percent"], first["error"], first["sm_mhz"]), (None, "utilization: GPU is lost", 1980))
        self.assertIsNone(second["error"])
        lost, other = rows("--once", STUB_HANDLE="15")
        self.assertEqual((lost["error"], lost["sm_mhz"], lost["name"]), ("device: GPU is lost", None, ""))
        self.assertEqual(other["sm_mhz"], 1980)
        self.assertIn("GPU is lost", monitor("--once", STUB_HANDLE="15").stdout)

    def test_a_library_without_what_is_not_needed(self):
        for row in rows("--once", library="libstub_nvml_old.so"):
            self.assertEqual({k for k, v in row.items() if v is not None}, {"time", "index", "name", "limited_by"})

    def test_a_library_without_what_is_needed(self):
        self.assertRegex(monitor("--once", library="libstub_nvml_broken.so", code=1).stderr, r"libstub_nvml_broken.so has no nvmlInit_v2: .*newer")

    def test_no_driver(self):
        self.assertRegex(monitor("--once", code=1, STUB_INIT="9").stderr, r"nvmlInit gives 9 \(Driver Not Loaded\).*isobit doctor")
        self.assertRegex(monitor("--once", code=1, STUB_COUNT="9").stderr, r"counting devices gives 9")

    def test_no_library(self):
        self.assertIn("ISOBIT_NVML names", monitor("--once", library="libnowhere.so", code=1).stderr)

    def test_one_device(self):
        # Where CUDA cannot be asked for its order, N is the management library's own.
        if not has_gpu():
            self.assertEqual([r["index"] for r in rows("--once", "--device", "cuda:1")], [1])
        self.assertIn("there are 2 GPUs", monitor("--once", "--device", "cuda:2", code=1).stderr)
        self.assertIn("'gpu1'", monitor("--once", "--device", "gpu1", code=1).stderr)

    def test_samples_come_at_the_interval(self):
        begin = time.monotonic()
        self.assertEqual(len(rows("--count", "4", "--interval", "0.1")), 8)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)

    def test_ctrl_c_is_the_usual_end(self):
        process = subprocess.Popen([PROGRAM, "monitor", "--json", "-"], stdout=subprocess.PIPE, text=True, env=dict(os.environ, ISOBIT_NVML=str(STUBS / "libstub_nvml.so")))
        self.assertIn("Stub", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.wait(20), 0)

    def test_wrong_usage(self):
        for words in (["--interval", "0"], ["--once", "--count", "2"], ["--csv", "-", "--json", "-"], ["--count", "0"], ["now"]):
            monitor(*words, code=2)
        self.assertIn("--csv '/nowhere/x'", monitor("--once", "--csv", "/nowhere/x", code=1).stderr)


def has_gpu():
    result = subprocess.run([PROGRAM, "doctor"], capture_output=True, text=True, timeout=300)
    devices = re.search(r"^devices +(.*)$", result.stdout, re.M)
    return devices is not None and "cuda" in devices[1]


class ThisMachine(unittest.TestCase):
    @unittest.skipIf(has_gpu(), "there is a GPU")
    def test_without_a_library_what_was_searched_and_the_remedy(self):
        error = monitor("--once", library=None, code=1, LD_LIBRARY_PATH="/some/where").stderr
        for words in ("libnvidia-ml.so.1", "/some/where", "/usr/lib/wsl/lib", "ISOBIT_NVML", "Install"):
            self.assertIn(words, error)

    @unittest.skipUnless(has_gpu(), "no CUDA device can be used here (isobit doctor says why)")
    def test_the_gpu(self):
        row = rows("--once", "--device", "cuda:0", library=None)[0]
        self.assertTrue(row["name"] and 0 < row["memory_used_bytes"] < row["memory_total_bytes"], row)
        self.assertTrue(10 < row["temperature_c"] < 110 and 0 <= row["utilization_percent"] <= 100 and row["sm_mhz"] > 100 and row["power_w"] > 1, row)


if __name__ == "__main__":
    unittest.main()
