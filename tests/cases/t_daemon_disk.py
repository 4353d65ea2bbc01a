#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An unresponsive file system delays only the sessions that write to it, and they recover when it responds again."""
import contextlib
import glob
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import fuse  # noqa: E402
import hostile  # noqa: E402
from daemon import World, numbers_of, state  # noqa: E402
from harness import Skip, check, main, need, slurp, small_disk  # noqa: E402


CONTEXTS = ['vpid', 'vtid', 'procname']


def run_or_skip(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    if done.returncode:
        raise Skip('%s does not work here: %s' % (argv[0], (done.stderr or done.stdout).strip()))


@contextlib.contextmanager
def freezable_disk(case):
    """A file system for one case that can be frozen."""
    if os.geteuid():
        raise Skip('needs root to mount')
    need('mkfs.ext4', 'mount', 'umount', 'fsfreeze')
    image, place = case.path('image'), case.path('disk')
    with open(image, 'wb') as f:
        f.truncate(32 << 20)
    os.mkdir(place)
    run_or_skip('mkfs.ext4', '-q', '-F', image)
    run_or_skip('mount', '-o', 'loop', image, place)
    try:
        yield place
    finally:
        subprocess.run(['umount', '-l', place])


@contextlib.contextmanager
def frozen(place):
    """Processes that create or write a file there block until the freeze ends; signals do not end them before."""
    run_or_skip('fsfreeze', '-f', place)
    try:
        yield
    finally:
        subprocess.run(['fsfreeze', '-u', place], check=True)


def enabled(w, program):
    return {
        e['name'] for a in w('list', '-u', '--json').json['apps'] if a['pid'] == program.pid for e in a['events']
        if e['enabled']
    }


def has_open(pid, file):
    with contextlib.suppress(OSError):
        return any(os.readlink(os.path.join('/proc/%d/fd' % pid, fd)) == file for fd in os.listdir('/proc/%d/fd' % pid))
    return False


def late(trace):
    return sum(1 for _ in trace.records('scripted:late'))


def frozen_disk_delays_no_other_session(case):
    """
    While the file system is frozen, applications register and record for its session and for others. Records of its
    session wait in the rings.
    """
    with freezable_disk(case) as place, World(case) as w:
        program = w.scripted()
        w('create', 'slow', '-o', os.path.join(place, 'trace'))
        w('enable-event', '-s', 'slow', 'test:*')
        w('start', 'slow')
        program('emit 10')
        with frozen(place):
            # the declaration of a new event is the first write that blocks
            w('enable-event', '-s', 'slow', 'scripted:*')
            check('late' in enabled(w, program), 'scripted:late is not enabled, though its declaration waits')
            program('late 3')
            w.begin('other', 'test:*', 'scripted:*')
            newcomer = w.scripted()
            w.wait_apps([newcomer.pid])
            newcomer('emit 10')
            newcomer('late 5')
            check({'seq', 'late'} <= enabled(w, newcomer), 'the new application has the events %s',
                  enabled(w, newcomer))
            seen = w.end('other', lost=0)[1]
            check(
                late(seen) == 5 and sum(map(len,
                                            numbers_of(seen).values())) == 10, 'the other session has %d records',
                seen.count())
        newcomer('late 4')
        _, trace, numbers = w.finish('slow', lost=0)
        # including those that the new application recorded during the freeze
        check(late(trace) == 12, '%d records of scripted:late', late(trace))
        check(sorted(map(len, numbers.values())) == [10, 10], 'wrong records: %s', numbers)
        newcomer.end()
        program.end()


def fill(place):
    """Use all free blocks of the file system. Returns the file that holds them."""
    ballast = os.path.join(place, 'ballast')
    with open(ballast, 'wb', buffering=0) as f, contextlib.suppress(OSError):
        while f.write(bytes(4096)):
            pass
    check(os.statvfs(place).f_bavail == 0, '%s has free blocks', place)
    return ballast


def metadata_and_records_are_written_when_a_full_disk_has_space(case):
    """
    An event that registers while the file system is full is enabled. Its declaration and its records are written when
    space is free.
    """
    with small_disk(case, '4M') as place, World(case) as w:
        program = w.scripted()
        w('create', 'full', '-o', os.path.join(place, 'trace'))
        w('enable-event', '-s', 'full', 'test:*')
        w('start', 'full')
        program('emit 10')
        w.stop('full')
        w('start', 'full')
        ballast = fill(place)
        # Add more declarations than fit into the last block of the metadata file.
        for name in CONTEXTS:
            w('add-context', '-s', 'full', '-t', name)
        w('enable-event', '-s', 'full', 'scripted:*')
        check('late' in enabled(w, program), 'scripted:late is not enabled while the disk is full')
        program('late 3')
        newcomers = [w.scripted() for _ in range(3)]
        w.wait_apps([p.pid for p in newcomers])
        for newcomer in newcomers:
            check('late' in enabled(w, newcomer),
                  'an application that registers while the disk is full does not record')
            newcomer('late 4')
        metadata, = glob.glob(os.path.join(place, 'trace/ust/uid/*/*/metadata'))
        check('"scripted:late"' not in slurp(metadata), 'the disk had room for the declaration of scripted:late')
        os.unlink(ballast)
        for p in (program, *newcomers):
            p('late 1')
        _, trace, numbers = w.finish('full', lost=0)
        check('"scripted:late"' in slurp(metadata), 'the declaration of scripted:late is not in the metadata')
        check(late(trace) == 3 + 3 * 4 + 4, '%d records of scripted:late', late(trace))
        check(list(map(len, numbers.values())) == [10], 'wrong records: %s', numbers)
        for p in (program, *newcomers):
            p.end()


def records_are_kept_until_the_trace_directory_is_created(case):
    """A session records before its directory can be created. The records wait in the rings."""
    with freezable_disk(case) as place, World(case) as w:
        program = w.scripted()
        with frozen(place):
            for name in ('one', 'two'):
                w('create', name, '-o', os.path.join(place, name))
                w('enable-channel', '-s', name, 'small', '--subbuf-size', '4k', '--num-subbuf', '64')
                w('enable-event', '-s', name, '-c', 'small', 'test:*')
                w('start', name)
            newcomer = w.scripted()
            w.wait_apps([newcomer.pid])
            check('seq' in enabled(w, newcomer), 'test:seq is not enabled')
            newcomer('emit 200')
        newcomer('emit 10')
        for name in ('one', 'two'):
            trace = w.end(name, lost=0)[1]
            (numbers,) = numbers_of(trace).values()
            check(numbers == list(range(1, 211)), '%s has %s', name, numbers)
        newcomer.end()
        program.end()


def next_session_daemon_adopts_sessions_on_a_frozen_disk(case):
    """
    The next session daemon takes over sessions without access to their file systems. Existing and new applications
    record on.
    """
    names = ('one', 'two')
    with freezable_disk(case) as place, World(case) as w:
        program = w.scripted()
        for name in names:
            w('create', name, '-o', os.path.join(place, name))
            w('enable-event', '-s', name, 'test:*')
            w('start', name)
        program('emit 10')
        with contextlib.ExitStack() as freezing:
            with w.disconnected(program):
                freezing.enter_context(frozen(place))
                w.start_daemon()
            newcomer = w.scripted()
            w.wait_apps([newcomer.pid])
            for name in names:
                check(w.session(name)['active'], '%s is not active', name)
            w.wait(lambda: 'seq' in enabled(w, program) and 'seq' in enabled(w, newcomer), 'both programs to record')
            program('emit 10')
            newcomer('emit 10')
            for name in names:
                w('enable-event', '-s', name, 'scripted:*')
            check('late' in enabled(w, program), 'scripted:late is not enabled, though its declaration waits')
            program('late 3')
        for name in names:
            trace = w.end(name, lost=0)[1]
            check(sorted(map(len, numbers_of(trace).values())) == [10, 20], '%s has %s', name, numbers_of(trace))
            check(late(trace) == 3, '%s has %d records of scripted:late', name, late(trace))
        newcomer.end()
        program.end()


def act_as_application_with_file(path, file, sent, over):
    """
    Act as an application, in a child process: register, then send an incomplete message with a descriptor of `file`.
    """
    s = hostile.connect(path)
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    hostile.send(s, hostile.hello())
    check(hostile.answer(s)[0] == hostile.WELCOME, 'the daemon does not answer with WELCOME')
    hostile.send(s, hostile.frame(hostile.RINGS)[:4], [fd])
    os.write(sent, b'+')
    os.read(over, 1)


def blocking_close_does_not_block_the_consumer_daemon(case):
    """
    close() of a descriptor of this file blocks for good. The session daemon has one when it forks a new consumer
    daemon, which must not block.
    """
    if os.geteuid():
        raise Skip('needs root to mount')
    with World(case) as w:
        w.begin('calm')
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(fuse.mounted(case.path('fuse')))
            except OSError as e:
                raise Skip('no file system in user space: %s' % e) from e
            ready, sent = os.pipe()
            over, end = os.pipe()
            child = os.fork()
            if child == 0:
                with contextlib.suppress(BaseException):
                    os.close(end)
                    act_as_application_with_file(os.path.join(w.rundir, 'app.sock'), file, sent, over)
                os._exit(0)
            for fd in (sent, over):
                os.close(fd)
            check(os.read(ready, 1) == b'+', 'the child with the file has ended')
            os.close(ready)
            w.wait(lambda: has_open(w.sessiond(), file), 'the daemon to open the file')
            program = w.scripted()
            program('emit 10')
            was = w.consumerd()
            os.kill(was, signal.SIGKILL)
            w.wait(lambda: (pid := w.consumerd()) not in (None, was) and state(pid) != 'D', 'another consumer daemon')
            program('emit 10')
            program.end()
            w.finish('calm', lost=0)
        os.close(end)
        os.waitpid(child, 0)


if __name__ == '__main__':
    main([
        frozen_disk_delays_no_other_session, metadata_and_records_are_written_when_a_full_disk_has_space,
        records_are_kept_until_the_trace_directory_is_created,
        next_session_daemon_adopts_sessions_on_a_frozen_disk, blocking_close_does_not_block_the_consumer_daemon
    ])
