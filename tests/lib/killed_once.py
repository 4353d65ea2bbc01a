# SPDX-License-Identifier: MIT
"""Kill the first daemon of a kind at a test point, and not the daemons that replace it."""
import contextlib
import os

from control import SESSIOND
from harness import FEATURES, Skip, slurp

CONSUMERD = os.path.join(os.path.dirname(SESSIOND), 'waymark-consumerd')
# A shell command that succeeds for the process to kill.
SELECTS = {'session': ('true', 'false'), 'consumer': ('false', 'true'),
           'kernel consumer': ('false', 'case " $* " in *" --kernel "*) true;; *) false;; esac')}


def need_testpoints():
    if 'testpoints' not in FEATURES:
        raise Skip('needs a build with -Dtestpoints=true')


class KilledOnce:
    """
    Prepare the daemons of a World (daemon=False). `daemon` is a key of SELECTS. The process is killed at `point`, after
    it has passed it `after` times. `consumerd`: a consumer daemon with a planted bug, which also replaces the killed
    one.
    """

    def __init__(self, world, daemon, point, after=0, consumerd=CONSUMERD):
        self.world, self.first = world, os.path.join(world.home, 'first')
        self.row = '%s daemon killed at %s, %d passages before' % (daemon, point, after)
        arm = 'WMK_TESTPOINT=%s=kill:%d' % (point, after)
        session, consumer = SELECTS[daemon]
        consumerd = self.script('consumerd', consumerd, consumer, arm)
        world.env['WAYMARK_SESSIOND'] = self.script('sessiond-once', SESSIOND, session, arm,
                                                    '--consumerd %s' % consumerd)

    def script(self, name, program, selects, arm, more=''):
        path = os.path.join(self.world.home, name)
        with open(path, 'w') as f:
            f.write('#!/bin/sh\nunset WMK_TESTPOINT\n'
                    'if %s && [ ! -e %s ]; then echo $$ > %s; export %s; fi\n'
                    'exec %s "$@" %s 2>>%s\n' % (selects, self.first, self.first, arm, program, more, self.world.log))
        os.chmod(path, 0o755)
        return path

    def is_killed(self):
        with contextlib.suppress(OSError, ValueError):
            return int(slurp(self.first)) not in self.world.daemons()
        return False

    def wait(self):
        self.world.wait(self.is_killed, self.row)
