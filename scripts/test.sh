#!/bin/bash
# SPDX-License-Identifier: MIT
# Install missing packages, build in several configurations, and run all tests.
#
#   scripts/test.sh                  a tenth of the rounds: at most 15 minutes on two CPUs
#   scripts/test.sh --long           all rounds, and aarch64 in an emulated machine: more than an hour
#   scripts/test.sh --only NAME...   only some of the builds below
#   scripts/test.sh --suite NAME...  only some of the suites, in all builds that run them; with --long, all their rounds
#   scripts/test.sh --no-setup       do not check for missing packages
#
# Builds are kept in build-tests/NAME. The last line is "N passed, N failed": test cases of all builds.
set -uo pipefail
cd "$(dirname "$0")/.."

# name | options of meson | test setup | suites of the short run (empty: all; -NAME: without NAME); --long runs more
#
# Tests that do not depend on the configuration, or compile their programs themselves, run once: models, the tree, the
# header matrix. Each build runs the suites that only it can make fail:
#   no-rseq      the rings (suite ring-claims), and everything that records
#   tsan         without sequences, too: code with threads and without assembly
#   testpoints   built by clang: also the suites of code that clang may compile differently
#
# --long runs all rounds in gcc-release; in testpoints, those of the suites that need it. Then no-rseq, the release
# build of clang and the sanitizers run all suites that they can make fail, with a tenth of the rounds. The short run
# has a tenth of the rounds. In it, the slow sanitizers run a twentieth or less, and of the tests of whole programs only
# those of hostile processes and restarted daemons.
sanitized="--buildtype=debug -Doptimization=1 -Db_lundef=false"
builds=(
	"gcc-release|--buildtype=release||-ring-claims"
	"testpoints|--buildtype=debugoptimized -Dtestpoints=true -Dfuzz=false||$(
		echo base schema wire ring ctf store read tracer ctl cli session testpoints)"
	"no-rseq|--buildtype=release|norseq|ring tracer threads"
	"asan|$sanitized -Db_sanitize=address,undefined -Dfuzz=false|asan|$(
		echo -model -tree -front -machines -builds -threads -ring-claims \
			-view -tests-kernel -tests -tests-daemon)"
	"tsan|$sanitized -Db_sanitize=thread|tsan|$(
		echo ring store consumer ctl session tracer-threads daemons tests-hostile tests-restart)"
)
declare -A share=([no-rseq]=gcc-release)
all_rounds=" gcc-release testpoints "

long=0 setup=1 only=() wanted=()
while [ $# -gt 0 ]; do
	case $1 in
	--long) long=1 ;;
	--no-setup) setup=0 ;;
	--only) shift; while [ $# -gt 0 ] && [[ $1 != --* ]]; do only+=("$1"); shift; done; continue ;;
	--suite) shift; while [ $# -gt 0 ] && [[ $1 != --* ]]; do wanted+=("$1"); shift; done; continue ;;
	-h | --help) sed -n '3,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
	*) echo "test: unknown argument '$1'" >&2; exit 2 ;;
	esac
	shift
done

# known_suites: print all suites of the meson.build files, a line each. In `suite = ...` and loops, omit strings that
# only select among them.
known_suites() {
	{
		grep -rhoE "suite'?: ('[a-z-]+'|\[[^]]*\])" --include=meson.build src tests
		grep -rhoE "(suite =|suites :).*" --include=meson.build src tests |
			sed -E "s/(== )'[^']*'|'[^']*':/\1/g"
	} | grep -oE "'[a-z-]+'" | tr -d "'" | sort -u
}

# A misspelt suite would be skipped without an error.
if [ ${#wanted[@]} -gt 0 ]; then
	known=$(known_suites)
	for suite in "${wanted[@]}"; do
		grep -qxF -- "$suite" <<<"$known" ||
			{ echo "test: unknown suite '$suite' (known: ${known//$'\n'/ })" >&2; exit 2; }
	done
fi

# Tests must not depend on the user's environment, nor use a session daemon that is running.
unset WAYMARK_RUNDIR WAYMARK_TRACE_DIR WAYMARK_DISABLE WAYMARK_REGISTER_TIMEOUT WAYMARK_CLOCK_PLUGIN GLIBC_TUNABLES
export LC_ALL=C.UTF-8

started=$SECONDS
[ $long = 1 ] && builds+=("clang|--buildtype=release -Dfuzz=false||-model -tree -front -machines")
if [ $setup = 1 ]; then
	args=()
	[ $long = 1 ] && args+=(--long)
	scripts/setup.sh "${args[@]}" ||
		{ echo "test: scripts/setup.sh failed (--no-setup skips it)"; echo "0 passed, 1 failed"; exit 1; }
fi

# suites_to_run SUITE|-SUITE...: print the suites that a build runs, a line each; with --suite, only those.
suites_to_run() {
	local suite
	if [ ${#wanted[@]} -eq 0 ]; then
		[ $# -eq 0 ] || printf '%s\n' "$@"
		return
	fi
	# A build lists either the suites that it runs, or those that it does not run.
	for suite in "${wanted[@]}"; do
		case " $* " in
		*" -$suite "*) ;;
		"  " | " -"* | *" $suite "*) printf '%s\n' "$suite" ;;
		esac
	done
}

# run_group GROUP PROCESSES: run the tests of a group (scripts/needed.py) in the current build. Call it in a subshell,
# which it ends.
run_group() {
	local tests stuck=$PWD/$dir/meson-logs/stuck-$name-$1.txt
	mapfile -t tests < <(scripts/needed.py --tests "$1" "$dir" "${chosen_suites[@]}")
	[ ${#tests[@]} -gt 0 ] || exit 0
	WMK_ROUNDS_PERCENT=$rounds WMK_LONG=$extra exec python3 scripts/stuck.py "$dir" "$multiplier" "$stuck" \
		meson test -C "$dir" "${args[@]}" --num-processes "$2" --logbase "testlog-$name-$1" "${tests[@]}" \
		>"build-tests/$name-$1.log" 2>&1
}

# collect: add the logs of the current build to the results, and print the threads of tests that ran out of time.
collect() {
	local group json ran=${#results[@]}
	for group in beside kernel alone; do
		[ -e "build-tests/$name-$group.log" ] || continue
		# A test setup adds its name to the name of the log.
		json=$(ls "$dir/meson-logs/testlog-$name-$group"*.json 2>/dev/null | head -1)
		results+=("$name=${json:-broken:build-tests/$name-$group.log}")
	done
	[ ${#results[@]} -gt "$ran" ] || results+=("$name=broken:$log")
	cat "$dir/meson-logs/stuck-$name-"* 2>/dev/null | cut -c1-200 | head -300
}

mkdir -p build-tests
chosen=()
for build in "${builds[@]}"; do
	name=${build%%|*}
	if [ ${#only[@]} -gt 0 ] && [[ " ${only[*]} " != *" $name "* ]]; then continue; fi
	chosen+=("$build")
	rm -f "build-tests/$name.made"
done

# make_build BUILD SHARE: build it, and write "good" or "bad" to build-tests/NAME.made.
make_build() {
	local name options suites dir log made=good needed= c=gcc cxx=g++
	IFS='|' read -r name options _ suites <<<"$1"
	dir=build-tests/${2:-$name} log=build-tests/$name.log
	case $name in testpoints | clang) c=clang cxx=clang++ ;; esac
	: >"$log"
	if [ ! -f "$dir/build.ninja" ]; then
		# shellcheck disable=SC2086 # options are several words
		CC=$c CXX=$cxx meson setup "$dir" --werror -Dtests=enabled $options >"$log" 2>&1 || made=bad
	fi
	# The short run builds only the files that its tests need; gcc-release builds all.
	if [ $made = good ] && [ "$long" = 0 ] && [ "$name" != gcc-release ] && [ -z "$2" ]; then
		# shellcheck disable=SC2086 # suites are several words
		needed=$(scripts/needed.py "$dir" $suites 2>>"$log") || made=bad
	fi
	# shellcheck disable=SC2086 # files are several words
	[ $made = good ] && { ninja -C "$dir" $needed >>"$log" 2>&1 || made=bad; }
	echo $made >"build-tests/$name.made"
}

# Make one build after the other while the tests of previous builds run, which wait most of the time. The builds only
# get idle CPU time, also if the scheduler groups processes by session (autogroup).
export long
export -f make_build
for build in "${chosen[@]}"; do
	printf '%s\n%s\n' "$build" "${share[${build%%|*}]:-}"
done | setsid bash -c '
	echo 19 2>/dev/null >"/proc/$$/autogroup"
	chrt --idle --pid 0 $$
	while read -r build && read -r share; do make_build "$build" "$share"; done' 2>/dev/null &
builder=$! chain= chains=()
trap 'kill -- -$builder "${chains[@]}" 2>/dev/null' EXIT

# prepare BUILD: set the variables for its tests. Returns 1 if it has no tests to run.
prepare() {
	IFS='|' read -r name options env suites <<<"$1"
	dir=build-tests/${share[$name]:-$name}
	log=build-tests/$name.log
	# WMK_LONG enables tests that the short run omits.
	if [ $long = 1 ] && [[ $all_rounds == *" $name "* ]]; then
		rounds=${WMK_ROUNDS_PERCENT:-100} extra=1
	else
		rounds=${WMK_ROUNDS_PERCENT:-10} extra=
		case $long:$name in
		0:asan) rounds=${WMK_ROUNDS_PERCENT:-5} ;;
		0:tsan) rounds=${WMK_ROUNDS_PERCENT:-3} ;;
		esac
	fi
	# Many tests wait most of the time. With all rounds, some need all CPUs.
	processes=$(nproc)
	case $long:$name in 0:* | 1:asan | 1:tsan) processes=$((processes + 1)) ;; esac
	[ $long = 1 ] && multiplier=10 || multiplier=4
	args=(--no-rebuild --timeout-multiplier $multiplier)
	[ -n "$env" ] && args+=(--setup "$env")
	case $long:$name in
	1:gcc-release) suites= ;;
	1:no-rseq | 1:asan) suites="-model -tree -front -machines" ;;
	1:tsan) suites+=" tests tests-daemon threads tests-kernel" ;;
	esac
	# shellcheck disable=SC2086 # suites are several words
	mapfile -t chosen_suites < <(suites_to_run $suites)
	[ ${#wanted[@]} -eq 0 ] || [ ${#chosen_suites[@]} -gt 0 ]
}

results=() tested=()
for build in "${chosen[@]}"; do
	prepare "$build" && some=1 || some=0
	begun=$SECONDS
	printf '== %s: building' "$name"
	while [ ! -s "build-tests/$name.made" ] && kill -0 $builder 2>/dev/null; do sleep 0.2; done
	if [ "$(cat "build-tests/$name.made" 2>/dev/null)" != good ]; then
		printf ' FAILED\n'
		grep -E 'error|warning|FAILED|ERROR' "$log" | head -20
		echo "   see $log"
		results+=("$name=broken:$log")
		continue
	fi
	if [ $some = 0 ]; then
		printf ', none of these suites\n'
		continue
	fi
	printf ', testing'
	rm -f "build-tests/$name-"*.log "$dir/meson-logs/testlog-$name-"* "$dir/meson-logs/stuck-$name-"*
	# Tests that record the kernel exclude each other, and wait most of the time. In the short run all other tests
	# run in parallel with them, also those of the next builds.
	(
		while [ -n "$chain" ] && kill -0 "$chain" 2>/dev/null; do sleep 0.5; done
		run_group kernel 1
	) &
	chain=$!
	chains+=($chain)
	[ $long = 1 ] && wait $chain
	(run_group beside "$processes")
	printf ', rounds %s %% (%d s)\n' "$rounds" $((SECONDS - begun))
	tested+=("$build")
done
begun=$SECONDS
[ -z "$chain" ] || wait "$chain"
chains=()
printf '== remaining kernel tests (%d s)\n' $((SECONDS - begun))
begun=$SECONDS
for build in "${tested[@]}"; do
	prepare "$build"
	(run_group alone 1)
	collect
done
printf '== tests that need the whole machine (%d s)\n' $((SECONDS - begun))

# Suites that no build runs have not passed.
[ ${#results[@]} -gt 0 ] || { echo "test: no build runs ${wanted[*]:-anything}"; echo "0 passed, 1 failed"; exit 1; }
echo "== $((SECONDS - started)) s"
exec python3 scripts/summary.py "${results[@]}"
