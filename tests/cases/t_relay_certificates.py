#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`waymark relay` makes, lists and revokes certificates; keys are private and never printed."""
import os
import stat
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from control import Control  # noqa: E402
from harness import check, main  # noqa: E402


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def certificates_are_made_listed_and_revoked(case):
    place = case.path('relay')
    w = Control(case)
    w.env['WAYMARK_RELAY_DIR'] = place
    w('relay', 'status', status=1).prints('`waymark relay init` makes it')
    w('relay', 'enroll', 'web1', status=1).prints('`waymark relay init` makes it')
    w('relay', 'init', 'relay.example', '192.0.2.1').prints('enroll HOST')
    w('relay', 'init', status=1).prints('has certificates already', 'begin again')
    check(mode(place) == 0o700, 'mode of the directory: %o', mode(place))
    w('relay', 'status').prints('No peer has a certificate')
    pem = case.path('web1.pem')
    w('relay', 'enroll', 'web1', pem).prints('Move the file')
    w('relay', 'enroll', 'ann', '--viewer', '--days=2', case.path('ann.pem'))
    w('relay', 'enroll', 'web1', case.path('again.pem'), status=1).prints('revoke it first')
    for path in (pem, os.path.join(place, 'ca.key'), os.path.join(place, 'server.key')):
        check(mode(path) == 0o600, '%s has mode %o', path, mode(path))
    peers = w('relay', 'status', '--json').json['peers']
    check([(p['name'], p['role']) for p in peers] == [('ann', 'viewer'), ('web1', 'sender')], '%s', peers)
    left = peers[0]['not_after'] - time.time()
    check(86400 < left <= 2 * 86400 + 1, 'seconds left: %s', left)
    check(w('relay', 'revoke', 'web1', '--json').json == {'revoked': 'web1'}, 'revoked')
    w('relay', 'revoke', 'web1', status=1).prints('has no certificate')
    text = w('relay', 'status').prints('ann', 'viewer').out
    check('web1' not in text, 'a revoked certificate is listed')
    w('relay', 'enroll', 'web1', case.path('again.pem'))


def invalid_usage_of_the_relay_command_is_refused(case):
    w = Control(case)
    w.env['WAYMARK_RELAY_DIR'] = case.path('relay')
    w('relay', status=2).prints('no action given')
    w('relay', 'enrol', status=2).prints('the actions are')
    w('relay', 'enroll', status=2).prints('no name given')
    w('relay', 'revoke', 'a', 'b', status=2).prints('at most 1')
    w('relay', 'init', '--days=3', status=2).prints('options of enroll only')
    w('relay', 'init', 'a,b', status=1).prints('the certificate of the relay cannot contain these names')
    w('relay', 'init')
    for name in ('..', 'a/b', '.a', '-', 'x' * 64):
        w('relay', 'enroll', '--', name, status=1).prints('cannot be the name of a peer')


if __name__ == '__main__':
    main([certificates_are_made_listed_and_revoked, invalid_usage_of_the_relay_command_is_refused])
