#!/usr/bin/env python3
"""bench/peers primitives and operators on a few tiny cells, where its environment (scripts/peers-venv) is there."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HAS_PEERS = (ROOT / ".venv" / "peers" / "bin" / "python").exists()
if not HAS_PEERS:
    print("[  SKIPPED ] bench/peers: there is no .venv/peers (scripts/peers-venv makes it)")


class Floors(unittest.TestCase):
    def test_every_floor_compiles(self):
        sys.path.insert(0, str(ROOT / "bench"))
        import floor
        import operator_cells
        n = 0
        for name, operator in operator_cells.OPERATORS.items():
            for expression in operator.floor.values():
                self.assertGreater(floor.instructions(expression, "avx2"), 1, name)
                n += 1
        self.assertGreater(n, 8)


@unittest.skipUnless(HAS_PEERS, "there is no .venv/peers")
class Peers(unittest.TestCase):
    def peers(self, *words, suite="primitives"):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.json"
            command = [sys.executable, str(ROOT / "bench" / "peers"), suite, "--seconds-per-cell", "0.05", "--json", str(out)]
            result = subprocess.run([*command, *words], capture_output=True, text=True, timeout=300)
            return result, json.loads(out.read_text())["rows"] if out.exists() else []

    def test_cells_have_every_side_and_a_verdict(self):
        result, rows = self.peers("--isa", "avx2", "--only", "gemm 512³ NN 1 core|conv 3×3 512 @7 fwd$")
        self.assertIn(result.returncode, (0, 1), result.stderr)  # whether bars hold is not this test's matter
        names = [r["name"] for r in rows]
        self.assertEqual(names, ["gemm 512³ NN 1 core / OpenBLAS", "gemm 512³ NN 1 core / FMA peak",
                                 "conv 3×3 512 @7 fwd / PyTorch", "conv 3×3 512 @7 fwd / FMA peak"])
        for r in rows:
            self.assertGreater(r["ours"], 0)
            self.assertGreater(r["peer"], 0)
            self.assertLessEqual(r["interval"][0], r["ratio"])
            self.assertGreaterEqual(r["interval"][1], r["ratio"])
            self.assertEqual(r["pass"], None if r["bar"] is None else r["ratio"] >= r["bar"])
        self.assertNotIn("avx512", result.stdout)

    def test_operators_have_pytorch_a_copy_and_a_floor(self):
        result, rows = self.peers("--only", "^exp fwd 2|^relu fwd 1|64 floats", suite="operators")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        names = [r["name"] for r in rows]
        self.assertEqual(names[:3], ["exp fwd 2 cores / PyTorch", "exp fwd 2 cores / copy", "exp fwd 2 cores / instruction floor"])
        self.assertIn("relu fwd 1 core / copy", names)
        self.assertTrue(names[-1].startswith("operators: geometric mean of 2"))
        self.assertEqual(sum(r["bar"] is not None for r in rows[1:3]), 1)  # the slower ceiling is judged
        for r in rows:
            self.assertGreater(r["ours"] or r["ratio"], 0)

    def test_a_pattern_without_cells_is_an_error(self):
        result, _ = self.peers("--only", "no such cell")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such cell", result.stderr)


if __name__ == "__main__":
    unittest.main()
