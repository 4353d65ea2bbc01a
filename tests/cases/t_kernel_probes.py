#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`enable-event -k --userspace-probe` at functions and SDT probes of a program that prints the expected records. With
filters, disabled and enabled, in several sessions, after a daemon's crash, saved and loaded. (t_kernel_machine.py tests
probes in kernel functions, because its kernel has them.)
"""
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import Skip, check, communicated  # noqa: E402
from kernel import TRACING, KernelWorld, kernel_main, number, text  # noqa: E402

BUILT = os.path.join(os.environ.get('WMK_BUILD', '.'), 'src', 'kernel', 't')
LIBRARY = os.path.join(BUILT, 'libprobed.so')
PROGRAM = os.path.join(BUILT, 'probed-o2')
ORDER = 'sdt:%s:wmkt:order(arg1, who=arg2:string, arg3, arg4, arg5, arg6, arg7, arg8)' % PROGRAM
CHECKOUT = '%s:probed_checkout(who=$arg2:string, amount=$arg3:u64)' % PROGRAM
ROUNDS = 7


class ProbesWorld(KernelWorld):
    def __init__(self, case):
        super().__init__(case)
        for path in (LIBRARY, PROGRAM):
            if not os.path.exists(path):
                raise Skip('the probed program was not built: %s' % path)
        if not os.path.exists(TRACING + '/uprobe_events'):
            raise Skip('this kernel has no uprobes')

    def probe(self, session, name, place, *more, status=0, of='userspace-probe'):
        return self('enable-event', '-k', '-s', session, '-c', 'kernel', '--' + of, place, name, *more, status=status)

    def begun(self, *sessions):
        for session in sessions:
            self('create', session, '--no-statedump')
            self('enable-channel', '-k', '-s', session, 'kernel')
            self('add-context', '-k', '-s', session, '-c', 'kernel', '-t', 'pid', '-t', 'procname')

    def probed(self, program=PROGRAM, turns=ROUNDS):
        """The records that the program prints: [(event, {field: value})]; a value is a number or a text."""
        child = self.run([program, str(turns)], stdout=subprocess.PIPE, text=True)
        said = communicated(child)[0]
        self.wait_end(child)
        return [(line.split(' ', 1)[0], dict(re.findall(r'(\w+)=("[^"]*"|\{[^}]*\}|\S+)', line)))
                for line in said.splitlines()]

    def left(self):
        with open(TRACING + '/dynamic_events') as f:
            return [line for line in f if PROGRAM in line or LIBRARY in line]

    def close(self):
        super().close()
        check(not self.left(), 'probes remain in the kernel: %s', self.left())


def recorded(trace, name, fields):
    """The trace's records in the form that the program prints."""
    found = []
    for r in trace.named(name):
        one = {}
        for field in fields:
            is_text = re.search(r'\b%s = "' % field, r.fields)
            one[field] = '"%s"' % text(r.fields, field) if is_text else str(number(r.fields, field))
        found.append((name, one))
    return found


def all_there(trace, printed, *names):
    """The records of these names equal those that the program printed, in its order."""
    for name in names:
        made = [p for p in printed if p[0] == name]
        check(made, 'the program printed no %s', name)
        found = recorded(trace, name, made[0][1])
        check(found == made, '%s: recorded\n%s\nexpected\n%s', name, found, made)


def function_probes_record_arguments_and_results(case):
    """
    At a function's entry with arguments, and at its return with the result; in a program of each build, and in a
    library.
    """
    with ProbesWorld(case) as w:
        for build in ('o0', 'o0-nopie', 'o2', 'o2-nopie'):
            program = os.path.join(BUILT, 'probed-' + build)
            w.begun(build)
            w.probe(build, 'checkout', CHECKOUT.replace(PROGRAM, program))
            w.probe(build, 'checkout_return', '%s:probed_checkout($retval:s32)' % program, of='userspace-probe-return')
            w.probe(build, 'library', 'elf:%s:probed_library(amount=$arg1:s64, who=$arg2:string)' % LIBRARY)
            w('start', build)
            printed = w.probed(program)
            trace = w.destroyed(build)
            all_there(trace, printed, 'checkout', 'checkout_return', 'library')
            check(len(trace.records) == 3 * ROUNDS, '%s: %d records', build, len(trace.records))
            check({text(r.context, 'procname') for r in trace.records} == {'probed-' + build},
                  '%s: records of other programs: %s', build, trace.records[:3])
            entries = [r for r in trace.records if r.name.startswith('checkout')]
            check([r.name for r in entries] == ['checkout', 'checkout_return'] * ROUNDS, '%s: the order is %s', build,
                  [r.name for r in entries])


def sdt_probes_record_all_arguments(case):
    """All arguments; two places of one probe; two argument types of one name; a probe with a semaphore."""
    with ProbesWorld(case) as w:
        check('guarded' not in dict(w.probed()), 'the semaphore is set before the recording')
        w.begun('one')
        w.probe('one', 'order', ORDER)
        w.probe('one', 'odd', 'sdt:%s:wmkt:odd' % PROGRAM)
        w.probe('one', 'guarded', 'sdt:%s:wmkt:guarded' % PROGRAM)
        w('start', 'one')
        printed = w.probed()
        trace = w.destroyed('one')
        all_there(trace, printed, 'order', 'odd', 'odd_2', 'guarded')
        check(len(trace.records) == 5 * ROUNDS, 'the trace has %d records', len(trace.records))
        check('guarded' not in dict(w.probed()), 'the semaphore is still set after the session')


def filters_of_probes_select_records(case):
    """One rule; two rules for one place, which record what either selects; by fields, texts and contexts."""
    wanted = {
        'number': (['arg1 >= 3 && arg1 < 1000'], lambda f: 3 <= int(f['arg1']) < 1000),
        'text': (['who == "Ada"'], lambda f: f['who'] == '"Ada"'),
        'pattern': (['who == "Gr*" && arg5 < -3'], lambda f: f['who'].startswith('"Gr') and int(f['arg5']) < -3),
        'both': (['arg1 == 2', 'arg1 == 1004 || $ctx.procname == "nobody"'], lambda f: f['arg1'] in ('2', '1004')),
        'context': (['$ctx.procname == "probed*" && arg8 == 121'], lambda f: f['arg8'] == '121'),
        'nothing': (['arg1 == 5 && $ctx.procname == "nobody"'], lambda f: False),
    }
    with ProbesWorld(case) as w:
        w.begun(*wanted)
        for session, (texts, _) in wanted.items():
            for filter in texts:
                w.probe(session, 'order', ORDER, '--filter', filter)
            w('start', session)
        printed = [p for p in w.probed() if p[0] == 'order']
        for session, (texts, wants) in wanted.items():
            trace = w.destroyed(session)
            made = [p for p in printed if wants(p[1])]
            check(session == 'nothing' or 0 < len(made) < len(printed), '%s: the filter selects all or no records',
                  session)
            found = recorded(trace, 'order', printed[0][1])
            check(found == made, '%s: recorded\n%s\nexpected\n%s', texts, found, made)


def invalid_probe_filters_are_refused(case):
    """An invalid filter is refused by the command, and no rule remains."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 == 1 && whom == "Ada"', status=1).prints('whom', 'near is who')
        w.probe('one', 'order', ORDER, '--filter', 'who == 3', status=1).prints('who')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 ==', status=1).prints('column')
        w.probe('one', 'order', ORDER, '--filter', '$ctx.procnam == "x"', status=1).prints('procname')
        w.probe('one', 'order', ORDER, '--filter', '$ctx.prio > 3', status=1).prints('does not record this context')
        check(not w.left(), 'probes of refused rules remain: %s', w.left())
        (channel,) = w.session('one')['channels']
        check(not any(r['enabled'] for r in channel['rules']), 'rules remain: %s', channel['rules'])


def disabled_probe_is_not_recorded(case):
    """A probe is disabled, and a filter is added during recording."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 < 2')
        w('start', 'one')
        first = w.probed()
        w('disable-event', '-k', '-s', 'one', '-c', 'kernel', 'order')
        w.probed()
        w.probe('one', 'order', ORDER, '--filter', 'arg1 < 2')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 == 1005')
        second = w.probed()
        w('stop', 'one')
        w.probed()
        trace = w.destroyed('one')
        made = [p for p in first if p[0] == 'order' and int(p[1]['arg1']) < 2]
        made += [p for p in second if p[0] == 'order' and (int(p[1]['arg1']) < 2 or p[1]['arg1'] == '1005')]
        found = recorded(trace, 'order', made[0][1])
        check(found == made, 'recorded\n%s\nexpected\n%s', found, made)


def probes_of_one_session_remain_when_another_is_destroyed(case):
    """Each session has its own probe and removes only that one."""
    with ProbesWorld(case) as w:
        w.begun('one', 'two')
        w.probe('one', 'order', ORDER)
        w.probe('two', 'order', CHECKOUT)
        w('start', 'one')
        w('start', 'two')
        first = w.probed()
        trace = w.destroyed('one')
        all_there(trace, first, 'order')
        second = w.probed()
        trace = w.destroyed('two')
        made = [('order', f) for name, f in first + second if name == 'checkout']
        found = recorded(trace, 'order', made[0][1])
        check(found == made, 'recorded\n%s\nexpected\n%s', found, made)


def wanted_of_both(printed):
    return [p for p in printed if p[0] == 'order' and (int(p[1]['arg1']) >= 1000 or p[1]['arg1'] == '3')]


def probes_are_restored_after_restart_and_load(case):
    """
    After a restart the session continues with the same probes and filters. A saved session does so after it is loaded.
    """
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 >= 1000')
        w.probe('one', 'guarded', 'sdt:%s:wmkt:guarded' % PROGRAM)
        w('start', 'one')
        before = w.probed()
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the daemon to be gone')
        before += w.probed()
        w('list', 'one')                          # (starts the next daemon)
        before += w.probed()
        w.probe('one', 'order', ORDER, '--filter', 'arg1 == 3')
        behind = w.probed()
        w('save', 'one', '-o', case.path('saved'))
        trace = w.destroyed('one')
        all_there(trace, before + behind, 'guarded')
        made = [p for p in before if p[0] == 'order' and int(p[1]['arg1']) >= 1000] + wanted_of_both(behind)
        found = recorded(trace, 'order', made[0][1])
        check(found == made, 'recorded\n%s\nexpected\n%s', found, made)
        w('load', '-i', case.path('saved'))
        w('start', 'one')
        made = wanted_of_both(w.probed())
        found = recorded(w.destroyed('one'), 'order', made[0][1])
        check(found == made, 'the loaded session recorded\n%s\nexpected\n%s', found, made)


def invalid_probes_are_refused(case):
    """Each message names the remedy."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'x', PROGRAM + ':probed_chekout', status=1).prints('probed_checkout')
        w.probe('one', 'x', '/nowhere/at/all:main', status=2).prints('/nowhere/at/all')
        w.probe('one', 'x', 'sdt:%s:wmkt:ordre' % PROGRAM, status=1).prints('order')
        w.probe('one', 'x', CHECKOUT.replace('$arg2:string', '$arg2:strng'), status=1).prints('column')
        w.probe('one', 'x*', CHECKOUT, status=1).prints('cannot name the event')
        w('enable-event', '-s', 'one', '--userspace-probe', CHECKOUT, 'x', status=None).prints('--kernel')
        if not os.path.exists(TRACING + '/kprobe_events'):
            w.probe('one', 'x', 'vfs_read', of='probe', status=1).prints('CONFIG_KPROBE_EVENTS')
        check(not w.left(), 'probes remain: %s', w.left())


if __name__ == '__main__':
    kernel_main([
        function_probes_record_arguments_and_results, sdt_probes_record_all_arguments, filters_of_probes_select_records,
        invalid_probe_filters_are_refused, disabled_probe_is_not_recorded,
        probes_of_one_session_remain_when_another_is_destroyed, probes_are_restored_after_restart_and_load,
        invalid_probes_are_refused
    ])
