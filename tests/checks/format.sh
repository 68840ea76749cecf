#!/usr/bin/env bash
# Everything is formatted; `--fix` formats.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t files < <(git ls-files '*.c' '*.h' 2>/dev/null || find include src tests bench examples -name '*.[ch]')
if [[ ${1:-} == --fix ]]; then
  clang-format -i "${files[@]}"
else
  clang-format --dry-run -Werror "${files[@]}"
  echo "${#files[@]} files are formatted"
fi
