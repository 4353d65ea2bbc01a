#!/bin/bash
# SPDX-License-Identifier: MIT
# Run whole-program cases of this tree with the binaries of an earlier version. Cases for corrected faults fail there.
#
#   scripts/against.sh 0.2                    the cases of tests/against/0.2.txt
#   scripts/against.sh 0.2 FILE[:CASE] ...    FILE is tests/cases/t_FILE.py; without :CASE, all its cases
#
# The version is built in build-against/VERSION from a checkout of its commit. New or changed test programs are compiled
# with the headers and the library of that version. If a program does not compile, that is reported, and its cases fail.
# Exit status: 0 if all cases that ran are "not ok", else 1.
set -uo pipefail
cd "$(dirname "$0")/.."

declare -A commits=([0.2]=d980985f4f65e2d024b5c6fcdb296e87ab46db58)

usage() { sed -n '3,10s/^# \{0,1\}//p' "$0"; }
case ${1:-} in -h | --help) usage; exit 0 ;; esac
[ $# -ge 1 ] || { usage >&2; exit 2; }
version=$1 commit=${commits[$1]:-}
shift
[ -n "$commit" ] || { echo "against: unknown version '$version' (known: ${!commits[*]})" >&2; exit 2; }

[ $# -gt 0 ] || mapfile -t listed < <(grep -v '^#' "tests/against/$version.txt")
[ $# -gt 0 ] || set -- "${listed[@]}"

top=$PWD tree=$PWD/build-against/$version
build=$tree/build
if [ ! -d "$tree" ]; then
	mkdir -p "$tree" && git archive "$commit" | tar -x -C "$tree" ||
		{ echo "against: cannot check out $commit (shallow clones lack it)" >&2; rm -rf "$tree"; exit 1; }
fi
if [ ! -f "$build/build.ninja" ]; then
	meson setup "$build" "$tree" -Dtests=enabled --buildtype=release >"$tree/log" 2>&1 ||
		{ echo "against: cannot configure version $version (see $tree/log)" >&2; exit 1; }
fi
ninja -C "$build" >"$tree/log" 2>&1 ||
	{ echo "against: cannot build version $version (see $tree/log)" >&2; exit 1; }

# Test programs of this tree that differ from those of the version.
for source in tests/programs/*.c tests/programs/*.cc; do
	file=${source##*/}
	cmp -s "$source" "$tree/tests/programs/$file" && continue
	compiler="cc -std=gnu11"
	[ "${file##*.}" = cc ] && compiler="c++ -std=c++20"
	# shellcheck disable=SC2086 # a compiler and its arguments
	$compiler -O2 -g -D_GNU_SOURCE -I"$tree/include" -I"$tree/src" -Itests/programs "$source" \
		-o "$build/tests/${file%.*}" -L"$build/src/tracer" -lwaymark -Wl,-rpath,"$build/src/tracer" -lpthread \
		-ldl >"$build/tests/$file.log" 2>&1 && continue
	why=$(grep -m1 -E 'error|undefined' "$build/tests/$file.log")
	echo "# $file does not compile with $version: $why"
	rm -f "$build/tests/${file%.*}"
done

export WMK_WAYMARK=$build/src/cli/waymark WMK_PROGRAMS=$build/tests WMK_BUILD=$build LC_ALL=C.UTF-8
export WMK_SESSIOND=$build/src/daemons/waymark-sessiond WMK_SCRATCH=$build/tests/scratch
ran=0 failed=0
for wanted; do
	file=${wanted%%:*} case=
	[[ $wanted == *:* ]] && case=${wanted#*:}
	[ -f "tests/cases/t_$file.py" ] || { echo "against: no file tests/cases/t_$file.py" >&2; exit 2; }
	output=$(python3 "$top/tests/cases/t_$file.py" $case 2>&1)
	grep -qE '^(ok|not ok) ' <<<"$output" || { echo "against: $wanted ran no case" >&2; exit 2; }
	grep -E '^(ok|not ok) ' <<<"$output" | sed "s/^/$file: /"
	ran=$((ran + $(grep -cE '^(ok|not ok) ' <<<"$output")))
	failed=$((failed + $(grep -c '^not ok ' <<<"$output")))
done
echo "against $version: $failed of $ran cases are not ok"
[ "$ran" -gt 0 ] && [ "$failed" -eq "$ran" ]
