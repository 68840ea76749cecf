"""What several topics' mappings need."""
import torch

import isobit


def operand(iso, a, b):
    """a and b as Tensors of one dtype: a Python number becomes a tensor of the other's dtype."""
    if not isinstance(a, isobit.Tensor):
        return iso.scalar(a, like=b), b
    if not isinstance(b, isobit.Tensor):
        return a, iso.scalar(b, like=a)
    return a, b


def axes(dim, x):
    """PyTorch's `dim` of a reduction (None, a number or several) as a list; [] is all axes, and those of a scalar."""
    if dim is None or x.ndim == 0:
        return []
    return [dim] if isinstance(dim, int) else list(dim)


def same_kind(ours, theirs, input, args, kwargs):
    """For `compare`: as many results of the same shapes and dtypes, with values that nobody determines."""
    assert len(ours) == len(theirs), f"{len(ours)} results, torch has {len(theirs)}"
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype} {tuple(a.shape)}, torch has {b.dtype} {tuple(b.shape)}"


def same_kind_in_training(default, place):
    """same_kind while `training` (argument number `place` behind the input); otherwise nothing is random: the values, too."""
    def check(ours, theirs, input, args, kwargs):
        same_kind(ours, theirs, input, args, kwargs)
        if not (args[place] if len(args) > place else kwargs.get("training", default)):
            torch.testing.assert_close([o.detach() for o in ours], [t.detach() for t in theirs], equal_nan=True)
    return check


def dtype_name(dtype, default):
    """A torch dtype as Isobit names it; None: the default."""
    return isobit.DTYPES[dtype] if isinstance(dtype, torch.dtype) else default
