#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel.sh ARCH FOLDER - unpack Debian's kernel for a machine that qemu emulates into FOLDER/ARCH: root/boot/vmlinuz-*,
# its config and modules.
#
# ARCH is amd64 or arm64. Nothing is installed (debian.sh). Does nothing if the kernel exists. If it is not available,
# the exit status is not 0, and the last line has the reason.
set -euo pipefail

arch=${1:-} folder=${2:-}
# The cloud flavour has everything for tracing, at a third of the size.
case $arch in
amd64) package=linux-image-cloud-amd64 ;;
arm64) package=linux-image-arm64 ;;
*) sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
[ -n "$folder" ] || { echo "kernel: no folder given" >&2; exit 2; }

dir=$folder/$arch
if compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null; then
	echo "kernel: the $arch kernel is in $dir"
	exit 0
fi
# Unpacked in a temporary folder and moved when complete, because another process may do the same.
mkdir -p "$dir"
work=$(mktemp -d "$dir/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "kernel: unpacking Debian's $arch kernel into $dir"
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"
debian_begin kernel "$arch" "$work" || exit 1
image=$(apt-cache "${apt[@]}" depends "$package" 2>/dev/null |
	sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -1) || true
[ -n "$image" ] || { echo "kernel: no $package in the package lists" >&2; exit 1; }
(cd "$work" && apt-get "${apt[@]}" download -qq "$image") || { echo "kernel: cannot download $image" >&2; exit 1; }
dpkg-deb -x "$work"/linux-image-*.deb "$work/root"
compgen -G "$work/root/boot/vmlinuz-*" >/dev/null || { echo "kernel: $image contains no boot/vmlinuz-*" >&2; exit 1; }
mv -T "$work/root" "$dir/root" 2>/dev/null || compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null ||
	{ echo "kernel: cannot replace $dir/root" >&2; exit 1; }
echo "kernel: unpacked $image"
