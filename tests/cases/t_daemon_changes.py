#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions that change while they record, are cleared, written down and read again."""
import contextlib
import mmap
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of, state  # noqa: E402
from harness import Skip, Trace, check, main  # noqa: E402
from traces import metadata_text  # noqa: E402


def channels_and_events_while_it_records(case):
    with World(case) as w:
        program = w.obey()
        w.begin('grows', 'test:seq')
        program('emit 10')
        w('enable-channel', '-s', 'grows', 'texts', '--subbuf-size', '64k')
        w('add-context', '-s', 'grows', '-c', 'texts', '-t', 'vpid')
        w('enable-event', '-s', 'grows', '-c', 'texts', 'test:text')
        program('text 10')
        w('enable-event', '-s', 'grows', '-c', 'channel0', 'obey:late')
        program('late 10')
        w('disable-channel', '-s', 'grows', 'texts')
        program('late 1')
        w('enable-channel', '-s', 'grows', 'texts', '--subbuf-size', '64k')
        program('text 10')
        program.end()
        _, trace, _ = w.finish('grows', lost=0)
        check(sum(1 for _ in trace.records('obey:late')) == 11, 'obey:late was enabled while it recorded')
        for r in trace.records('test:text'):
            check(r.scopes['vpid'] == program.pid, 'the new channel carries vpid %s', r.scopes)


def contexts_once_it_has_recorded(case):
    """Packets have one layout: refused in words that say what to do; nothing changes."""
    with World(case) as w:
        program = w.obey()
        w('create', 'fixed')
        w('enable-event', '-s', 'fixed', 'test:seq')
        w('add-context', '-s', 'fixed', '-t', 'vpid')
        w('start', 'fixed')
        program('emit 5')
        w('add-context', '-s', 'fixed', '-t', 'vtid', status=1).says('channel0|channel', 'recorded|layout')
        w.stop('fixed')
        w('add-context', '-s', 'fixed', '-t', 'vtid', status=1).says('channel0|channel')
        w('add-context', '-s', 'fixed', '-t', 'vpid')            # is there already
        w('start', 'fixed')
        program('emit 5')
        program.end()
        is_now, trace, _ = w.finish('fixed', lost=0)
        check(is_now['channels'][0]['contexts'] == ['vpid'], 'contexts: %s', is_now['channels'][0]['contexts'])
        check(all('vtid' not in r.scopes for r in trace.records('test:seq')), 'a context that was refused is recorded')


def cleared(case):
    """What was recorded before is gone, in rings and files, of a session that records and of one that is stopped; counts begin anew."""
    with World(case) as w:
        program = w.obey()
        for name, channel in (('one', []), ('own', ['--buffers-pid'])):
            w.begin(name, channel=channel or ['--buffers-uid'])
        program('emit 100')
        for name in ('one', 'own'):
            w('clear', name)
        program('emit 10')
        for name in ('one', 'own'):
            counts = w.stop(name)['counts']
            check(counts['records'] >= 10 and counts['records'] < 110, '%s: %d records after clear', name, counts['records'])
            trace = Trace(w.session(name)['path'])
            check(list(numbers_of(trace).values()) == [list(range(101, 111))], '%s: after clear there are %s', name, numbers_of(trace))
            w('clear', name)
            w('start', name)
        program('emit 10')
        for name in ('one', 'own'):
            _, trace = w.end(name, lost=0)
            check(list(numbers_of(trace).values()) == [list(range(111, 121))], '%s: after the second clear there are %s', name,
                  numbers_of(trace))
        program.end()


def spoil_a_ring(consumer, content):
    """A time of long ago where a sub-buffer that holds `content` says when it begins, in the memory of rings. How many times."""
    spoilt = 0
    for number in os.listdir('/proc/%d/fd' % consumer):
        path = '/proc/%d/fd/%s' % (consumer, number)
        with contextlib.suppress(OSError):
            if 'memfd:' not in os.readlink(path):
                continue
            with open(path, 'r+b') as f, mmap.mmap(f.fileno(), 0) as memory:
                at = memory.find(content)
                while at >= 0:
                    page = at & ~4095
                    memory[page:page + 8] = (1).to_bytes(8, 'little')
                    spoilt += 1
                    at = memory.find(content, page + 4096)
    return spoilt


def ring_that_lies(case):
    """Its stream ends there, which the trace itself says; the others are whole."""
    if os.geteuid() != 0:
        raise Skip('needs root: to open the memory of another process')
    with World(case) as w:
        w.begin('all', 'test:*', channel=['--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4'])
        program = w.run([case.program('busy'), 'texts', '1', '60'])
        w.wait_end(program)
        check(spoil_a_ring(w.consumerd(), b'abcdefgh'), 'no ring holds the texts')
        is_now = w.stop('all')
        said = '\n'.join(metadata_text(is_now['path']))
        check(re.search(r'/\*[^*]*stream \S+: its ring holds nonsense', said), 'the metadata does not name the stream')
        Trace(is_now['path'])
        w('destroy', 'all')


def fresh_daemon(w):
    """Another daemon, which knows nothing of the one before."""
    w('destroy', '--all')
    pid = w.sessiond()
    os.kill(pid, signal.SIGTERM)
    w.wait(lambda: state(pid) is None, 'the session daemon to end')
    w.start_daemon()
    check(w('list', '--json').json['sessions'] == [], 'the new daemon has sessions')


def saved_and_loaded(case):
    """In a fresh daemon the loaded session is the same, and behaves the same."""
    with World(case) as w:
        w('create', 'kept')
        w('enable-channel', '-s', 'kept', 'a', '--subbuf-size', '8k', '--num-subbuf', '4', '--buffers-pid')
        w('add-context', '-s', 'kept', '-c', 'a', '-t', 'vpid,procname')
        w('enable-event', '-s', 'kept', '-c', 'a', 'test:*', '-x', 'test:text')
        w('enable-channel', '-s', 'kept', 'b', '--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4')
        w('enable-event', '-s', 'kept', '-c', 'b', 'obey:late', 'other:*')
        w('disable-event', '-s', 'kept', '-c', 'b', 'other:*')
        w('track', '-s', 'kept', '--uid', os.getuid())
        before = w.session('kept')
        w('save', 'kept', '-o', case.path('kept.json'))
        check(os.stat(case.path('kept.json')).st_mode & 0o777 == 0o600, 'the file is open to others')
        traces = []
        for turn in range(2):
            w('start', 'kept')
            program = w.obey()
            for line in ('emit 20', 'text 5', 'late 5'):
                program(line)
            program.end()
            is_now, trace = w.end('kept', lost=0)
            traces.append(sorted((r.name, sorted(r.scopes)) for r in trace.records() if not r.name.startswith('lttng_ust')))
            fresh_daemon(w)
            if turn == 0:
                w('load', '-i', case.path('kept.json'), '--default-output')
                after = w.session('kept')
                for member in ('channels', 'trackers'):
                    check(strip(before[member]) == strip(after[member]), '%s was %s, is %s', member, before[member], after[member])
                check(not after['active'], 'a loaded session records by itself')
        check(len(traces[0]) == 25, 'the first trace has %d records', len(traces[0]))
        check(traces[0] == traces[1], 'the loaded session records something else')


def strip(thing):
    """Without what became of records."""
    if isinstance(thing, dict):
        return {k: strip(v) for k, v in thing.items() if k not in ('counts', 'matched')}
    return [strip(x) for x in thing] if isinstance(thing, list) else thing


def regenerated(case):
    """Metadata that was lost is written again, while it records; the state dump is made again."""
    with World(case) as w:
        program = w.obey()
        w.begin('again')
        program('emit 5')
        path = w.session('again')['path']
        before = metadata_text(path)
        for top, _, files in os.walk(path):
            if 'metadata' in files:
                os.unlink(os.path.join(top, 'metadata'))
        w('regenerate', 'metadata', '-s', 'again')
        program('emit 5')
        program('text 5')
        check(len(metadata_text(path)) == len(before), 'metadata files: %d, before %d', len(metadata_text(path)), len(before))
        w('regenerate', 'statedump', '-s', 'again')
        program('emit 5')
        program.end()
        _, trace, _ = w.finish('again', lost=0)
        dumps = sum(1 for _ in trace.records('lttng_ust_statedump:start'))
        check(dumps == 2, '%d state dumps, not 2', dumps)


if __name__ == '__main__':
    main([channels_and_events_while_it_records, contexts_once_it_has_recorded, cleared, ring_that_lies, saved_and_loaded, regenerated])
