"""Both sides of suite `text`, a process each: `text_worker.py isobit` or `text_worker.py peer`.

Commands on stdin, one JSON line each on stdout (bench/README.md). A cell is a function of the side's class that gives
what a slice runs and what the suite compares; Isobit is called over its C API (tests/conformance).
"""

import csv
import functools
import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/conformance"))

from protocol import serve, timed_slice  # noqa: E402

DATA = Path(os.environ.get("ISOBIT_TEST_DATA", ROOT.parent / "shared" / "data"))


def texts_of(name):
    """All texts of a data set: banking77 or snips."""
    if name == "banking77":
        files = [open(DATA / name / f, newline="", encoding="utf-8") for f in ("train.csv", "test.csv")]
        return [row["text"] for file in files for row in csv.DictReader(file)]
    return [line.rstrip("\n").split("\t")[1] for f in ("train.tsv", "validate.tsv") for line in open(DATA / name / f, encoding="utf-8")]


def digest(ids, offsets):
    """Of all tokens, so that both sides are seen to do the same work."""
    h = hashlib.sha256()
    for one_ids, one_offsets in zip(ids, offsets):
        h.update(repr((list(one_ids), [tuple(p) for p in one_offsets])).encode())
    return h.hexdigest()[:16]


class Isobit:
    version = "isobit"

    def tokenizer(self, path, data, threads):
        import tokenizer
        t, texts = tokenizer.Tokenizer(path, threads), texts_of(data)
        array, checked = t.texts(texts), t.encode(texts)
        facts = {"digest": digest(*zip(*checked)), "tokens": sum(len(ids) for ids, _ in checked)}
        return lambda: t.free(t.encode_array(array, len(texts))), facts


class Peer:
    version = "peer"

    def tokenizer(self, path, data, threads):
        os.environ["RAYON_NUM_THREADS"], os.environ["TOKENIZERS_PARALLELISM"] = str(threads), "true" if threads > 1 else "false"
        import tokenizers  # reads them once
        t, texts = tokenizers.Tokenizer.from_file(str(path)), texts_of(data)
        t.no_truncation()
        t.no_padding()
        self.version = f"tokenizers {tokenizers.__version__}"
        checked = t.encode_batch(texts)
        facts = {"digest": digest([e.ids for e in checked], [e.offsets for e in checked]), "tokens": sum(len(e.ids) for e in checked)}
        del checked
        return lambda: t.encode_batch(texts), facts

    def __getattr__(self, cell):
        """Where a model runs: text_models.py, whose import reads PyTorch."""
        import text_models
        return functools.partial(getattr(text_models, cell), self)


class Worker:
    def __init__(self, side):
        self.side, self.opened = side, {}

    def open(self, name, cell, threads="1", **keys):
        run, facts = getattr(self.side, cell)(threads=int(threads), **keys)
        run()
        self.opened[name] = run
        return {"version": self.side.version, **facts}

    def slice(self, name, ms="20"):
        return timed_slice(self.opened[name], float(ms))

    def close(self, name):
        del self.opened[name]
        return {}


if __name__ == "__main__":
    serve(Worker({"peer": Peer, "isobit": Isobit}[sys.argv[1]]()), {"open": 2, "slice": 1, "close": 1})
