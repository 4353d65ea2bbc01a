#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that are missing, and no others, and unpacks the kernel that an emulated machine boots in
# tests. Running it twice does nothing the second time.
#
#   scripts/setup.sh            what building and testing need
#   scripts/setup.sh --build    only what building needs
#   scripts/setup.sh --long     also what `scripts/test.sh --long` needs: an aarch64 machine, and packages to build for it
#   scripts/setup.sh --bench    also the tracers that `scripts/bench.sh` compares with
set -euo pipefail

build=(
	meson ninja-build gcc libc6-dev pkg-config python3 liburcu-dev libjson-c-dev libelf-dev
	# what runs in the kernel: compiled by clang, made a header by bpftool, loaded by libbpf
	clang bpftool libbpf-dev
)
packages=(
	"${build[@]}"
	# the example and the test programs in C++
	g++
	# unit tests; models; the independent readers of traces; a debugger that single-steps; a look at system calls
	libcmocka-dev systemtap-sdt-dev spin babeltrace babeltrace2 gdb strace protobuf-compiler
	# the other compiler, its linker and its sanitizers
	clang lld libclang-rt-14-dev
	# aarch64 by emulation, and a C library without restartable sequences
	qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross musl-tools
	# checks of built files: libraries, man pages, units, completion
	binutils groff-base systemd zsh
	# a machine with a second kernel, and what runs in it
	qemu-system-x86 busybox-static
	# who is whose child
	procps
)
kernels=(amd64) sysroots=()
long=(qemu-system-arm)
bench=(lttng-tools liblttng-ust-dev linux-perf bpftrace)

usage() {
	sed -n '3,9s/^# \{0,1\}//p' "$0"
}

for arg; do
	case $arg in
	--build) packages=("${build[@]}"); kernels=() ;;
	--long) packages+=("${long[@]}"); kernels+=(arm64); sysroots+=(arm64) ;;
	--bench) packages+=("${bench[@]}") ;;
	-h | --help) usage; exit 0 ;;
	*) echo "setup: unknown argument '$arg'" >&2; usage >&2; exit 2 ;;
	esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	echo "setup: this is not Debian; install by hand: ${packages[*]}" >&2
	exit 1
fi

missing=()
for package in "${packages[@]}"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing+=("$package")
done

as_root=()
if [ ${#missing[@]} -eq 0 ]; then
	echo "setup: all ${#packages[@]} packages are there, nothing to install"
else
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "setup: missing: ${missing[*]}" >&2
			echo "setup: run as root, or install sudo, to have them installed" >&2
			exit 1
		fi
		as_root=(sudo)
	fi
	echo "setup: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
	install() {
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
	}
	# The package lists of a fresh machine are empty, those of an old one out of date: fetch them only then.
	apt-cache show "${missing[@]}" >/dev/null 2>&1 || "${as_root[@]}" apt-get update -q
	install || { "${as_root[@]}" apt-get update -q && install; }
	echo "setup: done"
fi

# Kernels run in emulated machines, never on this one: they are unpacked, not installed. Without one, its tests are
# skipped, and say so.
folder=${WMK_CACHE:-$(cd "$(dirname "$0")/.." && pwd)/build-tests}
for arch in "${kernels[@]}"; do
	"$(dirname "$0")/kernel.sh" "$arch" "$folder" || echo "setup: no $arch kernel: tests that need it will be skipped"
done
# What Waymark is built with for another architecture is unpacked, too.
for arch in "${sysroots[@]}"; do
	"$(dirname "$0")/sysroot.sh" "$arch" "$folder" || echo "setup: no $arch packages: tests that need them will be skipped"
done
