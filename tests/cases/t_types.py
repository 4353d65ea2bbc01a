#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All forms of declaration and all types of fields, in C and in C++, value by value."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import WAYMARK, check, finished, main  # noqa: E402

ROUNDS = 140


def number(value):
    return value[1] if isinstance(value, tuple) else value


def compare(name, i, fields, expected):
    check(list(fields)[:len(expected)] == list(expected) or set(expected) <= set(fields), '%s: fields are %s, not %s',
          name,
          list(fields), list(expected))
    for key, value in expected.items():
        got = number(fields[key])
        if isinstance(value, float):
            check(abs(got - value) <= 1e-4 * abs(value) + 1e-6, '%s, round %d: %s is %r, not %r', name, i, key, got,
                  value)
        else:
            check(got == value, '%s, round %d: %s is %r, not %r', name, i, key, got, value)


def expectations(i):
    text = ''.join(chr(97 + (i + k) % 26) for k in range(8))[:i % 8]
    return {
        'types:scalars': {
            's8': -(i % 128), 'u8': i % 256, 's16': -i, 'u16': i, 's32': -i, 'u32': 0xffffffff - i,
            's64': -(1 << 63) + i, 'u64': (1 << 64) - 1 - i, 'yes': i % 2, 'f32': i / 4, 'f64': i / 8,
            'pointer': 0x7000000000 + i, 'character': 97, 'l': -3 * i, 'ull': 5 * i
        },
        'types:refs': {
            'string': text, 'nothing': '(null)', 'text': '0123456789'[:i % 11], 'blob': [1, 2, 3, 4, i % 256][:i % 6],
            'seq': [1, -2, 3, i][:i % 5], 'fixed': [7, 8, i], 'after': 4711
        },
        'types:arrays': {
            'numbers': [1, -2, 3, i], 'bytes': [1, 2, 3, 4, i % 256], 'pair': [0.5, float(i)], 'after': 4711
        },
        'types:wrapped': {
            'u32': 0xffffffff - i, 'u16': i, 'port': i * 257 % 65536, 'peer': 0x7f000001 + i, 'which': i % 10,
            'renamed': -i
        },
        'types:names': {'tid': i, 'tid_2': i, 'arg3': i + 1, 'tid_3': i},
        'sched:switch': {'prev_tid': i, 'next_tid': i, 'comm': 'worker'},
        'marker:plain': {'count': i, 'name': text, 'ratio': i / 2, 'big': i << 33},
        'types:once': {'value': i},
        'types:nothing_at_all': {},
    }


def every_type(case, command):
    """`command` makes the records of programs/types.c, or of its counterpart in C++. Returns them by name."""
    result = case.record([*command, str(ROUNDS)]).ok()
    trace = result.trace()
    by_name = {}
    for r in trace.records():
        by_name.setdefault(r.name, []).append(r)
    for name in expectations(0):
        check(
            len(by_name.get(name, [])) == ROUNDS, '%s: %d records, not %d; the trace has %s', name,
            len(by_name.get(name, [])), ROUNDS, {k: len(v) for k, v in by_name.items()})
    for i in range(ROUNDS):
        for name, expected in expectations(i).items():
            fields = by_name[name][i].fields if expected else {}
            compare(name, i, fields, expected)
    many = by_name['types:many'][0].fields
    check(len(many) == 32 and list(many)[:3] == ['a', 'a_2', 'a_3'] and list(many)[-1] == 'a_32', '32 fields are %s',
          list(many))
    texts = [n for n in by_name if re.fullmatch(r'text:types(_h|\.h)?_\d+', n)]
    check(len(texts) == 1 and len(by_name[texts[0]]) == ROUNDS, 'waymark_logf: %s',
          [n for n in by_name if n.startswith('text')])
    message = by_name[texts[0]][5].fields
    check('%s has %d items' in str(message.get('msg')), 'the message is %s', message)
    labels = {number(r.fields['which']): r.fields['which'][0] for r in by_name['types:wrapped']}
    check('RED' in labels[0] and 'GREEN' in labels[1] and 'OTHER' in labels[9], 'labels are %s', labels)
    check(
        case.ledger.flag(0) == ROUNDS, 'an argument was evaluated %d times in %d records', case.ledger.flag(0), ROUNDS)
    check(case.ledger.flag(1) == ROUNDS and case.ledger.flag(2) == 0, 'wm_enabled was true %d and %d times',
          case.ledger.flag(1),
          case.ledger.flag(2))
    return by_name


def every_type_in_c_is_recorded(case):
    every_type(case, [case.program('types')])


def every_type_in_cxx_is_recorded(case):
    by_name = every_type(case, [case.program('types_cxx')])
    only = by_name['cxx:only'][0].fields
    check(only['name'] == 'a std::string' and number(only['shade']) == 2, 'recorded as %s', only)
    objects = by_name['cxx:objects'][0].fields
    expected = {'fixed': [1, 2, 3], 'letters': 'ab', 'numbers': [0.5, 1.5], 'nothing': [], 'wait': 5, 'shade': 2,
                'after': 4711}
    for name, value in expected.items():
        check(number(objects[name]) == value, 'cxx:objects: %s is %r, not %r', name, objects[name], value)
    check('Dark' in objects['shade'][0] and '::' not in objects['shade'][0], 'a label is %s', objects['shade'])
    if 'cxx:optionals' in by_name:
        optionals = {k: v for k, v in by_name['cxx:optionals'][0].fields.items() if not k.endswith('_length')}
        check(optionals == {'none': [], 'some': [7], 'text': '(null)', 'words': 'words', 'part': 'part', 'after': 4711},
              'cxx:optionals: %s', optionals)
    values = [r.fields['value'] for r in by_name['cxx:put']]
    check(values == [5, 2.5, 'boxed'], 'a template records %s', values)
    check(by_name['cxx:in_lambda'][0].fields['name'] == 'a std::string', 'a lambda records %s',
          by_name['cxx:in_lambda'][0].fields)


def shown(case, directory, form):
    """The messages of text events and markers in one output format, in the order of the records."""
    target = case.path('converted.' + form)
    done = finished([WAYMARK, 'convert', '--to', form, '-o', target, directory], env=case.env, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, 'convert --to %s: %s', form, done.stdout)
    with open(target, 'rb') as f:
        out = f.read()
    if form == 'perfetto':
        return out
    if form == 'chrome':
        return [e['name'] for e in json.loads(out)['traceEvents'] if '$event' in e.get('args', {})]
    lines = [line for line in out.decode().splitlines() if 'text:formats' in line or 'marker:format' in line]
    if form == 'json':
        return [json.loads(line)['message'] for line in lines]
    quoted = r'(?:text:formats\.c_\d+|marker:format): ("(?:[^"\\]|\\.)*"), \{'
    return [json.loads(re.search(quoted, line)[1]) for line in lines]


def printed_messages_equal_those_of_printf(case):
    """In each output format. The rows are those of programs/formats.c."""
    result = case.record([case.program('formats')], ['-e', 'text:*', '-e', 'marker:*']).ok()
    expected = [line for line in result.out.splitlines() if not line.startswith('{')]
    check(len(expected) >= 38, 'formats printed %s', expected)
    for form in ('json', 'text', 'chrome'):
        messages = shown(case, result.directory, form)
        check(len(messages) == len(expected), '%s: %d messages, not %d', form, len(messages), len(expected))
        for got, want in zip(messages, expected):
            check(got == want, '%s: the message is %r, not %r', form, got, want)
    perfetto = shown(case, result.directory, 'perfetto')
    for want in expected:
        check(want.encode() in perfetto, 'perfetto: no %r', want)


def disabled_tracepoint_evaluates_no_arguments(case):
    result = case.record([case.program('types'), '10'], ['-e', 'types:scalars']).ok()
    names = {r.name for r in result.trace().records() if r.name.startswith('types:')}
    check(names == {'types:scalars'}, 'the trace holds %s', names)
    check(case.ledger.flag(0) == 0, 'arguments of a disabled site were evaluated %d times', case.ledger.flag(0))
    check(case.ledger.flag(1) == 10, 'wm_enabled was true %d times of 10', case.ledger.flag(1))


def log_levels_are_declared(case):
    result = case.record([case.program('types'), '1']).ok()
    for top, _, files in os.walk(result.directory):
        if 'metadata' in files:
            with open(os.path.join(top, 'metadata'), encoding='utf-8', errors='replace') as f:
                text = f.read()
            event = re.search(r'event \{[^}]*?name = "types:wrapped";[^}]*?loglevel = (\d+);', text, re.S)
            check(event, 'no log level of types:wrapped in the metadata')
            check(event.group(1) == '4', 'WARNING is level %s', event.group(1))
            return
    check(False, 'no metadata')


def trace_environment_has_the_entries_that_viewers_need(case):
    """Trace Compass compares the tracer's name exactly."""
    result = case.record([case.program('types'), '1']).ok()
    found = 0
    for top, _, files in os.walk(result.directory):
        if 'metadata' in files:
            with open(os.path.join(top, 'metadata'), encoding='utf-8', errors='replace') as f:
                env = dict(
                    re.findall(r'^\t(\w+) = "?([^";]*)"?;$',
                               re.search(r'^env \{(.*?)^\};', f.read(), re.S | re.M)[1], re.M))
            check(env['tracer_name'] == 'lttng-ust' and env['domain'] == 'ust' and env['made_by'] == 'waymark',
                  'env: %s', env)
            check((int(env['tracer_major']), int(env['tracer_minor'])) >= (2, 8), 'env: %s', env)
            found += 1
    check(found, 'no metadata')


if __name__ == '__main__':
    main([
        every_type_in_c_is_recorded, every_type_in_cxx_is_recorded, printed_messages_equal_those_of_printf,
        disabled_tracepoint_evaluates_no_arguments, log_levels_are_declared,
        trace_environment_has_the_entries_that_viewers_need
    ])
