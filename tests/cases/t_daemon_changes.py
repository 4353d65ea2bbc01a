#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions that are changed while they record, cleared, saved and loaded."""
import collections
import contextlib
import mmap
import os
import re
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of, rings_of, state  # noqa: E402
from harness import FEATURES, PERCENT, WAYMARK, Skip, Trace, check, main  # noqa: E402
from traces import metadata_text  # noqa: E402


def channels_and_events_are_added_to_an_active_session(case):
    with World(case) as w:
        program = w.scripted()
        w.begin('grows', 'test:seq')
        program('emit 10')
        w('enable-channel', '-s', 'grows', 'texts', '--subbuf-size', '64k')
        w('add-context', '-s', 'grows', '-c', 'texts', '-t', 'vpid')
        w('enable-event', '-s', 'grows', '-c', 'texts', 'test:text')
        program('text 10')
        w('enable-event', '-s', 'grows', '-c', 'channel0', 'scripted:late')
        program('late 10')
        w('disable-channel', '-s', 'grows', 'texts')
        program('late 1')
        w('enable-channel', '-s', 'grows', 'texts', '--subbuf-size', '64k')
        program('text 10')
        program.end()
        _, trace, _ = w.finish('grows', lost=0)
        check(sum(1 for _ in trace.records('scripted:late')) == 11, 'not 11 records of scripted:late')
        for r in trace.records('test:text'):
            check(r.scopes['vpid'] == program.pid, 'wrong contexts in the new channel: %s', r.scopes)


CONTEXTS = ['vpid', 'vtid', 'procname', 'pthread_id', 'ip']      # packets have the cpu_id already


def added_context_is_in_every_later_record(case):
    """
    Threads and applications record while contexts are added to a channel one by one. No record is missing or repeated
    (finish()). Each record that starts after an add-context has returned has that context.
    """
    contexts = CONTEXTS if PERCENT >= 100 else case.random.sample(CONTEXTS, 3)
    with World(case) as w:
        programs = [w.scripted(), w.scripted()]
        w.begin('grows', 'test:*')
        programs[0]('threads 2')
        made = [0, 0]

        def emit(which):
            programs[which]('emit 5')
            made[which] += 5

        had = [list(made)]
        for context in contexts:
            command = w.run([WAYMARK, 'add-context', '-s', 'grows', '-t', context], stderr=subprocess.PIPE, text=True)
            while command.poll() is None:
                emit(0)
                emit(1)
            said = command.stderr.read()
            w.wait_end(command)
            check(re.fullmatch(r'waymark: warning: channel channel0 has recorded already: [^\n]*channel0~\d[^\n]*\n',
                               said),
                  'add-context printed: %s', said)
            had.append(list(made))
            emit(0)
            emit(1)
        w('add-context', '-s', 'grows', '-t', contexts[0])               # the channel has it already
        os.kill(w.sessiond(), signal.SIGKILL)
        w('list')
        w.wait_apps([p.pid for p in programs])
        emit(0)
        late = w.scripted()
        late('emit 10')
        late.end()
        programs[0].kill()               # its threads record: a normal exit() would remove their events while they run
        programs[1].end()
        session, trace, numbers = w.finish('grows', killed=True, lost=0)
        check(session['channels'][0]['contexts'] == contexts, 'wrong contexts: %s', session['channels'][0]['contexts'])
        check(
            sum(len(n) for n in numbers.values()) >= sum(made), '%d records, fewer than %d',
            sum(len(n) for n in numbers.values()), sum(made))
        writers = sorted(w for w, n in numbers_of(trace).items() if len(n) in (made[0], made[1]))
        check(len(writers) == 2, 'wrong writers: %s', {w: len(n) for w, n in numbers_of(trace).items()})
        layouts = collections.Counter()
        for r in trace.records('test:seq'):
            layouts[tuple(c for c in contexts if c in r.scopes)] += 1
            if r.fields['writer'] in writers:
                bounds = [h[writers.index(r.fields['writer'])] for h in had]
                # sequence numbers begin with 1
                sure = max(i for i, bound in enumerate(bounds) if bound < r.fields['seq'])
                check(all(c in r.scopes for c in contexts[:sure]), 'record %d, after %s, has %s', r.fields['seq'],
                      contexts[:sure], r.scopes)
        check(
            set(layouts) == {tuple(contexts[:n]) for n in range(len(contexts) + 1)}, 'wrong layouts: %s', dict(layouts))
        for r in trace.records('test:seq'):
            if 'vpid' in r.scopes:
                check(r.scopes['vpid'] in (programs[0].pid, programs[1].pid, late.pid), 'wrong vpid: %s', r.scopes)


def vm_size(pid):
    with open('/proc/%d/status' % pid) as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith('VmSize:'))


def application_without_address_space_keeps_its_old_rings(case):
    """
    An application that reconnects lacks the address space for the rings of the new layout. It records with its old
    rings.
    """
    if 'sanitize' in FEATURES:
        raise Skip('a sanitizer reserves the address space')
    with World(case) as w:
        program = w.scripted()
        w.begin('tight', 'test:*')
        program('emit 5')
        with w.disconnected(program):
            w('add-context', '-s', 'tight', '-t', 'vpid')
            room = vm_size(program.pid) + (8 << 20)
            resource.prlimit(program.pid, resource.RLIMIT_AS, (room, room))
        program('emit 5')
        late = w.scripted()
        late('emit 7')
        late.end()
        program.end()
        _, trace, numbers = w.finish('tight', lost=0)
        check(
            sorted(map(len, numbers.values())) == [7, 10], 'wrong records: %s',
            {n: len(of) for n, of in numbers.items()})
        for r in trace.records('test:seq'):
            check(('vpid' in r.scopes) == (len(numbers[r.fields['writer']]) == 7), 'wrong context of a record: %s, %s',
                  r.fields, r.scopes)


def contexts_are_added_per_process_and_while_stopped(case):
    """Contexts are added to per-process buffers, also between stop and start."""
    with World(case) as w:
        program = w.scripted()
        w.begin('own', 'test:seq', channel=['--buffers-pid', '--subbuf-size', '64k'])
        program('emit 5')
        w('add-context', '-s', 'own', '-t', 'vpid')
        program('emit 5')
        program('fork 5')
        w.stop('own')
        w('add-context', '-s', 'own', '-t', 'vtid')
        w('start', 'own')
        program('emit 5')
        w('regenerate', 'metadata', '-s', 'own')
        program('emit 5')
        other = w.scripted()
        other('emit 5')
        program.end()
        other.end()
        _, trace, _ = w.finish('own', lost=0)
        seen = collections.Counter(
            tuple(c for c in ('vpid', 'vtid') if c in r.scopes) for r in trace.records('test:seq'))
        check(seen == {(): 5, ('vpid',): 10, ('vpid', 'vtid'): 15}, 'wrong contexts of the records: %s', dict(seen))


def clear_removes_records_and_counts(case):
    """
    `clear` removes earlier records from rings and files and resets the counts, whether the session records or is
    stopped.
    """
    with World(case) as w:
        program = w.scripted()
        for name, channel in (('one', []), ('own', ['--buffers-pid'])):
            w.begin(name, channel=channel or ['--buffers-uid'])
        program('emit 100')
        for name in ('one', 'own'):
            w('clear', name)
        program('emit 10')
        for name in ('one', 'own'):
            counts = w.stop(name)['counts']
            check(counts['records'] >= 10 and counts['records'] < 110, '%s: %d records after clear', name,
                  counts['records'])
            trace = Trace(w.session(name)['path'])
            check(
                list(numbers_of(trace).values()) == [list(range(101, 111))], '%s: wrong records after clear: %s', name,
                numbers_of(trace))
            w('clear', name)
            w('start', name)
        program('emit 10')
        for name in ('one', 'own'):
            _, trace = w.end(name, lost=0)
            check(
                list(numbers_of(trace).values()) == [list(range(111, 121))],
                '%s: wrong records after the second clear: %s', name, numbers_of(trace))
        program.end()


def corrupt_rings(consumer, content):
    """
    Overwrite the begin time of each sub-buffer that holds `content`, in the rings of the consumer daemon. Returns the
    number of sub-buffers.
    """
    count = 0
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
                    count += 1
                    at = memory.find(content, page + 4096)
    return count


def clear_removes_records_of_ended_processes(case):
    """
    With per-process buffers, `clear` removes the records of a live and of an ended process. Later records are kept.
    """
    with World(case) as w:
        w.begin('own', channel=['--buffers-pid', '--subbuf-size', '64k'])
        ended, program = w.scripted(), w.scripted()
        ended('emit 30')
        program('emit 20')
        rings = len(rings_of(w.consumerd()))
        ended.end()
        w.wait(lambda: len(rings_of(w.consumerd())) < rings, 'the records of the process to be written')
        place = os.path.join(w.session('own')['path'], 'ust', 'pid')
        check(len(os.listdir(place)) == 2, 'wrong traces: %s', os.listdir(place))
        w('clear', '-s', 'own')
        check(len(os.listdir(place)) == 1, 'wrong traces: %s', os.listdir(place))
        check(w.session('own')['counts']['records'] == 0, 'wrong counts: %s', w.session('own')['counts'])
        program('emit 10')
        late = w.scripted()
        late('emit 5')
        late.end()
        program.end()
        session, trace = w.end('own', lost=0)
        check(
            sorted(len(n) for n in numbers_of(trace).values()) == [5, 10], 'wrong records in the trace: %s',
            numbers_of(trace))
        check(session['counts']['records'] == sum(1 for _ in trace.records()), 'wrong counts: %s', session['counts'])


def corrupt_ring_ends_its_own_stream(case):
    """The stream of a corrupt ring ends, and a comment in the metadata says so. Other streams are complete."""
    if os.geteuid() != 0:
        raise Skip('needs root: to open the memory of another process')
    with World(case) as w:
        w.begin('all', 'test:*', channel=['--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4'])
        program = w.run([case.program('busy'), 'texts', '1', '60'])
        w.wait_end(program)
        check(corrupt_rings(w.consumerd(), b'abcdefgh'), 'no ring holds the texts')
        stopped = w('stop', 'all', '--json')
        check(re.search(r'stopped writing stream \S+: its ring is corrupt', stopped.err), 'stop printed: %s',
              stopped.err)
        session = stopped.json['sessions'][0]

        def named():
            texts = '\n'.join(metadata_text(session['path']))
            return re.search(r'/\*[^*]*stopped writing stream \S+: its ring is corrupt', texts)
        check(named(), 'the metadata does not name the stream')
        w('regenerate', 'metadata', '-s', 'all')
        w('list', 'all')
        check(named(), 'after `regenerate` the metadata does not name the stream')
        Trace(session['path'])
        w('destroy', 'all')


def fresh_daemon(w):
    """Replace the session daemon by one without sessions."""
    w('destroy', '--all')
    pid = w.sessiond()
    os.kill(pid, signal.SIGTERM)
    w.wait(lambda: state(pid) is None, 'the session daemon to end')
    w.start_daemon()
    check(w('list', '--json').json['sessions'] == [], 'the new daemon has sessions')


def loaded_session_records_the_same_as_the_saved_one(case):
    """A new session daemon loads the session. It has the same settings and records the same events."""
    with World(case) as w:
        w('create', 'kept')
        w('enable-channel', '-s', 'kept', 'a', '--subbuf-size', '8k', '--num-subbuf', '4', '--buffers-pid')
        w('add-context', '-s', 'kept', '-c', 'a', '-t', 'vpid,procname')
        w('enable-event', '-s', 'kept', '-c', 'a', 'test:*', '-x', 'test:text')
        w('enable-channel', '-s', 'kept', 'b', '--overwrite', '--subbuf-size', '4k', '--num-subbuf', '4')
        w('enable-event', '-s', 'kept', '-c', 'b', 'scripted:late', 'other:*')
        w('disable-event', '-s', 'kept', '-c', 'b', 'other:*')
        w('track', '-s', 'kept', '--uid', os.getuid())
        before = w.session('kept')
        w('save', 'kept', '-o', case.path('kept.json'))
        check(os.stat(case.path('kept.json')).st_mode & 0o777 == 0o600, 'the file is open to others')
        traces = []
        for turn in range(2):
            w('start', 'kept')
            program = w.scripted()
            for line in ('emit 20', 'text 5', 'late 5'):
                program(line)
            program.end()
            session, trace = w.end('kept', lost=0)
            traces.append(
                sorted((r.name, sorted(r.scopes)) for r in trace.records() if not r.name.startswith('lttng_ust')))
            fresh_daemon(w)
            if turn == 0:
                w('load', '-i', case.path('kept.json'), '--default-output')
                after = w.session('kept')
                for member in ('channels', 'trackers'):
                    check(
                        without_results(before[member]) == without_results(after[member]), '%s was %s, is %s', member,
                        before[member], after[member])
                check(not after['active'], 'the loaded session is active')
        check(len(traces[0]) == 25, 'the first trace has %d records', len(traces[0]))
        check(traces[0] == traces[1], 'the loaded session has other records')


def failed_forced_load_keeps_the_old_session(case):
    """
    `load --force` of an invalid session keeps the existing one, which records on. `load --force` of a valid session
    replaces it.
    """
    with World(case) as w:
        program = w.scripted()
        w('create', 'kept')
        w('enable-event', '-s', 'kept', 'test:*', '-f', 'seq >= 0')
        w('enable-event', '-s', 'kept', 'other:*')
        w('disable-event', '-s', 'kept', 'other:*')
        before = without_results(w.session('kept'))
        w('save', 'kept', '-o', case.path('kept.json'))
        w('start', 'kept')
        w.wait_apps([program.pid])
        program('emit 10')
        with open(case.path('kept.json')) as f:
            text = f.read()
        with open(case.path('bad.json'), 'w') as f:
            f.write(text.replace('seq >= 0', 'seq >= >= 0'))
        w('load', '-i', case.path('bad.json'), '--force', status=1).prints("session 'kept'", 'is kept', '>=')
        check(w.session('kept')['active'], 'the session is not active')
        check([s['name'] for s in w('list', '--json').json['sessions']] == ['kept'], 'wrong sessions: %s',
              w('list', '--json').json['sessions'])
        program('emit 5')
        program.end()
        _, _, numbers = w.finish('kept', lost=0)
        check(sorted(map(len, numbers.values())) == [15], 'wrong records: %s', numbers)
        w('load', '-i', case.path('kept.json'), '--default-output')
        w('load', '-i', case.path('kept.json'), '--force', '--default-output')
        after = w.session('kept')
        for member in ('channels', 'trackers'):
            check(
                without_results(before[member]) == without_results(after[member]), '%s was %s, is %s', member,
                before[member], after[member])


def without_results(thing):
    """Remove the members that depend on what was recorded."""
    if isinstance(thing, dict):
        return {k: without_results(v) for k, v in thing.items() if k not in ('counts', 'matched')}
    return [without_results(x) for x in thing] if isinstance(thing, list) else thing


def regenerate_rewrites_metadata_and_state_dump(case):
    """`regenerate` writes removed metadata again while the session records, and repeats the state dump."""
    with World(case) as w:
        program = w.scripted()
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
        check(
            len(metadata_text(path)) == len(before), 'metadata files: %d, before %d', len(metadata_text(path)),
            len(before))
        w('regenerate', 'statedump', '-s', 'again')
        program('emit 5')
        # The helper thread writes the state dump and then handles these requests, so the dump is complete after the
        # second one.
        for verb in ('enable-event', 'disable-event'):
            w(verb, '-s', 'again', 'scripted:late')
        program.end()
        _, trace, _ = w.finish('again', lost=0)
        dumps = sum(1 for _ in trace.records('lttng_ust_statedump:start'))
        check(dumps == 2, '%d state dumps, not 2', dumps)


if __name__ == '__main__':
    main([
        channels_and_events_are_added_to_an_active_session, added_context_is_in_every_later_record,
        application_without_address_space_keeps_its_old_rings, contexts_are_added_per_process_and_while_stopped,
        clear_removes_records_and_counts, clear_removes_records_of_ended_processes, corrupt_ring_ends_its_own_stream,
        loaded_session_records_the_same_as_the_saved_one, failed_forced_load_keeps_the_old_session,
        regenerate_rewrites_metadata_and_state_dump
    ])
