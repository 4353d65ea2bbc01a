# SPDX-License-Identifier: MIT
# debian.sh - download Debian packages of another architecture. Sourced by kernel.sh and sysroot.sh.
#
# Nothing is installed. The package lists and the package database of this machine are neither read nor changed. It does
# not need root privileges.
# shellcheck shell=bash

# debian_begin NAME ARCH WORK: download the package lists into the folder WORK, and set the array `apt` to the options
# that apt-get and apt-cache need to use them. NAME is the prefix of messages.
debian_begin() {
	local name=$1 arch=$2 work=$3 tool
	for tool in apt-get apt-cache dpkg-deb; do
		command -v $tool >/dev/null ||
			{ echo "$name: $tool is not installed (this needs Debian)" >&2; return 1; }
	done
	mkdir -p "$work/lists/partial" "$work/archives/partial"
	work=$(realpath "$work")
	: >"$work/status"
	apt=(-o "Dir::State::Lists=$work/lists" -o "Dir::State::status=$work/status" -o "Dir::Cache::pkgcache="
		-o "Dir::Cache::srcpkgcache=" -o "Dir::Cache::archives=$work/archives" -o "APT::Architecture=$arch"
		-o "APT::Architectures=$arch" -o "APT::Sandbox::User=root" -o "Debug::NoLocking=1"
		-o "Acquire::Languages=none")
	apt-get "${apt[@]}" update -qq || { echo "$name: cannot download the package lists" >&2; return 1; }
}
