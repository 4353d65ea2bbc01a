# SPDX-License-Identifier: MIT
"""
Runs whole-program tests. Each case is a function with a fresh directory and a time limit; results are TAP.

The environment, which meson sets, says what is tested: WMK_WAYMARK the command, WMK_PROGRAMS the folder of the test
programs, WMK_FEATURES words such as `testpoints` or `sanitize`. WMK_ROUNDS_PERCENT scales rounds, WMK_SEED repeats a
run.
"""
import contextlib
import functools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from traces import Ledger, Trace, check_sequences  # noqa: F401 (cases take them, and waits, from here)
from waits import (  # noqa: F401
    MARK, WAIT_S, Failure, awaited, check, communicated, finished, holds_within, stuck, wait_for)

WAYMARK = os.path.abspath(os.environ.get('WMK_WAYMARK', 'build/src/cli/waymark'))
VIEW = ('view', '--style=babeltrace')    # the lines are compared with babeltrace2, or parsed
PROGRAMS = os.path.abspath(os.environ.get('WMK_PROGRAMS', 'build/tests'))
FEATURES = set(os.environ.get('WMK_FEATURES', '').split())
PERCENT = int(os.environ.get('WMK_ROUNDS_PERCENT', '10'))
SEED = int(os.environ.get('WMK_SEED', '0')) or random.SystemRandom().randrange(1, 1 << 31)


class Skip(Exception):
    """This machine or this build cannot run the case; the text gives the reason."""


class Result:
    """The result of `waymark record`."""

    def __init__(self, status, out, err, directory):
        self.status, self.out, self.err, self.directory = status, out, err, directory
        self.summary = {}
        for line in (out + '\n' + err).splitlines():
            if line.startswith('{'):
                with contextlib.suppress(ValueError):
                    self.summary = json.loads(line)
        if not self.summary and '{' in out:
            with contextlib.suppress(ValueError):
                self.summary = json.loads(out[out.index('{'):])

    @property
    def lost(self):
        check('lost' in self.summary, 'the summary has no count `lost`: %s %s', self.out[-500:], self.err[-500:])
        return self.summary['lost']

    def ok(self, status=0):
        check(self.status == status, 'waymark record ended with status %s, not %s: %s', self.status, status,
              self.err[-1500:])
        return self

    def trace(self):
        return Trace(self.directory, lossy=self.lost > 0)


@functools.cache
def knows_no_contexts():
    """(an earlier version, against which cases may run, has no default contexts and no such option)"""
    help_text = subprocess.run([WAYMARK, 'record', '--help'], capture_output=True, text=True, check=False).stdout
    return '-c none' in help_text


def no_contexts(options):
    """Cases count bytes and compare fields, so they record only the contexts that they request."""
    asked = any(option.startswith(('-c', '--context', '--kernel', '-k')) for option in options)
    return ['-c', 'none'] if not asked and knows_no_contexts() else []


class Case:
    """The environment of a case function."""

    def __init__(self, directory, seed, sanitized='sanitize' in FEATURES):
        self.directory, self.random, self.started = directory, random.Random(seed), []
        self.near = self.reports = None
        self.ledger = Ledger(os.path.join(directory, 'ledger'))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith('WAYMARK_')}
        # On a machine with a busy disk or busy CPUs, registration may take long. Records that are missing for that
        # reason would not be a defect of recording.
        self.env['WAYMARK_REGISTER_TIMEOUT'] = '60000'
        # the case must not use a session daemon that runs on this machine
        self.env['WAYMARK_RUNDIR'] = '/nowhere/waymark'
        self.env['HOME'] = directory                         # the file with the path of the last trace
        self.env['WMK_TEST_LEDGER'] = self.ledger.path
        self.env.update([MARK.split('=')])
        if sanitized:
            # The checker does not support cancelled threads, other PID namespaces and libraries that are loaded later.
            self.env['ASAN_OPTIONS'] = 'detect_leaks=0:use_sigaltstack=0:verify_asan_link_order=0'
            # A daemon that a checker has aborted is restarted, and no command would notice. So the report of each
            # process is a file.
            self.reports = tempfile.mkdtemp(prefix='wm-reports-', dir='/tmp')
            os.chmod(self.reports, 0o1777)
            for name in ('ASAN_OPTIONS', 'UBSAN_OPTIONS', 'TSAN_OPTIONS'):
                self.env[name] = '%s:log_path=%s/of' % (self.env.get(name, ''), self.reports)
        self.serial = 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def short(self, name):
        """A short path for sockets, which every user may enter: the path of a checkout may be too long for a socket."""
        if not self.near:
            self.near = tempfile.mkdtemp(prefix='wm-', dir='/tmp')
            os.chmod(self.near, 0o711)
        return os.path.join(self.near, name)

    def program(self, name):
        return os.path.join(PROGRAMS, name)

    def start(self, command, options=(), env=None, output=None, json_summary=True, **popen):
        """Start `waymark record` in its own process session; finish() waits for it."""
        self.serial += 1
        directory = output or self.path('trace%d' % self.serial)
        argv = [WAYMARK, 'record', '--private', '-o', directory]
        argv += ['--json'] if json_summary else []
        argv += list(options) + no_contexts(options) + ['--'] + list(command)
        out, err = self.path('out%d' % self.serial), self.path('err%d' % self.serial)
        with open(out, 'w') as o, open(err, 'w') as e:
            child = subprocess.Popen(argv, env=dict(self.env, **(env or {})), stdout=o, stderr=e,
                                     stdin=subprocess.DEVNULL,
                                     start_new_session=True, **popen)
        child.wmk = (out, err, directory)
        self.started.append(child)
        return child

    def finish(self, child, timeout=WAIT_S):
        try:
            child.wait(timeout)
        except subprocess.TimeoutExpired:
            stuck('waymark record did not end within %d s; %s; stderr: %s' %
                  (timeout, describe_group(child.pid), slurp(child.wmk[1])[-800:]))
        return Result(child.returncode, slurp(child.wmk[0]), slurp(child.wmk[1]), child.wmk[2])

    def record(self, command, options=(), timeout=WAIT_S, **more):
        return self.finish(self.start(command, options, **more), timeout)

    def checked(self, command, options=(), status=0, killed=False, timeout=WAIT_S, lost=None, **more):
        """
        record(), then read the trace by both readers and check every record against the ledger. Returns (result, trace,
        numbers).
        """
        result = self.record(command, options, timeout, **more).ok(status)
        trace = result.trace()
        numbers = check_sequences(trace, self.ledger, result.lost, killed)
        if lost is not None:
            check(result.lost == lost, '%d records lost, not %d', result.lost, lost)
        if 'records' in result.summary:
            check(result.summary['records'] == trace.count(), 'the summary reports %d records, the readers find %d',
                  result.summary['records'], trace.count())
        return result, trace, numbers

    def reported(self):
        """The sanitizer reports of all processes, or ''."""
        return '\n'.join(slurp(os.path.join(self.reports, name))[:4000]
                         for name in sorted(os.listdir(self.reports))) if self.reports else ''

    def close(self):
        """Kill the remaining processes. Returns a description of what the case has left behind, or ''."""
        left = []
        for child in self.started:
            if child.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                continue
            # Processes that are about to end get time for it.
            deadline = time.monotonic() + 30
            while session_of(child.pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            for pid, name in session_of(child.pid):
                left.append('process %d %s' % (pid, name))
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        left += [
            'mount ' + line.split()[1] for line in slurp('/proc/self/mounts').splitlines() if self.directory in line
        ]
        return ', '.join(left)


def slurp(path):
    with open(path, errors='replace') as f:
        return f.read()


def session_of(leader):
    """[(pid, name and state)] of the live processes of a process session."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = slurp('/proc/%s/stat' % pid)
            name, rest = stat.split('(', 1)[1].rsplit(')', 1)
            if int(rest.split()[3]) == leader and rest.split()[0] not in 'ZX':
                found.append((int(pid), '%s %s' % (name, rest.split()[0])))
    return found


def describe_group(leader):
    """The processes of a process session, for a message about one that hangs."""
    return 'alive: ' + ', '.join('%d %s' % p for p in session_of(leader))


class Gate:
    """
    A gate that a shell passes with `read word <PATH`, any number of times. The FIFO is held open here, so an early
    reader does not see an end of file, and open() of the gate does not block.
    """

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.fd = path, os.open(path, os.O_RDWR)

    def __call__(self):
        os.write(self.fd, b'go\n')

    def close(self):
        os.close(self.fd)
        os.unlink(self.path)


def need_other_users():
    """Skip unless we are root and other users can reach this checkout."""
    if os.geteuid():
        raise Skip('needs root, to become another user')
    for path in (WAYMARK, os.path.join(PROGRAMS, 'procs')):
        if subprocess.run(['test', '-x', path], user=65534, group=65534, extra_groups=[]).returncode:
            raise Skip('another user cannot reach %s' % path)


def not_under_tsan(why):
    """Skip under the thread sanitizer: it cannot run the case, or reports intended races."""
    if 'TSAN_OPTIONS' in os.environ:
        raise Skip('not under the thread sanitizer: ' + why)


def rounds(full):
    """The number of rounds of this run; a full run has `full` rounds."""
    return max(1, full * PERCENT // 100)


def need(*programs):
    for name in programs:
        if not shutil.which(name):
            raise Skip('%s is not installed' % name)


@contextlib.contextmanager
def small_disk(case, size):
    """Yield the path of a mounted tmpfs of that size; the end of the block unmounts it."""
    if os.geteuid():
        raise Skip('needs root to mount')
    need('mount', 'umount')
    place = case.path('disk')
    os.mkdir(place)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=' + size, 'none', place], capture_output=True, text=True)
    if done.returncode:
        raise Skip('cannot mount a tmpfs: ' + done.stderr.strip())
    try:
        yield place
    finally:
        subprocess.run(['umount', '-l', place], check=True)


def _alarm(_signal, _frame):
    stuck('the case took longer than its time')


def run_case(function, scratch):
    name = function.__name__
    directory = tempfile.mkdtemp(prefix=name[:20] + '-', dir=scratch)      # limits of sockets and of messages
    case = Case(directory, '%d %s' % (SEED, name))
    begun = time.monotonic()
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(getattr(function, 'limit', 120) * (10 if PERCENT >= 100 else 4))
    try:
        function(case)
        verdict, words = 'ok', ''
    except Skip as reason:
        verdict, words = 'skip', str(reason)
    except Failure as failure:
        verdict, words = 'not ok', str(failure)
    except Exception:
        verdict, words = 'not ok', traceback.format_exc()
    finally:
        signal.alarm(0)
        left = case.close()
        if left and verdict != 'not ok':
            verdict, words = 'not ok', 'left behind: ' + left
        said = case.reported()
        if said:
            verdict, words = 'not ok', '%s\na sanitizer says:\n%s' % (words, said)
    if verdict != 'not ok':
        shutil.rmtree(directory, ignore_errors=True)
    for directory in filter(None, (case.near, case.reports)):
        shutil.rmtree(directory, ignore_errors=True)
    return verdict, words, time.monotonic() - begun


def limit(seconds):
    """Decorator: the time limit of a case (four times that in short runs, ten times in long ones)."""
    def mark(function):
        function.limit = seconds
        return function
    return mark


def main(cases):
    """Run the cases named on the command line (default: all)."""
    wanted = sys.argv[1:]
    cases = [c for c in cases if not wanted or c.__name__ in wanted]
    scratch = os.path.join(os.path.abspath(os.environ.get('WMK_SCRATCH', 'build/tests/scratch')),
                           os.path.basename(sys.argv[0]))
    os.makedirs(scratch, exist_ok=True)
    print('# seed %d (repeat with WMK_SEED), rounds %d %%' % (SEED, PERCENT))
    print('1..%d' % len(cases), flush=True)
    failed = 0
    for number, function in enumerate(cases, 1):
        verdict, words, seconds = run_case(function, scratch)
        if verdict == 'skip':
            print('ok %d %s # SKIP %s' % (number, function.__name__, words), flush=True)
            continue
        for line in words.splitlines():
            print('# %s: %s' % (function.__name__, line))
        print('%s %d %s' % (verdict, number, function.__name__))
        print('# %.1f s' % seconds, flush=True)
        failed += verdict != 'ok'
    sys.exit(1 if failed else 0)
