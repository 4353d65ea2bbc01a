#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark query`: the rows equal those of a second evaluation in Python. The second evaluation imports the records of
`waymark view --json` into a database of its own. Each case runs with and without push-down of conditions and groups.
"""
import csv
import glob
import io
import json
import os
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
from ctf18 import BEGIN, Plain, joined, save  # noqa: E402
from harness import PERCENT, WAYMARK, check, limit, main, rounds  # noqa: E402
from t_convert import names_twice  # noqa: E402
from t_filter import NO_NUMBERS, is_enum  # noqa: E402
from t_view import read  # noqa: E402

FIXED = ['time', 'cpu', 'pid', 'tid', 'process', 'name', 'level', 'trace', 'stream', 'packet', 'lost', 'context',
         'fields']
CONTEXTS = ('event_context', 'context')


def quoted(name):
    return '"%s"' % name.replace('"', '""')


def query(case, sql, *paths, status=0, options=()):
    """The rows of a statement as dictionaries, and the messages."""
    got, lines, err = read(case, [WAYMARK, 'query', '--json', *options, sql, *map(str, paths)])
    check(got == status, '%s: status %s: %s', sql, got, err[-500:].decode(errors='replace'))
    return [json.loads(line) for line in lines], err.decode(errors='replace')


def columns_of(case, *paths):
    """{table: {column: type}}. The names have no quotes."""
    got, lines, err = read(case, [WAYMARK, 'query', '--tables', '--json', *paths])
    check(got == 0, 'query --tables %s: status %s: %s', paths, got, err[-500:].decode(errors='replace'))
    tables = {}
    for row in map(json.loads, lines):
        names = [n[1:-1].replace('""', '"') if n.startswith('"') else n for n in (row['table'], row['column'])]
        tables.setdefault(names[0], {})[names[1]] = row['type']
    return tables


# ── the second evaluation ──

def ns_of(record):
    if not record.get('time'):
        return None
    whole, part = record['time'].split('.')
    return int(whole) * 1000000000 + (-int(part) if whole.startswith('-') else int(part))


def value_of(value, kind, number=False):
    """A value of JSON as the value of a column."""
    if is_enum(value):
        value = value['value'] if number or value['label'] is None else value['label']
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(',', ':'), ensure_ascii=False)
    if kind == 'real' and isinstance(value, str):
        return {'NaN': None, 'Infinity': float('inf'), '-Infinity': float('-inf')}[value]
    return value


def last(record, *names):
    found = [record[scope][name] for scope in ('context', 'event_context') for name in record.get(scope) or {}
             if name in names and not isinstance(record[scope][name], (dict, list))]
    return found[-1] if found else None


def row_of(record, columns):
    """The row of a record in the table of its event, without columns that the JSON of the record lacks."""
    contexts = {k: v for scope in reversed(CONTEXTS) for k, v in (record.get(scope) or {}).items()}
    row = {'time': ns_of(record), 'name': record.get('event', ''), 'level': record.get('level'),
           'trace': record['trace'], 'stream': record['stream'], 'pid': last(record, 'vpid', 'pid'),
           'tid': last(record, 'vtid', 'tid'), 'process': last(record, 'procname', 'comm'),
           'cpu': (record.get('packet') or {}).get('cpu_id'), 'fields': json.dumps(record.get('fields') or {}),
           'context': json.dumps(contexts)}
    for scope, prefix in (('fields', 'field'), ('event_context', 'context'), ('context', 'context')):
        for name, value in (record.get(scope) or {}).items():
            column = prefix + '_' + name if name in row or name in FIXED else name or prefix
            if column in columns:
                row[column] = value_of(value, columns[column])
                if is_enum(value) and name + '_value' in columns:
                    row[name + '_value'] = value_of(value, columns[column], True)
    return row


class Second:
    """The records of traces, in a database that Python fills."""
    TYPES = {'integer': 'INTEGER', 'real': 'REAL', 'text': 'TEXT', 'blob': 'BLOB', 'json': 'TEXT', 'any': ''}

    def __init__(self, case, *paths, status=0):
        got, lines, err = read(case, [WAYMARK, 'view', '--json', *paths])
        check(got == status, 'view --json %s: status %s: %s', paths, got, err[-500:].decode(errors='replace'))
        self.records = [json.loads(line) for line in lines]
        self.tables = columns_of(case, *paths)
        self.db = sqlite3.connect(':memory:')
        self.rows = []
        for table, columns in self.tables.items():
            self.db.execute('CREATE TABLE %s (%s)' % (
                quoted(table), ','.join(quoted(c) + ' ' + self.TYPES[kind] for c, kind in columns.items())))
        for record in self.records:
            event = record.get('event', '')
            row = row_of(record, self.tables.get(event, self.tables['events']))
            self.rows.append(row)
            for table in {'events', event} & set(self.tables):
                names = [n for n in row if n in self.tables[table]]
                self.db.execute('INSERT INTO %s (%s) VALUES (%s)' % (
                    quoted(table), ','.join(map(quoted, names)), ','.join('?' * len(names))), [row[n] for n in names])

    def query(self, sql):
        cursor = self.db.execute(sql)
        return [dict(zip([d[0] for d in cursor.description], row)) for row in cursor]


def plain(value):
    """A value of either evaluation in a form that can be compared."""
    if isinstance(value, float) and value in (float('inf'), float('-inf')):
        return 'Infinity' if value > 0 else '-Infinity'
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value.hex() if isinstance(value, bytes) else value


def same_rows(ours, theirs, ordered, what):
    one, other = ([tuple((k, plain(v)) for k, v in row.items()) for row in rows] for rows in (ours, theirs))
    if not ordered:
        one, other = sorted(one, key=repr), sorted(other, key=repr)
    check(one == other, '%s: %d rows, not %d: %s', what, len(one), len(other),
          [pair for pair in zip(one, other) if pair[0] != pair[1]][:2])


# ── statements ──

def literal(random, value):
    if value is None or random.random() < 0.05:
        return 'NULL'
    if isinstance(value, str):
        return "'%s'" % value.replace("'", "''")
    if value in (float('inf'), float('-inf')):
        return '9e999' if value > 0 else '-9e999'
    if random.random() < 0.2:
        value += random.choice((-1, 1))
    return repr(value) if random.random() < 0.9 else "'%s'" % value


def condition(random, second, table, depth=0):
    if depth < 2 and random.random() < 0.4:
        return '(%s %s %s)' % (condition(random, second, table, depth + 1), random.choice(('AND', 'AND', 'OR')),
                               condition(random, second, table, depth + 1))
    rows = [r for r in second.rows if table in ('events', r['name'])]
    row = random.choice(rows)
    names = [n for n in row if second.tables[table].get(n) in ('integer', 'text', 'any', 'real') and
             not (isinstance(row[n], str) and ('\0' in row[n] or '\ufffd' in row[n] or len(row[n]) > 100))
             and row[n] not in (float('inf'), float('-inf'))]
    name = random.choice(names + ['name', 'time'])
    kind = random.random()
    if kind < 0.1 and isinstance(row[name], str):
        return '%s %s' % (quoted(name), random.choice(("LIKE '%s%%'", "GLOB '%s*'")) %
                          row[name][:3].replace("'", "''").replace('%', '_').replace('[', '?'))
    if kind < 0.3:
        return '%s IN (%s)' % (quoted(name), ','.join(literal(random, random.choice(rows).get(name)) for _ in range(3)))
    if kind < 0.4:
        return '%s IS %s' % (quoted(name), literal(random, row[name]))
    return '%s %s %s' % (quoted(name), random.choice(('=', '=', '<', '<=', '>', '>=', '<>')),
                         literal(random, row[name]))


def statement(random, second):
    """(statement, true if the statement defines the order of its rows)."""
    table = random.choice(['events'] + [t for t in second.tables if any(r['name'] == t for r in second.rows)])
    where = ' WHERE ' + condition(random, second, table) if random.random() < 0.8 else ''
    columns = [quoted(n) for n, kind in second.tables[table].items()
               if kind not in ('json', 'blob') and n not in ('packet', 'lost')
               and not any(str(r.get(n)).startswith(('{', '[')) for r in second.rows)]
    some = random.sample(columns, random.randint(1, min(3, len(columns))))
    form = random.randrange(5)
    if form == 0:
        return 'SELECT count(*) AS n FROM %s%s' % (quoted(table), where), True
    if form == 1:
        return 'SELECT %s, count(*) AS n FROM %s%s GROUP BY %s' % (
            ', '.join(some), quoted(table), where, ', '.join(some)), False
    if form == 2:
        order = ', '.join(c + random.choice(('', ' DESC')) for c in some)
        return 'SELECT %s FROM %s%s ORDER BY %s' % (', '.join(some), quoted(table), where, order), True
    if form == 3:
        return 'SELECT DISTINCT %s FROM %s%s' % (', '.join(some), quoted(table), where), False
    return 'SELECT %s FROM %s%s' % (', '.join(some), quoted(table), where), True


# ── cases ──

def some_traces(case, n):
    """
    Yields paths of traces with records. In each trace, names differ in more than case. The JSON has no environment, so
    the environment must not name a process. Records are within the times of their packets (docs/query.md).
    """
    names = set()

    def look(value):
        if isinstance(value, dict):
            names.update(value)
            for v in value.values():
                look(v)
    for trace in corpus18.GOOD if PERCENT >= 100 else case.random.sample(corpus18.GOOD, 3 * n):
        if trace.name == 'barectf_events_before_their_packet':
            continue
        path = case.path(trace.name)
        trace.make(path)
        status, lines, _ = read(case, [WAYMARK, 'view', '--json', path])
        names.clear()
        for line in lines:
            record = json.loads(line)
            for scope in CONTEXTS + ('fields', ):
                look(record.get(scope))
        has_process = False
        for metadata in glob.iglob(os.path.join(path, '**', 'metadata'), recursive=True):
            with open(metadata, 'rb') as f:
                has_process = has_process or re.search(rb'(procname|vpid)\s*=', f.read())
        if (status == 0 and lines and not has_process and not names_twice(case, path)
                and len({n.lower() for n in names}) == len(names)):
            yield path
            n -= PERCENT < 100
        if not n:
            break
    yield case.record([case.program('types')], ['-c', 'vpid', '-c', 'vtid', '-c', 'procname']).ok().directory


@limit(300)
def query_column_values_equal_those_of_view(case):
    """Each column of each record has the value of `view --json`."""
    for path in some_traces(case, 12):
        second = Second(case, path)
        names = sorted(set(second.tables) & {r['name'] for r in second.rows} - {'events'})
        for table in ['events'] + case.random.sample(names, min(8, len(names))):
            columns = second.tables[table]
            names = [n for n in columns if n not in ('packet', 'lost')]
            ours, _ = query(case, 'SELECT %s FROM %s' % (', '.join(map(quoted, names)), quoted(table)), path)
            rows = [r for r in second.rows if table in ('events', r['name'])]
            check(len(ours) == len(rows), '%s: %s has %d rows, not %d', path, table, len(ours), len(rows))
            for one, other in zip(ours, rows):
                for name in names:
                    left, right = one[name], plain(other.get(name))
                    if name in ('cpu', 'pid') and right is None:
                        continue               # other names for the CPU context; the process comes from the environment
                    if isinstance(left, str) and isinstance(right, str) and left != right:
                        # (JSON of variants and structures: compare the values)
                        if left[:1] in '[{' and right[:1] in '[{':
                            left, right = json.loads(left), json.loads(right)
                        elif '\ufffd' in left or '\ufffd' in right or right in NO_NUMBERS:
                            continue
                    check(left == right or name == 'process' and right is None, '%s: %s.%s is %r, not %r', path, table,
                          name, left, right)


@limit(300)
def random_sql_statements_equal_independent_evaluation(case):
    for path in some_traces(case, 6):
        second = Second(case, path)
        for _ in range(rounds(60) if PERCENT >= 100 else 25):
            sql, ordered = statement(case.random, second)
            theirs = second.query(sql)
            for options in ((), ('--no-push-down', )):
                same_rows(query(case, sql, path, options=options)[0], theirs, ordered and 'ORDER' not in sql,
                          '%s %s %s' % (path, sql, options))


DOUBLE = 'typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := double;\n'


def made(case, name, events, records, **packet):
    """A trace of one stream; `records` are (time, event, function that writes fields)."""
    trace = Plain(types=DOUBLE)
    for event, fields in events:
        trace.event(event, fields)
    path = case.path(name)
    trace.write(path, stream=[trace.packet(records[i:i + 10], sequence=i // 10, **packet)
                              for i in range(0, len(records), 10)])
    return path


def hostile_event_and_field_names_become_tables_and_columns(case):
    """
    Events and fields become tables and columns even if their names are keywords, have quotes or colons, or hide others.
    """
    events = ['select', 'a"b', "it's", 'x); DROP TABLE y;--', 'Events', 'EVENTS', 'sqlite_master', 'json_each',
              'sched:switch', '', 'a]b`c', '\u00e9v\u00e9nement', 'n' * 3000]
    fields = 'uint8_t _from; uint8_t _order; uint8_t time; uint8_t TIME; uint8_t _Name; uint8_t name; uint8_t rowid;'
    records = [(BEGIN + i, i, lambda b, i=i: [b.i(8, 10 * i + f) for f in range(7)]) for i in range(len(events))]
    path = made(case, 'hostile', [(e.replace('\\', '').replace('"', '\\"'), fields) for e in events], records)
    tables = columns_of(case, path)
    check(len(tables) == len(events) + 6 and len({t.lower() for t in tables}) == len(tables), 'tables %s', list(tables))
    for table, columns in tables.items():
        if table in ('threads', 'slices', 'wakeups', 'syscalls', 'spans'):
            continue
        check(len({c.lower() for c in columns}) == len(columns), '%s: columns %s', table, list(columns))
        rows, _ = query(case, 'SELECT * FROM %s' % quoted(table), path)
        check(len(rows) == (len(events) if table == 'events' else 1), '%s: %s', table, rows)
        if table != 'events':
            number = events.index(rows[0]['name'])
            check([v for k, v in rows[0].items() if k not in FIXED] == [10 * number + f for f in range(7)], '%s: %s',
                  table, rows)
    rows, _ = query(case, 'SELECT "from", "order", field_time, "rowid" FROM "select"', path)
    check(rows == [{'from': 0, 'order': 1, 'field_time': 2, 'rowid': 6}], '%s', rows)
    check('events' in tables and 'event_EVENTS' in tables, 'tables %s', list(tables))


def query_of_an_empty_trace_has_tables_without_rows(case):
    path = case.path('empty')
    trace = Plain()
    trace.event('never', 'uint8_t x;')
    save(path, metadata=trace.text())
    check(columns_of(case, path)['never']['x'] == 'integer', 'the column is missing')
    check(query(case, 'SELECT count(*) AS n, sum(x) AS s FROM never', path)[0] == [{'n': 0, 's': None}], 'rows')
    status, lines, err = read(case, [WAYMARK, 'query', 'SELECT name, x FROM never', path])
    check(status == 0 and lines == [b'name  x'] and not err, '%s %s %s', status, lines, err)


def sql_errors_are_reported_with_their_position(case):
    """
    Statements other than SELECT are refused. An error has its position. The exit status is 1, or 2 for wrong usage.
    """
    path = made(case, 'one', [('one', 'uint8_t x;')], [(BEGIN, 0, lambda b: b.i(8, 1))])
    for sql, words in (("SELECT 'é', y FROM one", 'no such column: y, at character 13'), ('SELEC x', 'at character 1'),
                       ('SELECT 1 FROM two', 'no such table: two'), ('', 'is empty'), (' -- x', 'is empty'),
                       ('SELECT 1; SELECT 2', 'a second statement begins at character 11'),
                       ('SELECT json(x) FROM (SELECT name AS x FROM one)', 'malformed JSON'),
                       ("ATTACH '/tmp/x' AS y", 'only SELECT'), ('CREATE TABLE t(x)', 'only SELECT'),
                       ('DELETE FROM one', ''), ('PRAGMA user_version', 'only SELECT'), ('VACUUM', 'only SELECT'),
                       ("SELECT load_extension('x')", ''), ('INSERT INTO one(x) VALUES (1)', '')):
        err = query(case, sql, path, status=1)[1]
        check(words in err and err.startswith('waymark: error: cannot run the query: '), '%s: %s', sql, err)
    for argv, words in ((['SELECT 1'], 'no trace given'), ([], 'no statement given'), (['--tables'], 'no trace given'),
                        (['--json', '--csv', 'SELECT 1', path], 'exclude each other')):
        status, _, err = read(case, [WAYMARK, 'query', *argv])
        check(status == 2 and words in err.decode(), '%s: status %s: %s', argv, status, err)
    check('no such trace' in query(case, 'SELECT 1', case.path('none'), status=1)[1], 'no trace')


def query_reads_a_damaged_trace_as_far_as_view(case):
    """Records before and after damage are rows, the damage is reported, and the exit status is 1."""
    trace = Plain()
    trace.event('one', 'uint8_t x;')
    packets = [trace.packet([(BEGIN + 100 * p + r, 0, lambda b, x=10 * p + r: b.i(8, x)) for r in range(8)], sequence=p)
               for p in range(6)]
    data = bytearray(joined(packets))
    at = len(packets[0].bytes) + Plain.HEAD + 3 * 11
    data[at:at + 2] = b'\xff\xff'                                # an id without a class
    path = case.path('damaged')
    save(path, metadata=trace.text(), stream=bytes(data[:-5]))
    second = Second(case, path, status=1)
    for options in ((), ('--no-push-down', )):
        for sql in ('SELECT time, x FROM one', 'SELECT x, count(*) AS n FROM one GROUP BY x',
                    'SELECT a.x FROM one a JOIN one b ON a.x = b.x WHERE a.time > %d' % (15 * 10**17)):
            rows, err = query(case, sql, path, status=1, options=options)
            same_rows(rows, second.query(sql), False, sql)
            check(err.count('unknown event id') <= 1 and 'damaged' in err, '%s: %s', sql, err)


def query_merges_tables_of_two_traces_by_time(case):
    """
    Events with the same name in two traces share one table with the fields of both. Rows are in the order of time.
    """
    one = made(case, 'both/a', [('same', 'uint8_t x; uint8_t y;')],
               [(BEGIN + 2 * i, 0, lambda b, i=i: b.i(8, i).i(8, 1)) for i in range(20)])
    made(case, 'both/b', [('same', 'string x; uint64_t z;')],
         [(BEGIN + 2 * i + 1, 0, lambda b, i=i: b.raw(b'%d\0' % i).i(64, (1 << 64) - 1 - i)) for i in range(20)])
    path = os.path.dirname(one)
    rows, _ = query(case, 'SELECT x, y, z FROM same', path)
    check(rows == [{'x': str(i // 2) if i % 2 else i // 2, 'y': None if i % 2 else 1,
                    'z': str((1 << 64) - 1 - i // 2) if i % 2 else None} for i in range(40)], '%s', rows[:4])
    check(columns_of(case, path)['same'] | {'x': 'any', 'y': 'integer', 'z': 'any'} == columns_of(case, path)['same'],
          'types %s', columns_of(case, path)['same'])
    same_rows(query(case, 'SELECT trace, count(*) AS n FROM events GROUP BY trace', path)[0],
              Second(case, path).query('SELECT trace, count(*) AS n FROM events GROUP BY trace'), False, 'traces')


def time_condition_keeps_packet_numbers_and_lost_counts(case):
    """Conditions on the time read a part of the stream; the number of a packet and its losses do not change."""
    trace = Plain()
    trace.event('one', 'uint8_t x;')
    packets = [trace.packet([(BEGIN + 1000 * p + r, 0, lambda b, x=r: b.i(8, x)) for r in range(5)], sequence=p,
                            discarded=3 * p) for p in range(50)]
    path = case.path('lossy')
    trace.write(path, stream=packets)
    whole, err = query(case, 'SELECT time, packet, lost, x FROM one', path)
    check(len(whole) == 250 and sum(r['lost'] for r in whole) == 3 * 49 and '147 records' in err, '%s %s', whole[:9],
          err)
    check([r['packet'] for r in whole] == [i // 5 for i in range(250)], 'packets')
    for _ in range(20):
        low, high = sorted(case.random.choice(whole)['time'] + case.random.randint(-2, 2) for _ in range(2))
        high = case.random.choice((high, float(high)))
        for options in ((), ('--no-push-down', )):
            rows, _ = query(case, 'SELECT time, packet, lost, x FROM one WHERE time BETWEEN %d AND %r' % (low, high),
                            path, options=options)
            check(rows == [r for r in whole if low <= r['time'] <= high], '%d to %r: %d rows', low, high, len(rows))
    begin = whole[100]['time']
    status, lines, _ = read(case, [WAYMARK, 'query', '--csv', '--begin', '%d.%09d' % divmod(begin, 10**9),
                                   'SELECT count(*) FROM one', path])
    check(status == 0 and lines == [b'count(*)', b'150'], '%s %s', status, lines)


def query_output_in_columns_csv_and_json_has_equal_values(case):
    """Aligned columns, CSV and JSON have the same values."""
    texts = ['a,b', 'say "x"', ' edge ', 'two\nlines', '', '\u00e9\u4e2d', 'x' * 150]
    path = made(case, 'forms', [('one', 'string s; double d; uint8_t b;')],
                [(BEGIN + i, 0, lambda b, t=t: b.raw(t.encode() + b'\0').raw(b'\0' * 7 + b'\x40').i(8, 5))
                 for i, t in enumerate(texts)])
    sql = "SELECT s, d, b, NULL AS absent, x'00ff' AS bytes FROM one"
    rows, _ = query(case, sql, path)
    check(rows == [{'s': t, 'd': 2, 'b': 5, 'absent': None, 'bytes': '00ff'} for t in texts], '%s', rows)
    out = case.path('out.csv')
    with open(out, 'wb') as f:
        status, lines, err = read(case, [WAYMARK, 'query', '--csv', sql, path])
        f.write(b'\n'.join(lines) + b'\n')
    with open(out, newline='', encoding='utf-8') as f:
        table = list(csv.reader(io.StringIO(f.read(), newline='')))
    check(table == [['s', 'd', 'b', 'absent', 'bytes']] + [[t, '2', '5', '', '00ff'] for t in texts], '%s', table)
    status, lines, err = read(case, [WAYMARK, 'query', 'SELECT b, s FROM one LIMIT 3', path])
    check(lines == [b'b  s', b'5  a,b', b'5  say "x"', b'5   edge '], '%s %s', lines, err)


def query_plan_passes_conditions_and_groups_to_the_tables(case):
    """SQLite passes conditions and groups to the tables, and evaluates expensive groups and collations itself."""
    path = made(case, 'plans', [('one', 'string s; uint8_t x; double d;')],
                [(BEGIN, 0, lambda b: b.raw(b'a\0').i(8, 1).i(64, 0))])
    for sql, plan, sorts in (
            ('SELECT x FROM one WHERE x > 3 AND s = \'a\'', '14> 13= ', False),
            ('SELECT 1 FROM events WHERE name IN (\'a\', \'b\') AND time >= 5', '5in 0>= ', False),
            ('SELECT 1 FROM events WHERE name GLOB \'a*\'', '5>= 5< 5glob ', False),
            ('SELECT 1 FROM one WHERE s = \'A\' COLLATE NOCASE', '', False),
            ('SELECT name, count(*) FROM events GROUP BY name', '| 5 | 5+ ', False),
            ('SELECT x, count(*) FROM one GROUP BY x ORDER BY x DESC', '| 14 | 14- ', False),
            ('SELECT DISTINCT name, pid FROM events', '| 2 5 | 5+ 2+ ', True),
            ('SELECT time, count(*) FROM events GROUP BY time', '', True),
            ('SELECT x, sum(d) FROM one GROUP BY x', '', True)):
        rows, _ = query(case, 'EXPLAIN QUERY PLAN ' + sql, path)
        details = [row['detail'] for row in rows]
        check(details[0].split(':', 1)[1] == plan, '%s: %s', sql, details)
        check(('TEMP B-TREE' in ' '.join(details)) == sorts, '%s: %s', sql, details)
        rows, _ = query(case, 'EXPLAIN QUERY PLAN ' + sql, path, options=('--no-push-down', ))
        check(rows[0]['detail'].endswith(':'), '%s: pushed down', sql)


if __name__ == '__main__':
    main([query_column_values_equal_those_of_view, random_sql_statements_equal_independent_evaluation,
          hostile_event_and_field_names_become_tables_and_columns, query_of_an_empty_trace_has_tables_without_rows,
          sql_errors_are_reported_with_their_position, query_reads_a_damaged_trace_as_far_as_view,
          query_merges_tables_of_two_traces_by_time, time_condition_keeps_packet_numbers_and_lost_counts,
          query_output_in_columns_csv_and_json_has_equal_values, query_plan_passes_conditions_and_groups_to_the_tables])
