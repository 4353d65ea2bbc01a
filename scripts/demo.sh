#!/bin/bash
# SPDX-License-Identifier: MIT
# From a fresh clone to a trace: install packages, build, record an example program, and print the trace.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
[ -f build/build.ninja ] || meson setup build --buildtype=release
ninja -C build src/cli/waymark examples/shop

trace=$(mktemp -d)/shop
trap 'rm -rf "${trace%/shop}"' EXIT

echo
echo '$ waymark record -- examples/shop'
build/src/cli/waymark record -o "$trace" -- build/examples/shop

echo
echo '$ waymark view | head -n 20'
build/src/cli/waymark view "$trace" >"$trace.text"
head -n 20 "$trace.text"
records=$(wc -l <"$trace.text")
echo "... $records records of the program in total"
[ "$records" -gt 0 ]
