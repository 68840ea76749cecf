#!/usr/bin/env bash
# Every public header compiles alone, as C17 and as C++17.
set -euo pipefail
cd "$(dirname "$0")/../.."
n=0
for header in include/isobit/*.h include/isobit/*/*.h; do
  name=${header#include/}
  echo "#include <$name>" | gcc -std=c17 -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -x c -
  echo "#include <$name>" | g++ -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ -
  n=$((n + 1))
done
echo "$n headers compile alone as C17 and C++17"
