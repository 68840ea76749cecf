"""What the peers' workers share: the protocol's loop (bench/README.md), problems read from Isobit's text, timed slices."""

import json
import re
import sys
import time


class Problem:
    """"conv2d.fwd f32 n8 c64 h56 w56 k64 r3 s3 p1" as operator and numbers; words come separated by commas or blanks."""

    USUAL = {"ta": 0, "tb": 0, "st": 1, "p": 0, "d": 1, "g": 1, "kept": 0}

    def __init__(self, text):
        words = re.split(r"[ ,]+", text.strip())
        self.text, self.operator, self.size = " ".join(words), words[0], dict(self.USUAL)
        for word in words[1:]:
            match = re.fullmatch(r"([a-z]+)(\d+)", word)
            if match:
                self.size[match[1]] = int(match[2])
        self.size.pop("f", None)  # f32, the only dtype here

    def __getitem__(self, key):
        if key not in self.size:
            raise ValueError(f"'{self.text}' has no {key}")
        return self.size[key]


def timed_slice(run, budget_ms):
    """Runs over and over for about budget_ms, once at least. The first run, which brings caches and clock back from the
    other side's slice, is left out where there are others. The median and the best in ms and how many they are of."""
    times, end = [], time.perf_counter_ns() + budget_ms * 1e6
    while True:
        start = time.perf_counter_ns()
        run()
        now = time.perf_counter_ns()
        times.append((now - start) / 1e6)
        if now >= end:
            break
    times = sorted(times[1:] or times)
    return {"ms": times[len(times) // 2], "best_ms": times[0], "n": len(times)}


def answer(worker, commands, line):
    command, *words = line.split()
    if command not in commands:
        raise ValueError(f"unknown command {command}")
    n = commands[command]
    pairs = dict(zip(words[n::2], words[n + 1::2]))
    return getattr(worker, command)(*words[:n], **pairs)


def serve(worker, commands):
    """`commands`: name -> how many words after it are positional; the rest are "key value" pairs."""
    for line in sys.stdin:
        if not line.strip():
            continue
        if line.strip() == "quit":
            return
        try:
            reply = answer(worker, commands, line)
        except (ValueError, TypeError, RuntimeError, KeyError, OSError) as error:
            reply = {"error": f"{line.strip()}: {error}"}
        print(json.dumps(reply), flush=True)
