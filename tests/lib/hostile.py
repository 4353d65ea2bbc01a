# SPDX-License-Identifier: MIT
"""Other users of the machine, and attacks on the sockets of a session daemon (src/wire/wire.h), byte by byte."""
import array
import collections
import contextlib
import fcntl
import os
import resource
import select
import socket
import struct
import time
import traceback

from traces import Failure

# Users for World and Control. These uids have no account; a process does not need one.
Who = collections.namedtuple('Who', 'pw_uid pw_gid')
ALICE, BOB = Who(61001, 61001), Who(61002, 61002)

HELLO, WELCOME, REFUSED, EVENT, EVENTS_END, ERROR, RINGS = 1, 2, 3, 4, 5, 14, 15
FD = 1
FRAME_MAX = 1 << 20


def as_user(who, function, *args, groups=(), seconds=120):
    """Run the function as another user and return its result as text. A failure in it is raised here."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        text = b'!'
        with contextlib.suppress(BaseException):
            os.close(read)
            resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
            os.setgroups(list(groups))
            os.setgid(who.pw_gid)
            os.setuid(who.pw_uid)
            try:
                text = b'+' + str(function(*args)).encode()
            except BaseException:
                text = b'!' + traceback.format_exc().encode()
        os.write(write, text[:60000])
        os._exit(0)
    os.close(write)
    text, deadline = b'', time.monotonic() + seconds
    with open(read, 'rb') as pipe:
        while select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
            part = os.read(pipe.fileno(), 65536)
            text += part
            if not part:
                break
        else:
            os.kill(pid, 9)
            text = b'!did not end within %d s' % seconds
    os.waitpid(pid, 0)
    if not text.startswith(b'+'):
        raise Failure('as user %d: %s' % (who.pw_uid, text[1:].decode(errors='replace')))
    return text[1:].decode()


def refused(function, *args):
    """Returns whether the system denies the operation."""
    try:
        function(*args)
    except OSError:
        return True
    return False


def frame(kind, body=b'', length=None, version=1, request=0, flags=0):
    return struct.pack('<IHHII', len(body) if length is None else length, kind, version, request, flags) + body


def hello(name=b'liar', pid=None, ppid=1, start=0, image=1, abi=1, bits=64):
    body = struct.pack('<IIIIQQQqQ32s37s65s', abi, bits,
                       os.getpid() if pid is None else pid, ppid, start, image, 0, 0, 0, b'', b'', name)
    return frame(HELLO, body + bytes(-len(body) % 8))


def event(number, provider, name):
    """The message of an application that registers an event without fields."""
    def text(t):
        return struct.pack('<H', len(t)) + t

    return frame(
        EVENT,
        struct.pack('<IHHI', number, 1, 7, 0) + text(provider) + text(name) + b'\xff' * 6 + struct.pack('<H', 0))


def connect(path, seconds=30):
    """Connect to the socket; retry while its queue is full."""
    deadline = time.monotonic() + seconds
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(seconds)
        try:
            s.connect(path)
            return s
        except (BlockingIOError, socket.timeout):
            s.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


@contextlib.contextmanager
def acting_as(who):
    """Sockets that are connected inside the block have that user as peer; they stay usable in this process."""
    os.seteuid(who.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)


def send(s, data, fds=()):
    """Send as much as possible; the other side may have closed the connection."""
    with contextlib.suppress(OSError):
        if fds:
            s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))])
        else:
            s.sendall(data)


def answer(s, seconds=30):
    """The next frame (kind, body); None at the end of the connection."""
    data, wanted = b'', 16
    s.settimeout(seconds)
    while len(data) < wanted:
        try:
            part = s.recv(wanted - len(data))
        except ConnectionError:
            return None
        if not part:
            return None
        data += part
        if len(data) == 16:
            wanted = 16 + struct.unpack('<I', data[:4])[0]
    return struct.unpack('<H', data[4:6])[0], data[16:]


def small_file(size, seals=0):
    """A file that is not a ring set; with seals it may pass for one."""
    fd = os.memfd_create('waymark-ring', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    os.pwrite(fd, os.urandom(min(size, 4096)), 0)
    if seals:
        fcntl.fcntl(fd, 1033, seals)     # F_ADD_SEALS
    return fd


def bytes_of_any_kind(path, random, times):
    for _ in range(times):
        s = connect(path)
        send(s, random.randbytes(random.randrange(1, 5000)))
        s.close()


def frames_too_long(path):
    for length in (FRAME_MAX + 1, 0x7fffffff, 0xffffffff):
        s = connect(path)
        send(s, frame(EVENT, b'x' * 100, length=length))
        while answer(s):
            pass
        s.close()


def frames_that_do_not_end(path):
    """
    Frames that are announced and begun but never completed. The connections stay open until the daemon closes them.
    """
    held = [connect(path) for _ in range(6)]
    for s in held:
        send(s, frame(EVENT, b'half', length=FRAME_MAX))
    return held


def endless_messages(path, megabytes):
    """Messages of unknown kinds, from a client that reads no response."""
    s = connect(path)
    send(s, hello(b'endless'))
    s.settimeout(1)
    big, sent = frame(999, bytes(65000)), 0
    try:
        while sent < megabytes << 20:
            sent += s.send(big)
    except OSError:
        pass
    return s, sent


def lying_registrations(path, random):
    """Registrations with false identities, invalid events, numbers out of order."""
    for one in (hello(pid=1), hello(pid=0xffffffff, ppid=0xffffffff, start=(1 << 64) - 1),
                hello(name=b'\x1b[31m\n\t/../..\xff\xfe' * 4), hello(name=b'x' * 65), hello(abi=77), hello(bits=32),
                hello(image=0), hello() + hello(), frame(HELLO, b''), frame(HELLO, bytes(3)),
                frame(EVENTS_END, struct.pack('<I', 7)), frame(WELCOME, bytes(16)), frame(HELLO, b'', version=9)):
        s = connect(path)
        send(s, one)
        send(s, frame(EVENTS_END, struct.pack('<I', 1)))
        s.settimeout(0.05)
        with contextlib.suppress(OSError):
            s.recv(4096)
        s.close()
    s = connect(path)
    send(s, hello())
    for i in range(200):
        send(
            s,
            frame(EVENT,
                  struct.pack('<I', random.choice((0, i, 0xffffffff))) + random.randbytes(random.randrange(0, 300))))
    send(s, frame(EVENTS_END, struct.pack('<I', 1)))
    s.close()


def descriptors_that_lie(path):
    """
    Descriptors that are not rings: a shrinking file, a device, a directory, a socket, the daemon's own socket; and more
    of them than announced.
    """
    shrinking = small_file(1 << 20)
    kinds = [shrinking, small_file(0), small_file(4096, 6), os.open('/dev/zero', os.O_RDWR), os.open('/', os.O_RDONLY),
             socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).detach(), os.pipe()[0]]
    for fd in kinds:
        s = connect(path)
        send(s, hello(b'rings'))
        send(s, frame(RINGS, os.urandom(16), flags=FD), [fd])
        send(s, frame(EVENTS_END, struct.pack('<I', 1)))
        os.ftruncate(shrinking, 0)
        s.settimeout(0.05)
        with contextlib.suppress(OSError):
            s.recv(4096)
        send(s, frame(EVENTS_END, struct.pack('<I', 2)), kinds)
        for _ in range(30):
            send(s, frame(999), kinds)
        s.close()
    s = connect(path)
    send(s, hello(b'none'))
    send(s, frame(RINGS, os.urandom(16), flags=FD))          # announced but missing
    s.close()


def connections(path, count, each=8):
    """Open `count` connections at once, from many processes. Returns their number and a function that closes them."""
    said, go = os.pipe(), os.pipe()
    children = []
    for n in range((count + each - 1) // each):
        pid = os.fork()
        if pid == 0:
            held = []
            with contextlib.suppress(BaseException):
                os.close(go[1])
                for i in range(each):
                    held.append(connect(path))
                    if (n + i) % 2:
                        send(held[-1], hello(b'many'))
                os.write(said[1], b'+')
                os.read(go[0], 1)
            os._exit(0)
        children.append(pid)
    os.close(said[1])
    there = 0
    while there < len(children) and select.select([said[0]], [], [], 60)[0]:
        part = os.read(said[0], 65536)
        if not part:
            break
        there += len(part)

    def release():
        os.close(go[1])
        for pid in children:
            os.waitpid(pid, 0)
        for fd in (said[0], go[0]):
            os.close(fd)
    return there * each, release
