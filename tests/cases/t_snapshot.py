#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Snapshots are copies of what the rings of a session in overwrite mode hold while programs record."""
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAYMARK, check, communicated, limit, main, rounds  # noqa: E402
from traces import CPU, SEQ, Trace, metadata_text, writer_sum  # noqa: E402

SUBBUF, SUBBUFS = 16384, 8


def recorder(w, name='fr', *more):
    """Create a flight recorder, and start it."""
    w('create', name, '--snapshot', *more)
    w('enable-channel', '-s', name, 'app', '--subbuf-size', SUBBUF, '--num-subbuf', SUBBUFS)
    w('enable-event', '-s', name, '-c', 'app', 'test:*')
    w('start', name)


def environment(path):
    """Returns the environment {name: value} of each trace of a snapshot."""
    return [{name: value.strip('"') for name, value in re.findall(r'\t(snapshot\w*) = ("[^"]*"|\d+);', text)}
            for text in metadata_text(path)]


def files(path):
    return sorted(f for f in glob.glob(path + '/**/*', recursive=True) if os.path.isfile(f))


def check_range(path, sampled):
    """
    Each stream begins at one moment, and lacks nothing after it. From the latest of these moments on, each writer has
    all numbers, at least up to the last one that it recorded before the snapshot.
    """
    trace = Trace(path)                                      # no reader warns, or reports a lost record
    seen = []
    for line in trace.lines:
        m = SEQ.search(line)
        if m:
            writer, number = int(m.group(4)), int(m.group(5))
            check(int(m.group(8)) == writer_sum(writer, number), 'torn record: %s', line)
            seen.append((int(m.group(1)), int(CPU.search(line).group(1)), writer, number))
    begins = {}
    for time, cpu, _, _ in seen:
        begins.setdefault(cpu, time)
    complete = max(begins.values())
    for writer, returned in sampled.items():
        numbers = sorted(number for time, _, w, number in seen if w == writer and time > complete)
        check(not numbers or numbers == list(range(numbers[0], numbers[-1] + 1)), 'writer %d has a gap: %d to %d, but '
              '%d records', writer, numbers[0] if numbers else 0, numbers[-1] if numbers else 0, len(numbers))
        last = max((number for _, _, w, number in seen if w == writer), default=-1)
        check(last + 1 >= returned, 'writer %d: %d records had returned before, but the last one is %d', writer,
              returned, last)
    return trace, len(seen)


@limit(240)
def snapshot_is_one_contiguous_range_and_writers_lose_nothing(case):
    with World(case) as w:
        recorder(w)
        threads = w.run([case.program('busy'), 'until', '2', '20000'])
        w.wait_apps([threads.pid])
        w.wait(lambda: sum(n for _, n in case.ledger.read().values()) > 40000, 'full rings')
        for i in range(rounds(30)):
            sampled = {writer: returned for writer, (_, returned) in case.ledger.read().items()}
            made = w('snapshot', 'record', '-s', 'fr', '--json').json
            _, n = check_range(made['path'], sampled)
            check(made['records'] >= n, 'snapshot %d: reports %d records, has %d', i, made['records'], n)
            sizes = [os.path.getsize(f) for f in files(made['path']) if re.search(r'/app_\d+$', f)]
            # a sub-buffer has a header, and an end that is too short for a record
            check(max(sizes) >= (SUBBUFS - 2) * (SUBBUF - 256), 'snapshot %d: the longest stream has %d bytes', i,
                  max(sizes))
            env = environment(made['path'])
            check(env and all(int(e['snapshot_overwritten']) == made['overwritten'] for e in env), '%s: %s', made, env)
            check(os.path.basename(made['path']).endswith('-%d' % i), 'its name: %s', made['path'])
        os.kill(threads.pid, signal.SIGKILL)
        w.wait_end(threads, status=None)
        counts = w.stop('fr')['counts']
        check(counts['lost'] == counts['overwritten'], 'writers lost records: %s', counts)
        w('destroy', 'fr')


@limit(120)
def flight_recorder_writes_only_snapshots(case):
    with World(case) as w:
        out = case.path('out')
        recorder(w, 'fr', '-o', out)
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 3000')
        w('enable-channel', '-s', 'fr', 'other', '--discard')
        check([c['mode'] for c in w.session('fr')['channels']] == ['overwrite'] * 2, 'modes of its channels')
        w('enable-channel', '-s', 'fr', 'third', '--blocking-timeout=100', status=1).prints('cannot block')
        w.stop('fr')
        w('start', 'fr')
        check(not os.path.exists(out), 'files of a session without snapshots: %s', files(out))
        one = w('snapshot', 'record', '-s', 'fr', '--json').json
        program('emit 100')
        two = w('snapshot', 'record', '-s', 'fr', '--json').json
        w('destroy', 'fr')
        check(sorted(os.listdir(out)) == sorted(os.path.basename(m['path']) for m in (one, two)),
              'in its directory: %s', os.listdir(out))
        for made in one, two:
            trace = Trace(made['path'])
            check(trace.count() == made['records'], '%s: %d records', made, trace.count())
            # the snapshot has its own state dump: the program's libraries
            dumps = [r for r in trace.records('lttng_ust_statedump:end')]
            last = max(r.time for r in trace.records('test:seq'))
            check(dumps and dumps[-1].time > last, 'its state dump: %s', dumps)
        program.end()
        w('create', 'fr', '--snapshot', '-o', out)           # a directory that already has snapshots
        w('create', 'limited', '--snapshot', '--max-size=1M', status=1).prints('snapshot record --max-size')
        w('create', 'live', '--snapshot', '--live', status=1).prints('no effect with --snapshot')
        w('destroy', 'fr')


@limit(120)
def snapshots_are_written_to_the_given_outputs_within_limits(case):
    with World(case) as w:
        recorder(w)
        w('snapshot', 'record', '-s', 'fr', status=1).prints('no application has registered')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 20000')
        w('snapshot', 'add-output', '-s', 'fr', case.path('b'), status=1).prints('remove it first')
        w('snapshot', 'del-output', '-s', 'fr', 'wrong', status=1).prints("no snapshot output 'wrong'", "'snapshot'")
        w('snapshot', 'del-output', '-s', 'fr')
        w('snapshot', 'record', '-s', 'fr', status=1).prints('no snapshot output')
        w('snapshot', 'add-output', '-s', 'fr', '--name=crash', '--max-size=64k', case.path('b'))
        listed = w('snapshot', 'list-output', '-s', 'fr').out
        check(listed == 'crash: %s/crash-DATE-NUMBER, at most 64k\n' % case.path('b'), 'listed: %s', listed)
        limited = w('snapshot', 'record', '-s', 'fr', '--json').json
        check(limited['path'].startswith(case.path('b') + '/crash-'), 'limited: %s', limited)
        check(all(os.path.getsize(f) <= 65536 for f in files(limited['path']) if '/app_' in f), 'limited: %s', limited)
        Trace(limited['path'])
        whole = w('snapshot', 'record', '-s', 'fr', '--max-size=1G', '--name=whole', '--json', case.path('c')).json
        check(whole['path'].startswith(case.path('c') + '/whole-') and whole['records'] > limited['records'] and
              whole['overwritten'] < limited['overwritten'], 'whole: %s, limited: %s', whole, limited)
        w('snapshot', 'record', '-s', 'fr', '--max-size=100', status=1).prints('too small', '16384 bytes')
        w('snapshot', 'record', '-s', 'fr', '--name=a/b', status=1).prints('invalid snapshot name')
        w('save', 'fr')
        w('destroy', 'fr')
        w('load', 'fr')
        is_now = w.session('fr')
        check(is_now['snapshot'] and is_now['snapshot_name'] == 'crash' and is_now['snapshot_max_size'] == 65536,
              'loaded: %s', is_now)
        w('destroy', 'fr')
        program.end()


@limit(120)
def ordinary_session_has_snapshots_of_overwrite_channels(case):
    with World(case) as w:
        w('create', 'ring')
        w('enable-channel', '-s', 'ring', 'app', '--overwrite', '--subbuf-size', SUBBUF, '--num-subbuf', SUBBUFS)
        w('enable-event', '-s', 'ring', '-c', 'app', 'test:*')
        w('start', 'ring')
        w('enable-channel', '-s', 'ring', 'other')
        w('create', 'plain')
        w('enable-event', '-s', 'plain', 'test:*')
        w('start', 'plain')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 20000')
        w('snapshot', 'record', '-s', 'plain', case.path('x'), status=1).prints('no channel of applications')
        w('snapshot', 'record', '-s', 'ring', status=1).prints('no snapshot output')
        made = w('snapshot', 'record', '-s', 'ring', '--json', case.path('x')).json
        check(len(made['warnings']) == 1 and 'channel other is not in the snapshot' in made['warnings'][0], '%s', made)
        check_range(made['path'], {writer: returned for writer, (_, returned) in case.ledger.read().items()})
        program.end()
        # the snapshot took nothing from the trace
        counts = w.stop('ring')['counts']
        check(counts['records'] + counts['overwritten'] >= 20000 and made['records'] <= counts['records'],
              'counts: %s, snapshot %s', counts, made)
        for name in 'ring', 'plain':
            w('destroy', name)


@limit(180)
def snapshots_can_be_recorded_after_crashes_of_the_daemons(case):
    with World(case) as w:
        recorder(w)
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 5000')
        for daemon in w.consumerd, w.sessiond:
            pid = daemon()
            os.kill(pid, signal.SIGKILL)
            w.wait(lambda: daemon() != pid, 'the daemon to end')
            w('list')
            w.wait_apps([program.pid])
            program('emit 100')
            made = w('snapshot', 'record', '-s', 'fr', '--json').json
            check_range(made['path'], {writer: returned for writer, (_, returned) in case.ledger.read().items()})
        program.end()
        w('destroy', 'fr')


def record(w, *argv, status=0):
    """Run `waymark record --json` with a daemon. Returns (its summary, its standard error)."""
    answer = w('record', '--json', '-e', 'test:*', *argv, status=status)
    return json.loads(answer.out.splitlines()[-1]), answer.err


@limit(180)
def record_makes_a_snapshot_at_a_crash_and_at_exit(case):
    with World(case) as w:
        out, procs = case.path('out'), case.program('procs')
        made, err = record(w, '--snapshot-on=crash', '-o', out, '--', procs, 'trapped', '1000', status=128 + 5)
        check(len(made['snapshots']) == 1 and made['snapshots'][0]['reason'] == 'crash', 'of a crash: %s', made)
        path = made['snapshots'][0]['path']
        check(path.startswith(out + '/crash-') and path in err, 'its path: %s, %s', made, err)
        check(sum(1 for _ in Trace(path).records('test:seq')) == 50, 'records before the crash')
        env = environment(path)[0]
        check(env['snapshot_reason'] == 'crash' and env['snapshot_program'] == 'procs' and int(env['snapshot_pid']) > 1,
              'environment: %s', env)
        w('view').prints('test:seq')                         # the last snapshot
        made, _ = record(w, '--snapshot-on=exit,crash', '-o', case.path('exit'), '--', procs, 'leaf', '500')
        found = [(m['reason'], Trace(m['path']).count() >= 500) for m in made['snapshots']]
        check(found == [('exit', True)], '%s', made)
        none = case.path('none')
        made, err = record(w, '--snapshot-on=crash,loss', '-o', none, '--', procs, 'leaf', '500')
        check(not made['snapshots'] and 'no snapshot was recorded' in err, '%s %s', made, err)
        check(not os.path.exists(none), 'a directory without a snapshot')
        check(not w('list', '--json').json['sessions'], 'sessions of `record` remain')
        w('record', '--snapshot-on=never', 'true', status=2).prints('unknown word "never"', 'crash')
        w('record', '--snapshot-on=exit', '--private', 'true', status=2).prints('omit --private')


@limit(180)
def record_makes_snapshots_on_a_signal(case):
    with World(case) as w:
        w.start_daemon()
        recording = w.run([WAYMARK, 'record', '--json', '--snapshot-on=USR2', '-o', case.path('out'), '-e', 'test:*',
                           '--', case.program('busy'), 'until', '1', '20000'], stdout=subprocess.PIPE)
        w.wait(lambda: sum(n for _, n in case.ledger.read().values()) > 1000, 'records of the program')
        os.kill(recording.pid, signal.SIGUSR2)
        w.wait(lambda: glob.glob(case.path('out') + '/USR2-*/**/metadata', recursive=True), 'the snapshot')
        w.wait(lambda: [e for p in glob.glob(case.path('out') + '/USR2-*') for e in environment(p)
                        if 'snapshot_overwritten' in e], 'the end of the snapshot')
        os.kill(recording.pid, signal.SIGUSR2)               # within 10 s
        case.ledger.set_flag(1, 1)
        made = json.loads(communicated(recording)[0].splitlines()[-1])
        w.wait_end(recording)
        check(len(made['snapshots']) == 1 and made['refused'] <= 1 and made['status'] == 0, 'snapshots: %s', made)
        check(sum(1 for _ in Trace(made['snapshots'][0]['path']).records('test:seq')) > 1000, '%s', made)


@limit(180)
def record_makes_a_snapshot_after_lost_records(case):
    """A record that is larger than a sub-buffer is lost. Overwritten records do not count as a loss."""
    with World(case) as w:
        w.start_daemon()
        recording = w.run([WAYMARK, 'record', '--json', '--snapshot-on=loss', '-o', case.path('out'), '-e', 'test:*',
                           '--subbuf-size', '4k', '--num-subbuf', '4', '--', case.program('scripted')],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

        def command(line):
            recording.stdin.write(line + '\n')
            check(recording.stdout.readline() == 'ok\n', 'the program: %s', line)
        check(recording.stdout.readline() == 'ready\n', 'the program did not start')
        command('emit 5000')
        command('rest 1500')                                 # longer than the period of the check
        check(not os.path.exists(case.path('out')), 'a snapshot without a loss')
        command('long 1')
        w.wait(lambda: glob.glob(case.path('out') + '/loss-*/**/metadata', recursive=True), 'the snapshot')
        made = json.loads(communicated(recording)[0].splitlines()[-1])
        w.wait_end(recording)
        check([m['reason'] for m in made['snapshots']] == ['loss'] and made['refused'] == 0, '%s', made)
        check(sum(1 for _ in Trace(made['snapshots'][0]['path']).records('test:seq')) > 50, '%s', made)


def core_values(program, name='shop'):
    """The arguments that the kernel passes to the hook: PpiIugdstchEe."""
    return [str(v) for v in (program.pid, program.pid, program.pid, program.pid, os.getuid(), os.getgid(), 1, 11,
                             1700000000, (1 << 64) - 1, 'host', '!usr!bin!' + name, name)]


@limit(180)
def core_hook_records_a_snapshot_and_forwards_the_core_dump(case):
    with World(case) as w:
        recorder(w, 'fr', '-o', case.path('out'))
        program, kept = w.scripted(), case.path('kept')
        w.wait_apps([program.pid])
        program('emit 3000')

        def dump(pattern, *argv, status=0):
            with open(kept, 'w') as f:
                f.write(pattern)
            os.chmod(kept, 0o644)
            done = subprocess.run([WAYMARK, 'core-hook', '--kept-pattern', kept, '--', *core_values(program, *argv)],
                                  input=b'core' * 50000, env=w.env, capture_output=True)
            check(done.returncode == status, '%s: %s', pattern, done)
            return done
        dump(case.path('core.%e.%p.%s'), '-shop')
        with open(case.path('core.-shop.%d.11' % program.pid), 'rb') as f:
            check(f.read() == b'core' * 50000, 'the core in its file')
        snapshot, = glob.glob(case.path('out') + '/crash-*')
        check_range(snapshot, {writer: returned for writer, (_, returned) in case.ledger.read().items()})
        env = environment(snapshot)[0]
        check((env['snapshot_reason'], env['snapshot_program'], env['snapshot_pid']) ==
              ('crash by signal 11', '-shop', str(program.pid)), 'environment: %s', env)
        handler = case.path('handler')
        with open(handler, 'w') as f:
            f.write('#!/bin/sh\necho "$1 $2"; exec cat >%s\n' % case.path('handled'))
        os.chmod(handler, 0o755)
        check(dump('|%s %%P %%f' % handler).stdout.decode() == '%d shop\n' % program.pid, 'arguments of the handler')
        check(os.path.getsize(case.path('handled')) == 200000, 'the core at the handler')
        check(len(glob.glob(case.path('out') + '/crash-*')) == 2, 'a second snapshot')
        check(b'not an absolute path' in dump('core', status=1).stderr, 'a relative path')
        w('destroy', 'fr')
        begun = time.monotonic()
        os.kill(w.sessiond(), signal.SIGSTOP)                # a daemon that does not respond
        dump('|%s %%P %%f' % handler)
        os.kill(w.sessiond(), signal.SIGCONT)
        check(time.monotonic() - begun < 60, 'it waits for a session daemon that hangs')
        os.chmod(kept, 0o666)
        w('core-hook', '--kept-pattern', kept, '--', *core_values(program), status=1).prints('only root can write')
        program.end()


def core_hook_is_installed_and_removed(case):
    with World(case, daemon=False) as w:
        files_ = '--core-pattern', case.path('core_pattern'), '--kept-pattern', case.path('kept')
        with open(case.path('core_pattern'), 'w') as f:
            f.write('|/usr/bin/other %P\n')
        w('core-hook', '--install', *files_)
        with open(case.path('core_pattern')) as f:
            pattern = f.read()
        check(re.fullmatch(r'\|/\S+ core-hook --( %[PpiIugdstchEe]){13}', pattern), 'installed: %s', pattern)
        w('core-hook', '--install', *files_, status=1).prints('installed already')
        w('core-hook', '--remove', *files_)
        with open(case.path('core_pattern')) as f:
            check(f.read() == '|/usr/bin/other %P', 'restored')
        check(not os.path.exists(case.path('kept')), 'the kept pattern remains')
        w('core-hook', status=2).prints('the kernel runs this command')
        w('core-hook', '--install', '--remove', status=2).prints('exclude each other')


if __name__ == '__main__':
    main([snapshot_is_one_contiguous_range_and_writers_lose_nothing, flight_recorder_writes_only_snapshots,
          snapshots_are_written_to_the_given_outputs_within_limits,
          ordinary_session_has_snapshots_of_overwrite_channels, snapshots_can_be_recorded_after_crashes_of_the_daemons,
          record_makes_a_snapshot_at_a_crash_and_at_exit, record_makes_snapshots_on_a_signal,
          record_makes_a_snapshot_after_lost_records, core_hook_records_a_snapshot_and_forwards_the_core_dump,
          core_hook_is_installed_and_removed])
