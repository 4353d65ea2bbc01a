#!/bin/sh
# SPDX-License-Identifier: MIT
# musl.sh SOURCE-ROOT WORK-DIR - run the example and the torture test of the ring with musl. It does not support
# restartable sequences, so claim rings are used.
# Exit status 77: no musl here.
set -eu
root=$1 work=$2
command -v musl-gcc > /dev/null || { echo "skipped: no musl-gcc"; exit 77; }
mkdir -p "$work"
build() {
	musl-gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fno-strict-aliasing -D_GNU_SOURCE -DWMK_RSEQ_CLEAR -static -pthread \
		-I"$root/include" -I"$root/src" -o "$work/$1" "$2" "$root"/src/ring/*.c \
		"$root/src/base/clock_namespace.c"
}
build example "$root/examples/ring.c"
build torture "$root/src/ring/t/torture.c"
timeout 60 "$work/example"
timeout 300 "$work/torture" "${WMK_SEED:-1}" 5
