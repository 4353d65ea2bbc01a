# SPDX-License-Identifier: MIT
"""Many programs at once, kept by app_group.c."""
import os
import subprocess
import sys


class AppGroup:
    """N members, from construction to close(). What their tracer needs to know stands in `env`."""

    def __init__(self, b, tracer, n, env=None, in_turn=False):
        self.n = n
        # Programs wait for their daemon as long as it takes: else some would go on without, and the figures would be of
        # the others.
        env = dict(env or os.environ, LTTNG_UST_REGISTER_TIMEOUT='-1', WAYMARK_REGISTER_TIMEOUT='60000')
        self.process = subprocess.Popen(
            [b.program('app_group'),
             b.program('member_' + tracer),
             str(n), 'in-turn' if in_turn else 'at-once'], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, bufsize=1)
        self.begun = self.answer()

    def answer(self):
        words = self.process.stdout.readline().split()
        if not words:
            sys.exit('app_group of %d: it ended with status %s' % (self.n, self.process.wait()))
        return dict(zip(words[::2], map(int, words[1::2])))

    def ask(self, *words):
        self.process.stdin.write(' '.join(map(str, words)) + '\n')
        return self.answer()

    @property
    def all_ready_ms(self):
        """From the first that was started to the last that came to its main()."""
        return (self.begun['ready'] - self.begun['begin']) / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
