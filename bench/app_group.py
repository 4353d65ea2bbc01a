# SPDX-License-Identifier: MIT
"""Many applications at once, started by app_group.c."""
import os
import subprocess
import sys


class AppGroup:
    """N members, from construction to close(). `env`: the environment of their tracer."""

    def __init__(self, b, tracer, n, env=None, in_turn=False):
        self.n = n
        # Applications wait for their daemon without a limit: otherwise some would continue without it, and the figures
        # would be those of the others only.
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
            sys.exit('app_group of %d members: exit status %s' % (self.n, self.process.wait()))
        return dict(zip(words[::2], map(int, words[1::2])))

    def ask(self, *words):
        self.process.stdin.write(' '.join(map(str, words)) + '\n')
        return self.answer()

    @property
    def all_ready_ms(self):
        """From the start of the first member to main() of the last one."""
        return (self.begun['ready'] - self.begun['begin']) / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
