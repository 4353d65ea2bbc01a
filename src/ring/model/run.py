#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Verifies one Promela model of the ring. A search of all states must find no error in the correct variants. The broken
variants must fail with their named assertion.

    run.py MODEL.pml [VARIANT...]

variants.txt lists the variants. A correct variant passes if the search is complete (never truncated) and finds no
error. Each statement of the model must be reached by some correct variant. Statements that only a bug can reach are
marked `never:`. A broken variant passes only if its named assertion fails, and no other. Another assertion, a deadlock,
a model that does not compile, or an incomplete search is a failure. Exit status 0, 1, or 77 if spin is not installed.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
MAX_DEPTH = 2_000_000
LIMIT_S = 240          # of one search; on an idle machine a search takes seconds
MEMORY_MB = 1500
# Not optimised: the compiler would take longer than all the searches save. clang needs half of gcc's time.
COMPILER = "clang" if shutil.which("clang") else "gcc"


def load_table(model):
    """The rows of `model` in variants.txt: (name, defines, name of the assertion that must fail or None)."""
    rows = []
    for number, line in enumerate((HERE / "variants.txt").read_text().splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        columns = [c.strip() for c in line.split("|")]
        if len(columns) != 4:
            raise SystemExit(f"variants.txt:{number}: wants 4 columns: model | variant | outcome | defines")
        if columns[0] == model:
            outcome = columns[2]
            rows.append((columns[1], columns[3].split(), None if outcome == "holds" else outcome))
    return rows


def search(model, defines, folder):
    """Build and run the verifier. Returns pan's output and its list of states; raises RuntimeError with a message on
    failure or timeout."""
    for source in HERE.glob("*.pml"):
        shutil.copy(source, folder)
    flags = [f"-D{d}" for d in defines]
    for command in (["spin", *flags, "-a", model],
                    [COMPILER, "-O0", "-w", "-DSAFETY", f"-DMEMLIM={MEMORY_MB}", "-DVECTORSZ=2048",
                     "-o", "pan", "pan.c"]):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    try:
        done = subprocess.run(["./pan", f"-m{MAX_DEPTH}"], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        listing = subprocess.run(["./pan", "-d", "-d"], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the search took more than {LIMIT_S} s") from None
    return done.stdout + done.stderr, listing.stdout


def unreached(output, listing):
    """Statements that the search did not reach in any expansion of their inline or macro, as (file, line, text)."""
    states = set()
    for block in re.split(r"^STEP \d+ ", listing, flags=re.M)[1:]:
        name = block.split(maxsplit=1)[0]
        states.update(
            (name, *found) for found in re.findall(r"^\tstate +(\d+) .*? (\S+\.pml):(\d+) => (.*)$", block, re.M))
    expansions = Counter((f, int(n), text) for _, _, f, n, text in states)
    missed = Counter((f, int(n), text) for f, n, text in
                     re.findall(r"^\t(\S+\.pml):(\d+), state \d+, \"(.*)\"$", output, re.M))
    return {s for s, n in missed.items() if s[2] != "-end-" and n >= expansions[s]}


def excused(statement):
    lines = (HERE / statement[0]).read_text().splitlines()
    return "never:" in lines[statement[1] - 1]


def verdict(output, expected):
    """None if the outcome is the expected one, else a description of the difference."""
    errors = re.search(r"errors: (\d+)", output)
    if errors is None:
        return "no result"
    for sign in ("max search depth too small", "Search not completed", "out of memory", "memory limit", "VECTORSZ"):
        if sign in output and not (expected and sign == "Search not completed"):
            return f"the search is not complete: {sign}"
    failed = re.findall(r"^pan:\d+: (.*) \(at depth", output, re.M)
    if expected is None:
        return None if errors.group(1) == "0" and not failed else f"fails: {failed}"
    named = [re.fullmatch(r"assertion violated\s+ ?!\(?\s*(\w+)\s*\)?", f) for f in failed]
    if len(failed) == 1 and named[0] and named[0].group(1) == expected:
        return None
    return f"must fail with {expected}, but " + (f"fails with {failed}" if failed else "holds")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    if not shutil.which("spin"):
        print("spin is not installed: models not checked")
        return 77
    model, wanted = sys.argv[1], set(sys.argv[2:])
    rows = [r for r in load_table(model) if not wanted or r[0] in wanted]
    if not rows or not any(r[2] for r in rows) and not wanted:
        raise SystemExit(f"{model}: no variants, or none that is broken, in variants.txt")
    passed = failed = 0
    never_reached = None
    for name, defines, expected in rows:
        started = time.monotonic()
        states = "?"
        with tempfile.TemporaryDirectory(prefix="wmk-model-") as folder:
            try:
                output, listing = search(model, defines, folder)
                wrong = verdict(output, expected)
                found = re.search(r"^\s*(\S+) states, stored", output, re.M)
                states = found.group(1) if found else "?"
                if expected is None and wrong is None:
                    missed = unreached(output, listing)
                    never_reached = missed if never_reached is None else never_reached & missed
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                wrong = str(error)
        outcome = "holds" if expected is None else f"fails: {expected}"
        took = time.monotonic() - started
        print(f"{'ok  ' if wrong is None else 'FAIL'} {model[:-4]} {name}: {outcome} ({states} states, {took:.1f} s)",
              flush=True)
        if wrong is None:
            passed += 1
        else:
            failed += 1
            print(f"     {wrong}")
    left = sorted(s for s in never_reached or () if not excused(s))
    if left and not wanted:
        failed += 1
        for source, line, text in left:
            print(f"FAIL {source}:{line}: no correct variant reaches \"{text}\"")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
