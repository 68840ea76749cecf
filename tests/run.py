#!/usr/bin/env python3
"""Runs every suite (release, address+undefined, thread sanitizers) and every check; closes on "N passed, N failed, N skipped"."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
RAN = re.compile(rb"^\[={10}\] .*?(\d+) test\(s\) run", re.M)
# cmocka 1.1.7 names the group before some of its counts.
PASSED = re.compile(rb"^\[  PASSED  \] (?:\S+: )?(\d+) test\(s\)", re.M)
SKIPPED = re.compile(rb"^\[  SKIPPED \] (?:\S+: )?(\d+) test\(s\)", re.M)
UNITTEST = re.compile(rb"^Ran (\d+) tests?.*?^(?:OK|FAILED)(.*?)$", re.M | re.S)
SKIP_NOTE = re.compile(rb"^\[  SKIPPED \] (?!(?:\S+: )?\d+ test)(.*)$", re.M)
SKIPS = 77  # the exit status of a check that can't hold here; it says why, as cmocka does
FAMILY = re.compile(r"^FAMILY\((\w+)\)", re.M)
# Under ThreadSanitizer only what runs threads; the rest is the release suite's.
THREADED = re.compile(r"pool|engines|loader|tensor_|train|plan|heap|leaves|context|tokenizer$")


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def build(preset):
    start = time.time()
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", preset]):
        result = run(command)
        if result.returncode:
            sys.stdout.buffer.write(result.stdout[-6000:])
            sys.exit(f"building '{preset}' failed")
    print(f"built {preset} in {time.time() - start:.0f} s", flush=True)


def tests_of(preset):
    folder = ROOT / "build" / preset / "tests"
    return sorted(p for p in folder.iterdir() if re.match(r"(test|fuzz)_", p.name) and os.access(p, os.X_OK) and p.is_file())


def run_test(label, command, count, environment):
    start = time.time()
    try:
        result = run(command, env=environment, timeout=7200 if "ISOBIT_TEST_LONG" in environment else 1200)
        output, status = result.stdout, result.returncode
    except subprocess.TimeoutExpired as late:
        output, status = (late.stdout or b"") + b"\ntimed out", -1
    ran, passed, skipped = (sum(map(int, p.findall(output))) for p in (RAN, PASSED, SKIPPED))
    unit = UNITTEST.search(output)
    if unit:
        ran = int(unit[1])
        skipped = sum(map(int, re.findall(rb"skipped=(\d+)", unit[2])))
        passed = ran - skipped - sum(map(int, re.findall(rb"(?:failures|errors)=(\d+)", unit[2])))
    elif ran == 0 and status == SKIPS:
        ran, skipped, status = 1, 1, 0
    elif ran == 0:  # neither cmocka nor unittest: one test
        ran, passed = 1, int(status == 0)
    failed = max(ran - passed - skipped, int(status != 0))
    notes = sorted(set(note.decode(errors="replace") for note in SKIP_NOTE.findall(output)))
    with count.lock:
        count.passed += passed
        count.failed += failed
        count.skipped += skipped
        print(f"{'ok  ' if not failed else 'FAIL'} {label}: {passed} passed"
              + (f", {failed} failed" if failed else "") + (f", {skipped} skipped" if skipped else "") + f" ({time.time() - start:.1f} s)", flush=True)
        for note in notes:
            print(f"     skipped: {note}", flush=True)
        if failed:
            print(output[-4000:].decode(errors="replace"), flush=True)
    return output


def run_conformance(count, environment):
    """PyTorch's samples and ONNX's node tests, each one test of ours, whose closing lines are printed; tokenizers."""
    if run([str(ROOT / "scripts" / "peers-venv")]).returncode:
        count.failed += 1
        print("FAIL scripts/peers-venv did not make .venv/peers", flush=True)
        return
    if "ISOBIT_MINILM" not in environment:
        run([str(ROOT / "scripts" / "fetch-minilm")])  # without it, what needs it is skipped by name
    python = str(ROOT / ".venv" / "peers" / "bin" / "python")
    for runner in ("run_opinfo.py", "run_onnx.py", "run_tokenizers.py", "run_embeddings.py"):
        output = run_test(f"conformance {runner}", [python, str(ROOT / "tests" / "conformance" / runner)], count, environment)
        for line in output.decode(errors="replace").splitlines():
            if re.match(r"(samples|names|ONNX node tests): ", line):
                print(f"     {line}", flush=True)


def run_suite(preset, count, environment):
    build(preset)
    for program in tests_of(preset):
        run_test(f"{preset} {program.name}", [str(program)], count, environment)


def run_sanitized(preset, count, environment, only=None):
    """Instrumented programs measure no time, so they run side by side: the engines' test family by family, and first (what it
    says of all rows is the release suite's)."""
    build(preset)
    families = FAMILY.findall((ROOT / "tests" / "kernels" / "families.def").read_text())
    jobs = []
    for program in tests_of(preset):
        if only is not None and not only.search(program.name):
            continue
        if program.name == "test_engines":
            jobs[:0] = [(f"{preset} {program.name} {part}", [str(program), part]) for part in (*families, "--soak")]
        else:
            jobs.append((f"{preset} {program.name}", [str(program)]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(run_test, label, command, count, environment) for label, command in jobs]:
            job.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also what takes hours of test time in all")
    parser.add_argument("--quick", action="store_true", help="the release suite and the checks only")
    parser.add_argument("--peers", action="store_true", help="also PyTorch's and ONNX's own tests, and Hugging Face's tokenizers, in .venv/peers")
    arguments = parser.parse_args()
    environment = dict(os.environ, ISOBIT_TEST_DATA=os.environ.get("ISOBIT_TEST_DATA", str(ROOT.parent / "shared" / "data")), ISOBIT_STORE="none",
                       UBSAN_OPTIONS="print_stacktrace=1", TSAN_OPTIONS="halt_on_error=1", ASAN_OPTIONS="detect_leaks=1")
    if arguments.long:
        environment["ISOBIT_TEST_LONG"] = "1"
    count, start = Count(), time.time()
    run_suite("release", count, environment)
    for check in sorted((ROOT / "tests" / "checks").iterdir()):
        run_test(f"check {check.stem}", [str(check)], count, environment)
    for program in sorted((ROOT / "tests" / "cli").glob("test_*.py")):
        run_test(f"program {program.name}", [sys.executable, str(program)], count, environment)
    if arguments.peers:
        run_conformance(count, environment)
    if not arguments.quick:
        sanitized = dict(environment, ISOBIT_TEST_SANITIZED="address")
        sanitized.pop("ISOBIT_TEST_LONG", None)
        run_sanitized("asan", count, sanitized)
        run_sanitized("tsan", count, dict(sanitized, ISOBIT_TEST_SANITIZED="thread"), THREADED)
    print(f"in {time.time() - start:.0f} s")
    print(f"{count.passed} passed, {count.failed} failed, {count.skipped} skipped")
    return 1 if count.failed or not count.passed else 0


sys.exit(main())
