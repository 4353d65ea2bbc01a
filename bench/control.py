# SPDX-License-Identifier: MIT
"""Benchmarks of the session daemon: registration, applications that wait for it, commands with a thousand
applications, and idle time."""
import contextlib
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import lttng_session
import process
import waymark_session
from common import RIVAL, case, clean, show
from app_group import AppGroup

MANY = 1000
SIZES = (1, 100, MANY)
EVENTS = 32                     # in a member
SESSION, CHANNEL, ALL = 'app_group', 'channel', 'member:*'
RINGS = {'subbuf_size': '256k', 'num_subbuf': 4}
WAIT_S = 120
IDLE_S = 60


def fails(what, *args):
    sys.exit(what % args)


class Side:
    """Ours or the rival: a session daemon with one session that records `events` of all members."""

    def __init__(self, b, name):
        self.b, self.name = b, name
        self.tracer = 'waymark' if name == 'ours' else 'lttng'
        self.daemon = None

    def begin(self, events=ALL):
        b = self.b
        self.daemon = waymark_session.Daemon(b.build) if self.name == 'ours' else lttng_session.Daemon(
            b.fresh('lttng-home'))
        if events:
            self.daemon.start(SESSION, b.fresh('trace'), events=events, **RINGS)

    def close(self):
        if self.daemon:
            self.daemon.close()
        self.daemon = None

    def app_group(self, n, in_turn=False):
        return AppGroup(self.b, self.tracer, n, self.daemon.env, in_turn)


@contextlib.contextmanager
def sides(b, events=ALL):
    """Both sides, each with a new daemon."""
    b.rest()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    # for the rival; our daemon raises the limit itself
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 65536), files[1]))
    both = [Side(b, 'ours')] + ([] if b.absent else [Side(b, RIVAL)])
    try:
        for side in both:
            side.begin(events)
        yield both
    finally:
        for side in both:
            side.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        clean(b)


def turns(things, number):
    """The same list, in reverse order for odd numbers."""
    return things if number % 2 == 0 else things[::-1]


# ── register ────────────────────────────────────────────────────────────────────────────────────────────

def check_all_on(side, run, app_group):
    """Applications that are not enabled in main() were not measured: an error for ours, reported for the rival."""
    run[side.name + '_on'] = app_group.begun['on']
    if side.name == 'ours' and app_group.begun['on'] != app_group.n:
        fails('register: only %d of %d applications were enabled when main() began', app_group.begun['on'],
              app_group.n)


def register_with(b, rundir, pid, n):
    """(CPU time of the daemon for each registration in microseconds, the client's output)."""
    before = process.settled_cpu_ns(pid)
    child = subprocess.Popen(
        [b.program('register_client'), rundir, str(n), str(EVENTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)
    words = child.stdout.readline().split()
    if not words or float(words[5]) != EVENTS:
        fails('register: unexpected output of register_client: %s', words)
    used = (process.settled_cpu_ns(pid) - before) / 1e3 / n
    child.communicate()
    return used, words


def register_floor(b, n):
    """The same with a daemon that does only the minimum of a session daemon (minimal_daemon.c)."""
    rundir = tempfile.mkdtemp(prefix='waymark-bench-')
    with subprocess.Popen([b.program('minimal_daemon'), rundir], stdout=subprocess.PIPE, text=True) as minimal_daemon:
        if minimal_daemon.stdout.readline().strip() != 'ready':
            fails('register: minimal_daemon does not start')
        register_with(b, rundir, minimal_daemon.pid, 1)
        used, words = register_with(b, rundir, minimal_daemon.pid, n)
        minimal_daemon.kill()
    shutil.rmtree(rundir)
    return used, words


def register_protocol(b):
    """From connect() to DONE, without a tracer; and the CPU time of the daemon."""
    latency, cpu, n = [], [], 100
    for _ in range(b.runs):
        floor, floor_words = register_floor(b, n)
        with sides(b) as both:
            ours = both[0].daemon
            first = both[0].app_group(1)          # see register_one()
            used, words = register_with(b, ours.rundir, ours.pid, n)
            cpu.append({'ours': used, 'floor': floor})
            latency.append(
                {'ours': int(words[1]) / 1e3, 'ours_p90': int(words[3]) / 1e3, 'floor': int(floor_words[1]) / 1e3})
            first.close()
    return [case('protocol', 'us', latency), case('protocol_cpu', 'us', cpu)]


def register_one(b):
    """20 applications, one after the other: the time of their constructors, which wait for DONE; and the CPU time of
    the daemon for each."""
    latency, cpu, n = [], [], 20
    for number in range(b.runs):
        run, used = {}, {}
        with sides(b) as both:
            for side in turns(both, number):
                first = side.app_group(1)         # the first one costs more: rings, ids, metadata
                before = process.settled_cpu_ns(side.daemon.pid)
                app_group = side.app_group(n, in_turn=True)
                check_all_on(side, run, app_group)
                run[side.name] = app_group.begun['latency'] / 1e3
                used[side.name] = (process.settled_cpu_ns(side.daemon.pid) - before) / 1e3 / n
                app_group.close()
                first.close()
            app_group = AppGroup(b, 'none', n, in_turn=True)
            run['floor'] = app_group.begun['latency'] / 1e3
            app_group.close()
        latency.append(run)
        cpu.append(used)
    return [case('constructors_1', 'us', latency), case('daemon_cpu_1', 'us/program', cpu)]


def register_app_group(side, n, run):
    """Start n applications at once; stores the results in run[case]."""
    daemon, name = side.daemon, side.name
    first = side.app_group(1)         # see register_one()
    cpu = process.settled_cpu_ns(daemon.pid)
    memory = process.status(daemon.pid, 'VmRSS', 'RssAnon')
    app_group = side.app_group(n)
    used = process.settled_cpu_ns(daemon.pid) - cpu
    after = process.status(daemon.pid, 'VmRSS', 'RssAnon')
    listed, took = daemon.listed()
    check_all_on(side, run['ready'], app_group)
    if name == 'ours' and listed != n + 1:
        fails('register: %d applications are listed, expected %d', listed, n + 1)
    run['ready'][name] = app_group.all_ready_ms
    run['listed'][name] = app_group.all_ready_ms + took
    run['listed'][name + '_list_ms'] = took
    run['daemon_cpu'][name] = used / 1e3 / n
    run['rss'][name] = (after[0] - memory[0]) / n
    run['rss'][name + '_anonymous'] = (after[1] - memory[1]) / n
    app_group.close()
    first.close()


def register_many(b, n):
    units = {'ready': 'ms', 'listed': 'ms', 'added': 'ms', 'daemon_cpu': 'us/program', 'rss': 'kB/program'}
    runs = {what: [] for what in units}
    for number in range(b.runs):
        run = {what: {} for what in units}
        with sides(b) as both:
            for side in turns(both, number):
                register_app_group(side, n, run)
            app_group = AppGroup(b, 'none', n)
            run['ready']['floor'] = run['listed']['floor'] = app_group.all_ready_ms
            for side in both:
                run['added'][side.name] = run['listed'][side.name] - app_group.all_ready_ms
            app_group.close()
        for what in units:
            runs[what].append(run[what])
    return [case('%s_%d' % (what, n), unit, runs[what]) for what, unit in units.items()]


def bench_register(b):
    """Applications with 32 events register while a session records all of them; the floor is the same without a tracer.

    protocol: from connect() to DONE, by a client of the protocol only. constructors: from before the first
    constructor to main(), including the wait for DONE. ready: from the start of the first application to main() of the
    last one. listed: until all are listed. added: the difference between listed and the same programs without a tracer.
    """
    cases = register_protocol(b)
    for n in SIZES:
        cases += register_one(b) if n == 1 else register_many(b, n)
    for c in cases:
        show(c)
    return cases


# ── notify ──────────────────────────────────────────────────────────────────────────────────────────────

def notify_ours(side, n):
    """The daemon crashes and keeps its session; applications start, and wait; the daemon restarts."""
    side.begin()
    side.daemon.crash()
    app_group = side.app_group(n)
    time.sleep(1)               # until all sleep
    side.daemon.begin()
    return app_group, side.daemon


def notify_rival(side, n):
    """The rival's daemon keeps no sessions: it loads the same one from a file."""
    side.begin()
    path = side.b.fresh('saved')
    side.daemon.command('save', SESSION, '--output-path=' + path)
    side.close()
    app_group = AppGroup(side.b, side.tracer, n, dict(os.environ, LTTNG_HOME=side.b.fresh('lttng-home')))
    time.sleep(1)
    side.daemon = lttng_session.Daemon(app_group_home(app_group), load=os.path.join(path, SESSION + '.lttng'))
    return app_group, side.daemon


def app_group_home(app_group):
    with open('/proc/%d/environ' % app_group.process.pid, 'rb') as f:
        return next(os.fsdecode(v[len('LTTNG_HOME='):]) for v in f.read().split(b'\0') if v.startswith(b'LTTNG_HOME='))


def bench_notify(b):
    """Applications run first, then their daemon starts: from the daemon's ready message until all are enabled.

    from_start: the same from exec() of the daemon (the rival reports ready after it has accepted most of them).
    """
    cases = []
    b.rest()
    names = ['ours'] + ([] if b.absent else [RIVAL])
    for n in SIZES:
        runs, from_start = [], []
        for number in range(b.runs):
            run, started = {}, {}
            for name in turns(names, number):
                side = Side(b, name)
                app_group, daemon = (notify_ours if name == 'ours' else notify_rival)(side, n)
                came = app_group.ask('on', WAIT_S)
                if came['left'] and name == 'ours':
                    fails('notify: %d of %d applications are not enabled after %d s', came['left'], n, WAIT_S)
                run[name] = (came['at'] - daemon.ready) / 1e6 if not came['left'] else None
                started[name] = (came['at'] - daemon.began) / 1e6 if not came['left'] else None
                app_group.close()
                side.close()
                clean(b)
            runs.append(run)
            from_start.append(started)
        cases += [case('enabled_%d' % n, 'ms', runs), case('from_start_%d' % n, 'ms', from_start)]
        show(cases[-2])
        show(cases[-1])
    return cases


# ── command ─────────────────────────────────────────────────────────────────────────────────────────────

def command_ms(side, verb='enable-event'):
    """Run `enable-event` for two events that are not enabled yet, as a user does."""
    begin = time.monotonic_ns()
    side.daemon.command(verb, '-u', '-s', SESSION, '-c', CHANNEL, 'member:e3*')
    return (time.monotonic_ns() - begin) / 1e6


def command_run(side, app_group, run, stop=None):
    """One run; `stop`: a member that is stopped meanwhile. `_left` is the number of members that are not enabled when
    the command returns."""
    if stop is not None:
        app_group.ask('stop', stop)
    run[side.name] = command_ms(side)
    run[side.name + '_left'] = app_group.ask('on', 0)['left']
    if stop is not None:
        app_group.ask('cont', stop)
        app_group.ask('on', WAIT_S)
    command_ms(side, 'disable-event')
    app_group.ask('off', WAIT_S)


def bench_command(b):
    """Time of the command enable-event with 1000 applications; the floor is ours without applications.

    one_stopped: the same while one of the applications is stopped (SIGSTOP).
    """
    cases, floor = [], []
    with sides(b, 'member:e0*') as both:
        for _ in range(b.runs):
            floor.append(command_ms(both[0]))
            command_ms(both[0], 'disable-event')
        app_groups = [side.app_group(MANY) for side in both]
        for name, stopped in (('enable_event', False), ('enable_event_one_stopped', True)):
            runs = []
            for number in range(b.runs):
                run = {'floor': statistics.median(floor)}
                for side, app_group in turns(list(zip(both, app_groups)), number):
                    command_run(side, app_group, run, MANY - 1 - number if stopped else None)
                runs.append(run)
            cases.append(case(name, 'ms', runs))
            show(cases[-1])
        for app_group in app_groups:
            app_group.close()
    return cases


# ── idle ────────────────────────────────────────────────────────────────────────────────────────────────

@contextlib.contextmanager
def places_without_a_daemon(b):
    """(side, environment) for applications without a daemon. As root, those of the rival find the running one, and are
    left out."""
    gone = waymark_session.Daemon(b.build)
    gone.crash()
    try:
        yield [('ours', gone.env)
               ] + ([(RIVAL, dict(os.environ, LTTNG_HOME=b.fresh('nowhere')))] if os.geteuid() and not b.absent else [])
    finally:
        gone.close()


def watch_idle(b, both, places, app_groups):
    """{(process, side): switches in IDLE_S}"""
    watched = {}
    for side in both:
        app_groups.append(side.app_group(1))
        watched['session_daemon', side.name] = side.daemon.pid
        watched['consumer_daemon', side.name] = side.daemon.consumer_pid()
        watched['program', side.name] = app_groups[-1].ask('pid', 0)['pid']
    for name, env in places:
        app_groups.append(AppGroup(b, 'waymark' if name == 'ours' else 'lttng', 1, env))
        watched['waiting_program', name] = app_groups[-1].ask('pid', 0)['pid']
    time.sleep(2)                   # until the start is finished
    before = {key: process.switches(pid) for key, pid in watched.items()}
    time.sleep(IDLE_S)
    return {key: process.switches(pid) - before[key] for key, pid in watched.items()}


def bench_idle(b):
    """Wake-ups of idle processes: voluntary context switches in 60 s, with a session that records.

    waiting_program: an application without a daemon.
    """
    cases, app_groups = [], []
    with sides(b) as both, places_without_a_daemon(b) as places:
        found = watch_idle(b, both, places, app_groups)
        for app_group in app_groups:
            app_group.close()
    for kind in ('session_daemon', 'consumer_daemon', 'program', 'waiting_program'):
        cases.append(
            case(kind, 'switches/min', [{'floor': 0, **{side: n for (w, side), n in found.items() if w == kind}}]))
        show(cases[-1])
    return cases
