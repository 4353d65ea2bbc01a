#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Symbols of addresses: functions and lines equal those of addr2line; files are found by build-id."""
import functools
import http.server
import json
import os
import re
import shutil
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from ctf18 import BEGIN, Plain  # noqa: E402
from harness import VIEW, WAYMARK, Skip, check, finished, main  # noqa: E402
from t_analyze import result_of  # noqa: E402
from t_view import read  # noqa: E402

EVENTS = 'symbols:inlined', 'symbols:plain'


def recorded(case):
    """(program, trace): the program is a copy that a test may move."""
    program = case.path('program')
    shutil.copy(case.program('symbols'), program)
    case.env['LD_LIBRARY_PATH'] = os.path.join(os.path.dirname(case.program('symbols')), '..', 'src', 'tracer')
    return program, case.record([program], ['-c', 'vpid', '-c', 'ip']).ok().directory


def records_of(case, path):
    status, lines, err = read(case, [WAYMARK, *VIEW, '--symbols', '--json', path])
    check(status == 0, 'view --symbols: %s', err)
    return [json.loads(line) for line in lines]


def symbols_of(case, path):
    """{event: its symbols}"""
    return {record['event']: record.get('symbols', {}).get('ip') for record in records_of(case, path)
            if record['event'] in EVENTS}


def evaluated(program, distance):
    """[(function, file:line)] by addr2line, without the inlined functions of the tracepoint."""
    lines = finished(['addr2line', '-f', '-i', '-e', program, hex(distance)], capture_output=True,
                     text=True).stdout.splitlines()
    frames = [(name, re.sub(r' \(discriminator.*', '', os.path.basename(place)))
              for name, place in zip(lines[::2], lines[1::2])]
    while frames[0][0].startswith('wmk_'):
        frames.pop(0)
    return frames


def symbols_equal_those_of_addr2line(case):
    if not shutil.which('addr2line'):
        raise Skip('addr2line is not installed')
    program, path = recorded(case)
    records = records_of(case, path)
    base = next(record['fields']['baddr'] for record in records if record['fields'].get('path') == program)
    seen = set()
    for record in records:
        if record['event'] not in EVENTS:
            check('symbols' not in record, 'symbols: %s', record)
            continue
        ours = [re.fullmatch(r'(\w+)(\+0x[0-9a-f]+)? \((.*)\)', text) for text in record['symbols']['ip']]
        exact = evaluated(program, record['context']['ip'] - base - 1)
        check([(is_[1], is_[3]) for is_ in ours] == exact, '%s, not %s', record, exact)
        check([bool(is_[2]) for is_ in ours] == [False] * (len(ours) - 1) + [True], 'offsets: %s', record)
        seen.add((record['event'], ours[0][1], ours[-1][1]))
    check(seen == {('symbols:inlined', 'price', 'order'), ('symbols:plain', 'order', 'order')}, 'functions: %s', seen)
    for style in ('columns', 'babeltrace'):
        lines = read(case, [WAYMARK, *VIEW, '--symbols', '--style', style, path])[1]
        found = [line for line in lines if b'symbols:inlined' in line]
        check(len(found) == 3 and all(re.search(rb'  # ip: price \(symbols.c:\d+\) < order\+0x\w+ \(symbols.c:\d+\)$',
                                                line) for line in found), 'lines: %s', lines)
    status, _, err = read(case, [WAYMARK, 'view', '--symbols', '--follow', path])
    check(status == 2 and b'exclude' in err, 'follow: %s %s', status, err)


def symbols_of_a_file_with_another_build_id_are_not_used(case):
    program, path = recorded(case)
    check(symbols_of(case, path)['symbols:plain'], 'no symbols')
    shutil.copy(case.program('spans'), program + '.new')
    os.rename(program + '.new', program)
    check(symbols_of(case, path) == {name: None for name in EVENTS}, 'symbols: %s', symbols_of(case, path))
    os.unlink(program)
    check(symbols_of(case, path) == {name: None for name in EVENTS}, 'symbols: %s', symbols_of(case, path))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        pass


def missing_symbol_file_is_downloaded_by_debuginfod(case):
    program, path = recorded(case)
    exact = symbols_of(case, path)
    records = records_of(case, path)
    base = next(record['fields']['baddr'] for record in records if record['fields'].get('path') == program)
    build_id = next(bytes(record['fields']['build_id']).hex() for record in records
                    if record['event'].endswith(':build_id') and record['fields']['baddr'] == base)
    served = case.path('served')
    os.makedirs(os.path.join(served, 'buildid', build_id))
    shutil.move(program, os.path.join(served, 'buildid', build_id, 'executable'))
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        case.env.update(DEBUGINFOD_URLS='http://127.0.0.1:%d' % server.server_port,
                        DEBUGINFOD_CACHE_PATH=case.path('cache'))
        found = symbols_of(case, path)
    finally:
        server.shutdown()
        server.server_close()
    if not found['symbols:plain'] and not os.path.exists(case.path('cache')):
        raise Skip('libdebuginfod is not installed')
    check(found == exact, 'symbols: %s, not %s', found, exact)


def addresses_of(program):
    """{symbol: (address, size)}; no size: 0"""
    lines = finished(['nm', '-S', program], capture_output=True, text=True).stdout.splitlines()
    return {words[-1]: (int(words[0], 16), int(words[1], 16) if len(words) == 4 else 0)
            for words in map(str.split, lines) if len(words) >= 3}


BASE, PID, KERNEL = 0x550000000000, 77, 0xffffffff81234567


def write_stacks(case, path, program, stacks, futexes):
    """A trace in which the process has the program at BASE. stacks: lists of addresses, the innermost first."""
    plain = Plain(contexts='\tevent.context := struct { int32_t vpid; int32_t vtid; uint32_t length; '
                           'uint64_t callstack_user[length]; uint32_t more; uint64_t callstack_kernel[more]; };\n')
    info = plain.event('lttng_ust_statedump:bin_info', 'uint64_t baddr; uint64_t memsz; string path; uint8_t is_pic; '
                                                       'uint8_t has_build_id; uint8_t has_debug_link;')
    work = plain.event('shop:work', '')
    enter = plain.event('syscall_entry_futex', 'uint64_t uaddr; int32_t op;')
    leave = plain.event('syscall_exit_futex', 'int64_t ret;')
    records = []

    def add(event, user, kernel, *values):
        def write(bits):
            bits.i(32, PID).i(32, PID)
            for stack in (user, kernel):
                bits.i(32, len(stack))
                for address in stack:
                    bits.i(64, address)
            for size, value in values:
                bits.raw(value) if size == 0 else bits.i(size, value)
        records.append((BEGIN + 1000 * len(records), event, write))
    # (the state dump comes after the first records)
    for user, kernel in stacks:
        add(work, user, kernel)
    add(info, [], [], (64, BASE), (64, 1 << 20), (0, program.encode() + b'\0'), (8, 1), (8, 0), (8, 0))
    for address in futexes:
        add(enter, [], [], (64, address), (32, 0))
        add(leave, [], [], (64, 0))
    plain.write(path, stream=[plain.packet(records)])


def call_stack_and_futex_addresses_are_shown_with_symbols(case):
    if not shutil.which('nm'):
        raise Skip('nm is not installed')
    program, path = case.program('symbols'), case.path('trace')
    symbols = addresses_of(program)
    order, size = symbols['order']
    start, lock = BASE + symbols['main'][0], BASE + symbols['symbols_lock'][0]
    # (order() calls in its middle; its last instruction is not the begin of the next function)
    stack = [BASE + order, start + 1]
    write_stacks(case, path, program, [(stack, []), (stack, [KERNEL]), (stack, []), ([], []),
                                       ([BASE + order + 1, BASE + order + size], [])], [lock + 4, BASE - 8])
    out = case.path('folded')
    status, _, err = read(case, [WAYMARK, 'convert', '--to', 'folded', '--callstacks', '-o', out, path])
    check(status == 0, 'convert: %s', err)
    with open(out, encoding='utf-8') as f:
        # (which instructions belong to the inlined function depends on the compiler)
        found = dict(line.replace(';price', '').rsplit(' ', 1) for line in f.read().splitlines())
    check(found == {'77;main;order;shop:work': '2', '77;main;order;0x%x;shop:work' % KERNEL: '1',
                    '77;order;order;shop:work': '1'}, 'stacks: %s', found)
    rows = result_of(case, 'locks', '--symbols', path)['tables']['futexes']
    check(sorted(row['address'] for row in rows) == ['0x%x' % (BASE - 8),
                                                     '0x%x symbols_lock+0x4 (symbols)' % (lock + 4)],
          'futexes: %s', rows)
    rows = result_of(case, 'locks', path)['tables']['futexes']
    check(sorted(row['address'] for row in rows) == ['0x%x' % (BASE - 8), '0x%x' % (lock + 4)], 'futexes: %s', rows)
    for argv in (['convert', '--to', 'json', '--callstacks', path], ['analyze', 'sched', '--symbols', path]):
        check(read(case, [WAYMARK, *argv])[0] == 2, '%s is accepted', argv)
    case.env['LD_LIBRARY_PATH'] = os.path.join(os.path.dirname(program), '..', 'src', 'tracer')
    plain = case.record([program], ['-c', 'vpid', '-c', 'ip']).ok().directory
    status, lines, err = read(case, [WAYMARK, 'convert', '--to', 'folded', '--callstacks', plain])
    check(status == 0 and not lines and b'callstack_user' in err, 'no call stacks: %s %s %s', status, lines, err)


def kernel_addresses_are_shown_with_saved_symbols(case):
    """The file kallsyms of the recording; fields of kernel events, and call stacks."""
    top = case.path('top')
    plain = Plain(contexts='\tevent.context := struct { int32_t tid; uint32_t length; '
                           'uint64_t callstack_kernel[length]; };\n')
    timer = plain.event('timer_start', 'uint64_t function; uint64_t location; uint64_t size;')

    def write(bits):
        bits.i(32, PID).i(32, 2).i(64, KERNEL + 4).i(64, KERNEL - 0xff)
        bits.i(64, KERNEL).i(64, KERNEL).i(64, KERNEL)
    plain.write(os.path.join(top, 'kernel'), kernel_0=[plain.packet([(BEGIN, timer, write)])])
    with open(os.path.join(top, 'kallsyms'), 'w', encoding='utf-8') as f:
        f.write('%x T tick_timer\n%x t schedule\t[sched]\n%x d data\n%x T _end\n' % (
            KERNEL, KERNEL - 0x100, KERNEL + 1, KERNEL + 0x1000))
    record = records_of(case, top)[0]
    check(record['symbols'] == {'callstack_kernel': ['tick_timer+0x4', 'schedule+0x1 ([sched])'],
                                'function': ['tick_timer'], 'location': ['schedule+0x100 ([sched])']}, 'symbols: %s',
          record)
    status, lines, err = read(case, [WAYMARK, 'convert', '--to', 'folded', '--callstacks', top])
    check(status == 0 and lines == [b'%d;schedule;tick_timer;timer_start 1' % PID], '%s %s', lines, err)
    os.unlink(os.path.join(top, 'kallsyms'))
    check('symbols' not in records_of(case, top)[0], 'symbols without the file')
    status, _, err = read(case, [WAYMARK, 'record', '--kallsyms', '-o', case.path('none'), '--', 'true'])
    check(status == 2 and b'--kernel' in err, 'kallsyms: %s %s', status, err)


if __name__ == '__main__':
    main([symbols_equal_those_of_addr2line, symbols_of_a_file_with_another_build_id_are_not_used,
          missing_symbol_file_is_downloaded_by_debuginfod, call_stack_and_futex_addresses_are_shown_with_symbols,
          kernel_addresses_are_shown_with_saved_symbols])
