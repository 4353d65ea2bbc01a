# SPDX-License-Identifier: MIT
"""
Random traces of system calls, interrupts, pages, block requests and spans, and their second evaluation from the output
of `waymark view --json`.
"""
import collections
import json

from ctf18 import BEGIN, Plain
from sched_trace import ns_of

EVENTS = {
    'lttng_statedump_process_state': 'int32_t tid; int32_t pid; int32_t ppid; string name; int32_t type;'
                                     'uint32_t file_table_address;',
    'lttng_statedump_file_descriptor': 'uint32_t file_table_address; int32_t fd; string filename;',
    'lttng_statedump_block_device': 'uint32_t dev; string diskname;',
    'syscall_entry_read': 'uint32_t fd; uint64_t count;', 'syscall_exit_read': 'int64_t ret; uint64_t buf;',
    'syscall_entry_openat': 'int32_t dfd; string filename; int32_t flags;', 'syscall_exit_openat': 'int64_t ret;',
    'syscall_entry_close': 'uint32_t fd;', 'syscall_exit_close': 'int64_t ret;',
    'syscall_entry_getpid': '', 'syscall_exit_getpid': 'int64_t ret;',
    'irq_handler_entry': 'int32_t irq; string name;', 'irq_handler_exit': 'int32_t irq; int32_t ret;',
    'irq_softirq_raise': 'uint32_t vec;', 'irq_softirq_entry': 'uint32_t vec;', 'irq_softirq_exit': 'uint32_t vec;',
    'block_rq_insert': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; uint32_t bytes; uint32_t rwbs;',
    'block_rq_issue': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; uint32_t bytes; uint32_t rwbs;',
    'block_rq_complete': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; int32_t error; uint32_t rwbs;',
    'block_bio_backmerge': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; uint32_t rwbs;',
    'block_bio_queue': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; uint32_t rwbs;',
    'block_bio_complete': 'uint32_t dev; uint64_t sector; uint32_t nr_sector; int32_t error; uint32_t rwbs;',
    'kmem_mm_page_alloc': 'uint64_t pfn; uint32_t order;', 'kmem_mm_page_free': 'uint64_t pfn; uint32_t order;',
}
SIZES = {'int32_t': 32, 'uint32_t': 32, 'int64_t': 64, 'uint64_t': 64}
DEVICES = {0x800000: 'sda', 0x800010: 'sdb'}
STACKED = {0xfd00000: 'dm-0'}           # without requests


class Events:
    def __init__(self, random, cpus=2):
        self.random, self.now = random, BEGIN
        self.plain = Plain(contexts='\tevent.context := struct { int32_t tid; int32_t pid; };\n')
        self.types = {}
        for name, fields in EVENTS.items():
            self.plain.event(name, fields)
            self.types[name] = [field.split()[0] for field in fields.split(';') if field.strip()]
        self.ids = {name: n for n, name in enumerate(EVENTS)}
        self.records = [[] for _ in range(cpus)]

    def emit(self, cpu, tid, name, *values):
        assert len(values) == len(self.types[name]), (name, values)

        def write(bits):
            bits.i(32, tid).i(32, tid // 4 * 4)
            for kind, value in zip(self.types[name], values):
                if kind == 'string':
                    bits.s(value)
                else:
                    bits.i(SIZES[kind], value & (1 << SIZES[kind]) - 1)
        self.now += self.random.choice((7, 300, 20000))
        self.records[cpu].append((self.now, self.ids[name], write))

    def write(self, directory, per_packet=50):
        files = {}
        for cpu, records in enumerate(self.records):
            files['kernel_%d' % cpu] = [
                self.plain.packet(records[at:at + per_packet], sequence=at // per_packet, cpu=cpu)
                for at in range(0, len(records), per_packet)]
        self.plain.write(directory, **files)


def syscalls(random, turns):
    """Threads of three processes read, open, close and ask for their number; some calls are not complete at the end."""
    made, inside = Events(random), {}
    for pid in (100, 104, 108):
        made.emit(0, 1, 'lttng_statedump_process_state', pid, pid, 1, 'p%d' % pid, 0, pid * 10)
        for fd in range(3):
            made.emit(0, 1, 'lttng_statedump_file_descriptor', pid * 10, fd, '/file/%d' % (pid + fd))
    for _ in range(turns):
        tid, cpu = random.choice((100, 101, 104, 108, 110)), random.randrange(2)
        if tid in inside:
            call, ret = inside.pop(tid), random.choice((-2, 3, 4, 5, 100))
            made.emit(cpu, tid, 'syscall_exit_' + call, *([ret, 0] if call == 'read' else [ret]))
            continue
        call = inside[tid] = random.choice(('read', 'read', 'openat', 'close', 'getpid'))
        made.emit(cpu, tid, 'syscall_entry_' + call, *{
            'read': [random.randrange(6), 10], 'openat': [-100, '/new/%d' % random.randrange(3), 0],
            'close': [random.randrange(3, 6)], 'getpid': []}[call])
    return made


Row = collections.namedtuple('Row', 'count errors durations bytes')


class Rows(collections.defaultdict):
    def __init__(self):
        super().__init__(lambda: [0, 0, [], 0])

    def add(self, key, ns, failed=False, size=0):
        row = self[key]
        row[0] += 1
        row[1] += failed
        row[3] += size
        if ns is not None:
            row[2].append(ns)


def evaluated_syscalls(lines):
    """({name: row}, {(pid, name): row}, {(path, name): row}, {name: unfinished})"""
    calls, processes, files, inside, paths = Rows(), Rows(), Rows(), {}, {}
    for record in map(json.loads, lines):
        name, fields, context = record['event'], record['fields'], record['context']
        if name == 'lttng_statedump_file_descriptor':
            paths[fields['file_table_address'] // 10, fields['fd']] = fields['filename']
        if not name.startswith('syscall_'):
            continue
        _, kind, call = name.split('_', 2)
        if kind == 'entry':
            path = fields.get('filename') or paths.get((context['pid'], fields.get('fd')))
            inside[context['tid']] = (call, ns_of(record), path, fields.get('fd'))
            continue
        _, since, path, fd = inside.pop(context['tid'])
        ns, ret = ns_of(record) - since, fields['ret']
        calls.add(call, ns, ret < 0)
        processes.add((context['pid'], call), ns, ret < 0)
        if path:
            files.add((path, call), ns, ret < 0, ret if call == 'read' and ret > 0 else 0)
        if call == 'openat' and ret >= 0:
            paths[context['pid'], ret] = path
        if call == 'close' and ret >= 0:
            paths.pop((context['pid'], fd), None)
    return calls, processes, files, collections.Counter(call for call, *_ in inside.values())


def interrupts(random, turns):
    made, raised = Events(random), set()
    for _ in range(turns):
        cpu, irq, vec = random.randrange(2), random.choice((9, 36)), random.randrange(10)
        if random.random() < 0.5:
            made.emit(cpu, 1, 'irq_handler_entry', irq, 'dev%d' % irq)
            if random.random() < 0.5:
                made.emit(cpu, 1, 'irq_softirq_raise', vec)
                raised.add((cpu, vec))
            made.emit(cpu, 1, 'irq_handler_exit', irq, 1)
        elif raised:
            cpu, vec = raised.pop()
            made.emit(cpu, 1, 'irq_softirq_entry', vec)
            made.emit(cpu, 1, 'irq_softirq_exit', vec)
    return made


def evaluated_interrupts(lines):
    """({irq: row}, {vec: row}, {vec: [raise to entry]})"""
    irqs, softirqs, raises, since = Rows(), Rows(), collections.defaultdict(list), {}
    for record in map(json.loads, lines):
        name, fields, cpu, now = record['event'], record['fields'], record['packet']['cpu_id'], ns_of(record)
        if name == 'irq_handler_exit':
            irqs.add(fields['irq'], now - since[cpu, 'irq'])
        elif name == 'irq_handler_entry':
            since[cpu, 'irq'] = now
        elif name == 'irq_softirq_raise':
            since.setdefault((cpu, fields['vec']), now)
        elif name == 'irq_softirq_entry':
            since[cpu, 'soft'] = now
            raises[fields['vec']].append(now - since.pop((cpu, fields['vec'])))
        elif name == 'irq_softirq_exit':
            softirqs.add(fields['vec'], now - since[cpu, 'soft'])
    return irqs, softirqs, raises


def pages(random, turns):
    made = Events(random)
    for _ in range(turns):
        name = random.choice(('kmem_mm_page_alloc', 'kmem_mm_page_free'))
        made.emit(random.randrange(2), random.randrange(100, 112), name, random.randrange(1 << 30),
                  random.choice((0, 0, 0, 1, 3, 9)))
    return made


def evaluated_pages(lines):
    """({pid: [allocations, pages, frees, pages, greatest difference]}, {pages: [allocations, frees]})"""
    processes, orders = collections.defaultdict(lambda: [0] * 5), collections.defaultdict(lambda: [0] * 2)
    for record in map(json.loads, lines):
        row, n = processes[record['context']['pid']], 1 << record['fields']['order']
        at = 2 * (record['event'] == 'kmem_mm_page_free')
        row[at] += 1
        row[at + 1] += n
        row[4] = max(row[4], row[1] - row[3])
        orders[n][at // 2] += 1
    return processes, orders


def requests(random, turns):
    made, waiting, issued, sector, bio = Events(random), [], [], 8, None
    for dev, name in {**DEVICES, **STACKED}.items():
        made.emit(0, 1, 'lttng_statedump_block_device', dev, name)
    for _ in range(turns):
        action, cpu, tid = random.choice('aic'), random.randrange(2), random.choice((100, 104))
        if action == 'a':
            one = (random.choice(list(DEVICES)), sector, random.choice((8, 16, 256)), random.choice((1, 4, 4, 2)))
            sector += 1000
            waiting.append(one)
            if not bio:
                bio = one
                made.emit(cpu, tid, 'block_bio_queue', *STACKED, *bio[1:])
            made.emit(cpu, tid, 'block_rq_insert', one[0], one[1], one[2], one[2] * 512, one[3])
            if random.random() < 0.2:
                made.emit(cpu, tid, 'block_bio_backmerge', one[0], one[1], one[2], one[3])
        elif action == 'i' and waiting:
            one = waiting.pop(random.randrange(len(waiting)))
            issued.append(one)
            made.emit(cpu, tid, 'block_rq_issue', one[0], one[1], one[2], one[2] * 512, one[3])
        elif action == 'c' and issued:
            one = issued.pop(random.randrange(len(issued)))
            error = random.choice((0, 0, 0, -5))
            made.emit(cpu, 0, 'block_rq_complete', one[0], one[1], one[2], error, one[3])
            made.emit(cpu, 0, 'block_bio_complete', one[0], one[1] + one[2], 0, error, one[3])
            if bio == one:
                bio = None
                made.emit(cpu, 0, 'block_bio_complete', *STACKED, *one[1:3], error, one[3])
    return made


def evaluated_requests(lines):
    """({(device, operation): row}, {(device, operation): [queued]}, merges, {(pid, operation): row})"""
    devices, processes, queued, merges, since = Rows(), Rows(), collections.defaultdict(list), collections.Counter(), {}
    for record in map(json.loads, lines):
        name, fields, now = record['event'], record['fields'], ns_of(record)
        if not name.startswith('block_') or (name.startswith('block_bio_') and fields['dev'] in DEVICES
                                             and not name.endswith('merge')):
            continue
        key = ({**DEVICES, **STACKED}[fields['dev']], {1: 'write', 2: 'discard', 4: 'read'}[fields['rwbs']])
        if name == 'block_bio_backmerge':
            merges[key] += 1
        elif name == 'block_rq_insert':
            since[fields['dev'], fields['sector']] = [now, None, record['context']['pid']]
        elif name == 'block_bio_queue':
            since[fields['dev'], fields['sector']] = now
        elif name == 'block_bio_complete':
            devices.add(key, now - since[fields['dev'], fields['sector']], fields['error'] != 0,
                        512 * fields['nr_sector'])
        elif name == 'block_rq_issue':
            queued[key].append(now - since[fields['dev'], fields['sector']][0])
            since[fields['dev'], fields['sector']][1] = now
        else:
            _, issued, pid = since.pop((fields['dev'], fields['sector']))
            size = 512 * fields['nr_sector']
            devices.add(key, now - issued, fields['error'] != 0, size)
            processes.add((pid, key[1]), now - issued, False, size)
    return devices, queued, merges, processes
