# SPDX-License-Identifier: MIT
"""A machine with a second kernel, Debian's own: emulated by qemu, with the built programs in it, and told what to run
command by command.

    with Machine([case.program('procs')]) as machine:
        machine.run('waymark record -k sched_switch -o /tmp/trace -- procs leaf 5')
        machine.fetch('/tmp/trace', case.directory)            # is now in case.directory/trace

What it is for: kernels differ in what they have. The stock one has kprobes and the function tracer, which another may
lack, lets a processor be taken away, loads modules, and may be driven into the ground. It boots in about three seconds,
and is as slow as emulation is: nothing is measured in it.

Programs and their libraries lie there under the paths they have here; the folders of `waymark`, the daemons and the
test programs are in PATH, beside busybox. All is root's, in memory, and gone with it. There is no network. The kernel's
own clock source is the processor's counter (`tsc`), on which `x86-tsc` of tracefs and `rdtsc` agree, on both processors
(the second one is there, but offline: it comes when it is told to); but emulation does not promise that the counter is
invariant, and so the user domain of Waymark takes the monotonic clock there.

Commands and answers go over a port of virtio (its modules are the only ones that are loaded); the serial line is the
kernel's console alone.
"""
import base64
import collections
import contextlib
import io
import os
import re
import select
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time

from control import SESSIOND, Answer
from emulated import OPTIONS, Initramfs, Kernel, NotHere, installed, libraries
from harness import PROGRAMS, WAIT_S, WAYMARK, Failure, Skip, check, slurp

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'machine')
PORT = ['virtio_pci', 'virtio_console']
# What is the same in both kinds of machine: the kernel ends the machine when something is wrong in it, and does not
# take the slow emulation for a fault.
COMMAND_LINE = 'panic=-1 oops=panic mitigations=off nowatchdog workqueue.watchdog_thresh=0'

Kind = collections.namedtuple('Kind', 'arch qemu options command_line')
X86_64 = Kind(
    'amd64', 'qemu-system-x86_64',
    # With an Intel processor the kernel takes the counter for one of constant rate; TCG does not offer the bit that
    # says so for all of them.
    # One thread for both processors: with one for each, qemu 7.2 can go on executing a breakpoint that the other
    # processor has taken away again (so Linux changes its code when a tracepoint is switched), and that processor never
    # comes back.
    ['-cpu', 'max,vendor=GenuineIntel', '-accel', 'tcg,thread=single'],
    'console=ttyS0 maxcpus=1 no_timer_check tsc=reliable')
ARM64 = Kind(
    'arm64', 'qemu-system-aarch64',
    # Pointer authentication by a hash that is fast to emulate.
    ['-machine', 'virt', '-cpu', 'max,pauth-impdef=on', '-accel', 'tcg,thread=multi'],
    'console=ttyAMA0')
# What a kernel says when something is wrong in it; what it says when it was kept waiting is the emulation's.
COMPLAINT = re.compile(
    r'WARNING:|BUG:|Oops|general protection|refcount_t|Kernel panic|scheduling while atomic|possible .* detected')
ENDS_S, DYING_S = 30, 3
DEAD = 'the emulated machine is gone: '

# What runs in it: folders of `waymark` and the daemons, of test programs, a static busybox, and libraries() of
# emulated.py.
Build = collections.namedtuple('Build', 'waymark sessiond programs busybox libraries')


def own_build():
    return Build(WAYMARK, SESSIOND, PROGRAMS, installed('busybox'), libraries)


class Machine:
    """
    See above. `programs`: what is taken along beside Waymark's own; `modules`: names of modules of the kernel that are
    to lie in /modules, to be loaded with `insmod /modules/NAME.ko` (those that they need too; `needed(NAME)` is the
    order). It boots with the first command; Skip says why it cannot.

    `kind`: the processor. `build`: returns the Build for it, or raises NotHere; by default the build that is tested.
    """

    def __init__(self, programs=(), modules=(), memory_mb=512, kind=X86_64, build=own_build):
        self.programs, self.wanted, self.memory_mb = list(programs), list(modules), memory_mb
        self.kind, self.build = kind, build
        self.child = self.kernel = self.gone = None
        self.booted_s = None

    # ── to and fro ──────────────────────────────────────────────────────────────────────────────────────

    def run(self, command, status=0, limit=WAIT_S):
        """
        A command line of its shell, in /tmp; what it said, as text (control.Answer). It shall end with that status
        (None: any), within so many seconds: else it is ended, and the failure tells what it was at. The machine lives
        on, unless it was the kernel that hung or died.
        """
        done, out, err = self.ask(command, limit)
        answer = Answer(['sh', '-c', command], done, out.decode(errors='replace'), err.decode(errors='replace'))
        return answer if status is None else answer.ok(status)

    def ask(self, command, limit=WAIT_S):
        """(exit status, its output, its errors), as bytes."""
        self.boot()
        before = len(self.console())
        line = base64.b64encode(command.encode()) + b'\n'
        try:
            self.port.sendall(line)
            return self.answer(time.monotonic() + limit)
        except TimeoutError:
            self.end_command(command, limit, before)
        except (EOFError, OSError):
            self.died('`%s` was running' % command, before)
        except Failure as late:                             # the time of the whole case is over
            self.stop(DYING_S)
            self.gone = Failure(DEAD + '`%s` was running when %s' % (command, late))
            raise

    def answer(self, deadline):
        status, out, err = map(int, self.line(deadline).split())
        try:
            return status, self.take(out, time.monotonic() + WAIT_S), self.take(err, time.monotonic() + WAIT_S)
        except TimeoutError:                                # half an answer: there is no asking again
            raise EOFError from None

    def end_command(self, command, limit, before):
        """The time is over: what it is at stands on the console, then it is gone; or the machine is."""
        with contextlib.suppress(OSError):
            self.child.stdin.write(b'\n')
            self.child.stdin.flush()
        words = '`%s` did not end within %d s in the emulated machine' % (command, limit)
        try:
            _, out, err = self.answer(time.monotonic() + ENDS_S)
        except (TimeoutError, EOFError, OSError):
            self.died(words + ', and the kernel did not answer either', before)
        raise Failure('%s; it said: %s; it was at:\n%s' %
                      (words, (err + out)[-800:].decode(errors='replace'), self.console()[before:][-4000:]))

    def line(self, deadline):
        while b'\n' not in self.buffer:
            self.more(deadline)
        line, _, rest = bytes(self.buffer).partition(b'\n')
        self.buffer = bytearray(rest)
        return line.decode()

    def take(self, size, deadline):
        while len(self.buffer) < size:
            self.more(deadline)
        data = bytes(self.buffer[:size])
        del self.buffer[:size]
        return data

    def more(self, deadline):
        if not select.select([self.port], [], [], max(0, deadline - time.monotonic()))[0]:
            raise TimeoutError
        data = self.port.recv(1 << 20)
        if not data:
            raise EOFError
        self.buffer += data

    def fetch(self, path, directory):
        """Bring a file or a folder of the machine into a folder here, under its own name. Returns where it is."""
        folder, name = os.path.split(os.path.normpath(path))
        status, data, err = self.ask("tar -C '%s' -cf - '%s'" % (folder, name))
        check(status == 0, '%s was not brought out of the emulated machine: %s', path, err.decode(errors='replace'))
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(directory)
        return os.path.join(directory, name)

    # ── beginning and end ───────────────────────────────────────────────────────────────────────────────

    def boot(self):
        if self.gone:
            raise self.gone
        if self.child:
            return
        try:
            qemu, self.kernel = installed(self.kind.qemu), Kernel(self.kind.arch)
            build = self.build()
        except NotHere as reason:
            self.gone = Skip('no second kernel: %s' % reason)
            raise self.gone from None
        self.place = tempfile.mkdtemp(prefix='wmk-machine-', dir='/tmp')
        self.log, ramfs = os.path.join(self.place, 'console'), os.path.join(self.place, 'initramfs')
        begun = time.monotonic()
        self.initramfs(build).write(ramfs)
        self.start(qemu, ramfs)
        try:
            check(self.line(time.monotonic() + WAIT_S) == 'ready', 'the emulated machine does not begin with `ready`')
        except (TimeoutError, EOFError, OSError):
            self.died('it was booting', 0)
        os.unlink(ramfs)
        self.booted_s = time.monotonic() - begun

    def initramfs(self, build):
        files = Initramfs(build.libraries)
        for name in ('bin', 'proc', 'sys', 'dev', 'run', 'root', 'tmp'):
            files.folder(name, 0o1777 if name == 'tmp' else 0o755)
        files.program(build.busybox, '/bin/busybox')
        for name in ('init', 'late'):
            files.file(os.path.join(HERE, name), name)
        files.text('/etc/passwd', 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nowhere:/bin/false\n')
        files.text('/etc/group', 'root:x:0:\nnogroup:x:65534:\n')
        programs = [build.waymark, build.sessiond, os.path.join(os.path.dirname(build.sessiond), 'waymark-consumerd'),
                    *(os.path.join(build.programs, name) for name in self.programs)]
        for program in programs:
            files.program(program)
        loaded = self.kernel.modules(PORT)
        for name, data in self.kernel.modules(PORT + self.wanted):
            files.data('/modules/%s.ko' % name, data)
        path = ['/bin'] + sorted({os.path.dirname(program) for program in programs})
        variables = {
            'PATH': ':'.join(path), 'HOME': '/root', 'WAYMARK_SESSIOND': build.sessiond,
            'WAYMARK_REGISTER_TIMEOUT': '60000'
        }
        lines = ["export %s='%s'" % pair
                 for pair in variables.items()] + ["LOADED='%s'" % ' '.join(name for name, _ in loaded)]
        files.text('/environment', '\n'.join(lines) + '\n')
        return files

    def needed(self, module):
        """The names of the modules to load for this one, itself last; without those that are loaded when the machine
        has booted."""
        there = {name for name, _ in self.kernel.modules(PORT)}
        return [name for name, _ in self.kernel.modules([module]) if name not in there]

    def start(self, qemu, ramfs):
        self.port, theirs = socket.socketpair()
        self.buffer = bytearray()
        argv = [
            qemu, *self.kind.options, *OPTIONS, '-m',
            str(self.memory_mb), '-kernel', self.kernel.image, '-initrd', ramfs, '-append',
            COMMAND_LINE + ' ' + self.kind.command_line,
            '-serial', 'stdio', '-device', 'virtio-serial-pci', '-chardev',
            'socket,id=port,fd=%d' % theirs.fileno(), '-device', 'virtserialport,chardev=port'
        ]
        with theirs, open(self.log, 'wb') as log:
            self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT,
                                          pass_fds=[theirs.fileno()])

    def console(self):
        """All that kernel and qemu have said."""
        return slurp(self.log).replace('\r', '')

    def complaints(self):
        """The lines in which the kernel says that something is wrong in it."""
        self.boot()
        return [line for line in self.console().splitlines() if COMPLAINT.search(line)]

    def died(self, doing, before):
        """It answers no more: end it, and say what was on its console."""
        self.stop(DYING_S)
        said = self.console()[before:]
        panic = re.search(r'Kernel panic.*', said)
        self.gone = Failure(DEAD + doing + (', ' + panic.group(0) if panic else ''))
        raise Failure('%s; its console says:\n%s' % (self.gone, said[-4000:]))

    def stop(self, patience=ENDS_S):
        """Its port closed, it powers off by itself; what does not is killed."""
        self.port.close()
        self.child.stdin.close()
        try:
            self.child.wait(patience)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()

    def close(self):
        if self.child:
            if self.child.poll() is None:
                self.stop()
            shutil.rmtree(self.place, ignore_errors=True)
            self.child, self.gone = None, Failure(DEAD + 'it was closed')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
