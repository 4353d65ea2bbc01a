#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The options of `waymark view` for the display of times, names and fields: the lines equal those of babeltrace2 with the
same options.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus18  # noqa: E402
from harness import PERCENT, VIEW, WAYMARK, check, limit, main, need, rounds  # noqa: E402
from t_view import read, same  # noqa: E402

CLOCKS = (['--clock-cycles'], ['--clock-date'], ['--clock-gmt'], ['--clock-seconds'], ['--no-delta'],
          ['--clock-date', '--clock-gmt'], ['--clock-cycles',
                                            '--clock-date'], ['--clock-seconds',
                                                              '--clock-gmt'], ['--clock-seconds', '--clock-date'])
NAMES = ('none', 'all', 'scope', 'header', 'context', 'payload', 'scope,header', 'payload,none', 'none,payload')
FIELDS = ('all', 'trace', 'trace:hostname', 'trace:domain', 'trace:procname', 'trace:vpid', 'loglevel', 'emf',
          'trace:domain,loglevel', 'emf,trace')
# These have everything that options show: hosts, processes, log levels, URIs, contexts, headers with more than an id.
ALWAYS = ('lttng_contexts', 'lttng_plain', 'event_attributes', 'contexts')
# babeltrace2 merges these into one trace with a name of its own
OTHER_NAME = 'chunks_of_one_session'
ZONE = 'TZ=Asia/Kathmandu'  # with a quarter of an hour, so that an ignored time zone is noticed


def chosen_traces(case):
    """
    [(name, directory)] of traces, all of them in a full run. Each is in its own directory, so that both readers give it
    the same name.
    """
    traces = [trace for trace in corpus18.GOOD if trace.expected is None and trace.name != OTHER_NAME]
    if PERCENT < 100:
        others = [trace for trace in traces if trace.name not in ALWAYS]
        traces = [trace for trace in traces if trace.name in ALWAYS] + case.random.sample(others, max(2, rounds(20)))
    for trace in traces:
        trace.make(os.path.join(case.path(trace.name), trace.name))
    return [(trace.name, case.path(trace.name)) for trace in traces]


def compare(case, sets):
    need('babeltrace2')
    shown = set()
    for name, path in chosen_traces(case):
        plain = read(case, ['env', ZONE, 'babeltrace2', path])[1]
        for options in sets:
            status, theirs, err = read(case, ['env', ZONE, 'babeltrace2', *options, path])
            check(status == 0, '%s: babeltrace2 %s: status %d: %s', name, ' '.join(options), status,
                  err[-500:].decode(errors='replace'))
            status, ours, err = read(case, ['env', ZONE, WAYMARK, *VIEW, *options, path])
            check(status == 0, '%s: waymark view %s: status %d: %s', name, ' '.join(options), status,
                  err[-500:].decode(errors='replace'))
            same('%s with %s' % (name, ' '.join(options)), ours, theirs)
            if theirs != plain:
                shown.add(' '.join(options))
    return shown


@limit(300)
def output_of_time_options_equals_babeltrace2(case):
    shown = compare(case, CLOCKS)
    check(len(shown) == len(CLOCKS), 'only these options change the output of any trace: %s', shown)


@limit(300)
def output_of_name_options_equals_babeltrace2(case):
    shown = compare(case, [['--names=' + words] for words in NAMES])
    check(len(shown) >= len(NAMES) - 3, 'only these options change the output of any trace: %s', shown)


@limit(300)
def output_of_field_options_equals_babeltrace2(case):
    shown = compare(case, [['-f', words] for words in FIELDS])
    check(len(shown) >= len(FIELDS) - 1, 'only these options change the output of any trace: %s', shown)


if __name__ == '__main__':
    main([output_of_time_options_equals_babeltrace2, output_of_name_options_equals_babeltrace2,
          output_of_field_options_equals_babeltrace2])
