#!/usr/bin/env python3
"""bench/peers primitives, operators and text on a few tiny cells, where its environment (scripts/peers-venv) is there."""
import ast
import json
import os
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


class Gpu(unittest.TestCase):
    """What of suite gpu needs no GPU: its cells, our side of its tasks (here on the CPU), its results."""

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(ROOT / "bench"))
        import gpu_cells
        cls.cells = list(gpu_cells.all_cells())

    def test_cells(self):
        import suites.gpu
        self.assertEqual(len({c.name for c in self.cells}), len(self.cells))
        tree = ast.parse((ROOT / "bench" / "gpu_worker.py").read_text())
        torch_tasks = next({key.value for key in node.value.keys} for node in tree.body
                           if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "TASKS")
        for c in self.cells:
            self.assertIn(c.kind, suites.gpu.KINDS)
            self.assertTrue(c.kind != "task" or c.what in torch_tasks, c.name)
            self.assertLessEqual(set(c.bars), {*c.against, "ours", "memory"}, c.name)

    def test_our_worker_has_every_task(self):
        from harness import OUR_WORKER, Worker, WorkerError
        with Worker(OUR_WORKER) as worker:
            for c in self.cells:
                if c.kind == "task" and c.group in ("scatters", "small"):
                    worker.ask(f"task {c.what} tuning rule")
                    self.assertGreater(worker.ask("run ms 0.1")["ms"], 0, c.name)
            worker.ask("end")
            self.assertEqual(len(worker.ask("lengths 3")["times_ms"]), 3)
            for wrong in ("task nothing", "run ms 1", "lengths 0"):
                with self.assertRaises(WorkerError):
                    worker.ask(wrong)

    def test_rows_have_a_verdict_and_results_a_line_each(self):
        import harness
        import suites.gpu
        cell = next(c for c in self.cells if c.what == "scatter_add")  # bars: a quarter of free, four times det
        rows, samples = suites.gpu.rows_of(cell, {"ours": [2.0, 2.2], "free": [1.0, 1.0], "det": [6.0, 6.6]}, "")
        self.assertEqual([r["pass"] for r in rows], [True, False])
        self.assertEqual(set(samples), {"free", "det"})
        rows.append(harness.error_row("lost", "no reply"))
        effort = harness.Effort(machine={"device": "H200", "driver": "580"})
        lines = list(suites.gpu.results(rows, effort))
        self.assertEqual(lines[0], "date device driver commit cell ours free det ratio bar pass".split())
        self.assertEqual([line[-1] for line in lines[1:]], ["yes", "no", "not measured"])
        self.assertEqual(lines[1][5:8], ["2.1", "1", "6.3"])
        self.assertEqual(lines[1][1:3], ["H200", "580"])


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

    def test_tokenizers_give_the_same_tokens(self):
        minilm = pathlib.Path(os.environ.get("ISOBIT_MINILM", ROOT / ".models" / "minilm"))
        if not (minilm / "tokenizer.json").exists():
            print("[  SKIPPED ] bench/peers text: MiniLM is not there (scripts/fetch-minilm)")
            self.skipTest("no MiniLM")
        result, rows = self.peers("--only", "tokenizer, snips", suite="text")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertEqual([r["name"] for r in rows], ["tokenizer, snips, one thread"])
        self.assertIn("the same", rows[0]["note"])
        self.assertGreater(rows[0]["ratio"], 0)

    def test_a_pattern_without_cells_is_an_error(self):
        result, _ = self.peers("--only", "no such cell")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no such cell", result.stderr)


if __name__ == "__main__":
    unittest.main()
