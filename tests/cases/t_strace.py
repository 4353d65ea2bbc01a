#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark strace` compared with strace line by line, for the same programs: selections, summaries, errors, losses, and
recording without BPF.
"""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import strace_lines as calls  # noqa: E402
from harness import WAYMARK, Skip, check, finished, main, not_under_tsan  # noqa: E402
from kernel import has_narrow_calls  # noqa: E402

INSTANCES = '/sys/kernel/tracing/instances'
PAUSE = ('34', '73')             # pause() on x86_64, ppoll() on machines without pause()
BESIDE = 'its child has a sanitizer thread until its exec, and that thread is printed'
# Data that strace prints and the BPF program does not copy; nothing else may differ. By system call: the reason.
KNOWN = {
    'rt_sigreturn': 'the restored mask is on the stack, and its exit has no number',
    'getdents64': 'the number of entries, if they have more than 4096 bytes',
    'sysinfo': 'the structure',
    'statfs': 'the structure',
    'fstatfs': 'the structure',
    'prctl': 'text after some results',
    'getpgid': 'each run has another process group',
    'getppid': 'each run has another parent',
    'getpgrp': 'each run has another process group',
    'getpid': 'without -f process ids are not mapped',
    'set_tid_address': 'without -f process ids are not mapped',
    'kill': 'without -f process ids are not mapped',
    'wait4': 'without -f process ids are not mapped',
    'clone': 'without -f process ids are not mapped',
    'gettid': 'without -f process ids are not mapped',
    'vfork': 'without -f process ids are not mapped',
}
# Lines of these calls are compared without process ids.
NUMBERS = {'getpgid', 'getppid', 'getpgrp', 'getpid', 'set_tid_address', 'kill', 'wait4', 'clone', 'gettid', 'vfork'}


def needs(case, bpf=True):
    if os.geteuid() != 0:
        raise Skip('only root may record the kernel')
    if not shutil.which('strace'):
        raise Skip('strace is not installed')
    if bpf:
        run = waymark(case, ['-q', '-e', 'trace=execve', 'true'])
        if 'printed as numbers' in run.stderr:
            raise Skip('no BPF here: ' + run.stderr.strip())


def run(case, argv, **more):
    env = dict(case.env, LC_ALL='C', PATH='/usr/bin:/bin')
    env.pop('LANG', None)
    return finished(argv, cwd=case.directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True, errors='replace', **more)


def waymark(case, args, **more):
    return run(case, [WAYMARK, 'strace'] + args, **more)


def fresh_directory(case):
    """An empty directory to run in, always with the same name."""
    case.directory_of_runs = case.path('runs')
    shutil.rmtree(case.directory_of_runs, ignore_errors=True)
    os.mkdir(case.directory_of_runs)


def traced(case, tracer, options, command):
    """(exit status, the tracer's output) of the command, run in an empty directory."""
    fresh_directory(case)
    output = case.path('calls')
    argv = (['strace'] if tracer == 'strace' else [WAYMARK, 'strace']) + ['-o', output] + options + command
    env = dict(case.env, LC_ALL='C', PATH='/usr/bin:/bin')
    env.pop('LANG', None)
    done = finished(argv, cwd=case.directory_of_runs, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True, errors='replace')
    check('lost' not in done.stderr, '%s: %s', argv, done.stderr[-500:])
    with open(output, errors='surrogateescape') as file:
        return done.returncode, file.read()


def both(case, options, command):
    """Calls by process, of strace and of `waymark strace`: {name: [calls]}, {name: [calls]}."""
    follow = '-f' in options
    (theirs, first), (ours, second) = traced(case, 'strace', options,
                                             command), traced(case, 'waymark', options, command)
    check(theirs == ours, '%s: strace ended with %d, waymark strace with %d', command, theirs, ours)
    return calls.by_birth(calls.read(first, follow)), calls.by_birth(calls.read(second, follow))


# A fork, or a wait for a child, is restarted if another child's end interrupts it. The number of restarts varies.
MADE_ANEW = {'clone', 'clone3', 'fork', 'vfork', 'wait4'}


def is_again(name, text):
    return name in MADE_ANEW and '= ? ERESTART' in text


def in_any_order(calls):
    """The calls with their waits for children sorted, because two children end in any order."""
    waits = iter(sorted(c for c in calls if c.name == 'wait4'))
    return [next(waits) if c.name == 'wait4' else c for c in calls]


def numberless(text):
    return re.sub(r'(?<![\w.])\d{2,7}(?![\w.])', 'N', text)


def compare(theirs, ours, what, most=0, without=()):
    """
    Compare line by line, except for the calls in `without`, which not every run makes. At most `most` lines may differ
    in known ways.
    """
    check(
        sorted(theirs) == sorted(ours), '%s: strace prints the processes %s, waymark strace %s', what, sorted(theirs),
        sorted(ours))
    known, compared = {}, 0
    for process in theirs:
        # (the number of calls that a signal interrupts varies)
        left, right = [
            in_any_order([
                c for c in side[process]
                if c.name != 'rt_sigreturn' and c.name not in without and not is_again(c.name, c.text)
            ]) for side in (theirs, ours)
        ]
        names = [[c.name for c in side] for side in (left, right)]
        check(names[0] == names[1], '%s: different calls of process %s: %s', what, process,
              [(a, b) for a, b in zip(names[0], names[1]) if a != b][:3] or [len(n) for n in names])
        for a, b in zip(left, right):
            compared += 1
            if a.text == b.text or a.plain == b.plain:
                continue
            check(a.name in KNOWN, '%s: process %s:\n  strace  %s\n  waymark %s', what, process, a.text, b.text)
            if a.name in NUMBERS:
                check(
                    numberless(a.text) == numberless(b.text), '%s: process %s:\n  strace  %s\n  waymark %s', what,
                    process, a.text, b.text)
                continue
            # At least the result must be the same.
            check(
                a.text.rsplit(' = ', 1)[1].split(' ')[0] == b.text.rsplit(' = ', 1)[1].split(' ')[0]
                or a.name == 'sysinfo', '%s: different results:\n  strace  %s\n  waymark %s', what, a.text, b.text)
            known[a.name] = known.get(a.name, 0) + 1
    check(sum(known.values()) <= most, '%s: %s lines differ in known ways, more than %d', what, known, most)
    print('# %s: %d lines are equal, %d differ in known ways: %s' %
          (what, compared - sum(known.values()), sum(known.values()), known))


def printed_arguments_equal_those_of_strace(case):
    """Paths, texts, vectors, structures, flags, sockets, signals and failures are printed as by strace."""
    needs(case)
    for kind, most in (('files', 0), ('memory', 0), ('waiting', 0), ('sockets', 0), ('processes', 1), ('narrow', 0)):
        compare(*both(case, [], [case.program('traced_syscalls'), kind]), kind, most)


def unnamed_system_calls_are_printed_in_hex(case):
    """
    Unknown system calls are printed with their numbers in hex, as by strace, also from tracefs events. The exit of
    rt_sigreturn() is not printed.
    """
    needs(case)
    program = [case.program('traced_syscalls'), 'unnamed']
    theirs, ours = both(case, [], program)
    compare(theirs, ours, 'unnamed', without=('tgkill',))
    status, text = traced(case, 'waymark', ['--no-bpf'], program)
    for number in '0x270f', '0x1ff', '0xffffffffffffffff', '0x7ffffffe':
        line = 'syscall_%s(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS' % number
        check(text.count(line) == 2, '--no-bpf: %d times %s: %s', text.count(line), line, text[-1000:])
        objects = traced(case, 'waymark', ['--json'], program)[1]
        check(objects.count('"call":"syscall_%s"' % number) == 2, '--json: %s', objects[-1000:])
    rows = rows_of(traced(case, 'waymark', ['-c'], program)[1])
    check(rows.get('unknown') == (8, 8), '-c: %s', rows)
    check('resumed' not in text, 'the exit of a call without an entry is printed: %s', text[-1000:])


def string_limit_option_gives_the_output_of_strace(case):
    needs(case)
    for size in ('5', '200'):
        compare(*both(case, ['-s', size], [case.program('traced_syscalls'), 'files']), '-s ' + size)


def output_for_usual_programs_equals_that_of_strace(case):
    """ls, cat, and a Python script: hundreds of lines."""
    needs(case)
    with open(case.path('data'), 'w') as file:
        file.write('some text\n' * 1000)
    compare(*both(case, [], ['ls', '-l', '/etc/apt']), 'ls', 4)
    compare(*both(case, [], ['cat', case.path('data')]), 'cat')
    compare(*both(case, [], ['/usr/bin/python3', '-I', '-S', '-c',
                             'print(open("%s").read(3))' % case.path('data')]), 'python', 12)


def output_for_processes_and_threads_equals_that_of_strace(case):
    """
    -f: children, their exec and threads. The entry and exit of a call are joined if calls of other threads came between
    them.
    """
    not_under_tsan(BESIDE)
    needs(case)
    compare(*both(case, ['-f'], ['sh', '-c', 'echo a | cat']), 'sh with a pipe')
    compare(*both(case, ['-f'], ['sh', '-c', 'ls / >/dev/null; exit 3']), 'sh with a command', 3)
    compare(*both(case, ['-f'], [case.program('traced_syscalls'), 'threads']), 'threads',
            without=['futex'])       # of pthread_join(), if the thread has not ended yet
    compare(*both(case, ['-f'], [case.program('traced_syscalls'), 'processes']), 'processes', 2)


def output_for_exits_and_signals_equals_that_of_strace(case):
    not_under_tsan(BESIDE)
    needs(case)
    program = case.program('traced_syscalls')
    for options, command in (([], [program, 'files']), ([], [program, 'crash']), (['-f'], ['sh', '-c',
                                                                                           'kill -KILL $$']),
                             ([], ['sh', '-c', 'trap : USR1; kill -USR1 $$; exit 7'])):
        (status, first), (other, second) = traced(case, 'strace', options,
                                                  command), traced(case, 'waymark', options, command)
        # strace kills itself with the same signal. `waymark strace` exits with 128 + signal.
        check(other == (status if status >= 0 else 128 - status), '%s: %d, %d', command, status, other)
        theirs, ours = [[
            line for line in re.sub(r'0x[0-9a-f]{6,}|\d{3,}', 'N', text).splitlines()
            if re.search(r'--- SIG(?!CHLD)|\+\+\+', line)
        ] for text in (first, second)]
        check(theirs == ours and ours, '%s:\n%s\n%s', command, '\n'.join(theirs), '\n'.join(ours))


def exit_of_each_thread_is_printed(case):
    """A process ends with all its threads at once: the end of each thread is printed."""
    not_under_tsan(BESIDE)
    needs(case)
    script = 'import os, threading, time\nfor i in range(199): threading.Thread(target=time.sleep, args=(99,), ' \
        'daemon=True).start()\nos._exit(3)'
    for _ in range(5):
        status, text = traced(case, 'waymark', ['-f'], ['/usr/bin/python3', '-I', '-S', '-c', script])
        seen, ended = [
            set(re.findall(pattern, text, re.M)) for pattern in (r'^(\d+) ', r'^(\d+) +\+\+\+ exited with 3 \+\+\+$')
        ]
        check(status == 3 and len(seen) == 200 and seen == ended, '%d of %d threads ended', len(ended), len(seen))


def system_calls_of_32_bit_programs_are_printed(case):
    needs(case)
    if not has_narrow_calls():
        raise Skip('this machine has no 32-bit system calls')
    text = waymark(case, [case.program('traced_syscalls'), 'narrow']).stderr
    for wanted in ('runs in 32 bit mode. ]\nopen("/nowhere", O_RDONLY) ', 'write(-1, "/no", 3) ',
                   'runs in 64 bit mode. ]\ngetppid() '):
        check(wanted in text, '%r is not in %s', wanted, text[-600:])


def execveat_exit_matches_its_entry(case):
    """
    The exit of execveat() has the number of execve() on some machines. It is joined with its entry with any selection.
    """
    not_under_tsan(BESIDE)
    needs(case)
    script = 'import os; fd = os.open("/bin/true", os.O_RDONLY); os.execve(fd, ["true"], {})'
    for options in ([], ['-e', 'trace=execveat'], ['-e', 'trace=!execve'], ['-f', '-e', 'trace=execveat,execve']):
        text = traced(case, 'waymark', options, ['/usr/bin/python3', '-I', '-S', '-c', script])[1]
        lines = [line for line in text.splitlines() if 'execveat' in line]
        check(
            len(lines) == 1 and re.search(r'execveat\(\d+, "", \[?.*AT_EMPTY_PATH\) += 0$', lines[0]), '%s: %s',
            options, lines)
        check('resumed' not in text and text.endswith('+++ exited with 0 +++\n'), '%s: %s', options, text[-500:])
    rows = rows_of(traced(case, 'waymark', ['-c', '-e', 'execveat'], ['/usr/bin/python3', '-I', '-S', '-c', script])[1])
    check(rows.get('execveat') == (1, 0), '-c: %s', rows)


def names_of(text):
    """{call: count} of lines without -f, without the calls that signals add."""
    found = {}
    for line in text.splitlines():
        match = re.match(r'(\w+)\(', line)
        if match and match.group(1) != 'rt_sigreturn' and not is_again(match.group(1), line):
            found[match.group(1)] = found.get(match.group(1), 0) + 1
    return found


def selected_system_calls_equal_those_of_strace(case):
    """-e selects the same calls as strace for the same words."""
    needs(case)
    program = [case.program('traced_syscalls')]
    for kind, words in (('files', [
            'openat', 'trace=openat,close', 'trace=!openat,close', '%file', 'trace=%desc', 'file', '/^(pre)?readv?$',
            '?nothing,close', 'all', '!%desc'
    ]), ('memory', ['%memory', 'mmap']), ('sockets', ['%network', '%net', 'trace=%network,close']),
                        ('processes', ['%signal', '%process', 'trace=!%process'])):
        for word in words:
            counts = [
                names_of(traced(case, tracer, ['-e', word], program + [kind])[1]) for tracer in ('strace', 'waymark')
            ]
            check(counts[0] == counts[1] and counts[0], '-e %s of %s: strace %s, waymark %s', word, kind,
                  sorted(counts[0].items() - counts[1].items()), sorted(counts[1].items() - counts[0].items()))
    check(
        traced(case, 'waymark', ['-e', 'trace=none', '-q', '-q'], program + ['files'])[1] == '',
        '-e trace=none printed calls')
    text = traced(case, 'waymark', ['-e', 'trace=none', '-e', 'signal=!usr1'], program + ['processes'])[1]
    check('SIGUSR1' not in text, 'signal=!usr1: %s', text)
    text = traced(case, 'waymark', ['-e', 'trace=none', '-e', 'signal=SIGUSR1'], program + ['processes'])[1]
    check('--- SIGUSR1 {' in text, 'signal=SIGUSR1: %s', text)


def rows_of(text):
    """Rows of a table: {name: (calls, errors)}."""
    rows = {}
    for line in text.splitlines():
        match = re.match(r' *[\d.]+ +[\d.]+ +\d+ +(\d+) +(\d*) *(\w+)$', line)
        if match:
            rows[match.group(3)] = (int(match.group(1)), int(match.group(2) or 0))
    return rows


def summary_tables_equal_those_of_strace(case):
    """-c counts the same calls and errors as strace, the sum is correct, and --json has the same figures."""
    needs(case)
    for kind in ('files', 'sockets', 'processes'):
        command = [case.program('traced_syscalls'), kind]
        for _ in range(3):
            theirs, ours = [rows_of(traced(case, tracer, ['-c'], command)[1]) for tracer in ('strace', 'waymark')]
            if {name for name, _ in theirs.items() ^ ours.items()} - MADE_ANEW - {'total'} or theirs == ours:
                break
        check(theirs == ours and len(ours) > 10, '%s: strace %s, waymark %s', kind,
              sorted(theirs.items() - ours.items()), sorted(ours.items() - theirs.items()))
        total = ours.pop('total')
        check(total == (sum(c for c, _ in ours.values()), sum(e for _, e in ours.values())), '%s: %s is not the sum',
              kind, total)
        lines = [json.loads(line) for line in traced(case, 'waymark', ['-c', '--json'], command)[1].splitlines()]
        counted = {o['summary']: (o['calls'], o['errors']) for o in lines if 'summary' in o}
        check(counted == ours, '%s: JSON has %s', kind, sorted(counted.items() ^ ours.items()))
        check(
            len(counted) == len(lines), '%s: -c --json printed more than the summary: %s', kind,
            [o for o in lines if 'summary' not in o][:3])
    text = traced(case, 'waymark', ['-C'], [case.program('traced_syscalls'), 'files'])[1]
    check('openat(' in text and rows_of(text)['total'], '-C: %s', text[-300:])
    lines = [
        json.loads(line) for line in traced(case, 'waymark', ['-C', '--json'],
                                            [case.program('traced_syscalls'), 'files'])[1].splitlines()
    ]
    check(all(any(key in o for o in lines) for key in ('call', 'exit', 'summary')), '-C --json: %s', lines[-3:])


def time_columns_have_the_format_of_strace(case):
    needs(case)
    program = [case.program('traced_syscalls'), 'memory']
    for options, pattern in ((['-T'], r'.* <\d+\.\d{6}>'), (['-t'], r'\d\d:\d\d:\d\d \w+\(.*'),
                             (['-tt'], r'\d\d:\d\d:\d\d\.\d{6} \w+\(.*'), (['-ttt'], r'1\d{9}\.\d{6} \w+\(.*'),
                             (['-r'], r' {5}\d\.\d{6} \w+\(.*'), (['-Tr'], r' {5}\d\.\d{6} \w+\(.* <\d\.\d{6}>')):
        for tracer in ('strace', 'waymark'):
            lines = [
                line for line in traced(case, tracer, options, program)[1].splitlines()
                if '+++' not in line and 'exit_group' not in line
            ]
            for line in lines:
                check(re.fullmatch(pattern, line), '%s %s: %s', tracer, options, line)
    for columns in ('0', '20', '60'):
        first, second = [
            re.findall(r'^munmap\(0x[0-9a-f]+, \d+\) *= 0$',
                       traced(case, tracer, ['-a', columns], program)[1], re.M) for tracer in ('strace', 'waymark')
        ]
        check([line.index('=') for line in first] == [line.index('=') for line in second], '-a %s: %s %s', columns,
              first, second)


def json_output_of_strace_has_the_values_of_the_text(case):
    """--json prints one object on a line for each call that strace prints, with the same texts."""
    needs(case)
    command = [case.program('traced_syscalls'), 'files']
    lines = [json.loads(line) for line in traced(case, 'waymark', ['--json'], command)[1].splitlines()]
    said = [o for o in lines if 'call' in o]
    text = traced(case, 'strace', [], command)[1]
    check([o['call'] for o in said] == re.findall(r'^(\w+)\(', text, re.M), 'the calls differ from those of strace')
    opened = [o for o in said if o['call'] == 'openat' and o['args'][1]['text'] == '"made"']
    check(
        len(opened) == 1
        and [a['text']
             for a in opened[0]['args']] == ['AT_FDCWD', '"made"', 'O_RDWR|O_CREAT|O_TRUNC|O_CLOEXEC', '0640'], '%s',
        opened)
    check(opened[0]['result'] == 3 and opened[0]['duration'] > 0 and opened[0]['time'] > 10 ** 18, '%s', opened)
    failed = [o for o in said if o.get('error') == 'EBADF']
    check(failed and all(o['result'] == -1 for o in failed), '%s', failed)
    check(lines[-1].get('exit') == 'exited with 0' and said[-1]['result'] is None, '%s', lines[-2:])


def invalid_options_of_strace_are_reported(case):
    """Each mistake has a message and an exit status."""
    mistakes = (
        ([], 2, 'nothing to trace'),
        (['-p', '0'], 2, 'invalid process number 0'),
        (['-p', 'x'], 2, 'is not a number'),
        (['-e', 'trace=opennat', 'true'], 2, 'did you mean open'),
        (['-e', '%files', 'true'], 2, 'unknown class'),
        (['-e', 'fault=open', 'true'], 2, 'use trace=LIST'),
        (['-e', 'signal=SIGNO', 'true'], 2, 'no signal is named'),
        (['-e', '/(', 'true'], 2, 'invalid regular expression'),
        (['-s', 'many', 'true'], 2, 'is not a number'),
        (['-e', 'trace=a,,b', 'true'], 2, ''),
        (['--buffer-size', '2G', 'true'], 2, 'is out of range 1 to 1G'),
        (['-o', '', 'true'], 2, 'missing'),
        (['--follow', 'true'], 2, 'unknown option'),
        (['-Z', 'true'], 2, 'unknown option'),
    )
    for args, status, words in mistakes:
        done = waymark(case, args)
        check(done.returncode == status and words in done.stderr, '%s: %d %s', args, done.returncode, done.stderr)
    needs(case)
    for args, words in ((['/nowhere/program'], 'No such file'), (['no-such-program-at-all'], 'not found'),
                        (['-p', '99999999'], 'there is no process 99999999'),
                        (['-o', '/nowhere/file',
                          'true'], 'cannot write to /nowhere/file'), (['/etc/passwd'], 'cannot run')):
        done = waymark(case, args)
        check(done.returncode == 1 and words in done.stderr, '%s: %d %s', args, done.returncode, done.stderr)
    os.chmod(case.directory, 0o755)
    done = waymark(case, ['true'], user=65534)
    check(done.returncode == 1 and 'only root' in done.stderr, 'as uid 65534: %d %s', done.returncode, done.stderr)


def strace_by_tracefs_prints_the_same_system_calls(case):
    """
    By tracefs: the same calls with the same results, with pointers instead of the memory they point to. No instance
    remains.
    """
    not_under_tsan(BESIDE)
    needs(case, bpf=False)
    program = [case.program('traced_syscalls'), 'files']
    first, second = traced(case, 'strace', [], program)[1], traced(case, 'waymark', ['--no-bpf'], program)[1]
    names = [re.findall(r'^(\w+)\(', text, re.M) for text in (first, second)]
    check(names[0] == names[1], 'different calls: %s', [(a, b) for a, b in zip(*names) if a != b][:3])
    results = [re.findall(r'^\w+\(.*\) += (-?\d+(?: E\w+)?)(?: |$)', text, re.M) for text in (first, second)]
    check(
        len(results[0]) == len(results[1]) and len(results[0]) > 80, '%d, %d results', len(results[0]), len(results[1]))
    check(re.search(r'^openat\(AT_FDCWD, 0x[0-9a-f]+, O_RDWR\|O_CREAT\|O_TRUNC\|O_CLOEXEC, 0640\) = 3$', second, re.M),
          '%s', second[-2000:])
    check(second.endswith('+++ exited with 0 +++\n'), '%s', second[-100:])
    done = waymark(case, ['--no-bpf', '-f', '-o', case.path('calls'), 'sh', '-c', 'ls / >/dev/null; exit 3'])
    with open(case.path('calls')) as file:
        text = file.read()
    check(done.returncode == 3 and len(set(re.findall(r'^\d+', text, re.M))) == 2, '%d: %s', done.returncode,
          text[-300:])
    left = [
        name for name in os.listdir(INSTANCES)
        if '-strace-' in name and not os.path.exists('/proc/' + re.search(r'p(\d+)', name).group(1))
    ]
    check(not left, 'left behind: %s', left)


def missing_bpf_and_tracefs_are_reported(case):
    """Without BPF and tracefs, the message has both reasons."""
    needs(case, bpf=False)
    hidden = ['/sys/kernel/' + name for name in ('btf', 'tracing', 'debug') if os.path.isdir('/sys/kernel/' + name)]
    script = ''.join('mount -t tmpfs none %s && ' % path for path in hidden) + 'exec "$0" strace true'
    done = run(case, ['unshare', '-m', 'sh', '-c', script, WAYMARK])
    check(
        done.returncode == 1
        and re.search(r'point to cannot be recorded.*: cannot use events of tracefs either: \S', done.stderr),
        '%d %s', done.returncode, done.stderr)


if __name__ == '__main__':
    main([
        printed_arguments_equal_those_of_strace, unnamed_system_calls_are_printed_in_hex,
        string_limit_option_gives_the_output_of_strace, output_for_usual_programs_equals_that_of_strace,
        output_for_processes_and_threads_equals_that_of_strace, output_for_exits_and_signals_equals_that_of_strace,
        exit_of_each_thread_is_printed, system_calls_of_32_bit_programs_are_printed, execveat_exit_matches_its_entry,
        selected_system_calls_equal_those_of_strace, summary_tables_equal_those_of_strace,
        time_columns_have_the_format_of_strace, json_output_of_strace_has_the_values_of_the_text,
        invalid_options_of_strace_are_reported, strace_by_tracefs_prints_the_same_system_calls,
        missing_bpf_and_tracefs_are_reported
    ])
