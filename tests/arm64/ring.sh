#!/bin/bash
# SPDX-License-Identifier: MIT
# ring.sh WAYMARK-SOURCE WORK-DIR - the ring's torture on two emulated aarch64 CPUs under Debian's arm64 kernel: with restartable
# sequences, then without. Takes minutes, so only in the long run (WMK_LONG). The kernel is kept in WORK-DIR.
set -euo pipefail
source=$1 work=$2
[ -n "${WMK_LONG:-}" ] || { echo "skipped: only in the long run (scripts/test.sh --long)"; exit 77; }
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "skipped: aarch64-linux-gnu-gcc is not installed"; exit 77; }
mkdir -p "$work"
cd "$source"
aarch64-linux-gnu-gcc -static -O2 -std=gnu11 -D_GNU_SOURCE -DWMK_RSEQ_CLEAR -Iinclude -Isrc -pthread -fno-strict-aliasing \
	-o "$work/torture" src/ring/t/torture.c src/ring/*.c
seed=${WMK_SEED:-1}
exec python3 tests/arm64/qemu.py --cache "$work" --file "$work/torture" --timeout 1500 \
	--test "WMK_ROUNDS_PERCENT=20 /torture $seed 5" \
	--test "WMK_ROUNDS_PERCENT=20 GLIBC_TUNABLES=glibc.pthread.rseq=0 /torture $seed 5"
