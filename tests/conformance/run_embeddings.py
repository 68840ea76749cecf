#!/usr/bin/env python3
"""isobit embed beside sentence-transformers, on 1,000 texts of Banking77 with all-MiniLM-L6-v2 (ISOBIT_MINILM, by default
.models/minilm): within 2e-6 in f32, within a cosine distance of 1e-3 in bf16; and isobit export read by transformers."""
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "isobit"
DATA = pathlib.Path(os.environ.get("ISOBIT_TEST_DATA", ROOT.parent / "shared" / "data"))
MINILM = pathlib.Path(os.environ.get("ISOBIT_MINILM", ROOT / ".models" / "minilm"))
N_TEXTS = 1000


def isobit(*words):
    result = subprocess.run([str(PROGRAM), *map(str, words)], capture_output=True, text=True, timeout=1800, env=dict(os.environ, ISOBIT_STORE="none"))
    assert result.returncode == 0, result.stderr
    return result.stdout


@unittest.skipUnless((MINILM / "model.safetensors").exists(), f"{MINILM} has no model.safetensors (scripts/fetch-minilm)")
@unittest.skipUnless((DATA / "banking77").exists(), f"{DATA} has no banking77")
class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from sentence_transformers import SentenceTransformer
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        with open(DATA / "banking77" / "test.csv", newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file)][:N_TEXTS]
        cls.texts = [row["text"] for row in rows]
        cls.file = cls.path / "texts.csv"
        with open(cls.file, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["text"], *([text] for text in cls.texts)])
        cls.theirs = SentenceTransformer(str(MINILM), device="cpu").encode(cls.texts, batch_size=32)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def embed(self, *words, weights=MINILM):
        out = self.path / "out.npy"
        isobit("embed", "--weights", weights, "--data", self.file, "--out", out, "--quiet", *words)
        return numpy.load(out)

    def test_f32(self):
        away = numpy.abs(self.embed() - self.theirs).max()
        print(f"f32: {len(self.texts)} texts, at most {away:.2e} away")
        self.assertLess(away, 2e-6)

    def test_bf16(self):
        low = self.embed("--precision", "bf16")
        distance = (1 - (low * self.theirs).sum(1) / numpy.linalg.norm(low, axis=1)).max()
        print(f"bf16: cosine distance at most {distance:.2e}")
        self.assertLess(distance, 1e-3)
        self.assertGreater(numpy.abs(low - self.theirs).max(), 1e-5)  # it was bf16

    def test_what_is_exported_is_read(self):
        from transformers import AutoModel, AutoTokenizer
        import torch
        out = self.path / "exported"
        train = self.path / "train.jsonl"
        train.write_text("".join(json.dumps({"text": text, "label": "ab"[i % 2]}) + "\n" for i, text in enumerate(self.texts[:40])))
        isobit("train", "text", "--weights", MINILM, "--data", train, "--steps", "1", "--quiet", "--no-eval", "--checkpoint", self.path / "ck")
        isobit("export", "--checkpoint", self.path / "ck", "--out", out)
        model, tokenizer = AutoModel.from_pretrained(out, add_pooling_layer=False).eval(), AutoTokenizer.from_pretrained(out)
        batch = tokenizer(self.texts[:8], padding=True, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        vectors = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).numpy()
        self.assertLess(numpy.abs(self.embed(weights=out)[:8] - vectors).max(), 2e-6)


if __name__ == "__main__":
    unittest.main()
