#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Sites and event classes: ten thousand of them, declared twice, declared at run time, toggled under a debugger and a
uprobe.
"""
import collections
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import FEATURES, Skip, check, finished, limit, main, need, rounds  # noqa: E402


# The number is the one in meson.build.
PLACES = 10 if 'sanitize' in FEATURES or 'testpoints' in FEATURES else 100


@limit(60)
def ten_thousand_tracepoints_are_recorded(case):
    """100 events, each with 100 sites."""
    result = case.record([case.program('sites')], ['--subbuf-size', '1M']).ok()
    seen = collections.Counter()
    for line in result.trace().lines:
        if ' many:' in line:
            seen[line.split(' many:')[1].split(':')[0]] += 1
    check(seen == {'event_%d' % i: PLACES for i in range(100)}, '%d names of 100, %d records of %d', len(seen),
          sum(seen.values()), 100 * PLACES)
    check(result.lost == 0, '%d lost', result.lost)


def only_the_selected_event_of_many_is_recorded(case):
    result = case.record([case.program('sites')], ['-e', 'many:event_77']).ok()
    lines = [line for line in result.trace().lines if ' many:' in line]
    check(len(lines) == PLACES and all('event_77:' in line for line in lines), 'the trace holds %s', lines[:3])


@limit(60)
def ten_thousand_events_declared_at_run_time_are_recorded(case):
    """Declared at run time: event ids beyond those of a compact header, and metadata that grows continually."""
    count = rounds(10000)
    result = case.record([case.program('runtime'), 'many', str(count)], timeout=100).ok()
    values = [(r.name, r.fields['u32']) for r in result.trace().records() if r.name.startswith('many:')]
    check(values == [('many:event_%d' % i, i) for i in range(count)], '%d of %d records, or in a wrong order',
          len(values), count)
    check(result.lost == 0, '%d lost', result.lost)


def redeclared_event_is_recorded_with_the_fields_of_each_version(case):
    """Within one application and between two: each declaration is recorded with its own fields."""
    result = case.record(['sh', '-c', '%s; %s' % (case.program('redeclared1'), case.program('redeclared2'))]).ok()
    kinds = {}
    for r in result.trace().records('shop:order'):
        kinds.setdefault(tuple(r.fields), []).append(r.fields)
    check({k: len(v) for k, v in kinds.items()} == {('id', 'amount'): 20, ('what', 'value'): 20}, 'recorded: %s',
          {k: len(v) for k, v in kinds.items()})
    numbers = [f for f in kinds[('id', 'amount')] if isinstance(f['id'], int)]
    check([f['amount'] for f in numbers] == [100 + i for i in range(10)], 'amounts are %s', numbers)
    texts = [f for f in kinds[('id', 'amount')] if f['id'] == 'number']
    check([f['amount'] for f in texts] == [i / 2 for i in range(10)], 'amounts are %s', texts)


def number(value):
    """The value of an enumeration, or its label if it has no value."""
    return value[1] if isinstance(value, tuple) and value[1] is not None else value


def events_declared_at_run_time_are_recorded(case):
    count = 300
    result = case.record([case.program('runtime'), str(count)]).ok()
    trace = result.trace()
    records = list(trace.records('script:all'))
    check(len(records) == count, '%d records, not %d', len(records), count)
    check(len(list(trace.records('script:late'))) == 1, 'the event that was registered later is missing')
    check([r.fields['value'] for r in trace.records('script:level')] == [2.5],
          'the registered counter is missing')
    for i, r in enumerate(records):
        text = ''.join(chr(97 + (i + k) % 26) for k in range(8))[:i % 8]
        array = [(i + k) % 65536 for k in range(8)]
        expected = {
            's8': -(i % 128), 'u8': i % 256, 's16': -(i % 32768), 'u16': i % 65536, 's32': -i, 'u32': 0xffffffff - i,
            's64': -(1 << 63) + i, 'u64': (1 << 64) - 1 - i, 'yes': i % 2, 'f32': i / 4, 'f64': i / 8,
            'pointer': 0x7000000000 + i, 'string': text, 'text': '0123456789'[:i % 11],
            'bytes': list(struct.pack('<8H',
                                      *array))[:i % 5], 'seq': [i * k - 5 for k in range(i % 8)], 'array': array[:3],
            'hex': i * 16, 'port': i * 257 % 65536,
        }
        for name, value in expected.items():
            got = number(r.fields.get(name))
            if name in ('f32', 'f64'):
                check(abs(got - value) <= 1e-4 * abs(value) + 1e-6, 'record %d: %s is %r, not %r', i, name, got, value)
            else:
                check(got == value, 'record %d: %s is %r, not %r', i, name, got, value)
        labels, container = r.fields['colour']
        label = 'RED' if i % 10 == 0 else 'GREEN' if i % 10 == 1 else 'OTHER'
        check(container == i % 10 and label in labels, 'record %d: the enumeration is %s', i, r.fields['colour'])


def connected_probes_run_at_each_pass_of_a_tracepoint(case):
    for threads in ('0', '4', '16'):
        done = finished([case.program('probed'), '300', threads], env=case.env, capture_output=True, text=True)
        check(done.returncode == 0, '%s threads: status %d: %s', threads, done.returncode, done.stderr)


def probes_and_session_both_record_each_pass_of_a_tracepoint(case):
    result = case.record([case.program('probed'), '300', '0']).ok()
    numbers = [r.fields['number'] for r in result.trace().records('test:toggled')]
    check(numbers == list(range(900)), 'the trace holds %d records of 900', len(numbers))


def note(case, name):
    """The address of the SDT note test:<name> of program `probed`."""
    text = subprocess.run(['readelf', '-nW', case.program('probed')], capture_output=True, text=True).stdout
    found = re.search(r'Provider: test\s+Name: %s\s+Location: 0x([0-9a-f]+)' % name, text)
    check(found, 'the program has no SDT note test:%s: %s', name, text[-500:])
    return int(found.group(1), 16)


def file_offset(path, address):
    text = subprocess.run(['readelf', '-lW', path], capture_output=True, text=True).stdout
    for offset, start, size in re.findall(r'LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)', text):
        if int(start, 16) <= address < int(start, 16) + int(size, 16):
            return address - int(start, 16) + int(offset, 16)
    return None


@limit(90)
def uprobe_counts_each_pass_of_a_repeatedly_enabled_tracepoint(case):
    """A uprobe counts every pass, enabled or not, while the site is enabled and disabled 1,000 times."""
    need('readelf')
    path = case.program('probed')
    where = file_offset(path, note(case, 'toggled'))
    done = finished([case.program('uprobe'), path, '0x%x' % where, '--', path, '1000', '0'], env=case.env,
                    capture_output=True, text=True)
    if done.returncode == 77:
        raise Skip('no uprobes here: ' + done.stderr.strip())
    check(done.returncode == 0, 'status %d: %s', done.returncode, done.stderr)
    check(done.stdout.strip() == 'hits 3000', 'the uprobe counted %s, not 3000', done.stdout.strip())


@limit(120)
def gdb_breakpoint_remains_on_a_repeatedly_enabled_tracepoint(case):
    """gdb finds the site by its note. A breakpoint stays on it while it is enabled and disabled 1,000 times."""
    need('gdb')
    script = case.path('script')
    with open(script, 'w') as f:
        f.write('set pagination off\nset confirm off\nset debuginfod enabled off\ninfo probes stap test\n'
                'break -probe-stap test:toggled\nignore 1 1000000\nrun 1000 0\ninfo breakpoints\nquit\n')
    done = finished(['gdb', '-nx', '-batch', '-x', script, case.program('probed')], env=case.env,
                    capture_output=True,
                    text=True, stdin=subprocess.DEVNULL)
    text = done.stdout + done.stderr
    check(re.search(r'test\s+toggled\s+0x', text), '`info probes` does not show the site: %s', text[:800])
    check('exited normally' in text, 'the program did not exit normally: %s', text[-800:])
    check('already hit 3000 times' in text, 'the breakpoint was not hit 3000 times: %s', text[-400:])


@limit(120)
def gdb_reads_arguments_of_an_enabled_tracepoint(case):
    """At each pass of the enabled site, gdb reads the argument at the place that the second note describes."""
    need('gdb')
    script = case.path('script')
    with open(script, 'w') as f:
        f.write('set pagination off\nset confirm off\nset debuginfod enabled off\nbreak -probe-stap test:toggled_args\n'
                'commands\nsilent\nprintf "number %lu\\n", $_probe_arg0\ncontinue\nend\nrun 20 0\nquit\n')
    done = finished(['gdb', '-nx', '-batch', '-x', script, case.program('probed')], env=case.env, capture_output=True,
                    text=True, stdin=subprocess.DEVNULL)
    numbers = [int(n) for n in re.findall(r'^number (\d+)$', done.stdout, re.M)]
    check(numbers == list(range(1, 60, 3)), 'gdb read %s: %s', numbers, (done.stdout + done.stderr)[-800:])


def disabled_library_starts_no_thread_before_main(case):
    """WAYMARK_DISABLE=1: the library starts no thread."""
    script = case.path('script')
    with open(script, 'w') as f:
        f.write(
            'set pagination off\nset debuginfod enabled off\nset environment WAYMARK_DISABLE 1\nbreak main\nrun 1 0\n'
            'info threads\nkill\nquit\n'
        )
    need('gdb')
    done = finished(['gdb', '-nx', '-batch', '-x', script, case.program('probed')], env=case.env,
                    capture_output=True,
                    text=True, stdin=subprocess.DEVNULL)
    threads = re.findall(r'^\*?\s+\d+\s+(?:Thread|process|LWP)', done.stdout, re.M)
    check('Breakpoint 1,' in done.stdout, 'gdb did not reach main: %s', done.stdout[-500:] + done.stderr[-300:])
    check(len(threads) <= 2, 'more than one thread in a disabled program: %s', done.stdout[-800:])
    check('New Thread' not in done.stdout, 'a thread was started before main: %s', done.stdout[-500:])


def tracepoint_of_abi_version_1_is_refused_with_reason(case):
    """A program compiled with the header of version 1 runs. Its events are not recorded, and the reason is reported."""
    result = case.record([case.program('old_abi')]).ok()
    check('old:event cannot be traced: the application was compiled with version 1' in result.err,
          'the reason is not reported: %s', result.err)
    check(not list(result.trace().records('old:event')), 'an event of version 1 is recorded')


if __name__ == '__main__':
    sanitized = 'sanitize' in FEATURES
    main([
        ten_thousand_tracepoints_are_recorded, only_the_selected_event_of_many_is_recorded,
        ten_thousand_events_declared_at_run_time_are_recorded,
        redeclared_event_is_recorded_with_the_fields_of_each_version, events_declared_at_run_time_are_recorded,
        connected_probes_run_at_each_pass_of_a_tracepoint,
        probes_and_session_both_record_each_pass_of_a_tracepoint
    ] + [tracepoint_of_abi_version_1_is_refused_with_reason] + ([] if sanitized else [
        uprobe_counts_each_pass_of_a_repeatedly_enabled_tracepoint,
        gdb_breakpoint_remains_on_a_repeatedly_enabled_tracepoint,
        gdb_reads_arguments_of_an_enabled_tracepoint, disabled_library_starts_no_thread_before_main
    ]))
