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
echo '$ waymark record -c vpid -c procname -- examples/shop'
build/src/cli/waymark record -c vpid -c procname -o "$trace" -- build/examples/shop

echo
echo '$ babeltrace2 TRACE | head'
babeltrace2 "$trace" >"$trace.text"
grep -m 20 -v lttng_ust_statedump "$trace.text"
records=$(grep -cv lttng_ust_statedump "$trace.text")
echo "... $records records of the program in total"
[ "$records" -gt 0 ]
