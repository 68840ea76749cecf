#!/usr/bin/env bash
# Of the C library's maths only exact functions, fma and sqrt may be used: everything else has other bits elsewhere.
set -euo pipefail
cd "$(dirname "$0")/../.."
allowed='fma|fmaf|sqrt|sqrtf|floor|floorf|ceil|ceilf|rint|rintf|trunc|truncf|nearbyint|nearbyintf|copysign|copysignf|fabs|fabsf|ldexp|ldexpf|frexp|frexpf|fmod|fmodf|nextafter|nextafterf'
libm=$(gcc -print-file-name=libm.so.6)
[[ -e $libm ]] || libm=$(ldconfig -p | awk '/libm\.so\.6/ {print $NF; exit}')
nm -D --defined-only "$libm" | awk '{sub(/@.*/, "", $NF); print $NF}' | sort -u >/tmp/isobit-libm.$$
nm -u build/release/libisobit_static.a | awk '/ U / {print $2}' | sort -u >/tmp/isobit-used.$$
trap 'rm -f /tmp/isobit-libm.$$ /tmp/isobit-used.$$' EXIT
[[ -s /tmp/isobit-used.$$ ]]
used=$(comm -12 /tmp/isobit-libm.$$ /tmp/isobit-used.$$)
bad=$(grep -vxE "$allowed" <<<"$used" || true)
if [[ -n $bad ]]; then
  echo "the library calls these libm functions, whose bits are not ours: $bad" >&2
  exit 1
fi
echo "libm functions used: $(tr '\n' ' ' <<<"$used")"
