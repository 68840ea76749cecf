"""Which of PyTorch's OpInfo names Isobit offers, and how: one module a topic, found by itself. ../README.md says how to add a name."""
import importlib
import pkgutil


class Differs(Exception):
    """Raised by a mapping for a sample that Isobit does not compute as PyTorch does. The argument is the sentence in the
    operator's `difference` (DOC row) that says why."""


class Offer:
    def __init__(self, function, dtypes, differs, compare, gradient, strided):
        self.function, self.dtypes, self.differs = function, dtypes, differs
        self.compare, self.gradient, self.strided = compare, gradient, strided


offers = {}  # (OpInfo name, variant or None for all) → Offer


def offer(*names, variants=None, dtypes="f32 f64", differs=(), compare=None, gradient=True, strided=True):
    """Offers OpInfo names: the decorated function takes the context and PyTorch's arguments, with a Tensor for every tensor.

    variants  only these variant_test_names of the names; others of the name stay not offered unless offered elsewhere
    dtypes    what is run, where the OpInfo supports it: of "f32 f64 f16 bf16 i64 i32 u8 bool"
    differs   (sentence, when, parts …): `when` takes the torch sample's (input, *args, **kwargs); a result that is not PyTorch's
              is then counted as a difference named by the sentence, which must stand in a DOC row. With parts only a failure
              whose text begins with one of them is: "gradient", "forward 1" (the second result), "no gradient"
    compare   takes (ours, theirs, input, args, kwargs), flat lists of torch tensors, and raises AssertionError: instead of closeness, where the values
              are not determined (random numbers, signs of eigenvectors; "processed": as OpInfo's own tests make them comparable)
    gradient  False: PyTorch has one and ours has none, which a DOC row must say
    strided   False: the meaning depends on the strides, so the samples are not also run with other strides
    """

    def register(function):
        for name in names:
            for variant in variants or (None,):
                if (name, variant) in offers:
                    raise ValueError(f"{name} {variant or ''} is offered twice")
                offers[name, variant] = Offer(function, dtypes.split(), list(differs), compare, gradient, strided)
        return function

    return register


def find(name, variant):
    return offers.get((name, variant)) or offers.get((name, None))


def load():
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return offers
