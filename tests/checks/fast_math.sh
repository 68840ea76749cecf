#!/usr/bin/env bash
# A build with -ffast-math or -Ofast in the user's flags is refused, by CMake and, for whoever goes round it, by the compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for flag in -ffast-math -Ofast -funsafe-math-optimizations -ffp-contract=fast; do
  if cmake -S . -B "$folder/$flag" -G Ninja -DCMAKE_C_FLAGS="$flag" >"$folder/log" 2>&1; then
    echo "CMake accepted $flag" >&2
    exit 1
  fi
  tr -s ' \n' ' ' <"$folder/log" | grep -q -- "refuses '$flag'" || { cat "$folder/log" >&2; exit 1; }
done
if echo '#include "base/fenv.h"' | gcc -std=gnu17 -Isrc -Iinclude -ffast-math -fsyntax-only -x c - 2>/dev/null; then
  echo "fenv.h compiled with -ffast-math" >&2
  exit 1
fi
# -march=native and the like are no danger, and change nothing: the baseline is ours, file by file.
cmake -S . -B "$folder/native" -G Ninja -DCMAKE_C_FLAGS="-march=native -mavx2" >/dev/null
cmake --build "$folder/native" --target CMakeFiles/isobit_objects.dir/src/numeric/bulk_scalar.c.o \
  CMakeFiles/isobit_objects.dir/src/kernels/softmax/reference.c.o CMakeFiles/isobit_objects.dir/src/kernels/map/map_avx2.c.o >/dev/null
echo "fast-math flags are refused, -march changes nothing"
