#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Edge cases of an application's life and of what libwaymark may do in it: other clocks, code that cannot be written,
other users.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import FEATURES, Skip, check, finished, limit, main, need, need_other_users, rounds  # noqa: E402
from traces import metadata_text  # noqa: E402


def marks(result):
    """{where: number of records} of edge:mark."""
    return collections.Counter(r.fields['where'] for r in result.trace().records('edge:mark'))


def records_have_the_times_of_the_clock_plugin(case):
    """The metadata declares the plug-in's clock, the records have its times, and the real times are correct."""
    plugin = case.program('libclock.so')
    begun = time.time()
    result = case.record([case.program('procs'), 'leaf', '50'], env={'WAYMARK_CLOCK_PLUGIN': plugin}).ok()
    ended = time.time()
    text = metadata_text(result.directory)[0]
    clock = re.search(r'clock \{.*?\}', text, re.S).group(0)
    for line in ('name = "plugin_an_hour_on"', 'freq = 10000000', '01234567-89ab-cdef-0123-456789abcdef'):
        check(line in clock, 'no %s in %s', line, clock)
    records = list(result.trace().records('test:seq'))
    count = case.ledger.begun()
    check(len(records) == count >= 50, '%d records, not %d', len(records), count)
    for a, b in zip(records, records[1:] + [None]):
        # read before the call, in nanoseconds
        least = (a.fields['mono'] + 3600 * 10**9) // 100
        most = (b.fields['mono'] + 3600 * 10**9) // 100 + 1 if b else least + 600 * 10**7
        check(least <= a.time <= most, 'recorded at %d, not between %d and %d', a.time, least, most)
    out = subprocess.run(['babeltrace2', '--clock-seconds', '--no-delta', result.directory], capture_output=True,
                         text=True).stdout
    times = [float(s) for s in re.findall(r'^\[(\d+\.\d+)\].*test:seq', out, re.M)]
    check(
        len(times) == count and all(begun - 1 <= t <= ended + 1 for t in times), 'real times are not from %f to %f: %s',
        begun, ended, times[:3])


def application_with_another_clock_is_not_recorded(case):
    """An application with another clock than the session's is not recorded, and the summary names both clocks."""
    script = '%s leaf 3; env -u WAYMARK_CLOCK_PLUGIN %s leaf 5' % ((case.program('procs'),) * 2)
    result = case.record(['sh', '-c', script], env={'WAYMARK_CLOCK_PLUGIN': case.program('libclock.so')}).ok()
    seen = collections.Counter(r.fields['writer'] for r in result.trace().records('test:seq'))
    begun = case.ledger.read()
    check(seen == {1: begun[1][0]} and len(begun) == 2, 'recorded %s, begun %s', dict(seen), begun)
    check("clock is 'the machine's', the session's is 'an_hour_on'" in result.err, 'the clocks are not reported: %s',
          result.err)


def invalid_clock_plugin_is_reported(case):
    for plugin, words in ((case.path('none.so'), 'cannot load the clock plug-in'),
                          (case.program('libplugin.so'), 'no function waymark_clock_plugin_init()')):
        result = case.record([case.program('procs'), 'leaf', '3'], env={'WAYMARK_CLOCK_PLUGIN': plugin})
        check(result.status == 1 and words in result.err, 'status %s: %s', result.status, result.err)


def library_loads_and_unloads_are_recorded(case):
    """lttng_ust_lib:load and :unload have the library's path and the same address."""
    plugin = case.program('libplugin.so')
    result = case.record([case.program('lifecycle'), 'library', plugin, '50']).ok()
    loads, unloads = collections.Counter(), collections.Counter()
    for r in result.trace().records():
        if r.name == 'lttng_ust_lib:load' and r.fields['path'].endswith('/libplugin.so'):
            loads[r.fields['baddr']] += 1
            check(r.fields['memsz'] > 0, 'a library without size: %s', r.fields)
        if r.name == 'lttng_ust_lib:unload':
            unloads[r.fields['baddr']] += 1
    # the helper thread misses libraries that come and go between two of its checks; at intervals of 20 ms it sees some
    check(sum(loads.values()) >= 10, 'only %s loaded', dict(loads))
    gone = sum(n for address, n in unloads.items() if address in loads)
    check(gone >= 10, 'loaded %s, unloaded %s', dict(loads), dict(unloads))
    check(loads.keys() >= unloads.keys(), 'unloads without a load: %s of %s', dict(unloads), dict(loads))


def events_of_a_preloaded_library_are_recorded(case):
    """The events of a preloaded library are known, and the application's own events are recorded as before."""
    result = case.record(['env', 'LD_PRELOAD=' + case.program('libplugin.so'), case.program('procs'), 'leaf', '50'],
                         ['-e', 'plugin:called', '-e', 'test:seq']).ok()
    check('no event matched' not in result.err, 'the library\'s events are unknown: %s', result.err)
    seen = sum(1 for _ in result.trace().records('test:seq'))
    check(seen == case.ledger.begun() >= 50, '%d records, %d begun', seen, case.ledger.begun())


def without_proc(case, how):
    """
    Run `lifecycle nomem` or `lifecycle nowhere`. Without /proc the loader cannot resolve $ORIGIN, so LD_LIBRARY_PATH
    names the library's directory.
    """
    if os.geteuid():
        raise Skip('needs root')
    text = subprocess.run(['ldd', case.program('lifecycle')], capture_output=True, text=True).stdout
    library = re.search(r'(/\S*)/libwaymark\.so', text)
    result = case.record([case.program('lifecycle'), how], env={'LD_LIBRARY_PATH': library.group(1)} if library else {})
    if result.status == 77:
        raise Skip('no mount namespaces or seccomp filters here')
    return result.ok()


def code_is_patched_by_mprotect_without_proc_mem(case):
    """/proc/self/mem is refused: every event is recorded all the same."""
    result = without_proc(case, 'nomem')
    check(marks(result) == {'again': 1}, 'recorded: %s', marks(result))


def unpatchable_code_is_reported(case):
    """Neither way works: the application runs, its sites are not recorded, and the summary gives the reason."""
    result = without_proc(case, 'nowhere')
    check(not marks(result), 'recorded: %s', marks(result))
    check(
        re.search(
            r"lifecycle \(pid \d+, uid \d+\) was recorded in part: .*edge:\w+ cannot be traced: the text of the "
            r"application cannot be written", result.err), 'the reason is not reported: %s', result.err)


@limit(60)
def unregistering_an_event_while_it_is_recorded_does_not_crash(case):
    """
    At exit() an event's descriptor loses its chain, then its event. A thread that records in between must not mistake
    one NULL for the other.
    """
    case.record([case.program('lifecycle'), 'taken']).ok()


def cancelled_threads_lose_no_records(case):
    result = case.record([case.program('lifecycle'), 'cancel', str(rounds(2000))]).ok()
    check(marks(result)['cancelled'] == 1, 'recorded: %s', marks(result))


@limit(60)
def setuid_with_threads_does_not_hang(case):
    """setuid() interrupts every thread, including the helper thread: none of them hangs."""
    result = case.record([case.program('lifecycle'), 'users', str(rounds(500))]).ok()
    check(marks(result)['users'] == 1, 'recorded: %s', marks(result))


@limit(60)
def sudden_exits_keep_earlier_records(case):
    for how, status, expected in (('_exit', 0, {'before': 1}), ('abort', 134, {'before': 1}),
                                  ('exec', 0, {'before': 1, 'again': 1}), ('thread_exec', 0, {'before': 1,
                                                                                              'again': 1})):
        for _ in range(rounds(50)):
            result = case.record([case.program('lifecycle'), 'exit', how]).ok(status)
            check(marks(result) == expected, '%s: recorded %s', how, dict(marks(result)))
        # with no wait for the registration: the program ends in the same way, whatever is recorded
        for _ in range(rounds(50)):
            case.record([case.program('lifecycle'), 'exit', how], env={'WAYMARK_REGISTER_TIMEOUT': '0'}).ok(status)


def record_of_a_grandchild_is_in_the_trace(case):
    """
    Parent and child end at once. `waymark record` waits for the main program, and the grandchild's record is in the
    trace.
    """
    flag = case.path('flag')
    script = '%s daemon %s; while [ ! -e %s ]; do sleep 0.01; done' % (case.program('lifecycle'), flag, flag)
    result = case.record(['sh', '-c', script]).ok()
    check(marks(result) == {'before': 1, 'daemon': 1}, 'recorded: %s', dict(marks(result)))


@limit(100)
def forks_of_a_recording_process_lose_no_records(case):
    count = rounds(1000)
    result = case.record([case.program('lifecycle'), 'forks', str(count)]).ok()
    check(marks(result) == {'child': count, 'forks': 1}, 'recorded: %s', dict(marks(result)))
    check(result.lost == 0, '%d lost', result.lost)


def program_with_a_loaded_library_ends_with_its_last_thread(case):
    """
    A program that loads a library with sites at run time ends with its last thread, even if its first thread has ended.
    It does so traced and untraced.
    """
    if 'tsan' in FEATURES:
        raise Skip('the thread sanitizer\'s own thread keeps a program whose first thread ended by pthread_exit()')
    plugin = case.program('libplugin.so')
    for how in ('exit', 'cancel'):
        result = case.record([case.program('unlinked'), plugin, how, 'wait'], ['-e', 'plugin:*']).ok()
        turns = [r.fields['turn'] for r in result.trace().records('plugin:called')]
        check(turns.count(1000) == 1 and 1 in turns, '%s: the turns are %s', how, turns)
        done = finished([case.program('unlinked'), plugin, how], env=case.env)
        check(done.returncode == 0, '%s, not traced: status %d', how, done.returncode)


def set_id_copy_of_lifecycle(case):
    """A set-id copy of `lifecycle` in a directory that other users can access, linked to a libwaymark there."""
    place = case.path('setid')
    os.mkdir(place)
    os.chmod(case.directory, 0o755)
    need('gcc')
    text = subprocess.run(['ldd', case.program('lifecycle')], capture_output=True, text=True).stdout
    library = re.search(r'(/\S*libwaymark\.so\S*)', text)
    if not library:
        raise Skip('the program is linked statically')
    child, root = os.path.join(place, 'lifecycle'), os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
    shutil.copy(os.path.realpath(library.group(1)), os.path.join(place, 'libwaymark.so.0'))
    done = subprocess.run([
        'gcc', '-O1', '-D_GNU_SOURCE', '-I' + os.path.join(root, 'include'),
        os.path.join(root, 'tests', 'programs', 'lifecycle.c'), '-o', child,
        os.path.join(place, 'libwaymark.so.0'), '-Wl,-rpath,' + place, '-lpthread'
    ], capture_output=True, text=True)
    check(done.returncode == 0, 'cannot be compiled: %s', done.stderr[:800])
    os.chown(child, 65534, 65534)
    os.chmod(child, 0o6755)
    mount = subprocess.run(['findmnt', '-no', 'OPTIONS', '-T', place], capture_output=True, text=True).stdout
    if 'nosuid' in mount:
        raise Skip('the build folder is mounted nosuid')
    return child


def set_id_program_ignores_the_environment(case):
    """
    The user is not the file's owner: the library uses root's runtime directory only, loads no plug-in and reads no
    environment variable.
    """
    need_other_users()
    need('strace')
    child, trace = set_id_copy_of_lifecycle(case), case.path('strace')
    place = case.path('run')
    os.mkdir(place)
    environment = dict(case.env, WAYMARK_RUNDIR=place, WAYMARK_CLOCK_PLUGIN=case.program('libclock.so'),
                       WAYMARK_DISABLE='1', WAYMARK_REGISTER_TIMEOUT='77')
    # the set-id bit works under a strace of root only; the program runs for uid 0, as uid 65534
    done = finished(['strace', '-f', '-o', trace, child, 'again'], env=environment, capture_output=True, text=True)
    if 'ptrace' in done.stderr:
        raise Skip('strace cannot trace here')
    check(done.returncode == 0, 'status %d: %s', done.returncode, done.stderr)
    with open(trace, errors='replace') as f:
        calls = f.read()
    used = [
        line for line in calls.splitlines()
        if 'execve(' not in line and 'PR_SET_NAME' not in line and ('waymark' in line or 'libclock' in line) and place +
        '/lib' not in line and '/setid/' not in line
    ]
    check(not any(place in line for line in used), 'it accessed WAYMARK_RUNDIR: %s', used)
    check('libclock' not in ''.join(used), 'it accessed the plug-in: %s', used)
    check(used and all('/run/waymark' in line for line in used), 'it accessed other directories than root\'s: %s', used)


if __name__ == '__main__':
    sanitized = 'sanitize' in FEATURES
    main([
        records_have_the_times_of_the_clock_plugin, application_with_another_clock_is_not_recorded,
        invalid_clock_plugin_is_reported, library_loads_and_unloads_are_recorded,
        unregistering_an_event_while_it_is_recorded_does_not_crash, cancelled_threads_lose_no_records,
        events_of_a_preloaded_library_are_recorded, setuid_with_threads_does_not_hang,
        sudden_exits_keep_earlier_records, record_of_a_grandchild_is_in_the_trace,
        forks_of_a_recording_process_lose_no_records, program_with_a_loaded_library_ends_with_its_last_thread
    ] + ([] if sanitized else [
        code_is_patched_by_mprotect_without_proc_mem, unpatchable_code_is_reported,
        set_id_program_ignores_the_environment
    ]))
