#!/usr/bin/env bash
# The installed library is usable through pkg-config and through CMake, has a versioned soname and exports public names only.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install build/release --prefix "$folder/usr" >/dev/null
export PKG_CONFIG_PATH=$(dirname "$(find "$folder/usr" -name isobit.pc)")
library=$(find "$folder/usr" -name 'libisobit.so' | head -n 1)
readelf -d "$library" | grep -q 'SONAME.*libisobit\.so\.[0-9]'
strange=$(nm -D --defined-only "$library" | awk '$2 ~ /[TDBR]/ && $3 !~ /^iso_/ {print $3}')
[[ -z $strange ]] || { echo "exported, but not public: $strange" >&2; exit 1; }
cat >"$folder/user.c" <<'C'
#include <isobit/isobit.h>
#include <stdio.h>
int main(void) { return puts(iso_version()) < 0; }
C
# shellcheck disable=SC2046
gcc -std=c17 "$folder/user.c" -o "$folder/by-pkg-config" $(pkg-config --cflags --libs isobit)
export LD_LIBRARY_PATH=$(dirname "$library")
"$folder/by-pkg-config" >/dev/null
mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(isobit 0.1 REQUIRED)
add_executable(user ../user.c)
target_link_libraries(user PRIVATE isobit::isobit)
C
cmake -S "$folder/project" -B "$folder/project/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/usr" >/dev/null
cmake --build "$folder/project/build" >/dev/null
"$folder/project/build/user" >/dev/null
echo "installed: pkg-config and CMake packages work, soname is versioned"
