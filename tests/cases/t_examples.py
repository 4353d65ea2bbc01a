#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples for the control and reader libraries do what their comments describe."""
import collections
import glob
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAYMARK, Trace, check, communicated, finished, main  # noqa: E402
from traces import metadata_text  # noqa: E402

EXAMPLES = os.path.join(os.path.abspath(os.environ.get('WMK_BUILD', 'build')), 'examples')
ROUNDS = 1000


def sums():
    """The sums that self_trace computes, one for each round."""
    found, s = [], 0
    for i in range(ROUNDS):
        s = (s + s * 31 + i) % (1 << 64)
        found.append(s)
    return found


def viewed(case, path):
    """The records that `waymark view` prints, as objects."""
    done = finished([WAYMARK, 'view', '--json', path], env=case.env, stdin=subprocess.DEVNULL, capture_output=True,
                    text=True)
    check(done.returncode == 0, 'waymark view: status %d, %s', done.returncode, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


def self_trace(w, *argv):
    """(number of records, directory) of its trace, as self_trace reports them."""
    child = w.run([os.path.join(EXAMPLES, 'self_trace'), *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                  text=True)
    out, err = communicated(child)
    w.children.remove(child)
    check(child.returncode == 0 and not err, 'self_trace ended with status %d: %s', child.returncode, err)
    summary_match = re.fullmatch(r'([0-9a-f]+)\n(\d+) records, 0 lost, in (/.*)\n', out)
    check(summary_match and summary_match.group(1) == '%x' % sums()[-1], 'self_trace printed: %s', out)
    return int(summary_match.group(2)), summary_match.group(3)


def check_own_records(case, records, path):
    """
    Each round of self_trace is recorded once. The reported number of records also includes the tracer's records of
    loaded objects.
    """
    wanted = list(enumerate(sums()))
    shown = viewed(case, path)
    check(len(shown) == records, 'waymark view shows %d records, self_trace reports %d', len(shown), records)
    rounds = [(r['fields']['i'], r['fields']['sum']) for r in shown if r['event'] == 'self:round']
    others = {
        r['event'] for r in shown if r['event'] != 'self:round' and not r['event'].startswith('lttng_ust_statedump:')
    }
    check(rounds == wanted and not others,
          'waymark view shows wrong rounds, %s, or events of other programs: %s', rounds[:3], others)
    theirs = [(r.fields['i'], r.fields['sum']) for r in Trace(path).records('self:round')]
    check(theirs == wanted, 'babeltrace shows wrong rounds: %s', theirs[:3])


def example_self_trace_records_only_its_own_session(case):
    """
    self_trace starts a session daemon, or finds the running one, and leaves no session. Its trace has no events of
    other programs.
    """
    with World(case, daemon=False) as w:
        check(not w.daemons(), 'there are daemons already: %s', w.daemons())
        records, place = self_trace(w, case.path('first'))
        check(place == case.path('first'), 'the trace is in %s', place)
        check_own_records(case, records, place)
        w.wait(w.sessiond, 'the session daemon that it started')
        pid = w.sessiond()
        other = w.scripted()
        other('threads 1')
        w.wait_apps([other.pid])
        for n in range(3):
            check_own_records(case, *self_trace(w, case.path('again%d' % n)))
        records, place = self_trace(w)
        check(place.startswith(w.home + '/'), 'without a directory the trace is in %s', place)
        check_own_records(case, records, place)
        check(w.sessiond() == pid, 'it started another session daemon: %s', w.daemons())
        check(w('list', '--json').json['sessions'] == [], 'a session is left: %s', w('list').out)
        other.kill()


def example_self_trace_reports_a_used_directory(case):
    """self_trace reports the reason, exits with status 1 and leaves no session."""
    with World(case) as w:
        os.mkdir(case.path('taken'))
        with open(os.path.join(case.path('taken'), 'photo'), 'w'):
            pass
        child = w.run([os.path.join(EXAMPLES, 'self_trace'), case.path('taken')], stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True)
        out, err = communicated(child)
        check(child.returncode == 1 and not out, 'status %d: %s', child.returncode, out)
        check(err.startswith('self_trace: create: ') and 'taken' in err and 'not empty' in err, 'it printed: %s', err)
        check(w('list', '--json').json['sessions'] == [], 'a session is left')


def example_slow_request_creates_one_snapshot(case):
    """The flight recorder gets a snapshot with all requests, although the program ends at once."""
    with World(case) as w:
        def run():
            done = finished([os.path.join(EXAMPLES, 'slow_request'), '5'], env=w.env, capture_output=True, text=True)
            check(done.returncode == 0 and done.stdout == '5 requests\n', 'slow_request: %s', done)
        run()                                                # without a flight recorder
        w('create', 'recorder', '--snapshot', '-o', case.path('out'))
        w('enable-event', '-s', 'recorder', 'server:*')
        w('start', 'recorder')
        run()
        w.wait(lambda: any('snapshot_overwritten' in text for path in glob.glob(case.path('out') + '/slow-request-*')
                           for text in metadata_text(path)), 'the snapshot')
        path, = glob.glob(case.path('out') + '/*')
        found = [r['fields']['request'] for r in viewed(case, path) if r['event'] == 'server:request_begin']
        check(found == [1, 2, 3, 4, 5], 'requests in the snapshot: %s', found)
        w('destroy', 'recorder')


def count_events(case, *argv):
    done = finished([os.path.join(EXAMPLES, 'count_events'), *argv], env=case.env, stdin=subprocess.DEVNULL,
                    capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def example_count_events_equals_view(case):
    """The counts of count_events equal those of `waymark view`."""
    path = case.record([case.program('types'), '300'], ['-c', 'vpid']).ok().directory
    wanted = collections.Counter(r['event'] for r in viewed(case, path))
    status, out, err = count_events(case, path)
    found = {name: int(n) for n, name in map(str.split, out.splitlines())}
    check(status == 0 and not err, 'status %d: %s', status, err)
    check(len(found) == len(out.splitlines()) > 5 and found == wanted, 'count_events printed %s, not %s', found, wanted)
    check(found['types:refs'] == 300, '%s records of types:refs, not 300', found['types:refs'])


def example_count_events_reports_missing_traces(case):
    """No argument, and a directory that does not exist."""
    for argv, words in (((), 'usage: count_events DIR'), ((case.path('nothing'),), 'nothing')):
        status, out, err = count_events(case, *argv)
        check(status == 1 and not out and err.startswith('count_events: ') and words in err, '%s: status %d, %s%s',
              argv, status, out, err)


if __name__ == '__main__':
    main([
        example_self_trace_records_only_its_own_session, example_self_trace_reports_a_used_directory,
        example_slow_request_creates_one_snapshot, example_count_events_equals_view,
        example_count_events_reports_missing_traces
    ])
