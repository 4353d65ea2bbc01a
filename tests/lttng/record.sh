#!/bin/sh
# SPDX-License-Identifier: MIT
# Record the traces in tests/lttng/traces again: LTTng-UST (Debian: lttng-tools, liblttng-ust-dev) traces fields.c.
#
#   tests/lttng/record.sh        they are in the repository, so that the tests need no LTTng
#
# The traces have per-user and per-process buffers, every context that needs no privilege, small packets, and rings that
# lose records.
set -e
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"; kill $daemon 2>/dev/null || true' EXIT
gcc -O1 -w -I. -o "$work/fields" fields.c -llttng-ust -ldl -lpthread
export LTTNG_HOME="$work" HOME="$work"
lttng-sessiond --no-kernel > "$work/log" 2>&1 &
daemon=$!
until lttng list >/dev/null 2>&1; do kill -0 $daemon; done

record() { # name, rounds, options of enable-channel
	name=$1 rounds=$2
	shift 2
	lttng create "$name" --output="$work/$name"
	lttng enable-channel -u -s "$name" channel "$@"
	case $name in
	contexts) for context in vpid vtid procname pthread_id ip cpu_id time_ns; do lttng add-context -u -s "$name" -c channel -t "$context" || true; done ;;
	esac
	lttng enable-event -u -s "$name" -c channel 'fields:*'
	lttng start "$name"
	"$work/fields" "$rounds"
	lttng stop "$name"
	lttng destroy "$name"
	rm -rf "traces/$name"
	mkdir -p traces
	cp -r "$work/$name" "traces/$name"
}

record plain 2 --buffers-uid --subbuf-size=4k --num-subbuf=8
record contexts 1 --buffers-pid --subbuf-size=4k --num-subbuf=8
record lossy 40 --buffers-uid --subbuf-size=4k --num-subbuf=2
