"""A model's training step beside PyTorch's: time and growth of memory. What suites share."""

from harness import OUR_WORKER, TORCH_WORKER, Trainer, WorkerError, alone, fastest, interleave, interval, progress, row

THREADS = 2
TORCH_VARIANTS = [{"format": f, "optimizer": o} for f in ("nchw", "channels_last") for o in ("plain", "fused")]


def open_ours(model, batch, policy, passive=True):
    return Trainer(OUR_WORKER, model, passive, batch=batch, policy=policy, threads=THREADS)


def open_peer(model, batch, effort, variants):
    """PyTorch in whatever memory format and optimiser variant is fastest here: the bar is its best, not its default."""
    progress(f"{model}: choosing PyTorch's best variant")
    opened = []
    try:
        for keys in variants:
            opened.append(Trainer(TORCH_WORKER, model, batch=batch, threads=THREADS, **keys))
        return fastest(opened, effort)
    except BaseException:
        for trainer in opened:
            trainer.close()
        raise


def spinning_row(model, batch, variant, effort, peer_only):
    """The same step where idle threads spin, as OpenMP does by default: faster alone, slower in company. Not judged."""
    name, note = f"{model}_b{batch}_step_spinning", "OMP_WAIT_POLICY unset on both sides"
    with Trainer(TORCH_WORKER, model, passive=False, **variant) as peer:
        if peer_only:
            return row(name, "ms", None, alone(peer, effort), None, ">=", None, note=note)
        with open_ours(model, batch, "default", passive=False) as ours:
            progress(f"{model}: {effort.rounds} rounds against PyTorch, spinning")
            pairs = interleave(ours, peer, effort)
    return row(name, "ms", pairs.a_ms, pairs.b_ms, pairs.ratio(), ">=", None, ratio_interval=interval(pairs.ratios),
               note=note)


def training_rows(model, batch, effort, peer_only, bar=1.0, variants=TORCH_VARIANTS):
    """The rows of time and memory, and PyTorch's keys."""
    speed, memory = f"{model}_b{batch}_step", f"{model}_b{batch}_memory_growth"
    with open_peer(model, batch, effort, variants) as peer:
        note = peer.description.partition(f"threads {THREADS} ")[2] + ", " + peer.ready["version"]
        if peer_only:
            peer_ms = alone(peer, effort)
            return [row(speed, "ms", None, peer_ms, None, ">=", bar, note=note),
                    row(memory, "MiB", None, peer.growth_mib(), None, "<=", 1.0, note=note)], peer.keys
        with open_ours(model, batch, "default") as ours:
            if ours.ready["n_params"] != peer.ready["n_params"]:
                raise WorkerError(f"{model}: {ours.ready['n_params']} parameters on our side, "
                                  f"{peer.ready['n_params']} on PyTorch's: not the same model")
            progress(f"{model}: {effort.rounds} rounds against PyTorch")
            pairs = interleave(ours, peer, effort)
            growth, peer_growth = ours.growth_mib(), peer.growth_mib()
        return [row(speed, "ms", pairs.a_ms, pairs.b_ms, pairs.ratio(), ">=", bar, ratio_interval=interval(pairs.ratios),
                    note=note),
                row(memory, "MiB", growth, peer_growth, growth / peer_growth, "<=", 1.0, note=note)], peer.keys
