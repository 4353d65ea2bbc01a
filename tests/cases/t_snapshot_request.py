#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs request snapshots with waymark_snapshot(); the requests outlive the programs."""
import glob
import mmap
import os
import signal
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import PERCENT, check, limit, main  # noqa: E402
from traces import Trace, metadata_text  # noqa: E402

SLOT = 384                                                    # of the header of a ring set (src/ring/layout.h)


def recorder(w, name, *more, channel=()):
    w('create', name, '--snapshot', '-o', w.case.path(name), *more)
    w('enable-channel', '-s', name, 'app', '--subbuf-size', 16384, '--num-subbuf', 8, *channel)
    w('enable-event', '-s', name, '-c', 'app', 'test:*')
    w('start', name)


def requested(w, name, reason):
    """Wait for the snapshot of this reason. Returns (its trace, the environment of the trace)."""
    def texts():
        return [(p, ''.join(metadata_text(p))) for p in glob.glob('%s/%s-*' % (w.case.path(name), reason))]
    w.wait(lambda: any('snapshot_overwritten' in text for _, text in texts()), 'the snapshot "%s"' % reason)
    (path, text), = texts()
    return Trace(path), text


def numbers(trace):
    return sorted(r.fields['seq'] for r in trace.records('test:seq'))


def omitted(w, name):
    return w.session(name)['snapshots_omitted']


@limit(120)
def application_can_request_a_snapshot(case):
    with World(case) as w:
        recorder(w, 'fr')
        recorder(w, 'second')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 300')
        program('snapshot disk.full')
        for name in 'fr', 'second':
            trace, text = requested(w, name, 'disk.full')
            check(numbers(trace) == list(range(1, 301)), '%s: %d records', name, trace.count())
            for entry in ('snapshot_reason = "disk.full"', 'snapshot_program = "scripted"',
                          'snapshot_pid = %d;' % program.pid):
                check(entry in text, '%s is missing: %s', entry, text[:2000])
        check(omitted(w, 'fr') == 0, 'omitted before a second request')
        program('handler again')                              # a second request within 10 s
        w.wait(lambda: omitted(w, 'fr') == 1 and omitted(w, 'second') == 1, 'the request to be counted')
        w('list', 'fr').prints('1 snapshot request of applications was not served')
        check(len(os.listdir(case.path('fr'))) == 1, 'snapshots: %s', os.listdir(case.path('fr')))
        if PERCENT >= 100:                                    # a request after 10 s
            def is_served():
                program.send('handler later')
                program.answer()                              # "no": the previous request is not served yet
                return glob.glob(case.path('fr') + '/later-*')
            w.wait(is_served, 'a snapshot after the pause')
            trace, _ = requested(w, 'fr', 'later')
            check(trace.count() >= 300, '%d records', trace.count())
        for name in 'fr', 'second':
            w('destroy', name)
        program.send('snapshot none')                         # a program without a flight recorder
        check(program.answer().startswith('no'), 'a request without a flight recorder')
        program.end()


@limit(120)
def snapshot_request_from_a_signal_handler_is_served(case):
    with World(case) as w:
        recorder(w, 'fr')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 50')
        program('handler a/b')
        trace, text = requested(w, 'fr', 'a_b')
        check(trace.count() >= 50 and 'snapshot_reason = "a/b"' in text, 'its environment: %s', text[:2000])
        program.end()
        w('destroy', 'fr')


@limit(120)
def snapshot_request_is_served_after_its_process_ended(case):
    with World(case) as w:
        recorder(w, 'fr')
        recorder(w, 'own', channel=['--buffers-pid'])
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 200')
        for pid in w.sessiond(), w.consumerd():               # no daemon can react before the process ends
            os.kill(pid, signal.SIGSTOP)
        stopped = w.sessiond(), w.consumerd()
        program.send('dying last')
        w.wait_end(program.child, status=-signal.SIGABRT)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        for name in 'fr', 'own':
            trace, _ = requested(w, name, 'last')
            check(numbers(trace) == list(range(1, 201)), '%s: %s', name, numbers(trace)[-3:])
        for name in 'fr', 'own':
            w('destroy', name)


@limit(120)
def snapshot_request_is_served_after_both_daemons_restarted(case):
    with World(case) as w:
        recorder(w, 'fr')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 100')
        daemons = w.sessiond(), w.consumerd()
        for pid in daemons:
            os.kill(pid, signal.SIGSTOP)
        program('heir_dying child')                           # the child has not registered
        for pid in daemons:
            os.kill(pid, signal.SIGKILL)
        w.wait(lambda: not set(daemons) & set(w.daemons()), 'the daemons to end')
        w('list')
        w.wait_apps([program.pid])
        trace, _ = requested(w, 'fr', 'child')
        check(numbers(trace) == list(range(1, 101)), '%d records', trace.count())
        program.end()
        w('destroy', 'fr')


@limit(120)
def corrupt_snapshot_request_does_not_affect_the_daemons(case):
    with World(case) as w:
        os.mkdir(case.path('rings'))
        recorder(w, 'fr', '--shm-path', case.path('rings'))
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 100')
        slots = []
        for path in glob.glob(case.path('rings') + '/**/*.rings', recursive=True):
            with open(path, 'r+b') as f:
                slots.append(mmap.mmap(f.fileno(), 4096))
        check(slots, 'files of rings')
        for slot in slots:                                    # the reason is not terminated, and is not UTF-8
            slot[SLOT:SLOT + 256] = struct.pack('<QQQ', 1 << 62, 77, 5) + b'\xff' * 232
        program('emit 100')
        trace, text = requested(w, 'fr', '_' * 127)
        check(trace.count() >= 100 and 'snapshot_reason = "%s"' % ('_' * 127) in text, 'its reason: %s', text[:2000])
        check(omitted(w, 'fr') == 5, 'omitted: %d', omitted(w, 'fr'))
        for slot in slots:                                    # the owner of the slot is a process that does not exist
            slot[SLOT:SLOT + 24] = struct.pack('<QQQ', 1 << 61 | 1 << 32 | 999, 0, 0)
        program.send('snapshot x')
        check(program.answer().startswith('no'), 'the slot is taken')
        program('emit 20000')
        w.wait(lambda: len(glob.glob(case.path('fr') + '/*')) == 1, 'one snapshot')
        for slot in slots:
            slot.close()
        w('snapshot', 'record', '-s', 'fr')
        program.end()
        w('destroy', 'fr')


if __name__ == '__main__':
    main([application_can_request_a_snapshot, snapshot_request_from_a_signal_handler_is_served,
          snapshot_request_is_served_after_its_process_ended, snapshot_request_is_served_after_both_daemons_restarted,
          corrupt_snapshot_request_does_not_affect_the_daemons])
