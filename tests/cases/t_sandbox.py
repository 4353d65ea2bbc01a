#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
System calls of libwaymark: strace compared with the table of docs/sandbox.md, then each of these calls refused by a
filter.
"""
import os
import platform
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import FEATURES, Skip, check, communicated, finished, limit, main, need, slurp  # noqa: E402

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'sandbox.md')
PHASES = ('start', 'fork', 'session', 'stop', 'fallback')
AT_ONCE = 24                         # processes that sleep most of the time
REST_MS = 400                        # longer than the helper thread's first check, 20 ms after its start
LONG_MS = 60000                      # for a process that is to be killed before its end
TRIES = 20                           # of strace
CPU_MS = 200  # a thread that spins for REST_MS uses all of it; a thread that sleeps uses a few ms


class Row:
    """The table's row of a system call. `sure` and `may`: {thread: phases}, without and with parentheses."""

    def __init__(self, name, app, helper, refused):
        self.name, self.refused, self.sure, self.may = name, refused, {}, {}
        for thread, cell in (('application', app), ('helper', helper)):
            self.may[thread] = set(re.findall(r'\(`(\w+)`\)', cell))
            self.sure[thread] = set(re.findall(r'`(\w+)`', cell)) - self.may[thread]
            unknown = (self.may[thread] | self.sure[thread]) - set(PHASES)
            check(not unknown, '%s: unknown phase %s', name, unknown)

    def phases(self, sure=True, may=True):
        return set().union(*(self.sure.values() if sure else ()), *(self.may.values() if may else ()))

    def allows(self, thread, session):
        """Whether this thread may make the call, with or without a session daemon."""
        phases = self.sure[thread] | self.may[thread]
        return bool(phases & ({'start', 'fork', 'session'} if session else {'start', 'fork'}))

    def requires(self, thread, session):
        return bool(self.sure[thread] & ({'start', 'fork', 'session'} if session else {'start', 'fork'}))

    def kills(self, session):
        """Whether a killing filter ends a process that does not fork. None: either way."""
        made = {'start', 'session'} if session else {'start'}
        return True if self.phases(may=False) & made else None if self.phases() & (made | {'stop'}) else False


def rows():
    found = {}
    for line in slurp(TABLE).splitlines():
        cells = [c.strip() for c in line.strip('|').split('|')]
        if len(cells) == 5 and re.fullmatch(r'`\w+`', cells[0]):
            row = Row(cells[0].strip('`'), cells[1], cells[2], cells[4])
            check(row.name not in found and row.phases() and row.refused, 'invalid row of %s', row.name)
            found[row.name] = row
    check(len(found) > 30, 'the table in docs/sandbox.md has %d rows', len(found))
    return found


def need_x86():
    """The table has the names of x86-64's system calls; sanitizers make their own calls."""
    if platform.machine() != 'x86_64':
        raise Skip('the table names the system calls of x86-64')
    if 'sanitize' in FEATURES or 'testpoints' in FEATURES:
        raise Skip('not the installed library')


# ── strace ──────────────────────────────────────────────────────────────────────────────────────────────

def calls_of(path):
    """{(system call, thread)} that libwaymark has made, by the stack of each call in strace's output."""
    helpers, calls, current = set(), [], None
    for line in slurp(path).splitlines():
        if line.startswith(' > '):
            current and current[3].append(line)
            continue
        found = re.match(r'(\d+) +(?:<\.\.\. )?(\w+)', line)
        current = (found.group(1), found.group(2), line, []) if found else None
        current and calls.append(current)
    for pid, _name, _line, stack in calls:
        if any('libwaymark' in s and 'wmk_helper_thread_main' in s for s in stack):
            helpers.add(pid)
    made = set()
    for pid, name, line, stack in calls:
        if pid in helpers:
            made.add((name, 'helper'))
        elif any('libwaymark' in s for s in stack) or (name == 'clone3' and line.split()[-1] in helpers):
            made.add((name, 'application'))
    check(helpers, 'strace shows no helper thread')
    return made - {('exit_group', t) for t in ('helper', 'application')}


def activities(case):
    return ['rest', '60', 'thread', 'fork', 'flood', '100000', 'load', case.program('libplugin.so'), 'rest', '1500']


def traced(case, session):
    need('strace')
    out = case.path('strace')
    command = ['strace', '-f', '-k', '-o', out, case.program('sandboxed'), 'never', 'errno', 'close'] + activities(case)
    for _ in range(TRIES):
        if session:
            child = case.record(command)
            status, err = child.status, child.err
        else:
            child = finished(command, env=case.env, capture_output=True, text=True)
            status, err = child.returncode, child.stderr
        if 'not supported' in err or 'invalid option' in err:
            raise Skip('strace shows no stacks here')
        # strace fails if a thread ends before strace has opened it for its stacks.
        if 'cannot initialize libunwind' not in err:
            break
    check(status == 0, 'strace ended with status %d: %s', status, err)
    return calls_of(out)


def compare(case, session):
    need_x86()
    table, made = rows(), traced(case, session)
    unlisted = sorted('%s (%s)' % (name, thread) for name, thread in made
                      if name not in table or not table[name].allows(thread, session))
    check(not unlisted, 'the library makes calls that docs/sandbox.md does not list: %s', ', '.join(unlisted))
    absent = sorted('%s (%s)' % (r.name, thread) for r in table.values() for thread in r.sure
                    if r.requires(thread, session) and (r.name, thread) not in made)
    check(not absent, 'docs/sandbox.md lists calls that the library does not make: %s', ', '.join(absent))


@limit(60)
def documented_system_calls_equal_those_made_without_daemon(case):
    compare(case, False)


@limit(60)
def documented_system_calls_equal_those_made_in_a_session(case):
    compare(case, True)


# ── seccomp ─────────────────────────────────────────────────────────────────────────────────────────────

def run_all(case, env, wanted, rest=lambda job: REST_MS):
    """
    Run each of `wanted` = [(when, action, name)] as a process that sleeps rest() ms. Returns [(..., status, CPU time in
    ms)].
    """
    results, running = [], []

    def end_one():
        job, child = running.pop(0)
        out, _err = communicated(child)
        if child.returncode == 77:
            raise Skip('no seccomp filters here')
        check(child.returncode != 78, 'tests/programs/sandboxed.c does not know %s', job[2])
        results.append(job + (child.returncode, int(out) if out.strip().isdigit() else 0))

    for job in wanted:
        if len(running) == AT_ONCE:
            end_one()
        argv = [case.program('sandboxed'), *job, 'rest', str(rest(job))]
        running.append((job, subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True, start_new_session=True)))
    while running:
        end_one()
    return results


def judge(table, results, session):
    wrong = []
    for when, action, name, status, cpu in results:
        kills = table[name].kills(session) if action == 'kill' else False
        allowed = {-signal.SIGSYS} if kills else {0, -signal.SIGSYS} if kills is None else {0}
        if action == 'errno' and 'aborts' in table[name].refused:
            allowed.add(-signal.SIGABRT)
        if status not in allowed:
            wrong.append('%s %s %s: status %d' % (when, action, name, status))
        if cpu > CPU_MS:
            wrong.append('%s %s %s: %d ms of CPU time' % (when, action, name, cpu))
    check(not wrong, '%d of %d: %s', len(wrong), len(results), '; '.join(wrong))


def refuse_each(case, env, session):
    """Each row of the table: refused before the constructors, refused from main() on, and with a filter that kills."""
    need_x86()
    table = rows()
    ways = (('preinit', 'errno'), ('main', 'errno'), ('preinit', 'kill'))
    jobs = [(when, action, name) for name in sorted(table) for when, action in ways]
    jobs += [('main', 'trap', name) for name in ('poll', 'read', 'nanosleep')]

    def rest(job):
        return LONG_MS if job[1] == 'kill' and table[job[2]].kills(session) else REST_MS

    judge(table, run_all(case, env, jobs, rest), session)


@limit(120)
def refused_system_calls_do_not_break_program_without_daemon(case):
    refuse_each(case, case.env, False)


@limit(120)
def refused_system_calls_do_not_break_program_in_a_session(case):
    with World(case) as w:
        w('create', 'box')
        w('enable-event', 'box:*')
        w('start')
        refuse_each(case, w.env, True)
        w('destroy')


@limit(60)
def seccomp_filter_at_begin_of_main_does_not_abort(case):
    """The C library makes these calls in each new thread before libwaymark's code, and aborts if rseq fails."""
    jobs = [('main', 'errno', name) for name in ('rseq', 'set_robust_list')] * 30
    bad = [status for *_job, status, _cpu in run_all(case, case.env, jobs, lambda job: 20) if status]
    check(not bad, '%d of %d runs: %s', len(bad), len(jobs), sorted(set(bad)))


if __name__ == '__main__':
    main([documented_system_calls_equal_those_made_without_daemon,
          documented_system_calls_equal_those_made_in_a_session,
          refused_system_calls_do_not_break_program_without_daemon,
          refused_system_calls_do_not_break_program_in_a_session, seccomp_filter_at_begin_of_main_does_not_abort])
