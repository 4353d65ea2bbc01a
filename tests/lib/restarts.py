# SPDX-License-Identifier: MIT
"""
Counts across restarts: after the end of a daemon, every command reports the counts that it would have reported without
it.
"""
import os
import signal

from harness import check

DAEMONS = (('session daemon', signal.SIGTERM), ('session daemon', signal.SIGKILL), ('consumer daemon', signal.SIGKILL))
COMMANDS = ('list', 'stop', 'destroy')
# (bytes are not compared: a packet may end elsewhere)
COUNTS = ('records', 'lost', 'lost_full', 'lost_memory', 'lost_size', 'lost_retry', 'overwritten', 'unwritten', 'cut',
          'gaps')

MORE = 20


def sessions_of(daemons=DAEMONS):
    """The names of the sessions, one for each way in which a daemon ends."""
    return ['s%d' % n for n in range(len(daemons))]


def counted(session):
    """The counts of the session and of its channels."""
    return [{c: part['counts'][c] for c in COUNTS} for part in [session, *session['channels']]]


def reported(w, command, name):
    """The session as the command reports it."""
    return w(command, name, '--json').json['sessions'][0]


def end(w, daemon, sig, consumer):
    pid = w.sessiond() if daemon == 'session daemon' else consumer()
    os.kill(pid, sig)
    if daemon == 'session daemon':
        w.wait(lambda: w.sessiond() != pid, 'the session daemon to end')


def check_restarts(w, consumer, daemons=DAEMONS, program=None, gaps=False):
    """
    Requires that all records of the sessions are written. For each way in which a daemon ends and for each command: end
    the daemon, then run the command on the session and compare the counts. `consumer`: returns the process that drains
    the rings. `program` makes a few more records, which `list` need not count yet. `gaps`: the end of a consumer daemon
    loses unwritten records, and the command reports gaps.
    """
    before = [counted(w.session(name)) for name in sessions_of(daemons)]
    added, wrong = MORE if program else 0, []
    if program:
        program('emit %d' % added)
    for (daemon, sig), name, expected in zip(daemons, sessions_of(daemons), before):
        for command in COMMANDS:
            end(w, daemon, sig, consumer)
            now = counted(reported(w, command, name))
            more = now[0]['records'] - expected[0]['records']
            for part in now:
                part['records'] -= more
                part['gaps'] *= not gaps
            if now != expected or not (0 if command == 'list' else added) <= more <= added:
                wrong.append('%s, signal %d, %s: %d more, %s, not %s' % (daemon, sig, command, more, now, expected))
    check(not wrong, '%d reports have wrong counts: %s', len(wrong), '\n'.join(wrong[:2]))
    return before
