#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Invalid messages. Each socket of the daemons receives each message type of each protocol: as random bytes, truncated,
with a wrong version, and with a random body. Sessions, daemons and counts do not change.
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
HELD = 20                            # connections that stay open: more than the consumer daemon accepts at a time
HELLO, LIST = 0x202, 0x219           # enum wmk_consumerd_type


def header(name):
    return slurp(os.path.join(TOP, 'src', 'wire', name))


def sockets():
    """Names of all sockets, from the headers of the protocols."""
    found = [s for name in PROTOCOLS for s in re.findall(r'#define WMK_\w+_SOCKET "([\w.-]+)"', header(name))]
    check(len(found) >= 4, 'sockets: %s', found)
    return found


def types():
    """
    Numbers of all message types, from the enumerations of the protocols' headers and from their lists of requests.
    """
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
    """
    The data to send, each on its own connection. No message type has a body of this length, so none is valid by chance.
    """
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
    """Send each message on its own connection. Returns the number of connections."""
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
    """Keep connections open that have sent nothing, random bytes, or a truncated message."""
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
    check(now == daemons, '%s: the daemons changed from %s to %s', name, daemons, now)


@limit(120)
def messages_from_unknown_processes_change_no_state(case):
    with World(case) as w:
        w.begin('s')
        program = w.scripted()
        program('emit 100')
        executable = os.path.join(os.path.dirname(SESSIOND), 'waymark-consumerd')
        kernel = subprocess.Popen([executable, '--kernel', '--rundir', w.rundir], env=w.env,
                                  stderr=subprocess.DEVNULL, start_new_session=True)
        # it is listed when its environment is readable, shortly after exec()
        w.wait(lambda: kernel.pid in w.daemons(), 'the kernel consumer daemon to be listed')
        sent = 0
        for name in sockets():
            path = os.path.join(w.rundir, name)
            w.wait(lambda: os.path.exists(path), '%s to exist' % name)
            daemons = w.daemons()
            sent += send_all(path, case.random)
            with held_open(path, case.random):
                program('emit 100')
                # A user may have 32 clients. A closed connection counts until the session daemon has read its end.
                w.wait(lambda: w('list', status=None).status == 0, 'the session daemon to answer a client')
                check_daemons_unchanged(w, daemons, name)
        print('# %d connections' % sent, flush=True)
        check(kernel.poll() is None, 'the kernel consumer daemon ended with status %s', kernel.returncode)
        kernel.terminate()
        kernel.wait()
        program('emit 100')
        check(w('stop', 's').err.count('consumer') == 0, 'stop reports a consumer daemon')
        ended = w('destroy', 's')
        # The session daemon counts a sender of another version on app.sock as a rejected application.
        refused = re.compile(r'a process \(pid \d+, uid \d+\) was not recorded: the session daemon refused it')
        others = [line for line in ended.err.splitlines() if not refused.search(line)]
        check('warning' not in str(others) and 'failed' not in str(others), 'destroy reports: %s', ended.err)


@limit(120)
def daemons_restart_while_unknown_connections_are_open(case):
    """A new session daemon adopts the consumer daemon while that has foreign connections. No record is lost."""
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
            check(w.consumerd() == consumer, 'the consumer daemon is another process')
            _session, trace = w.end('s', lost=0)
        check(sum(map(len, numbers_of(trace).values())) == 300, 'the trace has %s', numbers_of(trace))


@limit(60)
def connections_without_a_greeting_are_closed(case):
    """The consumer daemon closes a connection that does not send a session daemon's greeting, at once or after 5 s."""
    with World(case) as w:
        w.begin('s')
        w.scripted()('emit 1')
        path = os.path.join(w.rundir, 'consumer.sock')
        w.wait(lambda: os.path.exists(path), 'the consumer daemon')
        junk = case.random.randbytes(100)
        for data in (b'', junk, hostile.frame(LIST), hostile.frame(HELLO, junk)):
            s = hostile.connect(path)
            hostile.send(s, data)
            check(hostile.answer(s) is None, 'the consumer daemon answered %d bytes', len(data))
            s.close()
        w('destroy', 's')


@limit(60)
def takeover_of_the_consumer_daemon_is_reported_with_reason(case):
    """
    The consumer daemon cannot distinguish a session daemon from another process of the same user that sends its
    greeting.
    """
    with World(case) as w:
        w.begin('s')
        w.scripted()('emit 1')
        consumer = w.consumerd()
        s = hostile.connect(os.path.join(w.rundir, 'consumer.sock'))
        greeting = struct.pack('<I16sQ', 16, b'waymark-sessiond', os.getpid())
        hostile.send(s, hostile.frame(HELLO, greeting))
        kind, _body = hostile.answer(s)
        check(kind == HELLO, 'the answer has type %#x', kind)
        for words in (w('stop', 's').err, w('destroy', 's').err):
            check(re.search(r'not everything .* written: .*another session daemon', words), 'the reason is missing: %s',
                  words)
        s.close()
        os.kill(consumer, signal.SIGTERM)
        w.wait(lambda: state(consumer) in ('Z', None), 'the consumer daemon to end')


@limit(60)
def unexpected_messages_do_not_disturb_record_private(case):
    """The same messages to `waymark record --private`, which is the session daemon of its applications."""
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
def invalid_messages_of_a_daemon_do_not_disturb_application(case):
    """The listener at app.sock answers a registration with such messages, before or after WELCOME."""
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
    main([messages_from_unknown_processes_change_no_state, daemons_restart_while_unknown_connections_are_open,
          connections_without_a_greeting_are_closed, takeover_of_the_consumer_daemon_is_reported_with_reason,
          unexpected_messages_do_not_disturb_record_private, invalid_messages_of_a_daemon_do_not_disturb_application])
