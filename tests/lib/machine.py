# SPDX-License-Identifier: MIT
"""
A machine with a second kernel, Debian's own. qemu emulates it, it contains the built programs, and it executes commands
one by one.

    with Machine([case.program('procs')]) as machine:
        machine.run('waymark record -k sched_switch -o /tmp/trace -- procs leaf 5')
        machine.fetch('/tmp/trace', case.directory)            # is now in case.directory/trace

Kernels differ in their features. The stock kernel has kprobes and the function tracer, which another may lack; its
processors can go offline, it loads modules, and a test may crash it. It boots in about three seconds. Emulation is
slow, so nothing is measured in it.

Programs and their libraries have the same paths there as here. The folders of `waymark`, the daemons and the test
programs are in PATH, with busybox. Everything belongs to root and is in memory. There is no network. The kernel's own
clock source is the processor's counter (`tsc`); `x86-tsc` of tracefs and `rdtsc` agree with it on both processors. The
second processor is offline until a command starts it. Emulation does not promise an invariant counter, so the user
domain of Waymark uses the monotonic clock there.

Commands and responses use a virtio port; only its modules are loaded. The serial line is only the
console of the kernel.
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
# Options of both kinds of machine: the machine exits if the kernel detects an error, and the kernel does not take slow
# emulation for an error.
COMMAND_LINE = 'panic=-1 oops=panic mitigations=off nowatchdog workqueue.watchdog_thresh=0'

Kind = collections.namedtuple('Kind', 'arch qemu options command_line')
X86_64 = Kind(
    'amd64', 'qemu-system-x86_64',
    # With an Intel processor, the kernel assumes a counter of constant rate; TCG does not offer the CPU flag for that
    # on all processors.
    # One thread for both processors: with one for each, qemu 7.2 may execute a breakpoint that the other processor has
    # already removed (Linux patches its code with breakpoints when a tracepoint is switched). The processor then hangs.
    ['-cpu', 'max,vendor=GenuineIntel', '-accel', 'tcg,thread=single'],
    'console=ttyS0 maxcpus=1 no_timer_check tsc=reliable')
ARM64 = Kind(
    'arm64', 'qemu-system-aarch64',
    # Pointer authentication by a hash that is fast to emulate.
    ['-machine', 'virt', '-cpu', 'max,pauth-impdef=on', '-accel', 'tcg,thread=multi'],
    'console=ttyAMA0')
# The kernel's error messages. Messages about delays are not among them, since emulation causes delays.
COMPLAINT = re.compile(
    r'WARNING:|BUG:|Oops|general protection|refcount_t|Kernel panic|scheduling while atomic|possible .* detected')
ENDS_S, DYING_S = 30, 3
DEAD = 'the emulated machine is gone: '

# The contents of the machine: folders of `waymark` and the daemons, of test programs, a static busybox, and libraries()
# of emulated.py.
Build = collections.namedtuple('Build', 'waymark sessiond programs busybox libraries')


def own_build():
    return Build(WAYMARK, SESSIOND, PROGRAMS, installed('busybox'), libraries)


class Machine:
    """
    See the file comment. `programs`: additional programs. `modules`: names of kernel modules to copy to /modules, with
    those that they need; load them by `insmod /modules/NAME.ko` in the order of `needed(NAME)`. The first command boots
    the machine; Skip gives the reason if that is not possible.

    `kind`: the processor. `build`: returns the Build for it, or raises NotHere; by default the build under test.
    """

    def __init__(self, programs=(), modules=(), memory_mb=512, kind=X86_64, build=own_build):
        self.programs, self.wanted, self.memory_mb = list(programs), list(modules), memory_mb
        self.kind, self.build = kind, build
        self.child = self.kernel = self.gone = None
        self.booted_s = None

    # ── commands ──────────────────────────────────────────────────────────────────────────────────────────

    def run(self, command, status=0, limit=WAIT_S):
        """
        Run a command line in the machine's shell, in /tmp; returns its output as text (control.Answer). It must exit
        with `status` (None: any) within `limit` seconds. Otherwise it is killed, and the failure shows the stacks of
        the machine's processes. The machine remains usable unless its kernel hangs or has crashed.
        """
        done, out, err = self.ask(command, limit)
        answer = Answer(['sh', '-c', command], done, out.decode(errors='replace'), err.decode(errors='replace'))
        return answer if status is None else answer.ok(status)

    def ask(self, command, limit=WAIT_S):
        """(exit status, stdout, stderr), as bytes."""
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
        except Failure as late:                             # the time limit of the case is reached
            self.stop(DYING_S)
            self.gone = Failure(DEAD + '`%s` was running when %s' % (command, late))
            raise

    def answer(self, deadline):
        status, out, err = map(int, self.line(deadline).split())
        try:
            return status, self.take(out, time.monotonic() + WAIT_S), self.take(err, time.monotonic() + WAIT_S)
        except TimeoutError:  # part of a response: the port is out of step for any further command
            raise EOFError from None

    def end_command(self, command, limit, before):
        """
        The time limit is reached: the machine prints its state on the console and kills the command. If it does not
        respond, the machine is killed.
        """
        with contextlib.suppress(OSError):
            self.child.stdin.write(b'\n')
            self.child.stdin.flush()
        words = '`%s` did not end within %d s in the emulated machine' % (command, limit)
        try:
            _, out, err = self.answer(time.monotonic() + ENDS_S)
        except (TimeoutError, EOFError, OSError):
            self.died(words + ', and the kernel did not respond', before)
        raise Failure('%s; output: %s; stacks:\n%s' %
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
        """Copy a file or a folder from the machine into a local folder, under its own name. Returns its path."""
        folder, name = os.path.split(os.path.normpath(path))
        status, data, err = self.ask("tar -C '%s' -cf - '%s'" % (folder, name))
        check(status == 0, 'cannot fetch %s from the emulated machine: %s', path, err.decode(errors='replace'))
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(directory)
        return os.path.join(directory, name)

    # ── start and stop ──────────────────────────────────────────────────────────────────────────────────

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
            check(self.line(time.monotonic() + WAIT_S) == 'ready', 'the emulated machine sent no `ready`')
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
        """The names of the modules to load for this one, itself last, without those that are loaded at boot."""
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
        """All output of kernel and qemu."""
        return slurp(self.log).replace('\r', '')

    def complaints(self):
        """The lines in which the kernel reports errors."""
        self.boot()
        return [line for line in self.console().splitlines() if COMPLAINT.search(line)]

    def died(self, doing, before):
        """The machine does not respond: kill it, and fail with the text of its console."""
        self.stop(DYING_S)
        said = self.console()[before:]
        panic = re.search(r'Kernel panic.*', said)
        self.gone = Failure(DEAD + doing + (', ' + panic.group(0) if panic else ''))
        raise Failure('%s; console:\n%s' % (self.gone, said[-4000:]))

    def stop(self, patience=ENDS_S):
        """Close its port, so that it powers off; kill it if it does not."""
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
