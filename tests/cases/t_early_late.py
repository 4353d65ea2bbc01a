#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recording in constructors, destructors, signal handlers and libraries that are loaded and unloaded; correct times."""
import os
import re
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import check, finished, main, rounds  # noqa: E402


def constructors_and_destructors_are_recorded(case):
    """
    Writer 1 is the constructors and destructors (4 records), including those of priority 150. Writer 4 is the exit
    handler.
    """
    _, _, numbers = case.checked([case.program('early_late'), '10', '0'], lost=0)
    check(numbers.get(1) == [1, 2, 3, 4], 'constructors and destructors recorded %s, not 1 to 4', numbers.get(1))
    check(numbers.get(4) == [1], 'the exit handler recorded %s', numbers.get(4))


def signal_handler_records_every_50_us_without_loss(case):
    case.checked([case.program('early_late'), str(rounds(400000)), '50'], ['--subbuf-size', '4M'], lost=0)
    check(case.ledger.flag(0) >= 20, 'the handler had only %d turns', case.ledger.flag(0))


def check_calls(trace, turns):
    """Every fourth turn waits until its sites are enabled, so its record is in the trace."""
    called = {r.fields['turn'] for r in trace.records('plugin:called') if r.fields['wait']}
    check(called == set(range(0, turns, 4)), 'the trace has %d turns of the library, not %d', len(called),
          (turns + 3) // 4)


def library_loaded_repeatedly_is_recorded(case):
    _, trace, _ = case.checked([case.program('loader'), case.program('libplugin.so'), str(rounds(2000)), '4'],
                               ['--subbuf-size', '4M'], lost=0)
    check_calls(trace, rounds(2000))


def copies_of_a_library_are_recorded(case):
    """The same sites at the same or at other addresses; one library is loaded in place of another."""
    copies = []
    for i in range(3):
        copies.append(case.path('copy%d.so' % i))
        shutil.copy(case.program('libplugin.so'), copies[-1])
    _, trace, _ = case.checked([case.program('loader'), case.program('libplugin.so'), str(rounds(1000)), '2', *copies],
                               ['--subbuf-size', '4M'], lost=0)
    check_calls(trace, rounds(1000))


def wall_clock_of_records_is_correct(case):
    """
    Readers convert to real time: each record lies between the wall clock before the program's start and after its end.
    """
    before = time.time()
    result, trace, _ = case.checked([case.program('procs'), 'leaf', '50'], lost=0)
    after = time.time()
    for reader in ('babeltrace', 'babeltrace2'):
        text = finished([reader, '--clock-seconds', result.directory], capture_output=True, text=True).stdout
        times = [float(t) for t in re.findall(r'^\[(\d+\.\d+)\].*test:seq', text, re.M)]
        check(len(times) == 51, '%s: %d times', reader, len(times))
        check(before - 0.001 <= times[0] and times[-1] <= after + 0.001,
              '%s: records from %f to %f, program from %f to %f',
              reader, times[0], times[-1], before, after)
        check(times[-1] - times[0] < after - before, '%s: the records span more time than the program', reader)


def clock_frequency_is_correct(case):
    """
    Over half a second: the trace's clock is compared with the monotonic clock in each record, read just before it.
    """
    _, trace, _ = case.checked([case.program('busy'), 'paced', '1', '2000', '20000'], lost=0)
    records = list(trace.records('test:seq'))
    real = (records[-1].fields['mono'] - records[0].fields['mono']) / 1e9
    check(real > 0.2, 'the program ended too early for this test: %f s', real)
    # A thread may wait for a CPU between the two clock reads, so only the shortest distance of each third counts.
    third, origin = len(records) // 3, records[0]
    def moments(some):
        return [(r.time - origin.time) / trace.frequency - (r.fields['mono'] - origin.fields['mono']) / 1e9
                for r in some]
    drift = min(moments(records[-third:])) - min(moments(records[:third]))
    check(abs(drift) < 1e-3 * real / 3, 'in %f s the trace\'s clock drifted %f s from the program\'s', real, drift)


if __name__ == '__main__':
    main([
        constructors_and_destructors_are_recorded, signal_handler_records_every_50_us_without_loss,
        library_loaded_repeatedly_is_recorded, copies_of_a_library_are_recorded, wall_clock_of_records_is_correct,
        clock_frequency_is_correct
    ])
