#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes as a user types them: `enable-event -k --userspace-probe` at functions and SDT probes of a program that says
what a record must say, with filters, off and on, in several sessions, behind a killed daemon, saved and loaded. (The
kernel's own functions: t_kernel_machine.py, whose kernel has such probes.)"""
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
                raise Skip('the program that is probed was not built: %s' % path)
        if not os.path.exists(TRACING + '/uprobe_events'):
            raise Skip('this kernel has no probes of programs')

    def probe(self, session, name, place, *more, status=0, of='userspace-probe'):
        return self('enable-event', '-k', '-s', session, '-c', 'kernel', '--' + of, place, name, *more, status=status)

    def begun(self, *sessions):
        for session in sessions:
            self('create', session, '--no-statedump')
            self('enable-channel', '-k', '-s', session, 'kernel')
            self('add-context', '-k', '-s', session, '-c', 'kernel', '-t', 'pid', '-t', 'procname')

    def probed(self, program=PROGRAM, turns=ROUNDS):
        """What it prints: [(event, {field: value})]; a value is a number or a text."""
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
        check(not self.left(), 'probes are left in the kernel: %s', self.left())


def recorded(trace, name, fields):
    """As the program would print it."""
    found = []
    for r in trace.named(name):
        one = {}
        for field in fields:
            is_text = re.search(r'\b%s = "' % field, r.fields)
            one[field] = '"%s"' % text(r.fields, field) if is_text else str(number(r.fields, field))
        found.append((name, one))
    return found


def all_there(trace, printed, *names):
    """The records of these names are what the program printed, in its order."""
    for name in names:
        made = [p for p in printed if p[0] == name]
        check(made, 'the program made no %s', name)
        found = recorded(trace, name, made[0][1])
        check(found == made, '%s: recorded are\n%s\nmade were\n%s', name, found, made)


def function_probes_record_arguments_and_results(case):
    """At the entry with arguments, at the return with what it returns; of a program, however it is built, and of a
    library."""
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
            check({text(r.context, 'procname') for r in trace.records} == {'probed-' + build}, '%s: of others: %s',
                  build, trace.records[:3])
            entries = [r for r in trace.records if r.name.startswith('checkout')]
            check([r.name for r in entries] == ['checkout', 'checkout_return'] * ROUNDS, '%s: the order is %s', build,
                  [r.name for r in entries])


def sdt_probes_record_all_arguments(case):
    """All arguments, two places of one probe, two kinds of one name, one behind a semaphore which the program asks."""
    with ProbesWorld(case) as w:
        check('guarded' not in dict(w.probed()), 'the semaphore is up before anybody records')
        w.begun('one')
        w.probe('one', 'order', ORDER)
        w.probe('one', 'odd', 'sdt:%s:wmkt:odd' % PROGRAM)
        w.probe('one', 'guarded', 'sdt:%s:wmkt:guarded' % PROGRAM)
        w('start', 'one')
        printed = w.probed()
        trace = w.destroyed('one')
        all_there(trace, printed, 'order', 'odd', 'odd_2', 'guarded')
        check(len(trace.records) == 5 * ROUNDS, 'there are %d records', len(trace.records))
        check('guarded' not in dict(w.probed()), 'the semaphore is up behind the session')


def filters_of_probes_select_records(case):
    """Of one rule; of two rules for one place, which then has the records that either wants; by fields, texts,
    contexts."""
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
            check(session == 'nothing' or 0 < len(made) < len(printed), '%s: the filter asks nothing', session)
            found = recorded(trace, 'order', printed[0][1])
            check(found == made, '%s: recorded are\n%s\nof those made are wanted\n%s', texts, found, made)


def invalid_probe_filters_are_refused(case):
    """What is wrong with it is told when it is typed, and no rule is left."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 == 1 && whom == "Ada"', status=1).prints('whom', 'near is who')
        w.probe('one', 'order', ORDER, '--filter', 'who == 3', status=1).prints('who')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 ==', status=1).prints('column')
        w.probe('one', 'order', ORDER, '--filter', '$ctx.procnam == "x"', status=1).prints('procname')
        w.probe('one', 'order', ORDER, '--filter', '$ctx.prio > 3', status=1).prints('does not record this context')
        check(not w.left(), 'probes that were tried are left: %s', w.left())
        (channel,) = w.session('one')['channels']
        check(not any(r['enabled'] for r in channel['rules']), 'rules are left: %s', channel['rules'])


def disabled_probe_is_not_recorded(case):
    """And a filter that is added while it records."""
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
        check(found == made, 'recorded are\n%s\nwanted\n%s', found, made)


def sessions_of_one_name_have_their_own_probes(case):
    """Each has its own probe, and takes only that away."""
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
        check(found == made, 'recorded are\n%s\nmade were\n%s', found, made)


def wanted_of_both(printed):
    return [p for p in printed if p[0] == 'order' and (int(p[1]['arg1']) >= 1000 or p[1]['arg1'] == '3')]


def probes_survive_restart_and_save(case):
    """The next one goes on with the same probes, filters in force; so does a session that was saved, in another
    daemon."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'order', ORDER, '--filter', 'arg1 >= 1000')
        w.probe('one', 'guarded', 'sdt:%s:wmkt:guarded' % PROGRAM)
        w('start', 'one')
        before = w.probed()
        os.kill(w.sessiond(), signal.SIGKILL)
        w.wait(lambda: not w.sessiond(), 'the daemon to be gone')
        before += w.probed()
        w('list', 'one')                          # (it starts the next one)
        before += w.probed()
        w.probe('one', 'order', ORDER, '--filter', 'arg1 == 3')
        behind = w.probed()
        w('save', 'one', '-o', case.path('saved'))
        trace = w.destroyed('one')
        all_there(trace, before + behind, 'guarded')
        made = [p for p in before if p[0] == 'order' and int(p[1]['arg1']) >= 1000] + wanted_of_both(behind)
        found = recorded(trace, 'order', made[0][1])
        check(found == made, 'recorded are\n%s\nwanted\n%s', found, made)
        w('load', '-i', case.path('saved'))
        w('start', 'one')
        made = wanted_of_both(w.probed())
        found = recorded(w.destroyed('one'), 'order', made[0][1])
        check(found == made, 'of the loaded session recorded are\n%s\nwanted\n%s', found, made)


def invalid_probes_are_refused(case):
    """Each in a sentence that helps."""
    with ProbesWorld(case) as w:
        w.begun('one')
        w.probe('one', 'x', PROGRAM + ':probed_chekout', status=1).prints('probed_checkout')
        w.probe('one', 'x', '/nowhere/at/all:main', status=2).prints('/nowhere/at/all')
        w.probe('one', 'x', 'sdt:%s:wmkt:ordre' % PROGRAM, status=1).prints('order')
        w.probe('one', 'x', CHECKOUT.replace('$arg2:string', '$arg2:strng'), status=1).prints('column')
        w.probe('one', 'x*', CHECKOUT, status=1).prints('no name')
        w('enable-event', '-s', 'one', '--userspace-probe', CHECKOUT, 'x', status=None).prints('--kernel')
        if not os.path.exists(TRACING + '/kprobe_events'):
            w.probe('one', 'x', 'vfs_read', of='probe', status=1).prints('CONFIG_KPROBE_EVENTS')
        check(not w.left(), 'probes are left: %s', w.left())


if __name__ == '__main__':
    kernel_main([
        function_probes_record_arguments_and_results, sdt_probes_record_all_arguments, filters_of_probes_select_records,
        invalid_probe_filters_are_refused, disabled_probe_is_not_recorded, sessions_of_one_name_have_their_own_probes,
        probes_survive_restart_and_save, invalid_probes_are_refused
    ])
