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
from harness import VIEW, WAYMARK, Skip, check, finished, main  # noqa: E402
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


def file_with_another_build_id_is_not_used(case):
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


def missing_file_is_found_by_debuginfod(case):
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


if __name__ == '__main__':
    main([symbols_equal_those_of_addr2line, file_with_another_build_id_is_not_used,
          missing_file_is_found_by_debuginfod])
