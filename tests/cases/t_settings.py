#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Settings of a session are chosen by `create`, shown by `list`, and kept by save, load and restarts of the session
daemon.
"""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import check, limit, main, slurp  # noqa: E402

TEXT = 'what "it" is for: \u00e4\\n'
CHOSEN = {'max_size': 1 << 30, 'trace_format': 'ctf-2', 'clock': 'monotonic', 'no_statedump': True, 'description': TEXT}


def metadata(directory):
    return [slurp(os.path.join(at, 'metadata')) for at, _, names in os.walk(directory) if 'metadata' in names]


def check_chosen(w, name, when):
    found = {key: w.session(name)[key] for key in CHOSEN}
    check(found == CHOSEN, '%s: %s', when, found)


@limit(120)
def settings_of_a_session_are_listed_saved_and_restored(case):
    with World(case) as w:
        w('create', 'one', '--max-size=1G', '--trace-format=ctf-2', '--clock=monotonic', '--no-statedump',
          '--description', TEXT)
        w('enable-event', '-s', 'one', 'test:*')
        check_chosen(w, 'one', 'created')
        check('description: ' + TEXT in w('list', 'one').out, 'list: %s', w('list', 'one').out)
        w('save', 'one')
        w('destroy', 'one')
        w('load', 'one')
        check_chosen(w, 'one', 'loaded')
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the session daemon to be gone')
        w('list')
        check_chosen(w, 'one', 'after a crash of the session daemon')
        w('destroy', 'one')


@limit(120)
def session_description_is_stored_in_the_trace(case):
    with World(case) as w:
        for name, version in ('old', 'ctf-1.8'), ('new', 'ctf-2'):
            w('create', name, '--trace-format', version, '--description', TEXT)
            w('enable-event', '-s', name, 'test:*')
            w('start', name)
        w('create', 'none')
        w('enable-event', '-s', 'none', 'test:*')
        w('start', 'none')
        program = w.scripted()
        w.wait_apps([program.pid])
        program('emit 1')
        program.end()
        texts = {}
        for name in 'old', 'new', 'none':
            path = w.stop(name)['path']
            w('destroy', name)
            texts[name] = metadata(path)
            check(texts[name], 'no metadata of session %s', name)
        for text in texts['old']:
            check('\tdescription = "what \\"it\\" is for: \u00e4\\\\n";' in text, 'metadata: %s', text[:1500])
        for text in texts['new']:
            check('"description":%s' % json.dumps(TEXT, ensure_ascii=False) in text.replace('": ', '":'),
                  'metadata: %s', text[:1500])
        for text in texts['none']:
            check('description' not in text[:text.index('clock {')], 'metadata: %s', text[:1500])


def invalid_session_description_is_refused(case):
    with World(case) as w:
        w('create', 'x', '--description', 'a\nb', status=1).prints('description: it contains a control character')
        w('create', 'x', '--description', '\udcff', status=1).prints('invalid description: not UTF-8')
        w('create', 'x', '--description', 'a' * 1025, status=1).prints('description', '1025', '1024')
        w('create', 'x', '--description', 'a' * 1024)
        w('destroy', 'x')


if __name__ == '__main__':
    main([settings_of_a_session_are_listed_saved_and_restored, session_description_is_stored_in_the_trace,
          invalid_session_description_is_refused])
