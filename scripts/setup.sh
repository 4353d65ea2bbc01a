#!/bin/bash
# SPDX-License-Identifier: MIT
# Install missing Debian packages, and unpack the kernel that an emulated machine boots in tests. A second run does
# nothing.
#
#   scripts/setup.sh            packages for building and testing
#   scripts/setup.sh --build    packages for building only
#   scripts/setup.sh --long     also those of `scripts/test.sh --long`: an aarch64 machine, packages to build for it,
#                               an SSH server
#   scripts/setup.sh --bench    also the tracers that `scripts/bench.sh` compares with
set -euo pipefail

build=(
	meson ninja-build gcc libc6-dev pkg-config python3 liburcu-dev libjson-c-dev libelf-dev libzstd-dev libssl-dev
	libsqlite3-dev libncurses-dev libdw-dev
	# BPF programs: compiled by clang, converted to a header by bpftool, loaded by libbpf
	clang bpftool libbpf-dev
)
packages=(
	"${build[@]}"
	# example and test programs in C++
	g++
	# unit tests; models; independent trace readers; a debugger for single steps; system call traces
	libcmocka-dev systemtap-sdt-dev spin babeltrace babeltrace2 gdb strace protobuf-compiler zstd openssl
	# a terminal for tests of `waymark top`
	tmux
	# analyses of kernel traces by another project
	python3-lttnganalyses
	# the second compiler, its linker and its sanitizers
	clang lld libclang-rt-14-dev
	# aarch64 by emulation, and a C library without restartable sequences
	qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross musl-tools
	# checks of built files: libraries, man pages, units, completion
	binutils groff-base systemd zsh
	# an emulated machine with its own kernel, and its programs
	qemu-system-x86 busybox-static dmsetup
	# parents of processes
	procps
	# a browser without a screen, which loads reports
	chromium-headless-shell
	# commands on another machine; two machines as network namespaces
	openssh-client iproute2
	# another analysis of the scheduler
	linux-perf
)
kernels=(amd64) sysroots=()
# Debian starts the server of openssh-server when it is installed, so only --long installs it.
long=(qemu-system-arm openssh-server)
bench=(lttng-tools liblttng-ust-dev bpftrace python3-bt2)

usage() {
	sed -n '3,10s/^# \{0,1\}//p' "$0"
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
	echo "setup: this is not Debian (install these packages by hand: ${packages[*]})" >&2
	exit 1
fi

missing=()
for package in "${packages[@]}"; do
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$state" = installed ] || missing+=("$package")
done

as_root=()
if [ ${#missing[@]} -eq 0 ]; then
	echo "setup: all ${#packages[@]} packages are installed"
else
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "setup: cannot install ${missing[*]}: not root, and no sudo (run as root)" >&2
			exit 1
		fi
		as_root=(sudo)
	fi
	echo "setup: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
	install() {
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
			"${missing[@]}"
	}
	# Fetch the package lists only if they are empty or outdated.
	apt-cache show "${missing[@]}" >/dev/null 2>&1 || "${as_root[@]}" apt-get update -q
	install || { "${as_root[@]}" apt-get update -q && install; }
	echo "setup: done"
fi

# Kernels run in emulated machines, never on this one: they are unpacked, not installed. Without a kernel, its tests are
# skipped with a message.
folder=${WMK_CACHE:-$(cd "$(dirname "$0")/.." && pwd)/build-tests}
for arch in "${kernels[@]}"; do
	"$(dirname "$0")/kernel.sh" "$arch" "$folder" ||
		echo "setup: no $arch kernel: tests that need it will be skipped"
done
# Packages to build Waymark for another architecture are unpacked, too.
for arch in "${sysroots[@]}"; do
	"$(dirname "$0")/sysroot.sh" "$arch" "$folder" ||
		echo "setup: no $arch packages: tests that need them will be skipped"
done
