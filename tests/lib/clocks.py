# SPDX-License-Identifier: MIT
"""The clocks that sessions can use on this machine."""
import os

from harness import slurp

SOURCE = '/sys/devices/system/clocksource/clocksource0/current_clocksource'
# For each clock: its name in the metadata and its name in tracefs.
NAMES = {'counter': ({'x86_64': 'tsc'}.get(os.uname().machine, 'cntvct'), 'x86-tsc'),
         'monotonic': ('monotonic', 'mono')}


def has_counter():
    return os.path.exists(SOURCE) and slurp(SOURCE).strip() in ('tsc', 'arch_sys_counter')


def available():
    return ['counter', 'monotonic'] if has_counter() else ['monotonic']


def available_to_the_kernel():
    """The clocks that tracefs offers too."""
    return ['counter', 'monotonic'] if has_counter() and os.uname().machine == 'x86_64' else ['monotonic']
