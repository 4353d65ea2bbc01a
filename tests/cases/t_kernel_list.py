#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark list --kernel`: its events equal those in tracefs, read here by other code. Permissions, and marks of enabled
events.
"""
import fnmatch
import functools
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from groups import tracing_group  # noqa: E402
from harness import PROGRAMS, Skip, check, main, slurp  # noqa: E402
from hostile import ALICE, BOB  # noqa: E402
from t_daemon_users import command, names, open_to_all, world_of_root  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TRACEFS = '/sys/kernel/tracing'


def need_tracefs():
    if os.geteuid():
        raise Skip('needs root')
    if not os.access(TRACEFS + '/instances', os.W_OK):
        raise Skip('%s cannot be used' % TRACEFS)


# ── tracefs, read by other code ─────────────────────────────────────────────────────────────────────────────

@functools.lru_cache(maxsize=None)
def table():
    """Rows of event_names.c: (subsystem, the kernel's name, name in traces, words about fields)."""
    text = slurp(os.path.join(HERE, '..', '..', 'src', 'kernel', 'event', 'event_names.c'))
    text = re.sub(r'"\s*\n\s*"', '', text[text.index('rows[]'):])
    rows = re.findall(r'\{ "([^"]*)", "([^"]*)", (?:"([^"]*)"|NULL),\s+"([^"]*)" \}', text)
    check(len(rows) > 40, 'only %d rows in event_names.c', len(rows))
    return rows


def row_of(system, kernel):
    for s, k, name, words in table():
        stars = re.fullmatch(re.escape(k).replace(r'\*', '(.*)'), kernel)
        if fnmatch.fnmatchcase(system, s) and stars:
            return (name.replace('*', stars[1]) if name and stars.groups() else name) or kernel, words.split()
    return kernel, []


def is_probe(system):
    """A probe of a session, or of another test on this machine."""
    return system.startswith(('waymark_', 'wmkt', 'uprobes', 'kprobes', 'eprobes', 'synthetic'))


def there():
    """{(subsystem, the kernel's name)} of all events that can be enabled."""
    found = set()
    for system in os.listdir(TRACEFS + '/events'):
        if os.path.isdir(os.path.join(TRACEFS, 'events', system)) and not is_probe(system):
            for name in os.listdir(os.path.join(TRACEFS, 'events', system)):
                if os.path.exists(os.path.join(TRACEFS, 'events', system, name, 'enable')):
                    found.add((system, name))
    return found


def as_listed(system, kernel):
    """The entry expected in the list: (provider, name, file)."""
    if system == 'syscalls':
        call = re.sub(r'^sys_(enter|exit)_', '', kernel)
        return 'syscall', call, 'events/syscalls/sys_enter_' + call
    return system, row_of(system, kernel)[0], 'events/%s/%s' % (system, kernel)


def fields_there(system, kernel):
    """Names of the fields in traces, by the format file."""
    text = slurp('%s/events/%s/%s/format' % (TRACEFS, system, kernel)).split('print fmt')[0]
    fields = [m[1] for m in re.finditer(r'field:[^;]*?(\w+)(?:\[[^\]]*\])*;', text) if not m[1].startswith('common_')]
    words = row_of(system, kernel)[1]
    renamed = dict(re.fullmatch(r'(\w+)=(\w+).*', w).groups() for w in words if '=' in w)
    dropped = {w[:-1] for w in words if w.endswith('!')}
    added = {'processes': ['parent_process', 'child_process']}
    more = [f for w in words if w.startswith('+') for f in added.get(w[1:], [w[1:]])]
    return [renamed.get(f, f) for f in fields + more if f not in dropped]


def key(event):
    return event['provider'], event['name'], event['file']


# ── cases ───────────────────────────────────────────────────────────────────────────────────────────────────

def listed_kernel_events_equal_those_of_tracefs(case):
    need_tracefs()
    with World(case) as w:
        before = there()
        listed = w('list', '-k', '--json').json['events']
        after = there()
        keys = {key(e) for e in listed}
        check(len(keys) == len(listed), '%d events are listed, %d of them different', len(listed), len(keys))
        # (a module may be loaded or unloaded meanwhile)
        lacking = {as_listed(*e) for e in before & after} - keys
        more = {k for k in keys - {as_listed(*e) for e in before | after} if not is_probe(k[0])}
        check(not lacking and not more, 'not listed: %s; listed, but not in tracefs: %s',
              sorted(lacking)[:20],
              sorted(more)[:20])
        check(len(listed) > 200, 'only %d events', len(listed))
        order = [('syscall_entry_' if e['provider'] == 'syscall' else '') + e['name'] for e in listed]
        check(order == sorted(order), 'the events are not sorted')
        said = w('list', '-k').out
        for event in listed[:: max(1, len(listed) // 50)]:
            line = 'syscall:%s' % event['name'] if event['provider'] == 'syscall' else '%s +%s:%s' % (
                event['name'], event['provider'], event['file'].split('/')[-1])
            check(re.search(r'^  %s\b' % line, said, re.M), 'no line for %s', line)


def listed_kernel_fields_equal_the_format_files(case):
    need_tracefs()
    with World(case) as w:
        checked = 0
        for event in w('list', '-k', '--fields', '--json').json['events']:
            system, kernel = event['file'].split('/')[1:]
            try:
                wanted = fields_there(system, kernel)
                if event['provider'] == 'syscall':
                    wanted += fields_there(system, kernel.replace('sys_enter_', 'sys_exit_'))
            except OSError:
                continue                 # removed meanwhile
            got = [f['name'] for f in event['fields']]
            check(sorted(got) == sorted(wanted), '%s:%s has %s, its format %s', system, kernel, got, wanted)
            check(all(f['type'] and f['type'] != 'structure' for f in event['fields']), '%s:%s: %s', system, kernel,
                  event['fields'])
            checked += len(got)
        check(checked > 1000, 'only %d fields', checked)
        switch = w('list', '-k', '-f', 'sched_switch', '--json').json['events'][0]['fields']
        kinds = {f['name']: f['type'] for f in switch}
        check(kinds['prev_comm'] == 'char[16]' and kinds['prev_tid'] == 's32', 'sched_switch: %s', kinds)
        w('list', '-k', '-f', 'sched_switch').prints('prev_comm   char[16]')


def patterns_select_listed_kernel_events(case):
    need_tracefs()
    with World(case) as w:
        all_of_them = w('list', '-k', '--json').json['events']

        def listed(*patterns):
            return sorted(key(e) for e in w('list', '-k', '--json', *patterns).json['events'])

        def those(wanted):
            found = sorted(key(e) for e in all_of_them if wanted(e))
            check(found, 'nothing to compare with')
            return found
        for patterns, wanted in ((['sched:*'], lambda e: e['provider'] == 'sched'),
                                 (['sched_wak*'], lambda e: e['name'].startswith('sched_wak')),
                                 (['softirq_entry'], lambda e: e['name'] == 'irq_softirq_entry'),
                                 (['irq_softirq_e*'], lambda e: e['name'].startswith('irq_softirq_e')), ([
                                     'syscall:open*'
                                 ], lambda e: e['provider'] == 'syscall' and e['name'].startswith('open')),
                                 (['sys_exit_openat'], lambda e: e['provider'] == 'syscall' and e['name'] == 'openat'),
                                 (['sched_switch,syscall:close',
                                   'irq:*'], lambda e: e['name'] == 'sched_switch' or e['provider'] == 'irq' or
                                  (e['provider'], e['name']) == ('syscall', 'close'))):
            check(listed(*patterns) == those(wanted), '%s: %s', patterns, listed(*patterns))
        w('list', '-k', 'shed_switch', status=1).prints('sched_switch')
        w('list', '-k', 'sched_switch', 'syscall:opnat', status=1).prints('openat')


def list_marks_kernel_events_that_are_being_recorded(case):
    need_tracefs()
    with World(case) as w:
        def marked():
            return sorted(e['name'] for e in w('list', '-k', '--json').json['events'] if e['enabled'])
        for verb in (['create', 'one'], ['enable-event', '-k', 'sched_switch', 'syscall_exit_openat']):
            w(*verb)
        check(marked() == [], 'before recording: %s', marked())
        w('start')
        check(marked() == ['openat', 'sched_switch'], 'during recording: %s', marked())
        check(re.search(r'^  sched_switch .* enabled$',
                        w('list', '-k', 'sched_switch').out, re.M), 'the line of sched_switch is not marked')
        w('disable-event', '-k', 'sched_switch')
        check(marked() == ['openat'], 'with one rule disabled: %s', marked())
        w('stop')
        check(marked() == [], 'after recording: %s', marked())
        w('destroy', 'one')


def missing_kernel_features_are_reported(case):
    """The list names each missing feature; the instance that was used to test for them is removed."""
    need_tracefs()
    with World(case) as w:
        answer = w('list', '-k', '--json').json
        lacks = ' '.join(answer['lacks'])
        for name, file in (('CONFIG_KPROBE_EVENTS', 'kprobe_events'), ('CONFIG_UPROBE_EVENTS', 'uprobe_events'),
                           ('CONFIG_FTRACE_SYSCALLS', 'events/syscalls')):
            check((name in lacks) == (not os.path.exists(os.path.join(TRACEFS, file))), '%s: %s', file, answer['lacks'])
        # The clock of user events: the processor's counter if the kernel uses it.
        source, cpu = (slurp(file) for file in ('/sys/devices/system/clocksource/clocksource0/current_clocksource',
                                                '/proc/cpuinfo'))
        is_counter = source.strip() == 'tsc' and {'constant_tsc', 'nonstop_tsc'} <= set(cpu.split())
        check(answer['clock'] == ('x86-tsc' if is_counter else 'mono'), 'clock %s', answer['clock'])
        said = w('list', '-k', 'sched_switch').out
        for sentence in answer['lacks'] or ['This kernel has all features']:
            check(sentence in said, '"%s" is not in the text output %s', sentence, said)
        place = os.stat(w.rundir)
        ours = 'waymark-d%x.%d-' % (place.st_dev, place.st_ino)
        left = [i for i in os.listdir(TRACEFS + '/instances') if i.startswith(ours)]
        check(not left, 'left: %s', left)


def list_prints_names_for_shell_completion(case):
    need_tracefs()
    with World(case) as w:
        program = w.scripted()
        typed = w('list', '--names', 'events', '-k').out.split()
        wanted = [('syscall:' if e['provider'] == 'syscall' else '') + e['name']
                  for e in w('list', '-k', '--json').json['events']]
        check(typed == wanted, 'names: %s', sorted(set(typed) ^ set(wanted))[:20])
        both, programs = (w('list', '--names', 'events', *domain).out.split() for domain in ([], ['-u']))
        check('test:seq' in programs and 'sched_switch' not in programs, 'user events: %s', programs)
        check(both == programs + typed, 'events of both domains: %s', sorted(set(both) ^ set(programs + typed))[:20])
        program.end()


def kernel_list_of_unprivileged_user_is_refused(case):
    """A user's own daemon names the remedy. Completion lists the events of the user's applications without an error."""
    need_tracefs()
    with open_to_all(case), World(case, 'hers', user=ALICE) as w:
        w('list', '-k', status=1).prints('needs root', 'tracing')
        w('list', '--names', 'events', '-k', status=1).prints('needs root')
        check(w('list', '--names', 'events').err == '', 'completion printed: %s', w('list', '--names', 'events').err)


def group_members_list_kernel_events(case):
    """Root's daemon lists the same events to members, and marks those of their own sessions."""
    need_tracefs()
    member = {'groups': [tracing_group()]}
    with world_of_root(case) as w:
        def marked(answer):
            return sorted(e['name'] for e in answer.json['events'] if e['enabled'])
        everything = w('list', '-k', '--json').json
        hers = command(w, ALICE, 'list', '-k', '--json', **member)
        check({key(e) for e in hers.json['events']} == {key(e) for e in everything['events']},
              'the member sees other events')
        check(hers.json['lacks'] == everything['lacks'] and hers.json['clock'] == everything['clock'],
              'the member sees other missing features: %s', hers.json['lacks'])
        for verb in (['create', 'alices'], ['enable-event', '-k', '-s', 'alices', 'sched_switch'], ['start', 'alices']):
            command(w, ALICE, *verb, **member)
        check(
            marked(command(w, ALICE, 'list', '-k', '--json', **member)) == ['sched_switch'],
            'the member\'s own events are not marked')
        check(marked(command(w, BOB, 'list', '-k', '--json', **member)) == [], 'events of another member are marked')
        check(marked(w('list', '-k', '--json')) == ['sched_switch'], 'the member\'s events are not marked for root')
        command(w, BOB, 'list', '-k', status=1).prints('permission|may not|refuse|tracing')
        check(names(command(w, BOB, 'list', '--json', **member)) == [], 'another member sees sessions')
        command(w, ALICE, 'destroy', 'alices', **member)


def group_members_can_probe_only_files_they_can_read(case):
    """
    A program file is read with the client's permissions: a file that the client cannot read is neither listed nor
    recorded.
    """
    need_tracefs()
    if not os.path.exists(os.path.join(TRACEFS, 'uprobe_events')):
        raise Skip('this kernel has no uprobes')
    member = {'groups': [tracing_group()]}
    with world_of_root(case) as w:
        probe = ['enable-event', '-k', '-s', 'alices', '-c', 'kernel', '--userspace-probe']
        for name, mode in ('hers', 0o755), ('roots', 0o700):
            shutil.copy(os.path.join(PROGRAMS, 'calls'), os.path.join(w.place, name))
            os.chmod(os.path.join(w.place, name), mode)
        for verb in (['create', 'alices', '--no-statedump'], ['enable-channel', '-k', '-s', 'alices', 'kernel']):
            command(w, ALICE, *verb, **member)
        command(w, ALICE, *probe,
                os.path.join(w.place, 'roots') + ':no_such_symbol', 'x', status=1, **member).prints('permission denied')
        command(w, ALICE, *probe,
                os.path.join(w.place, 'roots') + ':main', 'x', status=1, **member).prints('permission denied')
        # root, for a session of ALICE
        w(*probe, os.path.join(w.place, 'roots') + ':main', 'x', status=1).prints('permission denied')
        command(w, ALICE, *probe, os.path.join(w.place, 'hers') + ':main', 'x', **member)
        command(w, ALICE, 'start', 'alices', **member)
        w.wait_end(w.run([os.path.join(w.place, 'hers'), '1']))
        session = command(w, ALICE, 'stop', 'alices', '--json', **member).json['sessions'][0]
        check(session['counts']['records'] == 1, 'recorded: %s', session['counts'])
        command(w, ALICE, 'destroy', 'alices', **member)


def equally_named_kernel_sessions_of_two_users_are_independent(case):
    """Root's session and a member's, with channels of one name: each records, and neither ends with the other."""
    need_tracefs()
    member = {'groups': [tracing_group()]}
    begin = (['create', 'same', '--no-statedump'], ['enable-event', '-k', '-s', 'same',
                                                    'sched_switch'], ['start', 'same'])
    with world_of_root(case) as w:
        def recorded(answer):
            (session,) = answer.json['sessions']
            check(session['counts']['lost'] == 0, 'lost: %s', session['counts'])
            return session['counts']['records']
        for verb in begin:
            w(*verb)
        for verb in begin:
            command(w, ALICE, *verb, **member)
        w('clear', 'same')
        check(
            recorded(command(w, ALICE, 'stop', 'same', '--json', **member)) > 0, 'the member\'s session has no records')
        command(w, ALICE, 'destroy', 'same', **member)
        check(recorded(w('stop', 'same', '--json')) > 0, 'root\'s session has no records after clear')
        w('destroy', 'same')


def invalid_list_arguments_are_refused(case):
    with World(case) as w:
        for argv, words in ((['-k', '-u'], 'give one domain'), (['-k', '-s', 'one'], 'give no session or channel'),
                            (['-k', '--pid', '1'], 'needs --userspace'), (['-k', 'a,,b'], 'empty word')):
            w('list', *argv, status=2).prints(words)


if __name__ == '__main__':
    main([
        listed_kernel_events_equal_those_of_tracefs, listed_kernel_fields_equal_the_format_files,
        patterns_select_listed_kernel_events, list_marks_kernel_events_that_are_being_recorded,
        missing_kernel_features_are_reported, list_prints_names_for_shell_completion,
        kernel_list_of_unprivileged_user_is_refused, group_members_list_kernel_events,
        group_members_can_probe_only_files_they_can_read, equally_named_kernel_sessions_of_two_users_are_independent,
        invalid_list_arguments_are_refused
    ])
