#!/bin/sh
# SPDX-License-Identifier: MIT
# Build (release, in build/) and run the benchmarks: scripts/bench.sh [--runs N] [name...]. The results are in
# build/bench/<name>.json.
set -e
cd "$(dirname "$0")/.."
[ -f build/build.ninja ] || meson setup build -Dtests=enabled --buildtype=release
if ! meson introspect build --buildoptions | grep -q '"name": "buildtype", "value": "release"'; then
	echo "bench.sh: build/ is not a release build (use: meson configure build --buildtype=release)" >&2
	exit 1
fi
ninja -C build
exec python3 bench/run.py --build build "$@"
