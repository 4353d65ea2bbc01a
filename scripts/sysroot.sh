#!/bin/bash
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH FOLDER - unpack headers and libraries of Debian packages into FOLDER/ARCH/sysroot, for a cross
# compiler that builds Waymark for ARCH. The folder also has programs for tests: a static busybox and strace.
#
# ARCH is arm64. Nothing is installed (debian.sh). Does nothing if the folder is complete. After an error, the exit
# status is not 0, and the last line has the reason.
set -euo pipefail

arch=${1:-} folder=${2:-}
packages=(libc6-dev libelf-dev libjson-c-dev libzstd-dev libsqlite3-dev libncurses-dev liburcu-dev libbpf-dev libdw-dev
	libcmocka-dev busybox-static strace)
# Without its dependencies: only its header is needed, and it depends on python3.
alone=systemtap-sdt-dev
[ "$arch" = arm64 ] || { sed -n '3,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -n "$folder" ] || { echo "sysroot: no folder given" >&2; exit 2; }

dir=$folder/$arch
complete() {
	[ "$(cat "$dir/sysroot/packages" 2>/dev/null)" = "${packages[*]} $alone" ]
}
if complete; then
	echo "sysroot: the $arch packages are in $dir/sysroot"
	exit 0
fi

# Unpacked in a temporary folder and moved when complete, because another process may do the same.
mkdir -p "$dir"
work=$(mktemp -d "$dir/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "sysroot: unpacking Debian's $arch packages into $dir/sysroot"
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/debian.sh"
debian_begin sysroot "$arch" "$work" || exit 1
apt-get "${apt[@]}" install -y -qq --download-only --no-install-recommends "${packages[@]}" >"$work/log" 2>&1 ||
	{ tail -3 "$work/log" >&2; echo "sysroot: cannot download ${packages[*]}" >&2; exit 1; }
(cd "$work/archives" && apt-get "${apt[@]}" download -qq $alone) ||
	{ echo "sysroot: cannot download $alone" >&2; exit 1; }
for package in "$work"/archives/*.deb; do
	dpkg-deb -x "$package" "$work/root"
done
# An absolute link would lead out of the folder.
find "$work/root" -type l -lname '/*' | while read -r link; do
	ln -snfr "$work/root$(readlink "$link")" "$link"
done
echo "${packages[*]} $alone" >"$work/root/packages"
rm -rf "$dir/sysroot"
mv -T "$work/root" "$dir/sysroot" 2>/dev/null || complete ||
	{ echo "sysroot: cannot replace $dir/sysroot" >&2; exit 1; }
echo "sysroot: unpacked $(find "$work/archives" -name '*.deb' | wc -l) packages"
