"""The instruction floor of an elementary function: how many vector instructions its source compiles to, asked of the compiler.

`v_gelu` of src/numeric/math_f32.h as a function of one vector register, compiled with the flags of the library: what is
neither a move nor a constant's load has to go through the ports that FMAs go through, two a cycle at best. Memory,
latencies and the divider come on top, so no kernel gets there; it says when a function cannot run at memory's speed.
"""

import functools
import os
import re
import subprocess

from harness import ROOT

FLAGS = {"avx2": ["-mavx2", "-mfma", "-mf16c"],
         "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx2", "-mfma", "-mf16c", "-mprefer-vector-width=512"]}
# v… on vector registers, but what the front end drops or what runs on load ports.
ARITHMETIC = re.compile(r"^\s+(v(?!mov|broadcast|zeroupper)\w+)\s.*%[yz]mm", re.M)


def isa():
    """What this process's children compute with."""
    with open("/proc/cpuinfo") as info:
        best = "avx512" if " avx512bw" in info.read() else "avx2"
    return os.environ.get("ISOBIT_ISA") or best


ONE = """#include "kernels/softmax/rows_impl.h"
vf floor_of(vf x, vf dy);
vf floor_of(vf x, vf dy) {{ (void)dy; return {}; }}
"""
# Words are made by several vectors at a time.
DROPOUT = """#include "numeric/philox.h"
void floor_of(const struct philox_stream *s, vf *x, uint32_t block, vf scale, int32_t threshold);
void floor_of(const struct philox_stream *s, vf *x, uint32_t block, vf scale, int32_t threshold) {
  vi w[PHILOX_VECTORS];
  philox_elements(s, block, w);
#pragma GCC unroll 16
  for (int q = 0; q < PHILOX_VECTORS; q++) x[q] = vf_select(philox_keep(w[q], threshold), vf_mul(x[q], scale), vf_zero());
}
"""
DROPOUT_VECTORS = 8


@functools.cache
def instructions(expression, isa_name):
    """Of `expression` in vf x and vf dy, or of "dropout": how many for a vector of elements."""
    if isa_name not in FLAGS:
        return 0
    source = DROPOUT if expression == "dropout" else ONE.format(expression)
    command = [os.environ.get("CC", "cc"), "-std=c17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", *FLAGS[isa_name],
               f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", "-x", "c", "-", "-S", "-o", "-"]
    assembly = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    body = assembly[assembly.index("floor_of:"):]
    n = len(ARITHMETIC.findall(body[:body.index(".cfi_endproc")]))
    return n / DROPOUT_VECTORS if expression == "dropout" else n
