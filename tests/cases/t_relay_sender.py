#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Sessions that send their trace to a relay: each record that was emitted is in the relay's trace or counted as lost, also
if the relay, the consumer daemon or the session daemon is killed, or the relay is away.
"""
import contextlib
import glob
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of  # noqa: E402
from harness import (  # noqa: E402
    SEED, VIEW, WAYMARK, Trace, check, check_sequences, finished, limit, main, rounds, small_disk)
from relay_process import Relay, spools, wait_sent  # noqa: E402

SIZES = ['--subbuf-size', '256k', '--num-subbuf', '8']
SMALL = ['--subbuf-size', '16k', '--num-subbuf', '4']
SPIN = '300000'


def begin(w, name, relay, *options, channel=SIZES):
    w('create', name, '--set-url', relay.url, *options)
    w('enable-channel', '-s', name, name, *channel)
    w('enable-event', '-s', name, 'test:*', '-c', name)
    w('start', name)


def two_writers(case, w, *argv):
    programs = [w.run([case.program('busy'), *(argv or ('until', '1', SPIN))]) for _ in range(2)]
    w.wait(lambda: case.ledger.flag(0) >= 2, 'the writers to record')
    return programs


def more_records(case, w, n=300):
    begun = case.ledger.begun()
    w.wait(lambda: case.ledger.begun() > begun + n, 'the programs to record on')


def ended(case, w, name, programs=()):
    """End the programs and the session. Returns its counts."""
    case.ledger.set_flag(1, 1)
    for program in programs:
        w.wait_end(program)
    w.remember_rings()
    w('stop', name)
    return w('destroy', name, '--json').json['sessions'][0]['counts']


def check_relay(case, relay, name, counts, killed=False):
    lost = counts['lost']
    return check_sequences(Trace(relay.trace(name), lossy=lost > 0), case.ledger, lost, killed)


def kill(pid):
    with contextlib.suppress(OSError, TypeError):
        os.kill(pid, signal.SIGKILL)


@limit(40)
def trace_of_two_writers_is_complete_at_the_relay(case):
    with World(case) as w:
        relay = Relay(w)
        begin(w, 'one', relay)
        for program in two_writers(case, w, 'count', '1', '3000', '1000'):
            w.wait_end(program)
        counts = ended(case, w, 'one')
        wait_sent(w)
        check(counts['lost'] == 0, '%s records lost', counts['lost'])
        check_relay(case, relay, 'one', counts)


@limit(60)
def killed_daemons_and_relay_lose_no_record(case):
    with World(case) as w:
        relay = Relay(w)
        for turn in range(rounds(50) + 1):
            case.ledger.__init__(case.ledger.path)
            name = 'k%d' % turn
            begin(w, name, relay)
            programs = two_writers(case, w)
            killers = {'relay': relay.kill, 'consumer': lambda: kill(w.consumerd()),
                       'session': lambda: kill(w.sessiond())}
            names = case.random.sample(sorted(killers), case.random.randrange(1, 4))
            for victim in names:
                time.sleep(case.random.random() * 0.05)         # the moment, not a condition
                killers[victim]()
            w.start_daemon()
            more_records(case, w)
            if 'relay' in names:
                relay.start()
            more_records(case, w)
            w('enable-event', '-s', name, '-c', name, 'test:*')     # all applications have confirmed
            counts = ended(case, w, name, programs)
            wait_sent(w)
            try:
                check_relay(case, relay, name, counts)
            except Exception as failure:
                raise type(failure)('seed %s, turn %d, killed %s: %s' % (SEED, turn, names, failure)) from failure


@limit(40)
def later_consumer_daemon_sends_the_spool_of_a_destroyed_session(case):
    with World(case) as w:
        relay = Relay(w, start=False)
        begin(w, 'later', relay)
        program = w.scripted()
        program('emit 500')
        w.wait(lambda: spools(w), 'the spool')
        program.end()
        counts = ended(case, w, 'later')
        spool, = spools(w)
        check(stat.S_IMODE(os.stat(spool).st_mode) == 0o700, 'the spool has mode %o', os.stat(spool).st_mode)
        check(os.path.exists(os.path.join(spool, '.ended')), 'destroy returned before the note of the end')
        pid = w.consumerd()
        kill(pid)
        w.wait(lambda: w.consumerd() != pid, 'the consumer daemon to end')
        relay.start()
        w('create', 'next', '--set-url', relay.url)             # starts a consumer daemon, if none was started
        w('enable-event', '-s', 'next', 'test:*')
        w('start', 'next')
        w.scripted().end()
        w('destroy', 'next')
        wait_sent(w)
        check_relay(case, relay, 'later', counts)


def connection(w, *argv, of=None):
    """The connection to a relay that `waymark ARGV` lists; `of`: the name of its session, '' after destroy."""
    found = [relay for relay in w(*argv, '--json').json.get('relays', [])
             if of is None or relay.get('session', '') == of]
    check(len(found) == 1, '%s lists the connections %s', argv, found)
    return dict({'behind': 0, 'spooled': 0, 'error': '', 'connected': False}, **found[0])


@limit(40)
def list_shows_the_connection_state_of_a_relay_session(case):
    """`list` and `status` show connection, bytes that are not sent, spool and error, until the spool is sent."""
    with World(case) as w:
        relay = Relay(w, start=False)
        begin(w, 'shown', relay)
        w('create', 'local')
        program = w.scripted()
        program('emit 500')
        w('stop', 'shown')
        w.wait(lambda: connection(w, 'list', 'shown')['behind'] > 0, 'bytes in the spool')
        state = connection(w, 'list')
        check(not state['connected'] and state['spooled'] >= state['behind'] and 'refused' in state['error'] and
              state['session'] == 'shown' and state['url'] == relay.url, 'without a relay: %s', state)
        w('list', 'shown').prints('not connected', 'refused', relay.url)
        check(not w('list', 'local', '--json').json.get('relays'), 'a session without a relay has a connection')
        relay.start()
        w.wait(lambda: connection(w, 'list')['connected'], 'the connection')
        w.wait(lambda: connection(w, 'list')['behind'] == 0, 'all bytes to be sent')
        check(not connection(w, 'list')['error'], 'an error remains')
        relay.kill()
        w('start', 'shown')
        program('emit 100')
        program.end()
        w('destroy', 'shown')
        w('status').prints('local', 'destroyed', 'not connected', spools(w)[0])
        w('destroy', 'local')
        w.wait(lambda: connection(w, 'status', of='')['behind'] > 0, 'bytes of a destroyed session')
        w('status').prints('destroyed', 'not connected')
        relay.start()
        wait_sent(w)
        w.wait(lambda: not w('list', '--json').json.get('relays'), 'the connection to end')
        w('status', status=1).prints('no current session')


@limit(40)
def records_beyond_the_spool_size_are_counted_as_lost(case):
    with World(case) as w:
        relay = Relay(w, start=False)
        begin(w, 'full', relay, '--spool-size', '256k', channel=SMALL)
        for program in two_writers(case, w, 'count', '1', '12000', '1000'):
            w.wait_end(program)
        spool, = spools(w)
        size = sum(os.path.getsize(os.path.join(place, name)) for place, _, names in os.walk(spool) for name in names)
        check(size < 400 << 10, 'the spool has %d bytes', size)
        relay.start()
        w.wait(lambda: relay.traces('full'), 'the relay to be connected')
        counts = ended(case, w, 'full')
        wait_sent(w)
        check(counts['lost'] > 0, 'no record was lost: the spool was not full')
        check_relay(case, relay, 'full', counts)


def streams_of(spool):
    """{file of a stream: size} in a spool."""
    found = {}
    for path in glob.glob(os.path.join(spool, 'ust/uid/*/*/*_*')):
        with contextlib.suppress(FileNotFoundError):
            found[path] = os.path.getsize(path)
    return found


@limit(60)
def killed_consumer_daemon_continues_when_the_disk_of_the_spool_was_full(case):
    """
    The consumer daemon is killed when the relay has all packets of the spool, and the disk has no room for the next
    packet.
    """
    with small_disk(case, '8m') as disk, World(case) as w:
        place, relay = os.path.join(w.home, '.local/state/waymark/spool'), Relay(w, start=False)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.symlink(disk, place)
        begin(w, 'full', relay, '--spool-size', '256k', channel=SMALL)
        programs = two_writers(case, w)
        w.wait(lambda: spools(w), 'the spool')
        spool, = spools(w)
        # (a file has one whole sub-buffer)
        w.wait(lambda: sum(streams_of(spool).values()) > 200 << 10 and 0 in streams_of(spool).values(),
               'a file without a packet, because the spool is full')
        # Each file has a second name, so its removal by the sender frees no space.
        kept = os.path.join(disk, '.kept')
        os.mkdir(kept)
        for n, path in enumerate(glob.glob(os.path.join(spool, 'ust/uid/*/*/**/*_*'), recursive=True)):
            os.link(path, os.path.join(kept, str(n)))
        with open(os.path.join(kept, 'ballast'), 'wb', buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(4096))
        relay.start()
        w.wait(lambda: connection(w, 'list', 'full')['connected'] and connection(w, 'list', 'full')['behind'] == 0,
               'the relay to have all of the spool')
        check(0 in streams_of(spool).values(), 'the disk has room: %s', streams_of(spool))
        consumer = w.consumerd()
        kill(consumer)
        w.wait(lambda: w.consumerd() not in (None, consumer), 'the next consumer daemon')
        shutil.rmtree(kept)
        more_records(case, w)
        counts = ended(case, w, 'full', programs)
        wait_sent(w)
        check_relay(case, relay, 'full', counts)


@limit(60)
def relay_that_lost_files_continues_after_a_counted_gap(case):
    """The relay has no files, an earlier copy of its files, or an earlier chunk. Later records are complete."""
    with World(case) as w:
        relay = Relay(w)

        def files_of(name):
            """The numbers of the files of the streams."""
            found = [re.fullmatch(name + r'_\d_(\d+)', f) for spool in spools(w) for _, _, fs in os.walk(spool)
                     for f in fs]
            return [int(f[1]) for f in found if f]

        def first_chunk_is_removed():
            found = [chunk for spool in spools(w) for chunk in glob.glob(os.path.join(spool, 'archives', '*'))]
            return found and not any(chunk.endswith('-0') for chunk in found)


        for turn, kept in enumerate((None, 'copy', 'earlier chunk')):
            case.ledger.__init__(case.ledger.path)
            name = 'gap%d' % turn
            begin(w, name, relay, '--spool-size', '1M', channel=['--subbuf-size', '4k', '--num-subbuf', '32'])
            programs = two_writers(case, w)
            w.wait(lambda name=name: relay.traces(name), 'the relay to be connected')
            path, copy = relay.trace(name), case.path('copy%d' % turn)
            more_records(case, w)
            shutil.copytree(path, copy)
            copied = max(files_of(name), default=0)
            if kept == 'earlier chunk':
                for _ in range(3):
                    w('rotate', name)
                    more_records(case, w)
                w.wait(first_chunk_is_removed, 'the first chunk to be removed from the spool', timeout=30)
            else:
                w.wait(lambda name=name, copied=copied: min(files_of(name), default=0) > copied + 2,
                       'the first files to be removed', timeout=30)
            relay.kill()
            shutil.rmtree(path)
            if kept:
                shutil.copytree(copy, path)
            relay.start()
            more_records(case, w)
            begun = case.ledger.read()
            more_records(case, w)
            counts = ended(case, w, name, programs)
            wait_sent(w)
            status = w('relay', 'status', '--at', '127.0.0.1:%d' % relay.port, '--json').json['relay']['hosts'][0]
            shown = finished([WAYMARK, *VIEW, path], capture_output=True, text=True)
            check(counts['lost'] == 0, '%s: %s', kept, counts)
            # The lost packets of a chunk that the spool does not have any more are not known.
            check(kept == 'earlier chunk' or ('lost files' in (status['error'] or '') and 'packets' in shown.stderr),
                  '%s: %s, %s', kept, status, shown.stderr)
            seen = {}
            for record in Trace(path, lossy=True).records('test:seq'):
                seen.setdefault(record.fields['writer'], set()).add(record.fields['seq'])
            for writer, (last, _) in case.ledger.read().items():
                after = set(range(begun[writer][0] + 1, last + 1))
                check(after <= seen[writer], 'writer %d, %s: records after the gap are missing: %s', writer, kept,
                      sorted(after - seen[writer])[:9])
                check(len(seen[writer]) < last, 'no record is missing')


@limit(60)
def rotation_and_clear_have_the_same_result_at_the_relay(case):
    with World(case) as w:
        relay = Relay(w)
        begin(w, 'chunks', relay)
        program = w.scripted()
        program('emit 100')
        w('rotate', 'chunks')
        program('emit 100')
        w.wait(lambda: relay.traces('chunks'), 'the relay to be connected')
        w('clear', 'chunks')
        relay.kill()
        program('emit 100')
        w('rotate', 'chunks')
        program('emit 100')
        kill(w.consumerd())
        relay.start()
        program('emit 100')
        program.end()
        ended(case, w, 'chunks')
        wait_sent(w)
        path = relay.trace('chunks')
        numbers, = numbers_of(Trace(path)).values()
        check(numbers == [*range(1, 101), *range(201, 501)], 'the relay has %s', numbers)
        names = os.listdir(os.path.join(path, 'archives'))
        check(len(names) == 2 and not [name for name in names if name[0] == '.'], 'closed chunks: %s', names)
        numbers, = numbers_of(Trace(os.path.join(path, 'archives', min(names, key=lambda n: n[-1])))).values()
        check(numbers == [*range(1, 101)], 'the first chunk has %s', numbers)


@limit(40)
def sender_keeps_records_until_its_certificate_is_installed(case):
    """TLS: until a certificate is installed, the spool keeps all records and the log has the reason."""
    with World(case, daemon=False) as w:
        place, pem = case.path('certificates'), case.path('relay.pem')
        w.env.update(WAYMARK_RELAY_DIR=place, WAYMARK_RELAY_PEM=pem)
        w('relay', 'init')
        relay = Relay(w, 'db-1', certificates=place)
        begin(w, 'safe', relay)
        for program in two_writers(case, w, 'count', '1', '300', '1000'):
            w.wait_end(program)
        w.wait(lambda: 'waymark relay enroll' in w.printed(), 'the reason in the log')
        w('relay', 'enroll', 'db-1', pem)
        counts = ended(case, w, 'safe')
        wait_sent(w)
        check(counts['lost'] == 0, '%s records lost', counts['lost'])
        check_relay(case, relay, 'safe', counts)


@limit(40)
def invalid_relay_urls_are_refused_and_valid_ones_saved(case):
    with World(case) as w:
        relay = Relay(w)
        for url, words in (('tcp://10.1.1.1', 'only to a relay on this machine'), ('net://localhost', 'lttng'),
                           ('net6://localhost', 'lttng'), ('tcp6://localhost', 'lttng'),
                           ('tls://relay/web1', 'certificate'),
                           ('tcp://127.0.0.1:0', 'port'), ('tcp://127.0.0.1/..', 'host'), ('here', 'tcp://')):
            w('create', 'bad', '--set-url', url, status=1).prints('invalid relay', words)
        for options, words in ((('--max-size', '1M'), 'spool-size'), (('--compress',), '--compress'),
                               (('--snapshot',), '--snapshot'), (('--spool-size', '1k'), 'minimum'),
                               (('-o', 'here'), 'exclude')):
            w('create', 'bad', '--set-url', relay.url, *options, status=None).prints(words)
        w('create', 'bad', '--spool-size', '1M', status=1).prints('--set-url')
        w('create', 'good', '--set-url', relay.url, '--spool-size', '3M')
        w('save', 'good')
        w('destroy', 'good')
        w('load', 'good')
        session = w.session('good')
        check(session['url'] == relay.url and session['spool_size'] == 3 << 20, 'loaded: %s', session)
        w('list', 'good').prints(relay.url, 'spool')
        w('destroy', 'good')
        absent = os.path.join(w.place, 'absent')     # the path of a socket is short
        none = finished([WAYMARK, 'record', '--to', relay.url, '--', 'true'], capture_output=True, text=True,
                        env=dict(w.env, WAYMARK_RUNDIR=absent, WAYMARK_SESSIOND=absent), stdin=subprocess.DEVNULL)
        check(none.returncode == 1 and '--to needs a session daemon' in none.stderr and absent in none.stderr,
              'record without a session daemon: %s', none.stderr)
        done = w('record', '--to', relay.url, '--json', '--', case.program('busy'), 'count', '1', '100', '1')
        check(done.json['url'] == relay.url and done.json['records'] >= 100, 'record: %s', done.json)
        wait_sent(w)
        check_sequences(Trace(relay.trace('record-busy')), case.ledger)


main([trace_of_two_writers_is_complete_at_the_relay, killed_daemons_and_relay_lose_no_record,
      relay_that_lost_files_continues_after_a_counted_gap,
      later_consumer_daemon_sends_the_spool_of_a_destroyed_session, list_shows_the_connection_state_of_a_relay_session,
      records_beyond_the_spool_size_are_counted_as_lost,
      killed_consumer_daemon_continues_when_the_disk_of_the_spool_was_full,
      rotation_and_clear_have_the_same_result_at_the_relay, sender_keeps_records_until_its_certificate_is_installed,
      invalid_relay_urls_are_refused_and_valid_ones_saved])
