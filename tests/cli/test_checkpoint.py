#!/usr/bin/env python3
"""isobit checkpoint verify: a checkpoint as it was written, and every kind of damage named: a flipped bit in a weight, in the
optimiser's state, in the metadata, a tensor taken out, a cut file."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "build" / "release" / "isobit")


def isobit(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, env=dict(os.environ, ISOBIT_STORE="none"))


class Checkpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.kept.name)
        result = isobit("train", "vision", "--model", "mlp", "--data", "synthetic", "--steps", "2", "--quiet", "--no-eval", "--checkpoint", cls.path / "ck")
        assert result.returncode == 0, result.stderr
        cls.bytes = (cls.path / "ck" / "checkpoint.safetensors").read_bytes()
        cls.n_header = struct.unpack("<Q", cls.bytes[:8])[0]
        cls.header = json.loads(cls.bytes[8:8 + cls.n_header])

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def verify(self, data, code):
        file, found = self.path / "changed.safetensors", self.path / "found.json"
        file.write_bytes(data)
        found.unlink(missing_ok=True)
        result = isobit("checkpoint", "verify", file, "--json", found)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr, [d["tensor"] for d in json.loads(found.read_text())["differing"]] if found.exists() else []

    def test_as_it_was_written(self):
        result = isobit("checkpoint", "verify", self.path / "ck")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("model            mlp", "step             2", "as it was written: "):
            self.assertIn(text, result.stdout)
        self.assertEqual(self.verify(self.bytes, 0)[1], [])

    def test_one_bit_of_each_tensor(self):
        for name, entry in self.header.items():
            if name in ("__metadata__", "hashes"):
                continue
            changed = bytearray(self.bytes)
            changed[8 + self.n_header + entry["data_offsets"][0] + 1] ^= 4
            self.assertEqual(self.verify(changed, 1)[1], [name])

    def with_header(self, header):
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + self.bytes[8 + self.n_header:]

    def test_metadata(self):
        header = json.loads(json.dumps(self.header))
        header["__metadata__"]["step"] = "3"
        self.assertEqual(self.verify(self.with_header(header), 1)[1], ["(metadata)"])
        self.assertEqual(self.verify(self.with_header(self.header), 0)[1], [])  # another order of the header is no damage

    def test_names_and_cut_files(self):
        header = json.loads(json.dumps(self.header))
        name = next(n for n in header if n.startswith("model."))
        header["model.other"] = header.pop(name)
        text, wrong = self.verify(self.with_header(header), 1)
        self.assertEqual(wrong[0], name)
        self.assertIn("missing", text)
        self.verify(self.bytes[:-5], 1)
        self.verify(b"", 1)
        header = {k: v for k, v in self.header.items()}
        header["hash_list"] = header.pop("hashes")
        self.assertIn("has no hashes", self.verify(self.with_header(header), 1)[0])
        self.assertEqual(isobit("checkpoint", "verify").returncode, 2)
        self.assertEqual(isobit("checkpoint", "verify", self.path / "nowhere").returncode, 1)


if __name__ == "__main__":
    unittest.main()
