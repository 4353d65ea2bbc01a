#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count test cases in the JSON logs of meson; print which failed, why, and where their output is.

usage: summary.py BUILD=LOG.json... ; BUILD=broken:LOG: the build has failed, which counts as one failure.

A test program that uses cmocka or prints TAP counts with its number of cases; any other test is one case. The last
line is "N passed, N failed", followed by ", N skipped" if some were. Exit status 1 if a case has failed.
"""
import json
import re
import sys

PASSED = re.compile(r'^\[  PASSED  \] (\d+) test', re.M)
FAILED = re.compile(r'^\[  FAILED  \] (\d+) test', re.M)
FAILED_NAME = re.compile(r'^\[  FAILED  \] (?:\S+: )?(\w+)$', re.M)
SKIPPED = re.compile(r'^\[  SKIPPED \] (\d+) test', re.M)
TAP_PLAN = re.compile(r'^1\.\.(\d+)', re.M)
TAP_OK = re.compile(r'^ok\b(?!.*# *(?:SKIP|skip))', re.M)
TAP_NOT_OK = re.compile(r'^not ok\b(?:\s+\d+)?(?:\s+-)?\s*(\w*)', re.M)
TAP_SKIP = re.compile(r'^ok\b.*# *(?:SKIP|skip)', re.M)
# Lines with the reason of a failure: of cmocka, of tests/lib/harness.py (a line begins with its case), of sanitizers.
CASE_SAYS = re.compile(r'^# (\w+): ')
SAYS_WHY = re.compile(
    r'^\[  ERROR |^\[   LINE |^# \w+: |^(?:WARNING|SUMMARY): \w+Sanitizer|^==\d+==ERROR: |runtime error: |^fail_msg')
WHY_LINES, WHY_WIDTH = 12, 300
SEED = re.compile(r'\bseed[ =:]+(0x[0-9a-f]+|\d+)', re.I)
GOOD = {'OK', 'EXPECTEDFAIL'}
SKIP = {'SKIP', 'IGNORED'}


def total(pattern, text):
    return sum(int(n) for n in pattern.findall(text))


def count(test):
    """(passed, failed, skipped) of one entry of the log."""
    text = (test.get('stdout') or '') + '\n' + (test.get('stderr') or '')
    result = test['result']
    passed, failed, skipped = total(PASSED, text), total(FAILED, text), total(SKIPPED, text)
    plan = TAP_PLAN.search(text)
    if plan:
        passed += len(TAP_OK.findall(text))
        skipped += len(TAP_SKIP.findall(text))
        # Planned cases without a result have failed.
        failed += max(len(TAP_NOT_OK.findall(text)), int(plan.group(1)) - passed - skipped)
    if result in SKIP:
        return 0, 0, 1
    if result in GOOD:
        # An expected failure counts as one passed case, regardless of the cases that it prints.
        return (1, 0, 0) if result == 'EXPECTEDFAIL' or not passed + skipped else (passed, 0, skipped)
    return passed, max(failed, 1), skipped


def why(text, names):
    """The last lines that have the reason of a failure, without those of other cases; if there are none (the test was
    killed), the last lines of the output."""
    lines = [line for line in text.splitlines() if SAYS_WHY.search(line)]
    of_failed = [line for line in lines if not names or not (case := CASE_SAYS.match(line)) or case[1] in names]
    return [line[:WHY_WIDTH] for line in (of_failed or [line for line in text.splitlines() if line])[-WHY_LINES:]]


def main(args):
    sums = [0, 0, 0]
    failures = []
    for arg in args:
        build, _, log = arg.partition('=')
        if log.startswith('broken:'):
            sums[1] += 1
            failures.append((build, 'the build itself', 'broken', [], [], log[len('broken:'):]))
            continue
        n = 0
        with open(log, encoding='utf-8', errors='replace') as lines:
            for line in lines:
                test = json.loads(line)
                n += 1
                sums = [a + b for a, b in zip(sums, count(test))]
                text = (test.get('stdout') or '') + '\n' + (test.get('stderr') or '')
                if test['result'] not in GOOD | SKIP:
                    names = list(dict.fromkeys(FAILED_NAME.findall(text) + TAP_NOT_OK.findall(text)))
                    says = [f'seed {seed}' for seed in dict.fromkeys(SEED.findall(text))] + why(text, names)
                    failures.append(
                        (build, test['name'], test['result'].lower(), names, says, log.replace('.json', '.txt')))
        if n == 0:
            sums[1] += 1
            failures.append((build, 'no test ran', 'broken', [], [], log))
    for build, name, result, names, says, log in failures:
        print(f'FAILED {build}: {name} ({result})' + (': ' + ', '.join(names) if names else ''))
        for line in says:
            print('       ' + line)
        print(f'       see {log}')
    line = f'{sums[0]} passed, {sums[1]} failed'
    if sums[2]:
        line += f', {sums[2]} skipped'
    print(line)
    return 1 if sums[1] or not sums[0] else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
