#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The memory of idle buffers is given back, and no record is affected."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from daemon import World  # noqa: E402
from harness import PERCENT, check, limit, main  # noqa: E402

SUB, SUBS = 65536, 16
SHAPE = ('--subbuf-size', SUB, '--num-subbuf', SUBS)
FEW = 1000        # records that fit into the sub-buffers that a buffer keeps


def channel_of(w, name='one'):
    return w.session(name)['channels'][0]


def pinned(w):
    """A program that records into the buffer of one CPU."""
    program = w.scripted()
    os.sched_setaffinity(program.pid, {min(os.sched_getaffinity(program.pid))})
    return program


def fill(w, program):
    """Use all memory of at least one buffer."""
    program('emit %d' % FEW)
    w.wait(lambda: channel_of(w)['memory'] >= SUB * SUBS and channel_of(w)['reclaimed'] == 0,
           'the memory of a buffer: %s' % channel_of(w))


@limit(120)
def ring_memory_is_released_on_request_and_allocated_when_used(case):
    with World(case) as w:
        w.begin('one', channel=SHAPE)
        program = pinned(w)
        for _ in range(3):
            fill(w, program)
            before = channel_of(w)['memory']
            w('reclaim-memory', '-s', 'one', '--older-than=1h')
            check(channel_of(w)['reclaimed'] == 0, 'given back before its time: %s', channel_of(w))
            w('reclaim-memory', '-s', 'one', '-u', 'one').prints('given back')
            now = channel_of(w)
            check(now['reclaimed'] >= SUB * (SUBS - 2), 'given back: %s', now)
            check(now['memory'] <= before - now['reclaimed'], 'memory: %d, then %s', before, now)
            w('list', '--mem-usage').prints('given back')
            w('list', 'one').prints('given back now')
        said = w('reclaim-memory', '-s', 'one', '--all', '--json').json['sessions'][0]
        check(said['channels'][0]['reclaimed'] == channel_of(w)['reclaimed'], 'json: %s', said)
        program('emit %d' % FEW)
        w.finish('one', lost=0)
        program.end()


@limit(120)
def idle_buffers_release_their_memory_automatically(case):
    with World(case) as w:
        w.begin('one', channel=(*SHAPE, '--auto-reclaim-memory=older-than:50ms'))
        w('list', 'one').prints('idle memory given back after 50 ms')
        program = w.scripted()
        for _ in range(3):
            program('emit %d' % FEW)
            w.wait(lambda: channel_of(w)['reclaimed'] > 0, 'memory to be given back: %s' % channel_of(w))
        w('enable-channel', '-s', 'one', 'one', *SHAPE, status=1).prints('the idle time after which its buffers give')
        w('save', 'one')
        w.finish('one', lost=0)
        w('load', 'one')
        check(channel_of(w)['reclaim_us'] == 50000, 'loaded: %s', channel_of(w))
        w('destroy', 'one')
        program.end()


@limit(240)
def writers_lose_only_counted_records_while_memory_is_given_back(case):
    rounds = 60 if PERCENT >= 100 else 12
    with World(case) as w:
        w.begin('one', channel=('--subbuf-size', '16k', '--num-subbuf', '16', '--auto-reclaim-memory=1ms'))
        programs = [w.scripted() for _ in range(4)]
        for _ in range(rounds):
            for program in programs:
                program.send('emit 3000')
            w('reclaim-memory', '-s', 'one')
            for program in programs:
                check(program.answer() == 'ok', 'a program could not record')
        w.finish('one')
        for program in programs:
            program.end()


@limit(120)
def reclaimed_buffers_are_used_again_after_daemon_crashes(case):
    with World(case) as w:
        w.begin('one', channel=SHAPE)
        program = pinned(w)
        for both in False, True, False:
            fill(w, program)
            w('reclaim-memory', '-s', 'one')
            check(channel_of(w)['reclaimed'] > 0, 'given back: %s', channel_of(w))
            if both:
                with w.disconnected(program):
                    os.kill(w.consumerd(), signal.SIGKILL)
            else:
                os.kill(w.consumerd(), signal.SIGKILL)
            program('emit %d' % FEW)
        w.finish('one', lost=0)
        program.end()


@limit(120)
def memory_of_overwrite_and_blocking_buffers_is_not_reclaimed(case):
    with World(case) as w:
        w('create', 'one')
        for name, option, why in (('over', '--overwrite', 'in overwrite mode'),
                                  ('block', '--blocking-timeout=5', 'with a blocking timeout'),
                                  ('timer', '--wake=timer', '--wake=timer needs preallocated buffers')):
            w('enable-channel', name + '1', option, '--auto-reclaim-memory=1s', status=1).prints(why)
            w('enable-channel', name, option)
            w('reclaim-memory', name, status=1).prints("channel '%s' keeps its memory: %s" % (name, why))
        w('reclaim-memory', status=1).prints("session 'one' keeps its memory")
        w('reclaim-memory', 'none', status=1).prints("no channel 'none'")
        if w('enable-channel', '-k', 'kern', status=None).status == 0:          # root's daemon, with tracefs
            w('reclaim-memory', 'kern', status=1).prints('the kernel allocates the buffers of kernel channels')
        w('enable-channel', 'plain')
        w('reclaim-memory')
        w('destroy', 'one')


@limit(120)
def snapshot_after_reclaim_has_all_records(case):
    with World(case) as w:
        w('create', 'one', '--snapshot', '--no-statedump')
        w('enable-event', '-s', 'one', 'test:*')
        w('start', 'one')
        program = w.scripted()
        program('emit %d' % FEW)
        memory = channel_of(w)['memory']
        w('reclaim-memory', '-s', 'one', status=1).prints('in overwrite mode')
        check(channel_of(w)['memory'] == memory, 'memory: %d, then %s', memory, channel_of(w))
        said = w('snapshot', 'record', '-s', 'one', '--json').json
        check(said['records'] == FEW, 'in the snapshot: %s', said)
        w('destroy', 'one')
        program.end()


if __name__ == '__main__':
    main([
        ring_memory_is_released_on_request_and_allocated_when_used,
        idle_buffers_release_their_memory_automatically,
        writers_lose_only_counted_records_while_memory_is_given_back,
        reclaimed_buffers_are_used_again_after_daemon_crashes,
        memory_of_overwrite_and_blocking_buffers_is_not_reclaimed,
        snapshot_after_reclaim_has_all_records
    ])
