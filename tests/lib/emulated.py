# SPDX-License-Identifier: MIT
"""
The common part of all machines that qemu emulates: Debian's own kernel, downloaded if necessary, and an initramfs that
is written here.

tests/lib/machine.py sends commands to a running machine. tests/arm64/qemu.py boots one of another architecture, which
runs its command lines and powers off.
"""
import glob
import lzma
import os
import re
import shutil
import stat
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
FETCH_S = 180

# Options of each machine: two processors, no network, no display, and an exit instead of a reboot.
OPTIONS = ['-smp', '2', '-nodefaults', '-display', 'none', '-nic', 'none', '-no-reboot']


class NotHere(Exception):
    """qemu or the kernel is not available; the text gives the reason."""


def cache():
    """The folder of the downloaded kernels."""
    return os.path.abspath(os.environ.get('WMK_CACHE') or os.path.join(ROOT, 'build-tests'))


def installed(name):
    path = shutil.which(name)
    if not path:
        raise NotHere('%s is not installed' % name)
    return path


def fetch(what, arch, folder):
    """Run scripts/`what`.sh (kernel, sysroot) for `arch`. If it fails, NotHere has its last line."""
    script = os.path.join(ROOT, 'scripts', what + '.sh')
    try:
        done = subprocess.run([script, arch, folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=FETCH_S)
    except subprocess.TimeoutExpired:
        raise NotHere('the %s %s was not downloaded within %d s' % (arch, what, FETCH_S)) from None
    except OSError as error:
        raise NotHere('cannot download the %s %s: %s' % (arch, what, error)) from None
    if done.returncode:
        raise NotHere('cannot download the %s %s: %s' %
                      (arch, what, (done.stdout.strip().splitlines() or ['no reason was given'])[-1]))


class Kernel:
    """Debian's kernel for `arch`, unpacked in the cache. scripts/kernel.sh downloads it if it is not there yet."""

    def __init__(self, arch, folder=None):
        self.root = os.path.join(folder or cache(), arch, 'root')
        if not self.images():
            self.fetch(arch, os.path.dirname(os.path.dirname(self.root)))
        self.image = self.images()[0]
        self.release = os.path.basename(self.image).split('-', 1)[1]

    def images(self):
        return sorted(glob.glob(os.path.join(self.root, 'boot', 'vmlinuz-*')))

    def fetch(self, arch, folder):
        fetch('kernel', arch, folder)
        if not self.images():
            raise NotHere('scripts/kernel.sh unpacked no %s kernel' % arch)

    def config(self):
        """{option without CONFIG_: y, m, a number or a text}; an option that is not set is missing."""
        with open(os.path.join(self.root, 'boot', 'config-' + self.release)) as f:
            return dict(re.findall(r'^CONFIG_(\w+)=(.*)$', f.read(), re.M))

    def modules(self, names):
        """[(name, file)] of these modules, after the modules that they need: an order in which they can be loaded."""
        there = {}
        for path in glob.glob(os.path.join(self.root, '**', 'lib', 'modules', self.release, '**', '*.ko*'),
                              recursive=True):
            there[os.path.basename(path).split('.ko')[0].replace('-', '_')] = path
        order = {}

        def add(name):
            if name in order:
                return
            if name not in there:
                raise NotHere('kernel %s has no module %s' % (self.release, name))
            data = module_file(there[name])
            needs = re.search(rb'\0depends=([^\0]*)\0', data)
            for other in filter(None, (needs.group(1).decode() if needs else '').split(',')):
                add(other.replace('-', '_'))
            order[name] = data
        for name in names:
            add(name.replace('-', '_'))
        return list(order.items())


def module_file(path):
    """An uncompressed module, as the insmod of busybox requires it."""
    with open(path, 'rb') as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith('.xz') else data


def libraries(program):
    """[(file, path in the machine)] of the libraries of a program of this host; both paths are equal."""
    done = subprocess.run(['ldd', program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    missing = re.search(r'(\S+) => not found', done.stdout)
    if missing:
        raise NotHere('the library %s of %s does not exist' % (missing.group(1), program))
    paths = [os.path.normpath(path) for path in re.findall(r'(?:=> |^\s)(/\S+) \(0x', done.stdout, re.M)]
    return list(zip(paths, paths))


class Sysroot:
    """
    Debian's packages of `arch`, unpacked in the cache (scripts/sysroot.sh): the libraries for a cross compiler and for
    the programs in the machine.
    """

    def __init__(self, arch, triplet, folder=None):
        self.triplet, folder = triplet, folder or cache()
        fetch('sysroot', arch, folder)
        self.root = os.path.join(folder, arch, 'sysroot')

    def libraries(self, program):
        """[(file, path in the machine)], with the dynamic loader. Libraries of the build keep their path."""
        found, todo = {}, [program]
        while todo:
            file = todo.pop()
            said = subprocess.run(['readelf', '-dlW', file], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=True).stdout
            own = [path.replace('$ORIGIN', os.path.dirname(file))
                   for paths in re.findall(r'\(RUNPATH\).*\[(.*)\]', said) for path in paths.split(':')]
            loader = re.findall(r'program interpreter: (\S+)\]', said)
            for name in loader + re.findall(r'\(NEEDED\).*\[(.*)\]', said):
                if name not in found:
                    found[name] = self.library(name, own)
                    todo.append(found[name][0])
        return list(found.values())

    def library(self, name, folders):
        own = [os.path.normpath(os.path.join(folder, name)) for folder in folders]
        there = [name] if name.startswith('/') else [
            os.path.join(folder, self.triplet, name) for folder in ('/lib', '/usr/lib')
        ]
        for file, path in [(path, path) for path in own] + [(self.root + path, path) for path in there]:
            if os.path.exists(file):
                return file, path
        raise NotHere('the library %s is not in %s' % (name, self.root))


def _entry(name, mode, data, number):
    """One entry of a `newc` archive (Linux: Documentation/driver-api/early-userspace/buffer-format.rst)."""
    raw = name.encode() + b'\0'
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
    head = b'070701' + b''.join(b'%08x' % f for f in fields) + raw
    head += b'\0' * (-len(head) % 4)
    return head + data + b'\0' * (-len(data) % 4)


class Initramfs:
    """
    The files of the machine, with links and parent folders, under their paths in the machine. `find_libraries` is
    libraries(), or that of a Sysroot.
    """

    def __init__(self, find_libraries=libraries):
        self.entries, self.find_libraries = {}, find_libraries

    def _put(self, path, mode, data):
        path = os.path.normpath(path).lstrip('/')
        folder = os.path.dirname(path)
        while folder:
            self.entries.setdefault(folder, (stat.S_IFDIR | 0o755, b''))
            folder = os.path.dirname(folder)
        self.entries[path] = (mode, data)

    def text(self, path, text, mode=0o644):
        self._put(path, stat.S_IFREG | mode, text.encode())

    def data(self, path, data):
        self._put(path, stat.S_IFREG | 0o644, data)

    def link(self, path, to):
        self._put(path, stat.S_IFLNK | 0o777, to.encode())

    def folder(self, path, mode=0o755):
        self._put(path, stat.S_IFDIR | mode, b'')

    def file(self, source, path=None):
        with open(source, 'rb') as f:
            self._put(path or source, stat.S_IFREG | stat.S_IMODE(os.fstat(f.fileno()).st_mode), f.read())

    def program(self, source, path=None):
        """Add a program, at its own path or at another, and the libraries that it needs."""
        for needed in [(source, path), *self.find_libraries(source)]:
            self.file(*needed)

    def write(self, path):
        with open(path, 'wb') as out:                      # compression would not make the boot faster
            # Sorted paths: a folder precedes its contents, because its path is shorter.
            for number, (name, (mode, data)) in enumerate(sorted(self.entries.items()), 1):
                out.write(_entry(name, mode, data, number))
            out.write(_entry('TRAILER!!!', 0, b'', 0))
