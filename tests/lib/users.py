# SPDX-License-Identifier: MIT
"""Where a case has programs and daemons of other users. Needs root, which can be anybody."""
import contextlib
import os
import tempfile

from harness import need_other_users
from hostile import ALICE, BOB
from traces import Board


@contextlib.contextmanager
def open_to_all(case):
    """The case's directory and board where other users may go."""
    need_other_users()
    kept, kept_board, kept_env = case.directory, case.board, dict(case.env)
    with tempfile.TemporaryDirectory(prefix='wmk-users-', dir='/tmp') as directory:
        os.chmod(directory, 0o755)
        case.directory = directory
        case.board = Board(case.path('board'))
        os.chmod(case.board.path, 0o666)
        case.env['WMK_TEST_BOARD'] = case.board.path
        for who, name in ((ALICE, 'alice'), (BOB, 'bob')):
            os.mkdir(case.path(name), 0o700)
            os.chown(case.path(name), *who)
        try:
            yield
        finally:
            case.directory, case.board, case.env = kept, kept_board, kept_env
