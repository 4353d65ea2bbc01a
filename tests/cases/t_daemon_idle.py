#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who does nothing costs nothing: programs that are stopped delay no command, and nobody wakes while nothing
happens."""
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

# As long as a command would be, and more than any waits for a machine that is busy: who waited for the stopped one
# waits 3 s each time.
TIMES, FACTOR, FLOOR_S = 10, 10, 1.5
# The deadlines of the last command (3 s) and of a greeting (5 s) pass, even if nothing waits for them any more.
SETTLE_S = 6


def median_time(w, *argv):
    """The time that a command takes: the middle of some, as a machine that is busy otherwise holds up one or the
    other."""
    times = []
    for _ in range(TIMES):
        begun = time.monotonic()
        answer = w(*argv)
        times.append(time.monotonic() - begun)
    return statistics.median(times), answer


@limit(30)
def stopped_application_delays_no_command(case):
    """Commands over others take as long as without it, and name it; it follows when it goes on."""
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
        # (somebody else may be late for once)
        for _ in range(3):
            unanswered = [a['pid'] for a in w('enable-event', '-s', 'all', 'test:seq', '--json').json['unanswered']]
            check(stopped.pid in unanswered, 'unanswered: %s', unanswered)
            if len(unanswered) == 1:
                break
        check(unanswered == [stopped.pid], 'unanswered: %s', unanswered)
        for program in others:
            program('emit 5')
        fresh = w.scripted()                 # nor does it delay who begins
        fresh('emit 5')
        os.kill(stopped.pid, signal.SIGCONT)
        w.wait(lambda: not w('enable-event', '-s', 'all', 'test:seq', '--json').json['unanswered'],
               'the program to answer')
        stopped('emit 5')
        for program in programs + [fresh]:
            program.end()
        _, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [5] * 5, 'recorded: %s', numbers)


@limit(30)
def unresponsive_application_delays_one_command(case):
    """One that lives, registers an event that is recorded, and never answers: it is named each time, and waited for
    once."""
    with World(case) as w:
        w.begin('all', 'silent:*')
        silent = hostile.connect(os.path.join(w.rundir, 'app.sock'))
        hostile.send(silent, hostile.hello(b'silent') + hostile.event(0, b'silent', b'one') +
                     hostile.frame(hostile.EVENTS_END, struct.pack('<I', 1)))
        w.wait(lambda: any(a['name'] == 'silent' for a in w('list', '-u', '--json').json['apps']), 'it to register')
        named = w('enable-event', '-s', 'all', 'one:*', '--json').json['unanswered']
        check([a['name'] for a in named] == ['silent'], 'unanswered: %s', named)
        middle, answer = median_time(w, 'enable-event', '-s', 'all', 'two:*', '--json')
        check(middle < FLOOR_S, 'every command takes %.3f s', middle)
        check([a['name'] for a in answer.json['unanswered']] == ['silent'], 'unanswered: %s', answer.json['unanswered'])
        silent.close()
        w.finish('all', lost=0)


def session_ends_over_a_stopped_application(case):
    """A session is started, stopped and destroyed over a program that is stopped all the time; the program lives."""
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
def idle_processes_do_not_wake(case):
    """Session daemon, consumer daemon and a program that does nothing, in a session that records."""
    if SANITIZED:
        raise Skip('a sanitizer has threads of its own')
    # more than who looks for himself whether somebody has come lets pass (10 s)
    seconds = 60 if PERCENT >= 100 else 12
    with World(case) as w:
        program = w.scripted()
        w.begin('idle')
        program('emit 10')
        time.sleep(SETTLE_S)             # the time that commands and looks at rings have: then nothing is to be done
        rests({'session daemon': w.sessiond(), 'consumer daemon': w.consumerd(), 'program': program.pid}, seconds,
              'a session that records')
        program.end()
        w.finish('idle', lost=0)


@limit(30)
def idle_applications_do_not_wake_for_others(case):
    """Programs that do nothing, while another fills the rings that they share."""
    if SANITIZED:
        raise Skip('a sanitizer has threads of its own')
    with World(case) as w:
        idle, busy = [w.scripted() for _ in range(3)], w.scripted()
        w.begin('shared')
        for program in idle:
            program('emit 1')            # it has these rings, and records no more

        def fill(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                busy('emit 100')
            return [switches(program.pid) for program in idle]

        before = fill(SETTLE_S)
        # (what there was to do before may end in the first of these, on a machine that is busy otherwise)
        for _ in range(4):
            after = fill(12)
            awake = [woken(was, now) for was, now in zip(before, after)]
            if not any(awake):
                break
            before = after
        check(not any(awake), 'while another records, programs wake: %s', awake)
        for program in idle + [busy]:
            program.end()
        w.stop('shared')
        w('destroy', 'shared')


def mapped_rings(pid):
    """{inode: kB of them that are in this process's memory}"""
    found = {}
    for inode, kb in re.findall(r'^\S+ \S+ \S+ \S+ (\d+) +/memfd:waymark-ring.*\n(?:(?!Rss).*\n)*?Rss: +(\d+) kB',
                                slurp('/proc/%d/smaps' % pid), re.M):
        found[inode] = found.get(inode, 0) + int(kb)
    return found


@limit(30)
def rings_of_state_dump_alone_are_not_prefaulted(case):
    """What its helper alone records, that is what is loaded, is written into pages as they come; where nothing else is
    recorded, nothing is looked after."""
    if resource.getpagesize() != 4096:
        raise Skip('with larger pages a few are as much as what is mapped ahead')
    with World(case) as w:
        w.begin('loaded', 'other:*')
        program = w.scripted()
        dump = mapped_rings(program.pid)
        check(len(dump) == 1, 'rings of what is loaded: %s', dump)
        w('enable-event', '-s', 'loaded', 'test:*')
        both = w.wait(lambda: {i: kb for i, kb in mapped_rings(program.pid).items() if i not in dump and kb >= 64},
                      'what it may record to be mapped')
        check(len(both) == 1, 'rings: %s', both)
        after = mapped_rings(program.pid)
        check(all(after[i] < 64 for i in dump), 'what is loaded takes %s kB, what is recorded %s', dump, after)
        program.end()
        w.finish('loaded', lost=0)


def check_no_polling(programs, words):
    """Nothing wakes them, for longer than they let pass where they have to look by themselves whether somebody has come
    (10 s)."""
    time.sleep(SETTLE_S)
    rests({program.pid: program.pid for program in programs}, 60 if PERCENT >= 100 else 12, words)


@limit(120)
def application_finds_the_second_daemon_without_polling(case):
    """A program of a user, whose own daemon runs, or root's: it does not wake to look for the other, and has it as soon
    as it comes."""
    if SANITIZED:
        raise Skip('a sanitizer has threads of its own')
    alice = hostile.ALICE
    with open_to_all(case), fresh_run(alice), World(case, 'roots', daemon=False, usual=True) as roots, \
            World(case, 'users', user=alice, daemon=False, usual=True) as users:
        roots.start_daemon()             # once: what an installation makes is there
        Control.close(roots)
        users.start_daemon()
        check(os.stat('/proc/%d' % users.sessiond()).st_uid == alice.pw_uid, 'the daemon is not users')
        first = roots.scripted(user=alice)
        users.wait_apps([first.pid])
        check_no_polling([first], 'users runs')
        roots.start_daemon()
        roots.wait_apps([first.pid], 'root\'s daemon to be found')
        # And the other way round.
        Control.close(users)
        second = roots.scripted(user=alice)
        roots.wait_apps([first.pid, second.pid])
        check_no_polling([first, second], 'root\'s runs')
        users.start_daemon()
        users.wait_apps([first.pid, second.pid], 'her daemon to be found')
        # Root's goes, and comes again.
        Control.close(roots)
        check_no_polling([first, second], 'users runs again')
        roots.begin('all')
        roots.wait_apps([first.pid, second.pid], 'root\'s daemon to be found again')
        for program in (first, second):
            program('emit 10')
            program.end()
        _, _, numbers = roots.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10, 10], 'recorded: %s', numbers)


def application_finds_the_daemon_of_a_later_login(case):
    """An application that is older than its user's directory below /run/user, and connected to root's daemon, finds the
    user's daemon there."""
    alice = hostile.ALICE
    with open_to_all(case), fresh_run(), World(case, 'roots', daemon=False, usual=True) as roots, \
            World(case, 'users', user=alice, daemon=False, usual=True) as users:
        roots.start_daemon()
        first = users.scripted()
        roots.wait_apps([first.pid])
        os.makedirs(os.path.dirname(users.rundir))
        os.chown(os.path.dirname(users.rundir), alice.pw_uid, alice.pw_gid)
        users.start_daemon()
        check(os.path.exists(users.rundir + '/app.sock'), 'it is not in %s', users.rundir)
        users.wait_apps([first.pid])
        first.end()


@limit(60)
def daemon_without_descriptors_does_not_spin(case):
    """A session daemon that may open nothing more does not spin on those who wait at its door, and lets them in when it
    may again."""
    with World(case) as w:
        w.begin('all')
        first = w.scripted()
        daemon = w.sessiond()
        may = resource.prlimit(daemon, resource.RLIMIT_NOFILE)
        # fewer than it has: not even the one that is kept for this can be had again
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, (3, may[1]))
        late = [Scripted(w) for _ in range(3)]
        used = cpu_seconds(daemon)
        time.sleep(2)                    # the time that is measured
        used = cpu_seconds(daemon) - used
        check(used < 0.5, 'in 2 s it used %.2f s of CPU time', used)
        first('emit 5')                  # who is in stays in
        resource.prlimit(daemon, resource.RLIMIT_NOFILE, may)
        for program in late:
            program.ready()
        w.wait_apps([program.pid for program in late + [first]])
        for program in late + [first]:
            program('emit 10')
            program.end()
        _, _, numbers = w.finish('all', lost=0)
        check(sorted(map(len, numbers.values())) == [10, 10, 10, 15], 'recorded: %s', numbers)


if __name__ == '__main__':
    main([
        stopped_application_delays_no_command, unresponsive_application_delays_one_command,
        session_ends_over_a_stopped_application, idle_processes_do_not_wake, idle_applications_do_not_wake_for_others,
        rings_of_state_dump_alone_are_not_prefaulted, application_finds_the_second_daemon_without_polling,
        application_finds_the_daemon_of_a_later_login, daemon_without_descriptors_does_not_spin
    ])
