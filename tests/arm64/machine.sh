#!/bin/sh
# SPDX-License-Identifier: MIT
# machine.sh SOURCE-ROOT WORK-DIR - test the ring's restartable sequences on aarch64: torture on two emulated CPUs under
# Debian's own kernel, then the same with claim rings.
# Only in long runs (WMK_LONG). Exit status 77 otherwise, or without a cross compiler, emulator or kernel.
set -eu
root=$1 work=$2
[ -n "${WMK_LONG:-}" ] || { echo "skipped: in the long run only"; exit 77; }
command -v aarch64-linux-gnu-gcc > /dev/null || { echo "skipped: no aarch64-linux-gnu-gcc"; exit 77; }
mkdir -p "$work"
aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fno-strict-aliasing -D_GNU_SOURCE -DWMK_RSEQ_CLEAR \
	-static -pthread \
	-I"$root/include" -I"$root/src" -o "$work/torture" "$root/src/ring/t/torture.c" "$root"/src/ring/*.c \
		"$root/src/base/clock_namespace.c"
exec python3 "$root/tests/arm64/qemu.py" --work "$work" --file "$work/torture" --timeout 1800 \
	--test "WMK_ROUNDS_PERCENT=20 /torture ${WMK_SEED:-1} 5" \
	--test "WMK_ROUNDS_PERCENT=20 GLIBC_TUNABLES=glibc.pthread.rseq=0 /torture ${WMK_SEED:-1} 5"
