#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Applications that are killed or stopped at any instruction of a record, in a release build: the other applications
continue to record.

t_testpoints.py does this between any two stores, in a build with a test point there. This file takes each instruction
of the restartable sequences and WMK_PLACES others (default 40, drawn with the seed). WMK_PLACES=all takes all of them,
in an hour.
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


def kill_of_one_application_does_not_affect_another(case):
    """kill -9 of one of two applications at a random moment: all records of the other one are in the trace."""
    for turn in range(rounds(100)):
        case.ledger.__init__(case.ledger.path)
        said = case.path('victim%d' % turn)
        script = '%s until 2 3000 & victim=$!; %s until 1 3000 & other=$!; echo $victim >%s; wait $victim; wait ' \
            '$other' % (
            case.program('busy'), case.program('busy'), said)
        child = case.start(['sh', '-c', script], ['--subbuf-size', '1M'])
        wait_for(lambda: case.ledger.flag(0) == 3, 'three threads to record')
        wait_for(lambda: os.path.exists(said) and slurp(said).endswith('\n'), 'the shell to print the process id')
        time.sleep(case.random.random() * 0.02)          # the moment, not a condition
        os.kill(int(slurp(said)), signal.SIGKILL)
        begun = case.ledger.begun()
        wait_for(lambda: case.ledger.begun() > begun + 2000, 'the other program to continue (turn %d)' % turn)
        case.ledger.set_flag(1, 1)
        result = case.finish(child)
        numbers = check_sequences(result.trace(), case.ledger, result.lost, killed=True)
        slots = case.ledger.read()
        alive = [w for w in slots if slots[w][0] == slots[w][1]]
        check(alive, 'no writer survived')
        if not result.lost:
            # Also of the killed writers: each record is in the trace if its call has returned.
            for w, (_, returned) in slots.items():
                check(len(numbers.get(w, [])) >= returned, 'writer %d: %d calls returned, %d records read', w, returned,
                      len(numbers.get(w, [])))


def module():
    """The file with the recording path that a test program loads."""
    text = subprocess.run(['ldd', os.path.join(PROGRAMS, 'procs')], capture_output=True, text=True).stdout
    found = re.search(r'(/\S*libwaymark\.so\S*)', text)
    return os.path.realpath(found.group(1) if found else os.path.join(PROGRAMS, 'procs'))


# The sub-buffers are small, so that about every hundredth record enters the next one.
RINGS = ['--subbuf-size', '16k', '--num-subbuf', '8']
RING = 128 << 10
# The helper thread also executes these functions, and it is not traced: a breakpoint there would end the program. (If
# records read the kernel's clock, the helper thread does so too, by the same path into the C library.)
SHARED = re.compile(r'^(wmk_ring_(syscall|back|access)|.*@plt$)')


def trap(case, records, mode, *args):
    """The output of trap.c about its own recording."""
    out = case.path('trap')
    child = case.start(['sh', '-c', 'exec "$@" >' + out, 'sh', case.program('trap'), mode, *args, '--',
                        case.program('procs'), 'trapped', str(records)], RINGS)
    case.finish(child).ok()
    return slurp(out)


def instructions(path, low, high):
    """Offsets of all instructions from `low` up to `high`, with the function of each."""
    listing = subprocess.run(['objdump', '-d', '--start-address=0x%x' % low, '--stop-address=0x%x' % high, path],
                             capture_output=True, text=True).stdout
    found, function = {}, ''
    for line in listing.splitlines():
        head = re.match(r'^[0-9a-f]+ <([^>+]+)', line)
        function = head[1] if head else function
        at = re.match(r'^\s+([0-9a-f]+):\t\S+ \S*', line)
        # objdump prints the rest of a long instruction on a line without a mnemonic.
        if at and line.count('\t') > 1:
            found[int(at[1], 16)] = function
    return found


def instruction_offsets(case):
    """The module, and offsets of instructions that records execute: those in sequences, and others (see PLACES)."""
    if os.uname().machine != 'x86_64':
        raise Skip('x86-64 only')
    if 'sanitize' in FEATURES:
        raise Skip('a sanitizer build has other instructions')
    if PERCENT < 100:
        raise Skip(
            'long runs only; short runs have the test points between all stores (t_testpoints.py)')
    need('readelf', 'objdump')
    path = module()
    name = os.path.basename(path)
    sections = subprocess.run(['readelf', '-SW', path], capture_output=True, text=True).stdout
    found = re.search(r'(\S*rseq_cs\S*|\S*wmk_seq\S*)\s+PROGBITS\s+([0-9a-f]+)\s+[0-9a-f]+\s+([0-9a-f]+)', sections)
    check(found, '%s has no descriptors of sequences', path)
    text = trap(case, 1, 'steps', name, found.group(2), found.group(3))
    stepped = {int(x, 16) for x in re.findall(r'^step (\w+)', text, re.M)}
    sequences = [(int(low, 16), int(high, 16)) for low, high in re.findall(r'^sequence (\w+) (\w+)', text, re.M)]
    check(stepped and sequences, 'no instruction of %s was stepped: %s', path, text[:300])
    inside = {}
    for low, high in sequences:
        inside.update(instructions(path, low, high))
    known = instructions(path, min(stepped), max(stepped) + 1)
    others = {at: known[at] for at in stepped - set(inside) if at in known and not SHARED.match(known[at])}
    listed = case.path('places')
    with open(listed, 'w') as f:
        f.writelines('%x\n' % at for at in sorted({**inside, **others}))
    executed = {int(x, 16) for x in re.findall(r'^reached (\w+)', trap(case, 200, 'reached', name, listed, '0'), re.M)}
    inside, others = sorted(executed & set(inside)), sorted(executed & set(others))
    entered = [low for low, high in sequences if any(low <= at < high for at in inside)]
    check(
        len(inside) > 60 and len(entered) > 2, 'records execute only %d instructions of sequences, of %d of them',
        len(inside), len(entered))
    if PLACES != 'all':
        others = sorted(case.random.sample(others, min(int(PLACES), len(others))))
    print('# %d places in %d of %d sequences, %d elsewhere' % (len(inside), len(entered), len(sequences), len(others)))
    return name, inside, others


def at_each(case, once):
    """
    Call once(module, place) for each place; it returns whether the program reached the place.

    With breakpoints at all places, sequences are aborted so often that records take paths that they rarely take
    otherwise. So once() does not reach all places again.
    """
    name, inside, others = instruction_offsets(case)
    reached = [p for p in inside + others if once(name, p)]
    print('# reached %d of %d places in sequences, %d of %d elsewhere' % (len(set(inside) & set(reached)), len(inside),
          len(set(others) & set(reached)), len(others)))
    check(len(set(inside) & set(reached)) >= len(inside) / 2, 'only %d of %d places in sequences were reached: %s',
          len(set(inside) & set(reached)), len(inside), ' '.join('%x' % p for p in reached))


def forget(case, *names):
    case.ledger.__init__(case.ledger.path)
    for name in names:
        if os.path.exists(case.path(name)):
            os.unlink(case.path(name))


@limit(100)
def kill_at_each_instruction_keeps_the_trace_complete(case):
    """The trace is complete, and another application of the same user continues to record."""
    def once(name, place):
        forget(case, 'dead')
        script = '%s until 1 20000 & "$@"; kill -0 $! || exit 98; echo done >%s; wait' % (case.program('busy'),
                                                                                          case.path('dead'))
        child = case.start(['sh', '-c', script, 'sh', case.program('trap'), 'kill', name, '%x' % place, '0', '--',
                            case.program('procs'), 'trapped', '200'], ['--subbuf-size', '16k', '--num-subbuf', '16'])
        wait_for(lambda: os.path.exists(case.path('dead')), 'the program to be killed at %x' % place)
        begun = case.ledger.begun()
        wait_for(lambda: case.ledger.begun() > begun + 500, 'the other program to continue (killed at %x)' % place)
        case.ledger.set_flag(1, 1)
        result = case.finish(child).ok()
        check_sequences(result.trace(), case.ledger, result.lost, killed=True)
        return case.ledger.flag(6)
    at_each(case, once)


@limit(100)
def writer_stopped_at_any_instruction_does_not_block_other_writers(case):
    """
    A writer is stopped in the middle of a record. The others write ten times the ring's size through a running consumer
    daemon, and lose nothing.
    """
    def once(name, place):
        forget(case, 'go', 'done')
        # The other writers run on the CPU of the stopped one and on all others. They wait for the consumer daemon,
        # which may wait for a CPU.
        output = case.path('stopped-%x' % place)
        script = '"$@" & stopped=$!; while ! [ -e %s ]; do sleep 0.01; done; %s behind 2 %d %s; echo done >%s; ' \
            'wait $stopped' % (
            case.path('go'), case.program('busy'), 5 * RING // 36 + 1,
            os.path.join(output, 'ust', 'uid', str(os.getuid()), '64-bit'), case.path('done'))
        child = case.start(['sh', '-c', script, 'sh', case.program('trap'), 'stop', name, '%x' % place, '0', '--',
                            case.program('procs'), 'trapped', '200'], RINGS, output=output)
        wait_for(lambda: case.ledger.flag(6) or case.ledger.flag(8), 'the program to be stopped at %x' % place)
        with open(case.path('go'), 'w'):
            pass
        wait_for(lambda: os.path.exists(case.path('done')), 'the other writers to end (stopped at %x)' % place, 60)
        case.ledger.set_flag(7, 1)
        result = case.finish(child).ok()
        check(result.lost == 0, '%d records lost while a writer was stopped at %x: %s', result.lost, place,
              result.summary)
        check_sequences(result.trace(), case.ledger, 0)
        return case.ledger.flag(6)
    at_each(case, once)


if __name__ == '__main__':
    print('# killing with seed %d' % SEED)
    main([
        kill_of_one_application_does_not_affect_another, kill_at_each_instruction_keeps_the_trace_complete,
        writer_stopped_at_any_instruction_does_not_block_other_writers
    ])
