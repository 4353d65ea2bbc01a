#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
babeltrace2 reads a session through the LTTng-live server during recording: it prints the lines of the stored trace.
"""
import contextlib
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import WAYMARK, check, finished, limit, main, need, slurp, wait_for  # noqa: E402

RELAYD = os.environ.get('WMK_RELAYD', os.path.join(os.path.dirname(WAYMARK), '../daemons/waymark-relayd'))
HOST = 'machine'


class Live:
    """A session in HOST/NAME below a root, and the LTTng-live server of this root."""

    def __init__(self, case, w, name, *options, channel=()):
        self.case, self.w, self.name = case, w, name
        self.root = os.path.join(w.place, 'root')
        self.path = os.path.join(self.root, HOST, name)
        os.makedirs(os.path.dirname(self.path))
        w('create', name, '-o', self.path, '--no-statedump', *options)
        w('enable-channel', '-s', name, 'live', *channel)
        w('enable-event', '-s', name, '-c', 'live', 'test:*')
        os.makedirs(self.path, exist_ok=True)
        self.server = w.run([RELAYD, '--output', self.root, '--listen', '127.0.0.1:0', '--lttng-live=0',
                             '--print-ports'], stdout=subprocess.PIPE, text=True)
        self.port = [int(self.server.stdout.readline()) for _ in range(2)][1]
        self.viewers = 0

    def url(self):
        return 'net://localhost:%d/host/%s/%s' % (self.port, HOST, self.name)

    def viewer(self):
        """Attach babeltrace2. Returns (process, path of its lines, path of its messages)."""
        self.viewers += 1
        out, err = self.case.path('lines%d' % self.viewers), self.case.path('messages%d' % self.viewers)
        with open(out, 'w') as o, open(err, 'w') as e:
            child = self.w.run(['babeltrace2', '--input-format=lttng-live', '--clock-cycles', '--no-delta', self.url()],
                               stdout=o, stderr=e)
        return child, out, err

    def end_viewer(self, viewer):
        """The lines of a viewer. The viewer must end with status 0, because the session has ended."""
        child, out, err = viewer
        self.w.wait_end(child, status=None)
        check(child.returncode == 0, 'babeltrace2 ended with %d: %s', child.returncode, slurp(err)[-3000:])
        check(not slurp(err), 'babeltrace2 prints: %s', slurp(err)[-3000:])
        return slurp(out).splitlines()

    def close(self):
        self.server.terminate()
        self.w.wait_end(self.server)
        self.server.stdout.close()

    def stored(self):
        """The lines of the stored trace, as babeltrace2 prints them."""
        done = finished(['babeltrace2', '--clock-cycles', '--no-delta', self.path], capture_output=True, text=True)
        check(done.returncode == 0, 'babeltrace2 cannot read the trace: %s', done.stderr)
        return done.stdout.splitlines()


@contextlib.contextmanager
def session(case, *options, **more):
    need('babeltrace2')
    with World(case) as w:
        live = Live(case, w, 'seen', *options, **more)
        yield w, live
        live.close()


def numbers(lines):
    """{writer: its numbers, in order}."""
    found = {}
    for line in lines:
        writer, number = map(int, re.search(r'writer = (\d+), seq = (\d+)', line).groups())
        found.setdefault(writer, []).append(number)
    return found


def printed(viewer, n):
    """True if the viewer has printed this many lines. Fails if the viewer has ended."""
    check(viewer[0].poll() is None, 'babeltrace2 ended with %s: %s', viewer[0].returncode, slurp(viewer[2])[-3000:])
    return len(slurp(viewer[1]).splitlines()) >= n


def lttng_live_viewer_prints_the_lines_of_the_stored_trace(case):
    """A viewer attaches before the first record. Another CPU is silent, and one process begins late."""
    with session(case) as (w, live):
        viewer = live.viewer()
        w('start', 'seen')
        one = w.scripted()
        one('emit 50')
        wait_for(lambda: printed(viewer, 50), 'the first records at the viewer')
        two = w.scripted()
        two('emit 5')
        wait_for(lambda: printed(viewer, 55), 'the records of a late process')
        one('emit 1000')
        two('emit 1')
        wait_for(lambda: printed(viewer, 1056), 'the last records')
        one.end()
        two.end()
        w('destroy', 'seen')
        lines = live.end_viewer(viewer)
        stored = live.stored()
        check(lines == stored, 'the viewer has other lines than the stored trace: %s',
              [pair for pair in zip(lines, stored) if pair[0] != pair[1]][:3] or (len(lines), len(stored)))


def lttng_live_viewer_loses_no_record_at_rotation_and_clear(case):
    with session(case) as (w, live):
        w('start', 'seen')
        viewer = live.viewer()
        program = w.scripted()
        program('emit 100')
        wait_for(lambda: printed(viewer, 100), 'records before the rotation')
        w('rotate', 'seen')
        program('emit 100')
        wait_for(lambda: printed(viewer, 200), 'records after the rotation')
        w('clear', 'seen')
        program('emit 100')
        wait_for(lambda: printed(viewer, 300), 'records after the clear')
        program.end()
        w('destroy', 'seen')
        found = numbers(live.end_viewer(viewer))
        check([n == list(range(1, 301)) for n in found.values()] == [True], '%s', found)


def lttng_live_shows_per_process_buffers_as_separate_traces(case):
    with session(case, channel=['--buffers-pid']) as (w, live):
        w('start', 'seen')
        viewer = live.viewer()
        for n in range(3):
            program = w.scripted()
            program('emit 20')
            wait_for(lambda n=n: printed(viewer, 20 * (n + 1)), 'the records of process %d' % n)
            program.end()
        w('destroy', 'seen')
        check(sorted(map(len, numbers(live.end_viewer(viewer)).values())) == [20, 20, 20], 'records of three processes')


@limit(300)
def stopped_lttng_live_viewer_does_not_delay_other_viewers(case):
    with session(case) as (w, live):
        w('start', 'seen')
        viewers = [live.viewer() for _ in range(4)]
        stopped, *others = viewers
        program = w.scripted()
        program('emit 100')
        for viewer in viewers:
            wait_for(lambda v=viewer: printed(v, 100), 'records at each viewer')
        os.kill(stopped[0].pid, 19)
        program('emit 20000')
        for viewer in others:
            wait_for(lambda v=viewer: printed(v, 20100), 'records beside a viewer that reads nothing')
        os.kill(stopped[0].pid, 18)
        program.end()
        w('destroy', 'seen')
        first, *more = [live.end_viewer(viewer) for viewer in viewers]
        check(all(lines == first for lines in more), 'viewers have different lines')
        check(len(first) == 20100, '%d lines', len(first))


def lttng_live_viewer_can_attach_to_an_ended_session(case):
    with session(case) as (w, live):
        w('start', 'seen')
        program = w.scripted()
        program('emit 10')
        program.end()
        w('destroy', 'seen')
        listed = finished(['babeltrace2', '--input-format=lttng-live', 'net://localhost:%d' % live.port],
                          capture_output=True, text=True)
        port = ':%d' % live.port
        check(live.url().replace(port, '') in listed.stdout.replace(port, ''),
              'the list of sessions: %s%s', listed.stdout, listed.stderr)
        viewer = live.viewer()      # babeltrace2 requests later packets, and the session has none
        check(live.end_viewer(viewer) == [], 'lines of an ended session')


if __name__ == '__main__':
    main([lttng_live_viewer_prints_the_lines_of_the_stored_trace,
          lttng_live_viewer_loses_no_record_at_rotation_and_clear,
          lttng_live_shows_per_process_buffers_as_separate_traces,
          stopped_lttng_live_viewer_does_not_delay_other_viewers, lttng_live_viewer_can_attach_to_an_ended_session])
