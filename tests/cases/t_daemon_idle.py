#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Idle processes use no CPU time: no thread wakes while nothing happens, and stopped applications delay no command."""
import os
import re
import resource
import signal
import statistics
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import hostile  # noqa: E402
from control import Control  # noqa: E402
from daemon import SANITIZED, Scripted, World, state  # noqa: E402
from harness import PERCENT, Skip, check, limit, main, slurp  # noqa: E402
from idle import rests, switches, woken  # noqa: E402
from mounts import fresh_run  # noqa: E402
from processes import cpu_seconds  # noqa: E402
from users import open_to_all  # noqa: E402

# A command may take this multiple of its usual time plus the allowance for a busy machine. A command that waits for the
# stopped application takes 3 s each time.
TIMES, FACTOR, FLOOR_S = 10, 10, 1.5
# The deadlines of the last command (3 s) and of a greeting (5 s) expire within this time, even if nothing waits for
# them.
SETTLE_S = 6


def median_time(w, *argv):
    """The median time that a command takes, and its last answer. A busy machine delays single runs."""
    times = []
    for _ in range(TIMES):
        begun = time.monotonic()
        answer = w(*argv)
        times.append(time.monotonic() - begun)
    return statistics.median(times), answer


@limit(30)
def stopped_application_delays_no_command(case):
    """
    Commands for other applications take no longer than without the stopped one, and name it. It catches up when it
    resumes.
    """
    with World(case) as w:
        programs = [w.scripted() for _ in range(4)]
        w.begin('all', 'other:*')
        without, _ = median_time(w, 'enable-event', '-s', 'all', 'one:*')
        stopped, others = programs[0], programs[1:]
        os.kill(stopped.pid, signal.SIGSTOP)
        w.wait(lambda: state(stopped.pid) == 'T', 'the program to stop')
        with_it, _ = median_time(w, 'enable-event', '-s', 'all', 'two:*')
        check(with_it < FACTOR * without + FLOOR_S, 'a command takes %.3f s with a stopped program, %.3f s without',
              with_it, without)
        answer = w('enable-event', '-s', 'all', 'test:seq')
        answer.prints(str(stopped.pid), 'scripted')
        # another application may be late once
        for _ in range(3):
            unanswered = [a['pid'] for a in w('enable-event', '-s', 'all', 'test:seq', '--json').json['unanswered']]
            check(stopped.pid in unanswered, 'wrong applications without answer: %s', unanswered)
            if len(unanswered) == 1:
                break
        check(unanswered == [stopped.pid], 'wrong applications without answer: %s', unanswered)
        for program in others:
            program('emit 5')
        fresh = w.scripted()                 # a new application is not delayed either
        fresh('emit 5')
        os.kill(stopped.pid, signal.SIGCONT)
        w.wait(lambda: not w('enable-event', '-s', 'all', 'test:seq', '--json').json['unanswered'],
               'the program to answer')
        stopped('emit 5')
        for program in programs + [fresh]:
            program.end()
        _, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [5] * 5, 'wrong records: %s', numbers)


@limit(30)
def unresponsive_application_delays_only_the_first_command(case):
    """
    The application registers an enabled event but never answers. Each command names it; only the first one waits for
    it.
    """
    with World(case) as w:
        w.begin('all', 'silent:*')
        silent = hostile.connect(os.path.join(w.rundir, 'app.sock'))
        hostile.send(silent, hostile.hello(b'silent') + hostile.event(0, b'silent', b'one') +
                     hostile.frame(hostile.EVENTS_END, struct.pack('<I', 1)))
        w.wait(lambda: any(a['name'] == 'silent' for a in w('list', '-u', '--json').json['apps']),
               'the application to register')
        named = w('enable-event', '-s', 'all', 'one:*', '--json').json['unanswered']
        check([a['name'] for a in named] == ['silent'], 'wrong applications without answer: %s', named)
        middle, answer = median_time(w, 'enable-event', '-s', 'all', 'two:*', '--json')
        check(middle < FLOOR_S, 'every command takes %.3f s', middle)
        check([a['name'] for a in answer.json['unanswered']] == ['silent'], 'wrong applications without answer: %s',
              answer.json['unanswered'])
        silent.close()
        w.finish('all', lost=0)


def session_ends_while_an_application_is_stopped(case):
    """A session starts, stops and ends while the application is stopped. The application survives."""
    with World(case) as w:
        program = w.scripted()
        os.kill(program.pid, signal.SIGSTOP)
        w.wait(lambda: state(program.pid) == 'T', 'the program to stop')
        w.begin('short')
        w.stop('short')
        w('destroy', 'short')
        os.kill(program.pid, signal.SIGCONT)
        program('rest 1')
        program.end()


@limit(60)
def idle_daemons_and_applications_do_not_wake_up(case):
    """The session daemon, the consumer daemon and an idle application, in a session that records."""
    if SANITIZED:
        raise Skip('a sanitizer starts threads')
    # longer than the poll interval of a thread that looks for a new daemon (10 s)
    seconds = 60 if PERCENT >= 100 else 12
    with World(case) as w:
        program = w.scripted()
        w.begin('idle')
        program('emit 10')
        time.sleep(SETTLE_S)             # deadlines of commands and drain passes end; afterwards nothing is to be done
        rests({'session daemon': w.sessiond(), 'consumer daemon': w.consumerd(), 'program': program.pid}, seconds,
              'a session that records')
        program.end()
        w.finish('idle', lost=0)


@limit(30)
def idle_applications_do_not_wake_up_for_busy_ones(case):
    """Idle applications share their rings with one that fills them."""
    if SANITIZED:
        raise Skip('a sanitizer starts threads')
    with World(case) as w:
        idle, busy = [w.scripted() for _ in range(3)], w.scripted()
        w.begin('shared')
        for program in idle:
            program('emit 1')            # it maps the rings, and records nothing afterwards

        def fill(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                busy('emit 100')
            return [switches(program.pid) for program in idle]

        before = fill(SETTLE_S)
        # earlier work may end in the first of these intervals on a busy machine
        for _ in range(4):
            after = fill(12)
            awake = [woken(was, now) for was, now in zip(before, after)]
            if not any(awake):
                break
            before = after
        check(not any(awake), 'idle applications wake while another records: %s', awake)
        for program in idle + [busy]:
            program.end()
        w.stop('shared')
        w('destroy', 'shared')


def mapped_rings(pid):
    """{inode: kB of the ring set that are resident in the process}"""
    found = {}
    for inode, kb in re.findall(r'^\S+ \S+ \S+ \S+ (\d+) +/memfd:waymark-ring.*\n(?:(?!Rss).*\n)*?Rss: +(\d+) kB',
                                slurp('/proc/%d/smaps' % pid), re.M):
        found[inode] = found.get(inode, 0) + int(kb)
    return found


@limit(30)
def rings_with_only_a_state_dump_are_not_prefaulted(case):
    """
    The helper thread alone records the state dump. Those rings get pages on demand; rings of other events are
    prefaulted.
    """
    if resource.getpagesize() != 4096:
        raise Skip('a few larger pages are as much as the prefaulted part')
    with World(case) as w:
        w.begin('loaded', 'other:*')
        program = w.scripted()
        dump = mapped_rings(program.pid)
        check(len(dump) == 1, 'not one ring set of the state dump: %s', dump)
        w('enable-event', '-s', 'loaded', 'test:*')
        both = w.wait(lambda: {i: kb for i, kb in mapped_rings(program.pid).items() if i not in dump and kb >= 64},
                      'the rings of test:* to be prefaulted')
        check(len(both) == 1, 'not one ring set of test:*: %s', both)
        after = mapped_rings(program.pid)
        check(all(after[i] < 64 for i in dump), 'the rings of the state dump have %s kB, all rings %s', dump, after)
        program.end()
        w.finish('loaded', lost=0)


def check_no_polling(programs, words):
    """
    Check that the applications do not wake for longer than the poll interval in which a thread would look for a new
    daemon (10 s).
    """
    time.sleep(SETTLE_S)
    rests({program.pid: program.pid for program in programs}, 60 if PERCENT >= 100 else 12, words)


@limit(120)
def application_connects_to_a_second_daemon_without_polling(case):
    """
    A user's application is connected to the user's own daemon or to root's. It does not poll for the other daemon, and
    connects to it when that starts.
    """
    if SANITIZED:
        raise Skip('a sanitizer starts threads')
    alice = hostile.ALICE
    with open_to_all(case), fresh_run(alice), World(case, 'roots', daemon=False, usual=True) as roots, \
            World(case, 'users', user=alice, daemon=False, usual=True) as users:
        roots.start_daemon()             # creates what an installation of root's daemon creates
        Control.close(roots)
        users.start_daemon()
        check(os.stat('/proc/%d' % users.sessiond()).st_uid == alice.pw_uid, 'the daemon has another user')
        first = roots.scripted(user=alice)
        users.wait_apps([first.pid])
        check_no_polling([first], 'the user\'s daemon runs')
        roots.start_daemon()
        roots.wait_apps([first.pid], 'root\'s daemon to be found')
        # The same with exchanged daemons.
        Control.close(users)
        second = roots.scripted(user=alice)
        roots.wait_apps([first.pid, second.pid])
        check_no_polling([first, second], 'root\'s daemon runs')
        users.start_daemon()
        users.wait_apps([first.pid, second.pid], 'the user\'s daemon to be found')
        # Root's daemon ends, and starts again.
        Control.close(roots)
        check_no_polling([first, second], 'the user\'s daemon runs alone')
        roots.begin('all')
        roots.wait_apps([first.pid, second.pid], 'root\'s daemon to be found again')
        for program in (first, second):
            program('emit 10')
            program.end()
        _, _, numbers = roots.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10, 10], 'wrong records: %s', numbers)


def application_connects_to_the_daemon_of_a_later_login(case):
    """
    The application starts before the user's directory below /run/user exists and is connected to root's daemon. It also
    connects to the user's daemon there.
    """
    alice = hostile.ALICE
    with open_to_all(case), fresh_run(), World(case, 'roots', daemon=False, usual=True) as roots, \
            World(case, 'users', user=alice, daemon=False, usual=True) as users:
        roots.start_daemon()
        first = users.scripted()
        roots.wait_apps([first.pid])
        os.makedirs(os.path.dirname(users.rundir))
        os.chown(os.path.dirname(users.rundir), alice.pw_uid, alice.pw_gid)
        users.start_daemon()
        check(os.path.exists(users.rundir + '/app.sock'), 'no app.sock in %s', users.rundir)
        users.wait_apps([first.pid])
        first.end()


@limit(60)
def daemon_without_descriptors_does_not_spin(case):
    """
    A session daemon without free descriptors does not spin on pending connections. It accepts them when descriptors are
    available again.
    """
    with World(case) as w:
        w.begin('all')
        first = w.scripted()
        daemon = w.sessiond()
        may = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
        # lower than the number in use: even the reserve descriptor cannot be opened again
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, (3, may[1]))
        late = [Scripted(w) for _ in range(3)]
        used = cpu_seconds(daemon)
        time.sleep(2)                    # the measured time
        used = cpu_seconds(daemon) - used
        check(used < 0.5, 'the daemon used %.2f s of CPU time in 2 s', used)
        first('emit 5')                  # established connections are kept
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, may)
        for program in late:
            program.ready()
        w.wait_apps([program.pid for program in late + [first]])
        for program in late + [first]:
            program('emit 10')
            program.end()
        _, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10, 10, 10, 15], 'wrong records: %s', numbers)


if __name__ == '__main__':
    main([
        stopped_application_delays_no_command, unresponsive_application_delays_only_the_first_command,
        session_ends_while_an_application_is_stopped, idle_daemons_and_applications_do_not_wake_up,
        idle_applications_do_not_wake_up_for_busy_ones, rings_with_only_a_state_dump_are_not_prefaulted,
        application_connects_to_a_second_daemon_without_polling, application_connects_to_the_daemon_of_a_later_login,
        daemon_without_descriptors_does_not_spin
    ])
