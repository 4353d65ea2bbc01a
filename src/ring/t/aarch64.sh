#!/bin/sh
# SPDX-License-Identifier: MIT
# aarch64.sh SOURCE-ROOT WORK-DIR - run the example and the torture test of the ring on aarch64 under qemu-user. It has
# no restartable sequences, so claim rings are used.
# Exit status 77: no cross compiler or no emulator here.
set -eu
root=$1 work=$2
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
mkdir -p "$work"
build() {
	aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fno-strict-aliasing -D_GNU_SOURCE -DWMK_RSEQ_CLEAR -static -pthread \
		-I"$root/include" -I"$root/src" -o "$work/$1" "$2" "$root"/src/ring/*.c \
		"$root/src/base/clock_namespace.c"
}
build example "$root/examples/ring.c"
build torture "$root/src/ring/t/torture.c"
timeout 300 qemu-aarch64 "$work/example"
timeout 600 qemu-aarch64 "$work/torture" "${WMK_SEED:-1}" 3
