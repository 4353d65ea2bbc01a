#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Filters of recorders: `enable-event --filter` and `record --filter`, also while daemons are killed, rules change and
threads record.
"""
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World, numbers_of  # noqa: E402
from harness import check, limit, main, rounds  # noqa: E402
from t_filter import NO_NUMBERS, Comparison, leaves, records_of, some_expression, wants  # noqa: E402


def only(records, events):
    return [r for r in records if r['event'] in events]


@limit(300)
def filter_at_recording_selects_the_same_records_as_in_view(case):
    """
    A recording with a filter has the same records as a complete recording that is read with the filter, for fields of
    every type.
    """
    whole = [records_of(case, case.record([case.program('types')], ['--private']).ok().directory) for _ in range(2)]
    # addresses and times differ between runs: use only values that are equal in both
    whole = [[r for r in records if not r['event'].startswith('lttng_ust')] for records in whole]
    check([r['event'] for r in whole[0]] == [r['event'] for r in whole[1]],
          'two runs of the program have different events')
    known = []
    for one, other in zip(*whole):
        again = dict(leaves(other['fields']))
        known += [(p, v) for p, v in leaves(one['fields'])
                  if again.get(p) == v and not (isinstance(v, str) and (v in NO_NUMBERS or len(v) > 200 or '\0' in v))]
    known = [(p, v) for p, v in known if not re.search(r'length|msg', p)]
    check(len(known) > 40, 'only %d fields', len(known))
    stable = {p for p, _ in known}
    expressions = [Comparison('yes', operator, label) for operator in ('==', '!=') for label in ('true', 'false')]
    count = max(15, rounds(150))
    while len(expressions) < count:
        expression = some_expression(case.random, known)
        if len(expressions) % 3 == 0 or 0 < sum(wants(expression, r) for r in whole[0]) < len(whole[0]):
            expressions.append(expression)              # most filters keep all or nothing: allow every third of those
    partly = 0
    for expression in expressions:
        result = case.record([case.program('types')], ['--private', '-f', expression.text()]).ok()
        got = [r for r in records_of(case, result.directory) if not r['event'].startswith('lttng_ust')]
        wanted = [r for r in whole[0] if wants(expression, r)]
        check([r['event'] for r in got] == [r['event'] for r in wanted], '%s: recorded %s, not %s', expression.text(),
              [r['event'] for r in got], [r['event'] for r in wanted])
        for g, w in zip(got, wanted):
            there, here = dict(leaves(w['fields'])), dict(leaves(g['fields']))
            check(all(here.get(p) == v for p, v in there.items() if p in stable and (p, v) in known), '%s: %s, not %s',
                  expression.text(), g, w)
        partly += 0 < len(got) < len(whole[0])
    check(partly > count // 3, 'only %d filters kept a part of the records', partly)


def filters_are_shown_saved_and_merged(case):
    """Filters of a session are shown, changed, merged and saved. Invalid ones are reported."""
    with World(case) as w:
        program = w.scripted()
        w.begin('one')                                  # the daemon knows the events now
        w('disable-event', '-s', 'one', 'test:*')
        w('enable-event', '-s', 'one', '-f', 'seq % 2 == 0 && seq <= 20', 'test:seq')
        program('emit 20')
        check('if seq % 2 == 0 && seq <= 20' in w('list', 'one').out, 'the filter is not shown: %s',
              w('list', 'one').out)
        w('enable-event', '-s', 'one', '-f', 'seq == 23', 'test:s*')     # recorded if either filter matches
        program('emit 4')
        w('disable-event', '-s', 'one', 'test:seq')
        program('emit 4')                               # 25 to 28: none
        w('enable-event', '-s', 'one', 'test:*')        # no filter: all records, whatever other rules require
        program('emit 2')
        w('disable-event', '-s', 'one', 'test:*')
        w('disable-event', '-s', 'one', 'test:s*')
        for filter_, words in (('seq ==', 'column 7'), ('sec == 1', "near is seq"),
                               ('seq == "a"', 'a number with a text'), ('$ctx.vpit == 1', 'vpid')):
            answer = w('enable-event', '-s', 'one', '-f', filter_, 'test:seq', status=None)
            check(answer.status == 1 and words in answer.err, '%s: status %d, %s', filter_, answer.status, answer.err)
        program('emit 2')                               # 31, 32: the invalid filters had no effect
        w('enable-event', '-s', 'one', '-f', 'exists(sec) || $ctx.vpid == %d && $event == "test:seq"' % program.pid,
          'test:seq')
        program('emit 1')
        w('save', 'one', '-o', case.path('saved'), status=None)
        program.end()
        _, trace = w.end('one', lost=0)
        numbers = list(numbers_of(trace).values())
        check(numbers == [[*range(2, 21, 2), 23, 29, 30, 33]], 'wrong records: %s', numbers)


def filters_survive_save_and_load(case):
    with World(case) as w:
        w('create', 'kept')
        w('enable-event', '-s', 'kept', '--filter', 'seq > 3 || name == "\\"*"', 'test:*')
        before = w.session('kept')['channels'][0]['rules']
        w('save', 'kept')
        w('destroy', 'kept')
        w('load', 'kept')
        check(
            w.session('kept')['channels'][0]['rules'] == before, 'wrong rules after load: %s',
            w.session('kept')['channels'][0]['rules'])
        check(before[0]['filter'] == 'seq > 3 || name == "\\"*"', 'wrong rules before save: %s', before)
        program = w.scripted()
        w('start', 'kept')
        program('emit 5')
        program.end()
        _, trace = w.end('kept', lost=0)
        check(list(numbers_of(trace).values()) == [[4, 5]], 'wrong records: %s', numbers_of(trace))


def filters_remain_active_over_daemon_restarts(case):
    """Applications keep their filters while no daemon runs and under the next daemon, which can change them."""
    with World(case) as w:
        program = w.scripted()
        w.begin('one')
        w('disable-event', '-s', 'one', 'test:*')
        w('enable-event', '-s', 'one', '-f', 'seq % 3 == 0', 'test:seq')
        program('emit 6')
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the daemon to end')
        program('emit 6')
        w('list')
        w.wait_apps([program.pid])
        program('emit 6')
        with w.disconnected(program):
            w('disable-event', '-s', 'one', 'test:seq')
            w('enable-event', '-s', 'one', '-f', 'seq % 5 == 0', 'test:seq')
        program('emit 7')
        os.kill(w.consumerd(), signal.SIGKILL)
        program('emit 5')
        w('add-context', '-s', 'one', '-t', 'vpid')     # new rings: the filter is kept
        program('emit 5')
        program.end()
        _, trace = w.end('one', lost=0)
        check(
            list(numbers_of(trace).values()) == [[3, 6, 9, 12, 15, 18, 20, 25, 30, 35]], 'wrong records: %s',
            numbers_of(trace))


def oversized_and_invalid_filters_are_rejected(case):
    """Oversized and invalid filters are rejected. The application survives, and the filter in force is kept."""
    with World(case) as w:
        program = w.scripted()
        w('create', 'one')
        w('enable-event', '-s', 'one', '-f', 'value > 3', 'scripted:odd')
        w('start', 'one')
        program('odd 6')                                # 4 and 5
        for text, words in (('value in [byte, 3]', 'a list may contain only'),
                            ('value in [byte, byte]', 'a list may contain only'),
                            ('value in [exists(byte), exists(byte)]', 'a list may contain only'),
                            ('far[4294967295] == 1 && !', 'the end of the filter'), ('far == 1', 'an array'),
                            (' || '.join(['value'] * 300), 'in a row')):
            answer = w('enable-event', '-s', 'one', '-f', text, 'scripted:odd', status=None)
            check(answer.status == 1 and words in answer.err, '%s: status %d, %s', text, answer.status, answer.err)
        # an index beyond any memory: the element does not exist
        for index in (8, 536870912, 4294967295):
            w('enable-event', '-s', 'one', '-f', 'far[%d] == 1 || value == 5' % index, 'scripted:odd')
        check(program.pid in w.apps(), 'the application is no longer registered')
        program('odd 6')
        w('enable-event', '-s', 'one', '-f', 'far[2] == 2 && value == 3', 'scripted:odd')
        program('odd 4')                                # 3
        # each filter fits into an application, two of them together do not
        long = ' || '.join('value %% 1000 == %d && byte != %d' % (n, n % 200) for n in range(100, 200))
        done = [
            w('enable-event', '-s', 'one', '-f', long.replace('1000', str(1000 + i)), 'scripted:odd', status=None)
            for i in range(4)
        ]
        refused = [answer for answer in done if answer.status]
        check(done[0].status == 0 and refused and 'cannot combine the filters' in refused[0].err,
              'no filter was rejected: %s', [answer.err for answer in done])
        program('odd 5')                                # 4 and 3
        answer = w('enable-event', '-s', 'one', '-f', os.fsdecode(b'value != "\xff"'), 'scripted:odd', status=None)
        check(answer.status == 1 and 'UTF-8' in answer.err, 'status %d, %s', answer.status, answer.err)
        program.end()
        _, trace = w.end('one', lost=0)
        values = [r.fields['value'] for r in trace.records('scripted:odd')]
        check(values == [4, 5, 4, 5, 3, 3, 4], 'wrong records: %s', values)


@limit(300)
def filter_change_neither_loses_nor_repeats_records(case):
    """
    Mutually exclusive filters are added and removed while threads record. Each record in the trace matches one of them,
    none is repeated, and records after a command has returned match its filter.
    """
    with World(case) as w:
        programs = [w.scripted(), w.scripted()]
        w.begin('one')
        w('disable-event', '-s', 'one', 'test:*')
        w('enable-event', '-s', 'one', '-f', 'seq % 7 == 1', 'test:seq')
        for program in programs:
            program('threads 3')
        wanted, made = {}, dict.fromkeys(range(len(programs)), 0)
        for turn in range(max(8, rounds(60))):
            kind = case.random.choice(('seq % 7 == 2', 'seq % 7 == 3 && writer < 4096',
                                       'seq % 7 in [4, 5] && $ctx.procname == "scr*"', 'seq % 7 * 1.5 == 9'))
            w('enable-event', '-s', 'one', '-f', kind, 'test:s*')
            which = turn % len(programs)
            programs[which]('emit 7')
            rest = {'2': {1, 2}, '3': {1, 3}, '[': {1, 4, 5}, '1': {1, 6}}[re.search(r'(?:== |in |\* )(\S)',
                                                                                     kind).group(1)]
            for n in range(made[which] + 1, made[which] + 8):
                if n % 7 in rest:
                    wanted.setdefault(which, []).append(n)
            made[which] += 7
            w('disable-event', '-s', 'one', 'test:s*')
        for program in programs:
            program.end()
        _, trace = w.end('one', lost=0)
        numbers = numbers_of(trace)
        for writer, got in numbers.items():
            check(len(got) == len(set(got)), 'writer %d: a record is repeated', writer)
            check(all(n % 7 in (1, 2, 3, 4, 5, 6) for n in got), 'writer %d: no filter matches %s', writer,
                  [n for n in got if n % 7 == 0])
        emitted = sorted(sorted(n) for n in numbers.values() if sorted(n) in [sorted(x) for x in wanted.values()])
        check(emitted == sorted(sorted(n) for n in wanted.values()), 'records after commands: expected %s in %s',
              list(wanted.values())[0][:20], [n[:20] for n in numbers.values()])


def filter_option_of_record_selects_records(case):
    """`record --filter`, with --private and through the daemon. A filter on a missing field keeps no record."""
    with World(case) as w:
        for options in ([], ['--private']):
            for text, count in (('seq > 90', 10), ('seq > 90 && writer == 77777', 0), ('nothing == 1', 0)):
                path = case.path('out%d%d' % (bool(options), len(os.listdir(case.directory))))
                answer = w('record', *options, '-e', 'test:*', '-f', text, '-o', path, '--', case.program('busy'),
                           'count', 1, 100, 0)
                got = [r for r in records_of(case, path) if r['event'] == 'test:seq']
                check(len(got) == count, '%s %s: %d records, not %d: %s', options, text, len(got), count, answer.err)
                # with a daemon, events of other sessions may have the field, so there is no warning
                if options:
                    check(('has such a field' in answer.err) == ('nothing' in text), '%s: %s', text, answer.err)
        answer = w('record', '-f', 'seq >', '--', 'true', status=None)
        check(answer.status == 2 and 'column 6' in answer.err, 'status %d: %s', answer.status, answer.err)


if __name__ == '__main__':
    main([
        filter_at_recording_selects_the_same_records_as_in_view, filters_are_shown_saved_and_merged,
        filters_survive_save_and_load, filters_remain_active_over_daemon_restarts,
        oversized_and_invalid_filters_are_rejected, filter_change_neither_loses_nor_repeats_records,
        filter_option_of_record_selects_records
    ])
