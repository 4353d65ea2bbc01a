#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that are killed, or stopped, at any instruction of a record as it is released: the rest records on.

t_points.py does so between any two stores, in a build that has a test point there. Here it is each instruction of the sequences, and
WMK_PLACES others (40; those of a round are drawn by the seed), or all of them: WMK_PLACES=all, which takes an hour.
"""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import (FEATURES, PERCENT, PROGRAMS, SEED, Skip, check, check_sequences, limit, main, need, rounds,
                     # noqa: E402
                     slurp, wait_for)

PLACES = os.environ.get('WMK_PLACES', '40')
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


def killed_at_random(case):
    """kill -9 at a random moment, one program of two; the other one's records are all there."""
    for turn in range(rounds(100)):
        case.board.__init__(case.board.path)
        script = '%s until 2 3000 & victim=$!; %s until 1 3000 & other=$!; echo $victim >%s; wait $victim; wait $other' % (
            case.program('busy'), case.program('busy'), case.path('victim'))
        child = case.start(['sh', '-c', script], ['--subbuf-size', '1M'])
        wait_for(lambda: case.board.flag(0) == 3, 'three threads to record')
        time.sleep(case.random.random() * 0.02)          # the moment, not a condition
        victim = int(slurp(case.path('victim')))
        os.kill(victim, signal.SIGKILL)
        begun = case.board.begun()
        wait_for(lambda: case.board.begun() > begun + 2000, 'the other program to record on (turn %d)' % turn)
        case.board.set_flag(1, 1)
        result = case.finish(child)
        numbers = check_sequences(result.trace(), case.board, result.lost, killed=True)
        slots = case.board.read()
        alive = [w for w in slots if slots[w][0] == slots[w][1]]
        check(alive, 'no writer survived')
        if not result.lost:
            # Of the killed too: everything that had returned is there.
            for w, (_, returned) in slots.items():
                check(len(numbers.get(w, [])) >= returned, 'writer %d: %d returned, %d read', w, returned,
                      len(numbers.get(w, [])))


def module():
    """The file that holds the recording path, as a test program loads it."""
    text = subprocess.run(['ldd', os.path.join(PROGRAMS, 'procs')], capture_output=True, text=True).stdout
    found = re.search(r'(/\S*libwaymark\.so\S*)', text)
    return os.path.realpath(found.group(1) if found else os.path.join(PROGRAMS, 'procs'))


def places(case):
    """Offsets of all instructions that a record executes: stepped, and within the sequences that it entered."""
    if os.uname().machine != 'x86_64':
        raise Skip('x86-64 only')
    if 'sanitize' in FEATURES:
        raise Skip('a sanitizer build has other instructions')
    if PERCENT < 100:
        raise Skip('instructions are for the long run; the short one has the test points between all stores (t_points.py)')
    need('readelf', 'objdump')
    path = module()
    sections = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True).stdout
    found = re.search(r'(\S*rseq_cs\S*|\S*wmk_seq\S*)\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)', sections)
    section, size = (found.group(2), found.group(3)) if found else ('0', '0')
    out = case.path('steps')
    with open(out, 'w') as f:
        # Its own recording: where the instructions are does not depend on it.
        child = case.start(['sh', '-c', 'exec "$@" >' + out, 'sh', case.program('trap'), 'steps',
                            os.path.basename(path), section, size,
                            '--', case.program('procs'), 'trapped', '1'])
    case.finish(child).ok()
    text = slurp(out)
    stepped = {int(x, 16) for x in re.findall(r'^step (\w+)', text, re.M)}
    inside = set()
    for begin, end in re.findall(r'^sequence (\w+) (\w+)', text, re.M):
        low, high = int(begin, 16), int(end, 16)
        # Only those that a record comes to: its first instruction is where the step stands before the abort.
        if low not in stepped:
            continue
        listing = subprocess.run(['objdump', '-d', '--start-address=0x%x' % low, '--stop-address=0x%x' % (high + 1),
                                  path],
                                 capture_output=True, text=True).stdout
        inside |= {int(x, 16) for x in re.findall(r'^\s+([0-9a-f]+):\t', listing, re.M)}
    check(inside, 'the record entered none of the sequences of %s: %s', path, text[:300])
    check(stepped, 'not one instruction of %s was stepped: %s', path, text[:300])
    others = sorted(stepped - inside)
    if PLACES != 'all':
        others = sorted(case.random.sample(others, min(int(PLACES), len(others))))
    return os.path.basename(path), others, sorted(inside)


@limit(100)
def killed_at_every_instruction(case):
    name, stepped, inside = places(case)
    reached = 0
    for place in inside + stepped:
        case.board.__init__(case.board.path)
        script = '%s until 1 20 & "$@"; kill -0 $! || exit 98; echo done >%s; wait' % (case.program('busy'),
                case.path('dead'))
        if os.path.exists(case.path('dead')):
            os.unlink(case.path('dead'))
        child = case.start(['sh', '-c', script, 'sh', case.program('trap'), 'kill', name, '%x' % place,
                            str(case.random.randrange(3)), '--',
                            case.program('procs'), 'trapped', '200'], ['--subbuf-size', '64k'])
        wait_for(lambda: os.path.exists(case.path('dead')), 'the program to be killed at %x' % place)
        begun = case.board.begun()
        wait_for(lambda: case.board.begun() > begun + 500, 'the other program to record on (killed at %x)' % place)
        case.board.set_flag(1, 1)
        result = case.finish(child).ok()
        reached += case.board.flag(6)
        check_sequences(result.trace(), case.board, result.lost, killed=True)
    check(reached > 0, 'not one place was reached')
    print('# killed at %d places, %d of them in sequences known' % (reached, len(inside)))


@limit(100)
def stopped_at_every_instruction(case):
    """A writer stopped in the middle of a record: the others write ten rings' worth through a running consumer, none lost."""
    name, stepped, inside = places(case)
    ring = 4 * (64 << 10)
    reached = 0
    for place in inside + stepped:
        case.board.__init__(case.board.path)
        each = 10 * ring // 36 + 1
        # The others on the CPU of the stopped one, and on all others.
        script = '"$@" & stopped=$!; while ! [ -e %s ]; do sleep 0.01; done; %s paced 2 %d 500; echo done >%s; wait $stopped' % (
            case.path('go'), case.program('busy'), each, case.path('done'))
        for leftover in ('go', 'done'):
            if os.path.exists(case.path(leftover)):
                os.unlink(case.path(leftover))
        child = case.start(['sh', '-c', script, 'sh', case.program('trap'), 'stop', name, '%x' % place, '0', '--',
                            case.program('procs'), 'trapped', '50'], ['--subbuf-size', '64k', '--num-subbuf', '4'])
        wait_for(lambda: case.board.flag(6) or (case.board.begun() >= 100), 'the program to be stopped at %x' % place)
        with open(case.path('go'), 'w'):
            pass
        wait_for(lambda: os.path.exists(case.path('done')), 'the others to record on (stopped at %x)' % place, 60)
        case.board.set_flag(7, 1)
        result = case.finish(child).ok()
        reached += case.board.flag(6)
        check(result.lost == 0, '%d records lost while a writer was stopped at %x', result.lost, place)
        check_sequences(result.trace(), case.board, 0)
    check(reached > 0, 'not one place was reached')


if __name__ == '__main__':
    print('# killing with seed %d' % SEED)
    main([killed_at_random, killed_at_every_instruction, stopped_at_every_instruction])
