#!/usr/bin/env python3
"""Runs PyTorch's own OpInfo samples through Isobit: forward against torch, gradients against torch's for one fixed cotangent.

f32 samples run as they come, f64 samples with other strides (PyTorch's noncontiguous form of each). Tolerances are
PyTorch's: assert_close's for the dtype, or those that the OpInfo asks for. An f32 result beyond them passes if it is
within them of PyTorch's own result in f64, or no more than eight times as far from that as PyTorch's f32 is: one chain
of additions where PyTorch has a vector of them.

Counts of samples a name: passed; differing, where the mapping names the sentence of the operator's DOC row that says
why; failed. Closes on how many names passed, failed and are not offered; the exit status is 1 if any sample failed, if
more than 3 % differ, or if a named sentence stands in no row.
"""
import argparse
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import time
import traceback
import warnings

os.environ.setdefault("ISOBIT_TUNING", "rule")
os.environ.setdefault("ISOBIT_STORE", "none")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

import capi  # noqa: E402
import isobit  # noqa: E402
import opinfo  # noqa: E402

LIMIT_S = 150  # of one name
MOST_DIFFERING = 0.03
NEAR = 8
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


# ---- trees of tensors ----
def flat(value, kind):
    """Leaves of lists, tuples and dicts that are of `kind`, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in flat(v, kind)]
    return []


def replaced(value, kind, by):
    """The same tree with by(leaf) for every leaf of `kind`."""
    if isinstance(value, kind):
        return by(value)
    if isinstance(value, dict):
        return {k: replaced(v, kind, by) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [replaced(v, kind, by) for v in value]
        plain = type(value) in (list, tuple, torch.Size)
        return tuple(items) if type(value) is torch.Size else type(value)(items) if plain or not hasattr(value, "_make") else value._make(items)
    return value


# ---- one sample ----
class Call:
    """A mapping's function on a sample, as torch sees it: torch tensors in and out, differentiable by iso_grad_of."""

    def __init__(self, iso, function, sample):
        self.iso, self.function = iso, function
        self.arguments = (sample.input, tuple(sample.args), dict(sample.kwargs))
        self.tensors = {}
        for t in flat(self.arguments, torch.Tensor):
            if id(t) not in self.tensors:
                made = iso.tensor(t)
                self.tensors[id(t)] = iso.requires_grad(made, True) if t.requires_grad else made
        self.leaves = unique(t for t in flat(self.arguments, torch.Tensor) if t.requires_grad)

    def run(self):
        first, positional, named = replaced(self.arguments, torch.Tensor, lambda t: self.tensors[id(t)])
        self.result = self.function(self.iso, first, *positional, **named)
        self.outputs = flat(self.result, (isobit.Tensor, bool, int, float, torch.Tensor))
        return Bridge.apply(self, *self.leaves) if self.outputs else ()

    def values(self):
        return [o.torch() if isinstance(o, isobit.Tensor) else torch.as_tensor(o) for o in self.outputs]

    def differentiable(self, i):
        o = self.outputs[i]
        return isinstance(o, isobit.Tensor) and o.dtype in ("f32", "f64", "f16", "bf16") and bool(self.iso.wants_grad(o))

    def gradients(self, dys):
        used = [(o, self.iso.tensor(dy.contiguous())) for i, (o, dy) in enumerate(zip(self.outputs, dys)) if dy is not None and self.differentiable(i)]
        if not used:
            return [None] * len(self.leaves)
        found = self.iso.gradients([o for o, _ in used], [dy for _, dy in used], [self.tensors[id(t)] for t in self.leaves])
        return [g.torch() if g is not None else None for g in found]


class Bridge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call, *leaves):
        ctx.call = call
        ctx.set_materialize_grads(False)
        values = call.values()
        ctx.mark_non_differentiable(*[v for i, v in enumerate(values) if not call.differentiable(i)])
        return tuple(values)

    @staticmethod
    def backward(ctx, *dys):
        return (None, *ctx.call.gradients(dys))


def unique(tensors):
    return list({id(t): t for t in tensors}.values())


def torch_run(op, sample):
    torch.manual_seed(1)
    return op(sample.input, *sample.args, **sample.kwargs)


def gradients_of(outputs, leaves, wanted):
    """d(Σ outputs·cotangent)/d(leaf) for outputs[i] of `wanted`, zeros where there is no dependence."""
    generator = torch.Generator().manual_seed(7)
    cotangents = {i: torch.randn(outputs[i].shape, generator=generator, dtype=torch.float64).to(outputs[i].dtype) for i in wanted}
    used = [i for i in wanted if outputs[i].requires_grad]
    if not used:
        return [torch.zeros_like(t) for t in leaves]
    found = torch.autograd.grad([outputs[i] for i in used], leaves, [cotangents[i] for i in used], allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(leaves, found)]


def exact_sample(sample):
    """The same in f64."""
    def exact(t):
        if isinstance(t, torch.dtype):
            return torch.float64 if t == torch.float32 else t
        if t.dtype != torch.float32:
            return t
        return t.detach().double().requires_grad_(t.requires_grad)
    return sample.transform(exact)


class Judge:
    """Closeness of results to torch's."""

    def __init__(self, op, dtype):
        # Those of assert_close, or what the OpInfo's own tests are given for this dtype.
        rtol, atol = torch.testing._comparison.default_tolerances(dtype)
        asked = [d.d[dtype] for info in op.decorators if getattr(info, "device_type", None) in (None, "cpu")
                 for d in getattr(info, "decorators", ()) if dtype in getattr(d, "d", {})]
        self.tolerances = {"rtol": max([rtol] + [a.rtol for a in asked]), "atol": max([atol] + [a.atol for a in asked])}

    def difference(self, ours, theirs, exact, what):
        """None, or a sentence."""
        if len(ours) != len(theirs):
            return f"{what}: {len(ours)} results, torch has {len(theirs)}"
        for i, (a, b) in enumerate(zip(ours, theirs)):
            label = f"{what} {i}" if len(ours) > 1 else what
            if a.dtype != b.dtype or a.shape != b.shape:
                return f"{label}: {a.dtype} {tuple(a.shape)}, torch has {b.dtype} {tuple(b.shape)}"
            own = dict(zip(("rtol", "atol"), torch.testing._comparison.default_tolerances(b.dtype)))  # an f32 operand of an f64 sample
            tolerances = {name: max(t, own[name]) for name, t in self.tolerances.items()} if b.dtype in FLOATS else {"rtol": 0, "atol": 0}
            text = closeness(a, b, tolerances)
            if text is None:
                continue
            if exact and a.dtype == torch.float32 and exact()[i].shape == a.shape:
                truth = exact()[i]
                if closeness(a.double(), truth.double(), self.tolerances) is None or error(a, truth) <= NEAR * error(b, truth):
                    continue
            return f"{label}: {text}"
        return None


def closeness(a, b, tolerances):
    try:
        torch.testing.assert_close(a, b.detach(), equal_nan=True, check_stride=False, **tolerances)
    except AssertionError as e:
        return " ".join(str(e).split("\n\n")[0].split() + [line for line in str(e).splitlines() if line.startswith(("Greatest absolute", "Mismatched", "Expected"))][:2])
    return None


def error(a, truth):
    d = (a.detach().double() - truth.detach().double()).abs()
    d = d[~(a.isnan() & truth.isnan())]
    return d.max().item() if d.numel() else 0.0


def run_sample(iso, op, offer, sample, dtype, judge):
    """None if torch itself refuses the sample; else (verdict, text) with verdict "passed", "differs" or "failed"."""
    try:
        theirs_tree = torch_run(op, sample)
    except Exception:
        return None
    try:
        with iso.scope():
            text = compare(iso, op, offer, sample, theirs_tree, judge, dtype)
    except opinfo.Differs as e:
        return "differs", str(e)
    except Exception as e:
        text = f"{type(e).__name__}: {e}" if not os.environ.get("TRACE") else traceback.format_exc()
        if not isinstance(e, isobit.Error):
            return "failed", text
    if text is None:
        return "passed", ""
    sentences = [s for s, when, *parts in offer.differs
                 if text.startswith(tuple(parts) or "") and when(sample.input, *sample.args, **sample.kwargs)]
    return ("differs", sentences[0]) if sentences else ("failed", text)


def compare(iso, op, offer, sample, theirs_tree, judge, dtype):
    call = Call(iso, offer.function, sample)
    ours = list(call.run())
    theirs = [torch.as_tensor(t) for t in flat(theirs_tree, (torch.Tensor, bool, int, float))]
    cache = {}

    def exact_tree():
        if "tree" not in cache:
            cache["sample"] = exact_sample(sample)
            cache["tree"] = torch_run(op, cache["sample"])
        return cache["tree"]

    rounded = dtype == torch.float32

    # A result has the structure of torch's, so that OpInfo's own post-processing applies to both.
    def processed(flat_values, tree):
        rest = iter(flat_values)
        made = sample.output_process_fn_grad(replaced(tree, (torch.Tensor, bool, int, float), lambda _: next(rest)))
        return flat(made, (torch.Tensor,))

    if callable(offer.compare):
        offer.compare(ours, theirs, sample.input, sample.args, sample.kwargs)
        text = None
    elif offer.compare == "processed" and len(ours) == len(theirs):
        text = judge.difference(processed(ours, theirs_tree), processed(theirs, theirs_tree),
                                (lambda: processed(flat(exact_tree(), torch.Tensor), theirs_tree)) if rounded else None, "forward")
    else:
        text = judge.difference(ours, theirs, (lambda: flat(exact_tree(), torch.Tensor)) if rounded else None, "forward")
    if text or not call.leaves or not offer.gradient:
        return text
    theirs_processed = processed(theirs, theirs_tree)
    wanted = [i for i, t in enumerate(theirs_processed) if t.requires_grad and t.dtype in FLOATS]
    if not wanted:
        return None
    ours_processed = processed(ours, theirs_tree)
    if not any(ours_processed[i].requires_grad for i in wanted):
        return "no gradient"
    their_gradients = gradients_of(theirs_processed, call.leaves, wanted)
    our_gradients = gradients_of(ours_processed, call.leaves, wanted)

    def exact_gradients():
        if "gradients" not in cache:
            exact_tree()
            leaves = unique(t for t in flat((cache["sample"].input, cache["sample"].args, cache["sample"].kwargs), torch.Tensor) if t.requires_grad)
            values = flat(cache["sample"].output_process_fn_grad(cache["tree"]), torch.Tensor)
            cache["gradients"] = gradients_of(values, leaves, wanted)
        return cache["gradients"]

    return judge.difference(our_gradients, their_gradients, exact_gradients if rounded else None, "gradient")


# ---- one OpInfo, in a process of its own ----
def label_of(op):
    return op.name + (f" ({op.variant_test_name})" if op.variant_test_name else "")


def run_op(op, dtypes, library):
    offer = opinfo.find(op.name, op.variant_test_name)
    report = {"label": label_of(op), "name": op.name, "passed": 0, "differs": 0, "failed": 0, "sentences": [], "first": [], "dtypes": []}
    with isobit.Context(library) as iso:
        for dtype in [isobit.NAMES[name] for name in offer.dtypes if not dtypes or name in dtypes]:
            if dtype not in op.supported_dtypes("cpu"):
                continue
            report["dtypes"].append(isobit.DTYPES[dtype])
            judge = Judge(op, dtype)
            wants_grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu") and dtype in FLOATS
            torch.manual_seed(0)
            for n, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=wants_grad)):
                if dtype == torch.float64 and offer.strided:
                    sample = sample.noncontiguous()
                outcome = run_sample(iso, op, offer, sample, dtype, judge)
                if outcome is None:
                    continue
                verdict, text = outcome
                report[verdict] += 1
                if verdict == "differs" and text not in report["sentences"]:
                    report["sentences"].append(text)
                if verdict == "failed":
                    report["first"].append(f"{isobit.DTYPES[dtype]} sample {n} {sample.summary()[11:]}: {text}")
    return report


def worker(pipe, op, dtypes, library):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    try:
        pipe.send(run_op(op, dtypes, library))
    except Exception:
        pipe.send({"error": traceback.format_exc()})


def broken(op, why):
    return {"label": label_of(op), "name": op.name, "passed": 0, "differs": 0, "failed": 1, "sentences": [], "first": [why], "dtypes": []}


def run_all(ops, dtypes, library, jobs, verbose):
    """Every op in a forked process, `jobs` at once: a crash is one name's failure."""
    fork, waiting, running, reports = multiprocessing.get_context("fork"), list(ops), {}, {}
    while waiting or running:
        while waiting and len(running) < jobs:
            op = waiting.pop(0)
            ours, theirs = fork.Pipe(duplex=False)
            process = fork.Process(target=worker, args=(theirs, op, dtypes, library))
            process.start()
            theirs.close()
            running[ours] = (op, process, time.time())
        ready = multiprocessing.connection.wait(list(running), timeout=1)
        for pipe in [p for p in running if p in ready or time.time() - running[p][2] > LIMIT_S]:
            op, process, start = running.pop(pipe)
            try:
                report = pipe.recv() if pipe in ready else broken(op, f"more than {LIMIT_S} s")
            except EOFError:
                report = None
            if report and pipe not in ready:
                process.terminate()
            process.join()
            if report is None:
                report = broken(op, f"the process ended with {process.exitcode}")
            elif "error" in report:
                report = broken(op, report["error"])
            report["seconds"] = round(time.time() - start, 2)
            reports[report["label"]] = report
            show(report, verbose)
    return [reports[label_of(op)] for op in ops]


def show(r, verbose):
    word = "FAIL  " if r["failed"] else "differ" if r["differs"] else "ok    "
    if not r["passed"] + r["differs"] + r["failed"]:
        word = "none  "
    print(f"{word} {r['label']}: {r['passed']} passed" + (f", {r['differs']} differ" if r["differs"] else "") + (f", {r['failed']} failed" if r["failed"] else "")
          + f" ({' '.join(r['dtypes'])}, {r['seconds']} s)", flush=True)
    for sentence in r["sentences"]:
        print(f"         differs: {sentence}")
    for text in r["first"][:None if verbose else 2]:
        print(f"         {text}"[:None if verbose else 400])


def row_sentences(library):
    """The `difference` of every DOC row."""
    with isobit.Context(library) as iso:
        rows, n = iso.operator_list()
        info = library.structs["iso_operator_info"]
        array = capi.ctypes.cast(rows, capi.ctypes.POINTER(info))
        return [array[i].difference.decode() for i in range(n) if array[i].difference]


def conclude(reports, sentences, partial):
    """Prints the closing lines; whether all is well."""
    samples = {key: sum(r[key] for r in reports) for key in ("passed", "differs", "failed")}
    failed = sorted({r["name"] for r in reports if r["failed"]})
    passed = sorted({r["name"] for r in reports if r["passed"]} - set(failed))
    offered = {r["name"] for r in reports}
    missing = [] if partial else sorted({op.name for op in op_db} - offered)
    idle = [] if partial else sorted(offered - {r["name"] for r in reports if r["passed"] + r["differs"] + r["failed"]})
    unknown = sorted({s for r in reports for s in r["sentences"] if not any(s in row for row in sentences)})
    total = max(sum(samples.values()), 1)
    if missing:
        print("\nnot offered: " + " ".join(missing))
    if idle:
        print("\nno sample ran: " + " ".join(idle))
    if failed:
        print("\nfailed: " + " ".join(failed))
    for s in unknown:
        print(f"\nno DOC row says: {s}")
    print(f"\nsamples: {samples['passed']} passed, {samples['differs']} differ with a reason ({100 * samples['differs'] / total:.1f} %), {samples['failed']} failed")
    print(f"names: {len(passed)} passed, {len(failed)} failed, {len(missing)} not offered")
    return not failed and not unknown and not idle and samples["differs"] <= MOST_DIFFERING * total or partial and not samples["failed"] and not unknown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="this OpInfo name, or names that begin so with a * at the end; may be repeated")
    parser.add_argument("--topic", help="what this module of opinfo/ offers")
    parser.add_argument("--dtype", action="append", help="only this dtype: f32, f64, i64 …")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--json", help="write the counts to this file")
    parser.add_argument("-v", dest="verbose", action="store_true", help="every failed sample in full")
    a = parser.parse_args()
    opinfo.load()
    library = capi.Library()

    def asked(op):
        offer = opinfo.find(op.name, op.variant_test_name)
        named = not a.only or any(op.name == o or o.endswith("*") and op.name.startswith(o[:-1]) for o in a.only)
        return offer and named and (not a.topic or offer.function.__module__ == f"opinfo.{a.topic}")

    known = {op.name for op in op_db}
    unknown = sorted({name for name, _ in opinfo.offers} - known)
    if unknown:
        sys.exit("OpInfo has no such name: " + " ".join(unknown))
    ops = [op for op in op_db if asked(op)]
    if not ops:
        sys.exit("nothing of that name is offered")
    torch.set_num_threads(1)
    reports = run_all(ops, a.dtype, library, a.jobs, a.verbose)
    well = conclude(reports, row_sentences(library), bool(a.only or a.topic))
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(reports, indent=1))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
