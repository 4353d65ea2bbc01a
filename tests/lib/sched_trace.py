# SPDX-License-Identifier: MIT
"""
Simulates threads on CPUs and writes their scheduler events as a trace, also with packets left out; evaluates such a
trace a second time, from the output of `waymark view --json`.
"""
import collections
import json
import math

from ctf18 import BEGIN, Plain

COMM = 'uint8_t %s_length; string %s;'
STATES = ('running', 'runnable', 'blocked', 'unknown', 'absent')
CALLS = {'futex': 'futex', 'nanosleep': 'sleep', 'recvfrom': 'network', 'epoll_wait': 'poll', 'wait4': 'child',
         'getrandom': 'another system call'}
NO_CALL = 'interruptible'


class Simulation:
    """
    `true` has the ns of each state for each thread, as a trace without losses shows them. Packets of CPU c are
    packets[c].
    """

    def __init__(self, random, steps, cpus=3, threads=10, per_packet=40):
        self.random, self.now, self.per_packet, self.next_tid = random, BEGIN, per_packet, 100
        self.plain = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n')
        self.ids = {}
        for name, fields in (
            ('sched_switch', 'string prev_comm; int32_t prev_tid; int32_t prev_prio; int64_t prev_state; '
                             'string next_comm; int32_t next_tid; int32_t next_prio;'),
            ('sched_waking', 'string comm; int32_t tid; int32_t prio; int32_t target_cpu;'),
            ('sched_wakeup', 'string comm; int32_t tid; int32_t prio; int32_t target_cpu;'),
            ('sched_wakeup_new', 'string comm; int32_t tid; int32_t prio; int32_t target_cpu;'),
            ('sched_process_fork', 'string parent_comm; int32_t parent_tid; string child_comm; int32_t child_tid;'),
            ('sched_process_exit', 'string comm; int32_t tid; int32_t prio;')):
            self.ids[name] = self.plain.event(name, fields)
        for call in CALLS:
            self.ids['syscall_entry_' + call] = self.plain.event('syscall_entry_' + call, 'uint64_t arg;')
            self.ids['syscall_exit_' + call] = self.plain.event('syscall_exit_' + call, 'int64_t ret;')
        self.records = [[] for _ in range(cpus)]
        self.running = [0] * cpus          # 0: idle
        self.state, self.since, self.call, self.waking = {}, {}, {}, []
        self.true = collections.defaultdict(lambda: dict.fromkeys(STATES, 0))
        for _ in range(threads):
            self.set(self.new_tid(), 'blocked')
        for _ in range(steps):
            self.now += self.random.choice((1, 50, 2000, 100000))
            self.step(self.random.randrange(cpus))
        for tid in list(self.state):
            self.set(tid, self.state[tid])

    def new_tid(self):
        self.next_tid += 1
        return self.next_tid

    def set(self, tid, state):
        if tid in self.state:
            self.true[tid][self.state[tid]] += self.now - self.since[tid]
        else:
            self.true[tid]['absent'] += self.now - BEGIN
        self.state[tid], self.since[tid] = state, self.now

    def emit(self, cpu, name, *values):
        tid = self.running[cpu]

        def write(bits):
            bits.i(32, tid).i(32, tid // 4 * 4)
            for value in values:
                if isinstance(value, str):
                    bits.s(value)
                else:
                    bits.i(*value)
        self.records[cpu].append((self.now, self.ids[name], write))
        self.now += self.random.randrange(1, 9)

    def of_state(self, state):
        return sorted(tid for tid, is_in in self.state.items() if is_in == state)

    def step(self, cpu):
        if self.waking and self.random.random() < 0.6:
            self.wake_up(cpu, self.waking.pop(0))
        action = self.random.choice(('switch', 'switch', 'waking', 'waking', 'call', 'fork', 'exit'))
        blocked = [tid for tid in self.of_state('blocked') if tid not in self.waking]
        if action == 'switch':
            self.switch(cpu)
        elif action == 'waking' and blocked:
            tid = self.random.choice(blocked)
            self.waking.append(tid)
            self.emit(cpu, 'sched_waking', 't%d' % tid, (32, tid), (32, 20), (32, 0))
        elif action == 'call' and self.running[cpu] and self.running[cpu] not in self.call:
            self.call[self.running[cpu]] = self.random.choice(sorted(CALLS))
            self.emit(cpu, 'syscall_entry_' + self.call[self.running[cpu]], (64, 1))
        elif action == 'fork' and self.running[cpu] and self.random.random() < 0.1:
            child = self.new_tid()
            self.set(child, 'unknown')
            self.emit(cpu, 'sched_process_fork', 't', (32, self.running[cpu]), 't%d' % child, (32, child))
            self.wake_up(cpu, child, 'sched_wakeup_new')
        elif action == 'exit' and self.running[cpu] and self.random.random() < 0.05:
            self.emit(cpu, 'sched_process_exit', 't', (32, self.running[cpu]), (32, 20))
            self.switch(cpu, 0x10)

    def wake_up(self, cpu, tid, name='sched_wakeup'):
        self.set(tid, 'runnable')
        self.emit(cpu, name, 't%d' % tid, (32, tid), (32, 20), (32, 0))

    def switch(self, cpu, state=None):
        ready, prev = self.of_state('runnable'), self.running[cpu]
        following = self.random.choice(ready) if ready and self.random.random() < 0.9 else 0
        if following == prev == 0:
            return
        if state is None:
            state = self.random.choice((0, 1, 1, 0x100)) if prev else 0
        if prev:
            self.set(prev, 'absent' if state == 0x10 else 'runnable' if state in (0, 0x100) else 'blocked')
        if following:
            self.set(following, 'running')
        self.emit(cpu, 'sched_switch', 't%d' % prev, (32, prev), (32, 20), (64, state), 't%d' % following,
                  (32, following), (32, 20))
        self.running[cpu] = following
        if following in self.call and self.random.random() < 0.8:
            self.emit(cpu, 'syscall_exit_' + self.call.pop(following), (64, 0))

    def write(self, directory, cuts=()):
        """Write the trace without the packets `cuts`: (cpu, number)."""
        files = {}
        for cpu, records in enumerate(self.records):
            parts = [records[at:at + self.per_packet] for at in range(0, len(records), self.per_packet)]
            files['kernel_%d' % cpu] = [
                self.plain.packet(part, sequence=n, cpu=cpu) for n, part in enumerate(parts) if (cpu, n) not in cuts]
        self.plain.write(directory, **files)
        return {cpu: len(records) // self.per_packet for cpu, records in enumerate(self.records)}


class Thread:
    def __init__(self, begin):
        self.state, self.since, self.wait = 'unknown', begin, None
        self.ns, self.waits = dict.fromkeys(STATES, 0), collections.Counter()
        self.call, self.woken, self.waker, self.cpu = None, None, None, None
        self.latencies, self.migrations, self.switches, self.has_ended = [], 0, 0, False

    def set(self, now, state, was=None):
        was = was or self.state
        self.ns[was] += now - self.since
        if was == 'blocked':
            self.waits[self.wait] += now - self.since
        self.state, self.since = state, now


def ns_of(record):
    whole, part = record['time'].split('.')
    return int(whole) * 1000000000 + int(part)


def evaluate(lines):
    """({tid: Thread}, {(waker, woken): latencies}, length) of a trace without losses."""
    threads, pairs, begin, now = {}, collections.defaultdict(list), None, None
    for record in map(json.loads, lines):
        now, name, fields = ns_of(record), record['event'], record['fields']
        begin = now if begin is None else begin
        current = record['event_context' if 'event_context' in record else 'context']['tid']

        def thread(tid):
            return threads.setdefault(tid, Thread(begin))
        if name == 'sched_switch':
            cpu = record['packet']['cpu_id']
            if fields['prev_tid']:
                prev, state = thread(fields['prev_tid']), fields['prev_state']
                ran = prev.state == 'running' and prev.cpu == cpu
                prev.set(now, 'absent' if state & 0x30 or prev.has_ended else 'blocked' if state & ~0x100 else
                         'runnable', 'running' if ran else 'unknown')
                prev.wait, prev.woken, prev.cpu = CALLS[prev.call] if prev.call else NO_CALL, None, cpu
            if fields['next_tid']:
                following = thread(fields['next_tid'])
                if following.state == 'runnable' and following.woken is not None:
                    following.latencies.append(now - following.woken)
                    if following.waker:
                        pairs[following.waker, fields['next_tid']].append(now - following.woken)
                following.switches += 1
                following.migrations += following.cpu not in (None, cpu)
                following.set(now, 'running', None if following.state == 'runnable' else 'unknown')
                following.woken, following.cpu = None, cpu
        elif name in ('sched_waking', 'sched_wakeup', 'sched_wakeup_new'):
            one = thread(fields['tid'])
            if one.state in ('running', 'runnable'):
                continue
            if one.woken is None:
                one.woken, one.waker = now, current
            if name != 'sched_waking':
                one.set(now, 'runnable')
        elif name == 'sched_process_fork':
            thread(fields['child_tid']).set(now, 'unknown', 'absent')
        elif name == 'sched_process_exit':
            thread(fields['tid']).has_ended = True
        elif name.startswith('syscall_entry_') and current:
            thread(current).call = name[len('syscall_entry_'):]
        elif name.startswith('syscall_exit_') and current:
            thread(current).call = None
    for one in threads.values():
        one.set(now, one.state)
    return threads, pairs, now - begin


def quantile(values, part):
    values = sorted(values)
    return values[max(math.ceil(part * len(values)), 1) - 1]
