#!/usr/bin/env bash
# The example that compares policies on its own model runs, and every promise it shows is kept.
set -euo pipefail
cd "$(dirname "$0")/../.."
output=$(build/release/examples/compare_own_model 12)
echo "$output"
for policy in fast balanced default; do grep -q "^$policy .* ms a step" <<<"$output"; done
grep -q '^default .*: the same bits$' <<<"$output"
