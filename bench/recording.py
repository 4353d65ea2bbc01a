# SPDX-License-Identifier: MIT
"""Benchmarks of recording: the cost of a record, of a disabled site, of a program start; the size of a record on disk,
and the rate of records."""
import mmap
import os
import sys
import time

import lttng_session
import waymark_session
from common import RIVAL, ROUNDS, State, case, clean, show

CONTEXTS = ('vpid', 'vtid', 'procname')
RECORD_CASES = ('u32', 'int_long_double', 'int_str32', 'bytes64', 'ctx3')


def bench_record(b):
    """CPU time of a record at its call site, with warm rings in memory (overwrite mode, for both)."""
    cases = []
    for name in RECORD_CASES:
        for suffix, cpus, env in (('', b.cpus[-1:], None), ('_2cpu', b.cpus[:2], None),
                                  ('_claim', b.cpus[-1:], dict(os.environ, GLIBC_TUNABLES='glibc.pthread.rseq=0'))):
            if suffix == '_2cpu' and len(cpus) < 2:
                print('record %s_2cpu: left out, this machine has one CPU' % name)
                continue
            contexts = CONTEXTS if name == 'ctx3' else ()
            args = ['record', name, ','.join(map(str, cpus)), '50000', str(ROUNDS), '50000']
            session = 'record%d' % b.serial
            if b.daemon:
                b.daemon.start(session, None, overwrite=True, contexts=contexts)
            state = State()
            for _ in range(b.runs):
                values, _, _ = b.ours(b.fresh('trace'), args, overwrite=True, contexts=contexts, env=env)
                run = {'ours': values['rounds']}
                if b.daemon:
                    run[RIVAL] = b.values([b.program('work_lttng')] + args, dict(b.daemon.env, **(env or {})))['rounds']
                state.add(run)
                clean(b)
            if b.daemon:
                b.daemon.stop(session)
            cases.append(case(name + suffix, 'ns/record', state.figures(), state=state))
            show(cases[-1])
    return cases


def bench_disabled(b):
    """A loop with a disabled site; the floor is the same loop without a site."""
    runs = []
    args = ['disabled', str(b.cpus[-1]), '2000000', '15']
    for _ in range(b.runs):
        values = b.values([b.program('work_waymark')] + args)
        run = {'floor': values['plain'], 'ours': values['site']}
        if b.daemon:
            run[RIVAL] = b.values([b.program('work_lttng')] + args)['site']
        runs.append(run)
    cases = [case('site', 'ns/iteration', runs)]
    show(cases[-1])
    return cases


# case, record, field names of ours and of the rival, filter: {0} and {1} are the names. The rival's filters have no %.
FILTERED_CASES = (
    ('number', 'u32', ('arg1',), ('v',), '{0} == 4294967295'),
    ('numbers', 'u32', ('arg1',), ('v',), '{0} == 4294967293 || {0} == 4294967294 || {0} == 4294967295'),
    ('separate_numbers', 'u32', ('arg1',), ('v',), '{0} == 3000000003 || {0} == 3000000090 || {0} == 3000001000'),
    ('two_fields', 'int_long_double', ('arg1', 'arg2'), ('i', 'l'), '{0} == -1 || {1} == -1'),
    ('text', 'int_str32', ('text32',), ('s',), '{0} == "1*"'),
    ('arithmetic', 'u32', ('arg1',), None, '{0} % 3 == 5 || {0} in [4294967294, 4294967295]'))


def bench_filtered(b):
    """
    An enabled event with a filter that rejects each record. The filter compares one field with one constant, with
    neighbouring constants, with separate constants; two fields; a text; or uses arithmetic. The floor is the loop
    without the event.
    """
    cases = []
    for name, record, our_names, their_names, wanted in FILTERED_CASES:
        ours, theirs = wanted.format(*our_names), wanted.format(*their_names) if their_names else None
        args = ['record', record, str(b.cpus[-1]), '50000', str(ROUNDS), '50000']
        state, floors = State(), []
        for _ in range(b.runs):
            floors.append(b.values([b.program('work_waymark'), 'disabled', str(b.cpus[-1]), '2000000', '5'])['plain'])
            values, summary, _ = b.ours(b.fresh('trace'), args, overwrite=True, wanted=ours)
            if summary['records'] - summary['state_dump'] != 0:
                sys.exit('filtered: %d records, although the filter rejects all' %
                         (summary['records'] - summary['state_dump']))
            run = {'ours': values['rounds']}
            if b.daemon and theirs:
                session = 'filtered%d' % b.serial
                b.daemon.start(session, None, overwrite=True, wanted=theirs)
                run[RIVAL] = b.values([b.program('work_lttng')] + args, b.daemon.env)['rounds']
                b.daemon.stop(session)
            state.add(run)
            clean(b)
        runs = [dict(figures, floor=floor) for figures, floor in zip(state.figures(floor=False), floors)]
        cases.append(case(name, 'ns/call', runs, state=state))
        show(cases[-1])
    return cases


def tree_size(directory):
    return sum(os.path.getsize(os.path.join(top, f)) for top, _, files in os.walk(directory) for f in files)


def bench_size(b):
    """Size of all files of a trace with 10 million records of a 64-bit payload, for each record; the floor is the
    payload."""
    runs, n = [], 10000000
    args = ['count', 'u64', str(n), '20000']
    for number in range(b.runs):
        directory = b.fresh('trace')
        _, summary, _ = b.ours(directory, args)
        if summary['records'] - summary['state_dump'] + summary['lost'] != n:
            sys.exit('size: %d records + %d lost, expected %d' % (summary['records'], summary['lost'], n))
        run = {'floor': 8.0, 'ours': tree_size(directory) / summary['records'], 'ours_lost': summary['lost']}
        clean(b)
        # Only two runs: babeltrace2 counts the records of the rival slowly, and the sizes hardly differ.
        if b.daemon and number < 2:
            directory, session = b.fresh('trace'), 'size%d' % b.serial
            b.daemon.start(session, directory)
            b.run([b.program('work_lttng')] + args, b.daemon.env)
            b.daemon.stop(session)
            records = lttng_session.counted(directory)
            run[RIVAL] = tree_size(directory) / records
            run[RIVAL + '_lost'] = n - records
            clean(b)
        runs.append(run)
    cases = [case('u64', 'bytes/record', runs)]
    show(cases[-1])
    return cases


def spawned(b, program, under=(), env=None):
    """30 starts of a program and of one without a tracer, in pairs, on one CPU: (time without a tracer, additional time
    of the program), in us."""
    out = b.fresh('out')
    b.run([
        *under, 'sh', '-c', 'exec "$@" >' + out, 'sh',
        b.program('spawn'),
        str(b.cpus[-1]), '30',
        b.program('hello_none'),
        b.program(program)
    ], env)
    with open(out) as f:
        lines = [list(map(float, line.split())) for line in f.read().splitlines()]
    return lines[0][0], lines[1][1]


def bench_startup(b):
    """Time from exec to exit, minus that of the same program without a tracer, which is the floor."""
    cases = []
    for name in ('no_session', 'active_session', 'recorded'):
        runs, started, daemon = [], 'startup%d' % b.serial, None
        if name == 'active_session':
            daemon = waymark_session.Daemon(b.build)
            daemon.start(started, os.path.join(daemon.home, 'trace'), '*')
        if name != 'no_session' and b.daemon:
            b.daemon.start(started, None, overwrite=True)
        for _ in range(b.runs):
            record = [b.waymark, 'record', '--private', '-o', b.fresh('trace'), '--'] if name == 'recorded' else []
            floor, ours = spawned(b, 'hello_started', record, daemon and daemon.env)
            run = {'floor': floor, 'ours': ours}
            if b.daemon:
                # Without a session, the rival runs without a daemon, too: a home and a /run without one.
                alone = lttng_session.IN_NAMESPACE if name == 'no_session' and os.geteuid() == 0 else []
                run[RIVAL] = spawned(
                    b, 'hello_lttng', alone,
                    dict(os.environ, LTTNG_HOME=b.fresh('nohome')) if name == 'no_session' else b.daemon.env)[1]
            runs.append(run)
            clean(b)
        if name != 'no_session' and b.daemon:
            b.daemon.stop(started)
        if daemon:
            daemon.command('destroy', started)
            daemon.close()
        cases.append(case(name, 'us', runs))
        show(cases[-1])
    return cases


def disk_rate(b):
    """Highest write rate of the disk of the traces in bytes per second: large blocks, without the page cache."""
    block, total = mmap.mmap(-1, 8 << 20), 128 << 20
    block.write(os.urandom(1 << 20) * 8)
    path = b.fresh('trace')
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
    except OSError:
        return None             # not supported by this file system
    try:
        begin = time.monotonic()
        for _ in range(total // len(block)):
            os.write(fd, block)
        os.fdatasync(fd)
        return total / (time.monotonic() - begin)
    finally:
        os.close(fd)
        os.unlink(path)


def bench_stream(b):
    """Records per second that reach the disk, with writers at full speed; the floor is the highest rate of the disk.

    Each run also has the numbers of begun and lost records, the CPU seconds of the consumer daemon for a GB, and the
    rate of the disk before the run.
    """
    cases = []
    for name in ('u32', 'bytes64'):
        for suffix, cpus in (('_1w', b.cpus[-1:]), ('_2w', b.cpus[:2])):
            if suffix == '_2w' and len(cpus) < 2:
                continue
            args = ['stream', name, ','.join(map(str, cpus)), '500']
            runs = []
            for _ in range(b.runs):
                directory, rate = b.fresh('trace'), disk_rate(b)
                values, summary, usage = b.ours(directory, args)
                seconds, size = values['elapsed'] / 1e9, tree_size(directory)
                consumer = usage.ru_utime + usage.ru_stime - values['cpu'] / 1e9
                run = {'ours': summary['records'] / seconds, 'ours_lost': summary['lost'],
                       'ours_begun': values['begun'],
                       'ours_consumer_s_per_GB': round(consumer / (size / 1e9), 3), 'ours_bytes': size,
                       'floor': rate and rate / (size / summary['records']), 'disk_bytes_per_s': rate}
                clean(b)
                if b.daemon:
                    directory, session = b.fresh('trace'), 'stream%d' % b.serial
                    b.daemon.start(session, directory)
                    before = b.daemon.consumer_cpu()
                    values = b.values([b.program('work_lttng')] + args, b.daemon.env)
                    b.daemon.stop(session)
                    records = lttng_session.counted(directory)
                    size = tree_size(directory)
                    used = b.daemon.consumer_cpu() - before
                    run.update({RIVAL: records / (values['elapsed'] / 1e9), RIVAL + '_lost': values['begun'] - records,
                                RIVAL + '_consumer_s_per_GB': round(used / (size / 1e9), 3)})
                    clean(b)
                runs.append(run)
            cases.append(case(name + suffix, 'records/s', runs))
            show(cases[-1])
    return cases
