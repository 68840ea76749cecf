#!/usr/bin/env bash
# Everything is formatted; `--fix` formats. Versions of clang-format disagree (on macros, for one), so one of them decides:
# 14, Debian 12's. Without it the check is skipped (exit status 77).
set -euo pipefail
cd "$(dirname "$0")/../.."
major=14
format=$(command -v clang-format-$major || command -v clang-format || true)
version=$([[ -z $format ]] || "$format" --version)
if [[ $version != *"clang-format version $major."* ]]; then
  echo "[  SKIPPED ] formatting is held by clang-format $major; here is ${version:-none}"
  exit 77
fi
mapfile -t files < <(git ls-files '*.c' '*.h' 2>/dev/null || find include src tests bench examples -name '*.[ch]')
if [[ ${1:-} == --fix ]]; then
  "$format" -i "${files[@]}"
else
  "$format" --dry-run -Werror "${files[@]}"
  echo "${#files[@]} files are formatted"
fi
