# SPDX-License-Identifier: MIT
"""CPU time of `waymark top` on a terminal, at one interval per second."""
import json
import os
import pty
import subprocess
import sys
import threading
import time

import process
import waymark_session
from common import case, clean, show

RATE = 200000
BEGIN_S, MEASURED_S = 2, 6                  # the first seconds are not measured: reading begins
LIMITS = {'idle': 1, '200k': 15}            # % of a CPU


def discard(fd):
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:                         # the terminal was closed
        pass


def run_top(b, rate, limit):
    """One run. rate 0: an active session without records."""
    daemon = waymark_session.Daemon(b.build)
    here, there = pty.openpty()
    try:
        daemon.start('top', b.fresh('trace'), 'bench:*', subbuf_size='1M', num_subbuf=8, statedump=False)
        top = subprocess.Popen([b.waymark, 'top', 'top'], env=dict(daemon.env, TERM='xterm'), stdin=there, stdout=there)
        threading.Thread(target=discard, args=(here,), daemon=True).start()
        total = rate * (BEGIN_S + MEASURED_S + 1)
        program = subprocess.Popen([b.program('work_waymark'), 'paced', str(b.cpus[-1]), str(rate), str(total)],
                                   env=daemon.env, stdout=subprocess.DEVNULL) if rate else None
        time.sleep(BEGIN_S)
        before, began = process.cpu_ns(top.pid), time.monotonic_ns()
        time.sleep(MEASURED_S)
        used, passed = process.cpu_ns(top.pid) - before, time.monotonic_ns() - began
        if program:
            program.wait()
        os.write(here, b'q')
        if top.wait(20):
            sys.exit('waymark top: status %d' % top.returncode)
        counts = json.loads(daemon.command('stop', 'top', '--json'))['sessions'][0]['counts']
        daemon.command('destroy', 'top')
        return {'floor': limit, 'ours': 100 * used / passed, 'records': counts['records'], 'lost': counts['lost']}
    finally:
        daemon.close()
        os.close(there)
        os.close(here)
        clean(b)


def bench_top(b):
    """CPU time of `waymark top`: an idle session, and 200,000 records a second. The floor is the limit."""
    cases = []
    for name, rate in (('idle', 0), ('200k', RATE)):
        cases.append(case('top_' + name, '% of a CPU', [
            run_top(b, rate, LIMITS[name]) for _ in range(min(b.runs, 5))]))
        show(cases[-1])
    return cases
