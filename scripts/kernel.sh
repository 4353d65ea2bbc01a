#!/bin/bash
# SPDX-License-Identifier: MIT
# kernel.sh ARCH FOLDER - unpacks Debian's own kernel for a machine that qemu emulates into FOLDER/ARCH: root/boot/vmlinuz-*, its config and modules.
#
# ARCH is amd64 or arm64. Nothing is installed, and the package lists of this machine are neither needed nor touched; root's rights are not needed.
# Does nothing when the kernel is there. The exit status is not 0 when it cannot be had, and the last line says why.
set -euo pipefail

arch=${1:-} folder=${2:-}
# The flavour for clouds has all that tracing needs, a third of the size.
case $arch in
amd64) package=linux-image-cloud-amd64 ;;
arm64) package=linux-image-arm64 ;;
*) sed -n '3,6s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
[ -n "$folder" ] || { echo "kernel: no folder was named" >&2; exit 2; }

dir=$folder/$arch
if compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null; then
	echo "kernel: the $arch kernel is in $dir"
	exit 0
fi
for tool in apt-get apt-cache dpkg-deb; do
	command -v $tool >/dev/null || { echo "kernel: $tool is not there: is this not Debian?" >&2; exit 1; }
done

# Beside where it will be, and moved there when it is whole: somebody else may be at the same.
mkdir -p "$dir"
work=$(mktemp -d "$dir/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial"
: >"$work/status"
apt=(-o "Dir::State::Lists=$work/lists" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=" -o "APT::Architecture=$arch"
	-o "APT::Architectures=$arch" -o "Dir::State::status=$work/status" -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1"
	-o "Acquire::Languages=none")
echo "kernel: unpacking Debian's $arch kernel into $dir"
apt-get "${apt[@]}" update -qq || { echo "kernel: the package lists cannot be had" >&2; exit 1; }
image=$(apt-cache "${apt[@]}" depends "$package" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p' | head -1) || true
[ -n "$image" ] || { echo "kernel: no $package in the package lists" >&2; exit 1; }
(cd "$work" && apt-get "${apt[@]}" download -qq "$image") || { echo "kernel: $image cannot be downloaded" >&2; exit 1; }
dpkg-deb -x "$work"/linux-image-*.deb "$work/root"
compgen -G "$work/root/boot/vmlinuz-*" >/dev/null || { echo "kernel: $image has no kernel" >&2; exit 1; }
mv -T "$work/root" "$dir/root" 2>/dev/null || compgen -G "$dir/root/boot/vmlinuz-*" >/dev/null ||
	{ echo "kernel: $dir/root is in the way" >&2; exit 1; }
echo "kernel: unpacked $image"
