#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports of commands: every kind of event, and every unrecorded application with the reason."""
import contextlib
import errno
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import hostile  # noqa: E402
from daemon import SANITIZED, World  # noqa: E402
from harness import Skip, check, limit, main, slurp, wait_for  # noqa: E402

LIBRARY = os.path.join(os.environ.get('WMK_BUILD', 'build'), 'src', 'tracer')     # $ORIGIN needs /proc
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'src', 'wire', 'unrecorded.def')


def reasons():
    """{word: sentence} of the list that the library, the daemons and the commands share."""
    found = dict(re.findall(r'WMK_UNRECORDED\(\w+, \d+, "([\w-]+)", \w+,\s+"(.*?)"\)', slurp(SOURCE)))
    check(len(found) > 15, 'unrecorded.def has %d reasons', len(found))
    return found


def every_kind_of_event_is_listed(case):
    """Spans and counters are listed, too. A kind without a name would make the whole list fail."""
    with World(case) as w:
        child = w.run([case.program('spans'), 'wait'], stdin=subprocess.PIPE)
        w.wait_apps([child.pid])
        apps = w('list', '-u', '--json').json['apps']
        listed = {e['name']: e['kind'] for a in apps for e in a['events'] if e['provider'] == 'spans'}
        wanted = {'job_begin': 'begin', 'job_end': 'end', 'half': 'counter', 'note': 'event'}
        check(wanted.items() <= listed.items(), 'wrong kinds: %s', listed)
        w('list', '-u').prints('spans:job_begin', 'spans:half', 'spans:note')
        child.stdin.close()
        w.wait_end(child)


# ── reasons: each function makes its application unrecorded in session "s" of `w`; returns its pid, or 0 for none ──

def run(w, argv, status=0, **more):
    child = w.run(argv, **more)
    w.wait_end(child, status=status)
    return child.pid


def sandboxed(w, when, refused, *activity):
    child = w.run([w.case.program('sandboxed'), when, 'errno', refused, *(activity or ('flood', '10'))])
    child.wait()
    w.children.remove(child)
    if child.returncode == 77:
        raise Skip('no seccomp filters here')
    check(child.returncode == 0, 'sandboxed ended with status %s', child.returncode)
    return child.pid


def limited(w, which, value):
    return run(w, [w.case.program('procs'), 'fork', '1'], preexec_fn=lambda: resource.setrlimit(which, (value, value)))


def descriptors(w):
    return [limited(w, resource.RLIMIT_NOFILE, n) for n in (4, 5, 6)]


def address_space(w):
    return limited(w, resource.RLIMIT_AS, 120 << 20)


def while_stopped(w, refused):
    """The application registers before its filter rejects the system call, and receives its rings afterwards."""
    w('stop', 's')
    child = w.run([w.case.program('sandboxed'), 'main', 'errno', refused, 'rest', '600000'])
    w.wait_apps([child.pid])
    w.wait(lambda: 'Seccomp:\t2' in slurp('/proc/%d/status' % child.pid), 'the seccomp filter')
    w('start', 's')
    return child.pid


def restarted(w):
    """The session daemon is killed. One application ends before the next daemon runs, another one later."""
    os.kill(w.sessiond(), signal.SIGKILL)
    w.wait(lambda: not w.sessiond(), 'the session daemon to end')
    run(w, [w.case.program('procs'), 'fork', '1'])
    program = w.scripted()
    # Start times of processes have the resolution of a clock tick: the session daemon must start in a later tick than
    # the application.
    began = int(slurp('/proc/%d/stat' % program.pid).rsplit(')', 1)[1].split()[19])
    ticks = os.sysconf('SC_CLK_TCK')
    w.wait(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) * ticks > began + 2, 'the next clock tick')
    w.start_daemon()
    w.wait_apps([program.pid])
    return program.pid


def slow(w):
    """The session daemon is stopped, and the application waits only 1 ms for it."""
    pid = w.sessiond()
    os.kill(pid, signal.SIGSTOP)
    program = w.scripted(env={'WAYMARK_REGISTER_TIMEOUT': '1'})
    os.kill(pid, signal.SIGCONT)
    w.wait_apps([program.pid])
    return program.pid


def greet_and_send(w, after=b'', **hello):
    """This process sends HELLO and `after` to the session daemon, and reads all answers."""
    with hostile.connect(os.path.join(w.rundir, 'app.sock')) as s:
        hostile.send(s, hostile.hello(**hello) + after)
        s.shutdown(socket.SHUT_WR)
        while hostile.answer(s):
            pass
    return os.getpid()


def error(number, words):
    return hostile.frame(hostile.ERROR, struct.pack('<i', number) + words)


def unrecorded(reason, number, channel=0xffffffff):
    return hostile.frame(19, struct.pack('<III', reason, number, channel))


REASONS = {
    'descriptors': descriptors,
    'address-space': address_space,
    # vm.max_map_count is a setting of the whole machine
    'memory': lambda w: greet_and_send(w, unrecorded(3, errno.ENOMEM)),
    'map': lambda w: while_stopped(w, 'mmap'),
    'mprotect': lambda w: sandboxed(w, 'main', 'mprotect'),
    'shared-storage': lambda w: run(w, [w.case.program('procs'), 'vfork', '1']),
    'text': lambda w: run(w, [w.case.program('lifecycle'), 'nowhere'], env={'LD_LIBRARY_PATH': LIBRARY}),
    'thread': lambda w: sandboxed(w, 'preinit', 'clone3'),
    'descriptor-table': lambda w: sandboxed(w, 'preinit', 'close_range,unshare'),
    'late': slow,
    'user': lambda w: run(w, [w.case.program('lifecycle'), 'user', str(hostile.ALICE.pw_uid)]),
    'daemon': restarted,
    'restart': lambda w: restarted(w) and 0,
    'refused': lambda w: greet_and_send(w, abi=99),
    'dropped': lambda w: greet_and_send(w, hostile.event(1 << 30, b'a', b'b')),
    'rings': lambda w: w.scripted().pid,
    'complaint': lambda w: greet_and_send(w, error(errno.EIO, b'all is lost')),
    'wait': lambda w: sandboxed(w, 'main', 'poll,futex,nanosleep', 'rest', '3000'),
}
LIMITS = {'rings': 'ring-memory = 1M\n'}
AS_ROOT = {'text', 'user'}


def check_named(w, word, sentence, pids):
    """Each command names each process with the reason."""
    for answer in (w('list', 's'), w('stop', 's', status=None), w('destroy', 's')):
        if answer.status == 0:
            answer.prints(sentence, *('(pid %d,' % pid for pid in pids if pid))


def one_reason(w, word, sentence):
    w('create', 's')
    w('enable-event', '-s', 's', '*')
    w('start', 's')
    found = REASONS[word](w)
    pids = found if isinstance(found, list) else [found]

    def listed_reasons():
        listed = {(u['pid'], u['reason']): u for u in w.session('s')['unrecorded']}
        return all((pid, word) in listed for pid in pids) and listed
    w.wait(listed_reasons, 'reason %s of %s to be listed: %s' % (word, pids, w.session('s')['unrecorded']))
    for (_pid, reason), note in listed_reasons().items():
        check(note['why'].startswith(reasons()[reason]), '%s: wrong sentence: %s', reason, note)
    check_named(w, word, sentence, pids)


@limit(120)
def unrecorded_application_is_reported_for_each_reason(case):
    """REASONS has an entry for each reason of src/wire/unrecorded.def."""
    sentences = reasons()
    check(sentences.keys() == REASONS.keys(), 'reasons without an entry, or entries without a reason: %s',
          sentences.keys() ^ REASONS.keys())
    skipped = AS_ROOT if os.geteuid() else {'address-space', 'mprotect', 'thread', 'map'} if SANITIZED else set()
    with World(case) as w:
        for word in sorted(sentences.keys() - LIMITS.keys() - skipped):
            one_reason(w, word, sentences[word])
            w.end_programs()
    for word, lines in LIMITS.items():
        with World(case, 'small', limits=lines) as w:
            one_reason(w, word, sentences[word])


def with_and_without_daemon(case):
    """Yields (w, `waymark record` with or without --private)."""
    with World(case) as w:
        yield w, ['record']
        yield w, ['record', '--private']


def record_reports_an_unrecorded_application(case):
    for w, record in with_and_without_daemon(case):
        command = 'ulimit -n 4; exec %s fork 1' % case.program('procs')
        w(*record, '--', 'sh', '-c', command).prints(reasons()['descriptors'], 'procs (pid ')
        answer = w(*record, '--json', '--', 'sh', '-c', command)
        check([u['reason'] for u in answer.json['unrecorded']] == ['descriptors'], 'wrong reasons: %s', answer.json)
        if os.geteuid() == 0 and not SANITIZED:
            answer = w(*record, '--', case.program('sandboxed'), 'main', 'errno', 'mprotect', 'flood', '10')
            answer.prints(reasons()['mprotect'], '11 lost')
            check('try --' not in answer.err, 'an option is suggested that does not help: %s', answer.err)


def record_reports_that_no_event_matched(case):
    """A state dump alone does not count as a recording of the application."""
    for w, record in with_and_without_daemon(case):
        program = [case.program('procs'), 'fork', '1']
        answer = w(*record, '-f', 'seq == 123456', '--', *program)
        answer.prints('no event of', 'no record matches the filter \'seq == 123456\'')
        w(*record, '-e', 'no:thing', '--', *program).prints('no event of', 'the patterns (-e) match none of its events')
        check('no event of' not in w(*record, '--', *program).err, 'the report of no matching event is wrong')


def directory_of_killed_record_is_removed(case):
    """The next `waymark record` removes the directory of a killed one and keeps that of a running one."""
    def rundir_of(record):
        def found():
            with contextlib.suppress(OSError, StopIteration, IndexError):
                child = slurp('/proc/%d/task/%d/children' % (record.pid, record.pid)).split()[0]
                names = slurp('/proc/%s/environ' % child).split('\0')
                if slurp('/proc/%s/comm' % child).strip() == 'sleep':
                    return next(n.split('=', 1)[1] for n in names if n.startswith('WAYMARK_RUNDIR='))
            return None
        wait_for(lambda: record.poll() is not None or found(), 'the program to run')
        return found()
    killed, runs = case.start(['sleep', '600']), case.start(['sleep', '600'])
    left, used = rundir_of(killed), rundir_of(runs)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    check(os.path.isdir(left), 'the directory of the killed recording is missing')
    for path in (left, used):
        os.utime(path, (0, 0))
    case.record(['true'])
    check(not os.path.exists(left), '%s is left', left)
    check(os.path.isdir(used), '%s was removed', used)
    runs.terminate()
    runs.wait()


def unused_per_process_directory_is_found_among_many(case):
    """
    Directories with the same name, process and second exist already, as after hundreds of exec() calls in a second.
    """
    with World(case) as w:
        program = w.scripted()
        w('create', 's')
        w('enable-channel', '--buffers-pid', 'c')
        w('enable-event', 'test:*')
        place = os.path.join(w.session('s')['path'], 'ust', 'pid')
        for second in range(20):
            when = time.strftime('%Y%m%d-%H%M%S', time.localtime(time.time() + second))
            for number in ('', *('-%d' % n for n in range(2, 65))):
                taken = '%s/scripted-%d-%s%s/64-bit' % (place, program.pid, when, number)
                os.makedirs(taken)
                with open(taken + '/metadata', 'w') as f:
                    f.write('taken')
        w('start', 's')
        program('emit 5')
        channel = w('destroy', 's', '--json').json['sessions'][0]['channels'][0]
        check(channel['counts']['records'] == 5, 'wrong counts: %s', channel['counts'])
        program.end()


if __name__ == '__main__':
    main([unused_per_process_directory_is_found_among_many, every_kind_of_event_is_listed,
          unrecorded_application_is_reported_for_each_reason,
          directory_of_killed_record_is_removed, record_reports_an_unrecorded_application,
          record_reports_that_no_event_matched])
