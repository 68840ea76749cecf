"""OpenBLAS' side of bench/peers: its shared library (the wheel scipy-openblas32) through ctypes, problems of gemm only.

Numpy lends the memory and nothing else; a call costs about two microseconds more than from C.
"""

import ctypes
import sys

import numpy as np
import scipy_openblas32

from protocol import Problem, serve, timed_slice

ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112


def load():
    folder = scipy_openblas32.get_lib_dir()
    library = ctypes.CDLL(f"{folder}/lib{scipy_openblas32.get_library()}.so")
    real, whole, pointer = ctypes.c_float, ctypes.c_int, ctypes.c_void_p
    library.scipy_cblas_sgemm.argtypes = [whole] * 6 + [real, pointer, whole, pointer, whole, real, pointer, whole]
    library.scipy_cblas_sgemm.restype = None
    library.scipy_cblas_sgemv.argtypes = [whole] * 4 + [real, pointer, whole, pointer, whole, real, pointer, whole]
    library.scipy_cblas_sgemv.restype = None
    library.scipy_openblas_get_config.restype = ctypes.c_char_p
    return library


class Worker:
    def __init__(self):
        self.library = load()
        self.runs = {}

    def open(self, name, problem, threads="1"):
        p = Problem(problem)
        if p.operator != "gemm":
            raise ValueError(f"OpenBLAS has no {p.operator}")
        m, n, k = p["m"], p["n"], p["k"]
        generator = np.random.default_rng(1)
        a, b = (generator.standard_normal(shape, dtype=np.float32) for shape in ((k, m) if p["ta"] else (m, k),
                                                                                   (n, k) if p["tb"] else (k, n)))
        c = np.empty((m, n), np.float32)
        call = self.library.scipy_cblas_sgemm
        arguments = (ROW_MAJOR, TRANS if p["ta"] else NO_TRANS, TRANS if p["tb"] else NO_TRANS, m, n, k, 1.0,
                     a.ctypes.data, a.shape[1], b.ctypes.data, b.shape[1], 0.0, c.ctypes.data, n)
        if m == 1:  # what a user of BLAS calls for one row: c = op(B)ᵀ·a
            call = self.library.scipy_cblas_sgemv
            arguments = (ROW_MAJOR, NO_TRANS if p["tb"] else TRANS, b.shape[0], b.shape[1], 1.0, b.ctypes.data, b.shape[1],
                         a.ctypes.data, 1, 0.0, c.ctypes.data, 1)

        def run(_operands=(a, b, c)):  # the operands live as long as the run
            call(*arguments)

        run()
        if not np.allclose(c[:2, :2], (a.T if p["ta"] else a)[:2] @ (b.T if p["tb"] else b)[:, :2], rtol=1e-3, atol=1e-2):
            raise RuntimeError("OpenBLAS computed something else")
        self.runs[name] = (run, int(threads))
        return {"version": self.library.scipy_openblas_get_config().decode().strip()}

    def slice(self, name, ms="20"):
        run, threads = self.runs[name]
        self.library.scipy_openblas_set_num_threads(threads)
        return timed_slice(run, float(ms))

    def close(self, name):
        del self.runs[name]
        return {}


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    serve(Worker(), {"open": 1, "slice": 1, "close": 1})
