#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Foreign connections: each socket of the daemons gets each message type of each protocol: random bytes, truncated, of a
wrong version, with a random body. Sessions, daemons and counts stay as they are.
"""
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
sys.path.insert(0, os.path.join(TOP, 'tests', 'lib'))
import hostile  # noqa: E402
from control import SESSIOND  # noqa: E402
from daemon import World, numbers_of  # noqa: E402
from harness import WAIT_S, Gate, check, communicated, limit, main, slurp, wait_for  # noqa: E402
from processes import state  # noqa: E402

PROTOCOLS = {'wire.h': 'wmk_msg', 'ctl.h': 'wmk_ctl_type', 'consumerd.h': 'wmk_consumerd_type'}
HELD = 20                            # connections that stay open; more than the consumer daemon keeps
HELLO, LIST = 0x202, 0x219           # enum wmk_consumerd_type


def header(name):
    return slurp(os.path.join(TOP, 'src', 'wire', name))


def sockets():
    """Names of all sockets, as the protocols' headers define them."""
    found = [s for name in PROTOCOLS for s in re.findall(r'#define WMK_\w+_SOCKET "([\w.-]+)"', header(name))]
    check(len(found) >= 4, 'sockets: %s', found)
    return found


def types():
    """Numbers of all message types, from the enumerations in the protocols' headers and their lists of requests."""
    found = []
    for name, enum in PROTOCOLS.items():
        body = re.search(r'enum %s \{(.*?)\};' % enum, header(name), re.S)
        check(body, '%s has no enum %s', name, enum)
        for listed in re.findall(r'#include "wire/([\w.]+)"', body.group(1)):
            requests = re.findall(r'^WMK_\w+_REQUEST\(\w+, (0x[0-9a-f]+),', header(listed), re.M)
            check(len(requests) > 10, 'requests in %s: %s', listed, requests)
            found += [int(number, 16) for number in requests]
        number = -1
        for item in re.sub(r'/\*.*?\*/|^#.*?$', '', body.group(1), flags=re.S | re.M).split(','):
            if item.strip():
                number = int(item.split('=')[1], 0) if '=' in item else number + 1
                found.append(number)
    check(len(found) > 40, 'message types: %s', found)
    return found + [0, 0x7fff, 0xffff]


def messages(random, kind):
    """What is sent, on a connection each. (No message has a body of that length, so none is valid by chance.)"""
    body = random.randbytes(random.randrange(900, 1100))
    whole = hostile.frame(kind, body)
    return {'random bytes': random.randbytes(100),
            'truncated': whole[:random.randrange(1, len(whole))],
            'header only': whole[:16],
            'wrong version': hostile.frame(kind, body, version=random.randrange(2, 65536)),
            'random body': whole,
            'no body': hostile.frame(kind),
            'twice': whole + whole}


def send_all(path, random):
    """Each on a connection of its own. Returns how many."""
    n = 0
    for kind in types():
        for data in messages(random, kind).values():
            s = hostile.connect(path)
            hostile.send(s, data)
            s.close()
            n += 1
    return n


@contextlib.contextmanager
def held_open(path, random):
    """Connections that have sent nothing, random bytes, or half a message, and stay."""
    held = [hostile.connect(path) for _ in range(HELD)]
    for i, s in enumerate(held):
        hostile.send(s, (b'', random.randbytes(100), hostile.frame(HELLO, b'half', length=1000))[i % 3])
    try:
        yield
    finally:
        for s in held:
            s.close()


def check_daemons_unchanged(w, daemons, name):
    now = {pid: comm for pid, comm in w.daemons().items() if state(pid) not in ('Z', None)}
    check(now == daemons, '%s: the daemons were %s, and are %s', name, daemons, now)


@limit(120)
def foreign_messages_change_nothing(case):
    with World(case) as w:
        w.begin('s')
        program = w.scripted()
        program('emit 100')
        executable = os.path.join(os.path.dirname(SESSIOND), 'waymark-consumerd')
        kernel = subprocess.Popen([executable, '--kernel', '--rundir', w.rundir], env=w.env,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        # it is listed once it has its environment, which is a moment after exec()
        w.wait(lambda: kernel.pid in w.daemons(), 'the kernel consumer daemon to be listed')
        sent = 0
        for name in sockets():
            path = os.path.join(w.rundir, name)
            w.wait(lambda: os.path.exists(path), '%s to be there' % name)
            daemons = w.daemons()
            sent += send_all(path, case.random)
            with held_open(path, case.random):
                program('emit 100')
                # a user has 32 clients at most: those that have closed count until the session daemon reads their end
                w.wait(lambda: w('list', status=None).status == 0, 'the session daemon to answer a client')
                check_daemons_unchanged(w, daemons, name)
        print('# %d connections' % sent, flush=True)
        check(kernel.poll() is None, 'the kernel consumer daemon ended with status %s', kernel.returncode)
        kernel.terminate()
        kernel.wait()
        program('emit 100')
        check(w('stop', 's').err.count('consumer') == 0, 'stop reports a consumer daemon')
        ended = w('destroy', 's')
        # A message of another version to the socket of applications is that of an application that is refused.
        refused = re.compile(r'a process \(pid \d+, uid \d+\) was not recorded: the session daemon refused it')
        others = [line for line in ended.err.splitlines() if not refused.search(line)]
        check('warning' not in str(others) and 'failed' not in str(others), 'destroy reports: %s', ended.err)


@limit(120)
def daemons_restart_while_foreign_connections_are_open(case):
    """A new session daemon takes over the consumer daemon that others are connected to, and all is recorded."""
    with World(case) as w:
        w.begin('s')
        program = w.scripted()
        program('emit 100')
        path, consumer = os.path.join(w.rundir, 'consumer.sock'), w.consumerd()
        with held_open(path, case.random):
            program('emit 100')
            os.kill(w.sessiond(), signal.SIGKILL)
            w.start_daemon()
            w.wait_apps([program.pid])
            program('emit 100')
            w('list')
            check(w.consumerd() == consumer, 'the consumer daemon is another one')
            _session, trace = w.end('s', lost=0)
        check(sum(map(len, numbers_of(trace).values())) == 300, 'the trace has %s', numbers_of(trace))


@limit(60)
def foreign_connections_are_closed(case):
    """The consumer daemon closes a connection that does not greet as a session daemon does, at once or after 5 s."""
    with World(case) as w:
        w.begin('s')
        w.scripted()('emit 1')
        path = os.path.join(w.rundir, 'consumer.sock')
        w.wait(lambda: os.path.exists(path), 'the consumer daemon')
        junk = case.random.randbytes(100)
        for data in (b'', junk, hostile.frame(LIST), hostile.frame(HELLO, junk)):
            s = hostile.connect(path)
            hostile.send(s, data)
            check(hostile.answer(s) is None, 'it is answered after %d bytes', len(data))
            s.close()
        w('destroy', 's')


@limit(60)
def reason_is_reported_when_consumer_daemon_is_taken_over(case):
    """A process of the same user that greets as a session daemon is one, as far as the consumer daemon can know."""
    with World(case) as w:
        w.begin('s')
        w.scripted()('emit 1')
        consumer = w.consumerd()
        s = hostile.connect(os.path.join(w.rundir, 'consumer.sock'))
        greeting = struct.pack('<I16sQ', 16, b'waymark-sessiond', os.getpid())
        hostile.send(s, hostile.frame(HELLO, greeting))
        kind, _body = hostile.answer(s)
        check(kind == HELLO, 'it is answered by a message of type %#x', kind)
        for words in (w('stop', 's').err, w('destroy', 's').err):
            check(re.search(r'not everything .* written: .*another session daemon', words), 'no reason: %s', words)
        s.close()
        os.kill(consumer, signal.SIGTERM)
        w.wait(lambda: state(consumer) in ('Z', None), 'the consumer daemon to end')


@limit(60)
def foreign_messages_do_not_disturb_record(case):
    """The same, to `waymark record --private`, which is the session daemon of its applications."""
    gate = Gate(case.path('gate'))
    script = 'echo $WAYMARK_RUNDIR >%s.part; mv %s.part %s; read word <%s; exec "$0" leaf 30'
    script %= (*[case.path('rundir')] * 3, gate.path)
    child = case.start(['sh', '-c', script, case.program('procs')], env={'WAYMARK_RUNDIR': ''})
    wait_for(lambda: os.path.exists(case.path('rundir')), 'the application to start')
    send_all(os.path.join(slurp(case.path('rundir')).strip(), 'app.sock'), case.random)
    gate()
    result = case.finish(child).ok()
    gate.close()
    check(result.lost == 0, '%d records lost', result.lost)
    found = numbers_of(result.trace())
    check(sum(map(len, found.values())) == 31, 'the trace has %s', found)


@limit(120)
def foreign_session_daemon_does_not_disturb_application(case):
    """What listens at app.sock answers a registration with such messages, before and after WELCOME."""
    rundir = case.short('run')
    os.mkdir(rundir, 0o700)
    env = dict(case.env, WAYMARK_RUNDIR=rundir)
    abi = re.search(r'#define WAYMARK_ABI_VERSION (\d+)', slurp(os.path.join(TOP, 'include/waymark/detail/abi.h')))
    welcome = hostile.frame(hostile.WELCOME, struct.pack('<IIII', int(abi.group(1)), 1, 1, 0))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(rundir, 'app.sock'))
        listener.listen()
        listener.settimeout(WAIT_S)
        for kind in types():
            kinds = messages(case.random, kind)
            for name in case.random.sample(sorted(kinds), 2):
                child = subprocess.Popen([case.program('sandboxed'), 'never', 'errno', 'close', 'rest', '5'], env=env,
                                         stdout=subprocess.PIPE, text=True, start_new_session=True)
                s, _address = listener.accept()
                check(hostile.answer(s)[0] == hostile.HELLO, 'the application does not register')
                hostile.send(s, (welcome if case.random.random() < 0.7 else b'') + kinds[name])
                s.close()
                out, _err = communicated(child)
                check(child.returncode == 0 and int(out) < 1000, '%s of type %#x: status %d, %s ms of CPU time',
                      name, kind, child.returncode, out.strip())


if __name__ == '__main__':
    main([foreign_messages_change_nothing, daemons_restart_while_foreign_connections_are_open,
          foreign_connections_are_closed, reason_is_reported_when_consumer_daemon_is_taken_over,
          foreign_messages_do_not_disturb_record, foreign_session_daemon_does_not_disturb_application])
