"""Small linear algebra."""
from opinfo import offer

TRIANGLE = "Only the triangle that is read has a gradient"


def column(iso, b, a):
    """b as columns, and whether it was one vector."""
    one = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    return (iso.unsqueeze(b, -1) if one else b), one


# ---- factorisations ----
@offer("cholesky", "linalg.cholesky")
def cholesky(iso, input, upper=False):
    return iso.cholesky(input, upper)


@offer("linalg.cholesky_ex")
def cholesky_ex(iso, input, upper=False, check_errors=False):
    return iso.cholesky(input, upper), iso.tensor_zeros("i32", list(input.shape[:-2]))


@offer("linalg.qr", "qr")
def qr(iso, A, mode="reduced", some=True):
    if mode == "r":
        q, r = iso.qr(A, False)
        return iso.tensor_new(A.dtype, [0]), r
    return iso.qr(A, mode == "complete" or not some)


@offer("linalg.lu", gradient=False)
def lu(iso, A, pivot=True):
    return iso.lu(A)


def recomposed(iso, u, s, vt):
    return iso.matmul(iso.mul(u, iso.unsqueeze(s, -2)), vt)


@offer("linalg.svd", compare="processed")
def svd(iso, A, full_matrices=True):
    return iso.svd(A, full_matrices)


@offer("svd", compare="processed")
def svd_v(iso, input, some=True):
    u, s, vt = iso.svd(input, not some)
    return u, s, iso.transpose(vt, -1, -2)


@offer("linalg.svdvals")
def svdvals(iso, A):
    return iso.svd(A, False)[1]


@offer("linalg.eigh", compare="processed")
def eigh(iso, A, UPLO="L"):
    return iso.eigh(A, UPLO == "U")


@offer("linalg.eigvalsh")
def eigvalsh(iso, A, UPLO="L"):
    return iso.eigh(A, UPLO == "U")[0]


# ---- solving ----
@offer("linalg.solve")
def solve(iso, A, B, left=True):
    b, one = column(iso, B, A)
    x = iso.solve(A, b) if left or one else iso.transpose(iso.solve(iso.transpose(A, -1, -2), iso.transpose(b, -1, -2)), -1, -2)
    return iso.squeeze(x, -1) if one else x


@offer("linalg.solve_ex")
def solve_ex(iso, A, B, left=True, check_errors=False):
    return solve(iso, A, B, left), iso.tensor_zeros("i32", list(A.shape[:-2]))


@offer("linalg.solve_triangular")
def solve_triangular(iso, A, B, upper, left=True, unitriangular=False):
    return iso.triangular_solve(A, B, upper=upper, unit=unitriangular, right=not left)


@offer("triangular_solve")
def triangular_solve(iso, b, A, upper=True, transpose=False, unitriangular=False):
    x = iso.triangular_solve(A, b, upper=upper, transposed=transpose, unit=unitriangular)
    return x, iso.expand(A, x.shape[:-2] + A.shape[-2:])


@offer("cholesky_solve", differs=[(TRIANGLE, lambda *a, **k: True, "gradient")])
def cholesky_solve(iso, input, input2, upper=False):
    return iso.cholesky_solve(input, input2, upper)


@offer("cholesky_inverse", differs=[(TRIANGLE, lambda *a, **k: True, "gradient")])
def cholesky_inverse(iso, input, upper=False):
    return iso.cholesky_inverse(input, upper)


@offer("linalg.inv")
def inv(iso, A):
    return iso.inv(A)


@offer("linalg.inv_ex")
def inv_ex(iso, A, check_errors=False):
    return iso.inv(A), iso.tensor_zeros("i32", list(A.shape[:-2]))


@offer("linalg.tensorinv")
def tensorinv(iso, A, ind=2):
    rows = 1
    for n in A.shape[:ind]:
        rows *= n
    return iso.reshape(iso.inv(iso.reshape(A, [rows, -1])), A.shape[ind:] + A.shape[:ind])


@offer("linalg.det")
def det(iso, A):
    return iso.det(A)


@offer("linalg.slogdet")
def slogdet(iso, A):
    return iso.slogdet(A)


@offer("logdet")
def logdet(iso, input):
    return iso.logdet(input)


# ---- made of those ----
@offer("linalg.matrix_power", differs=[("The zeroth power is a constant", lambda A, n, **k: n == 0, "no gradient")])
def matrix_power(iso, A, n):
    return iso.matrix_power(A, n)


@offer("matrix_exp")
def matrix_exp(iso, input):
    return iso.matrix_exp(input)


@offer("linalg.cross")
def linalg_cross(iso, input, other, dim=-1):
    return iso.cross(input, other, dim)


@offer("cross")
def cross(iso, input, other, dim=None):
    if dim is None:
        dim = next(i for i, n in enumerate(input.shape) if n == 3)
    return iso.cross(input, other, dim)


@offer("linalg.vander")
def vander(iso, x, N=None):
    return iso.vander(x if x.ndim else iso.reshape(x, [1]), x.shape[-1] if N is None else N)


@offer("cdist")
def cdist(iso, x1, x2, p=2.0, compute_mode=None):
    return iso.cdist(x1, x2, p)


@offer("cov", differs=[("Weights are cast to x's dtype", lambda x, *a, aweights=None, **k: aweights is not None and aweights.dtype != x.dtype)])
def cov(iso, input, correction=1, fweights=None, aweights=None):
    return iso.cov(input, correction, counts=fweights, weights=aweights)


@offer("corrcoef")
def corrcoef(iso, input):
    return iso.corrcoef(input)
