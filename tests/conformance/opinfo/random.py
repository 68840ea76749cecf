"""Random numbers and dropout: shapes and dtypes, since nobody determines the values."""
from opinfo import offer
from opinfo.common import dtype_name, same_kind, same_kind_in_training


def random(*names, compare=same_kind, **options):
    """Gradients follow the mask, which is another one in each library; PyTorch's of other random numbers are zeros."""
    return offer(*names, compare=compare, gradient=False, **options)


@random("nn.functional.dropout", compare=same_kind_in_training(True, 1))
def dropout(iso, input, p=0.5, training=True, inplace=False):
    return iso.dropout(input, p, training)


@random("nn.functional.dropout2d", compare=same_kind_in_training(True, 1))
def dropout2d(iso, input, p=0.5, training=True, inplace=False):
    return iso.dropout2d(input, p, training)


@random("nn.functional.dropout3d", compare=same_kind_in_training(True, 1))
def dropout3d(iso, input, p=0.5, training=True, inplace=False):
    return iso.dropout3d(input, p, training)


@random("nn.functional.alpha_dropout", compare=same_kind_in_training(False, 1))
def alpha_dropout(iso, input, p=0.5, training=False, inplace=False):
    return iso.alpha_dropout(input, p, training)


@random("nn.functional.feature_alpha_dropout", variants=["with_train", "without_train"],
        compare=same_kind_in_training(False, 1))
def feature_alpha_dropout(iso, input, p=0.5, training=False, inplace=False):
    return iso.feature_alpha_dropout(input, p, training)


@random("bernoulli")
def bernoulli(iso, input, p=None, generator=None):
    return iso.bernoulli(input) if p is None else iso.random_bernoulli(input.dtype, list(input.shape), p)


@random("multinomial")
def multinomial(iso, input, num_samples, replacement=False, generator=None):
    return iso.multinomial(input, num_samples, replacement)


@random("normal", variants=["in_place"])
def normal_in_place(iso, input, mean=0.0, std=1.0, **_):
    return iso.random_normal(input.dtype, list(input.shape), mean, std)


@random("normal")
def normal(iso, mean, std=1.0, size=None, generator=None, dtype=None, **_):
    if size is not None:
        return iso.random_normal(dtype_name(dtype, "f32"), list(size), mean, std)
    if isinstance(std, (int, float)):
        std = iso.full_like(mean, std)
    elif isinstance(mean, (int, float)):
        mean = iso.full_like(std, mean)
    return iso.normal(mean, std)


@random("randn")
def randn(iso, *size, dtype=None, **_):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return iso.random_normal(dtype_name(dtype, "f32"), list(size), 0, 1)


@random("randint", dtypes="f32 f64 i64 i32 u8")
def randint(iso, low, high=None, size=None, dtype=None, **_):
    if size is None:
        low, high, size = 0, low, high
    return iso.randint(dtype_name(dtype, "i64"), list(size), low, high)


def cast(iso, x, dtype):
    return x if dtype is None else iso.cast(x, dtype)


@random("rand_like")
def rand_like(iso, input, dtype=None, **_):
    return iso.rand_like(cast(iso, input, dtype))


@random("randn_like")
def randn_like(iso, input, dtype=None, **_):
    return iso.randn_like(cast(iso, input, dtype))


@random("randint_like", dtypes="f32 f64 i64 i32 u8")
def randint_like(iso, input, low, high=None, dtype=None, **_):
    low, high = (0, low) if high is None else (low, high)
    return iso.randint_like(cast(iso, input, dtype), low, high)


@random("uniform")
def uniform(iso, input, low=0.0, high=1.0, **_):
    return iso.random_uniform(input.dtype, list(input.shape), low, high)


@random("exponential")
def exponential(iso, input, rate=1.0, **_):
    return iso.random_exponential(input.dtype, list(input.shape), rate)


@random("geometric")
def geometric(iso, input, p, **_):
    return iso.random_geometric(input.dtype, list(input.shape), p)


@random("cauchy")
def cauchy(iso, input, median=0.0, sigma=1.0, **_):
    return iso.random_cauchy(input.dtype, list(input.shape), median, sigma)


@random("log_normal")
def log_normal(iso, input, mean=1.0, std=2.0, **_):
    return iso.random_log_normal(input.dtype, list(input.shape), mean, std)
