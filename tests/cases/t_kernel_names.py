#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Kernel events and their fields have the names and types of lttng-modules. The cases compare
src/kernel/event/event_names.c with that package's headers, for each event in both. The formats are those of Linux 6.18
(src/kernel/t/lttng_events.txt).

The headers come from /usr/src/lttng-modules-*, or from Debian's package; without them the test is skipped. They are C
for the preprocessor: `gcc -E` processes each with the kernel's version set and leaves calls of a few macros.
"""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import Skip, check, finished, main  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FORMATS = os.path.join(HERE, '..', '..', 'src', 'kernel', 't', 'lttng_events.txt')
SHOW = os.environ.get('WMK_SHOW_KERNEL_CLASSES', '')
# The newest kernel that the package of Debian 12 supports.
VERSION = 6 << 16 | 3 << 8
DEFINES = [
    'LTTNG_LINUX_VERSION_CODE=%d' % VERSION, 'LTTNG_KERNEL_VERSION(a,b,c)=((a)*65536+(b)*256+(c))', 'CONFIG_SMP',
    'LTTNG_KERNEL_RANGE(a,b,c,d,e,f)=(LTTNG_LINUX_VERSION_CODE>=LTTNG_KERNEL_VERSION(a,b,c)'
    '&&LTTNG_LINUX_VERSION_CODE<LTTNG_KERNEL_VERSION(d,e,f))'
] + ['LTTNG_%s_KERNEL_RANGE(...)=0' % who for who in ('RT', 'UBUNTU', 'RHEL', 'DEBIAN', 'FEDORA', 'SLE', 'UEK')]
# Fields that lttng-modules reads from kernel structures and not from the record, and fields that later kernels have
# removed.
NOT_RECORDED = {
    'btrfs_get_extent': {'orig_start', 'block_start', 'block_len', 'compress_type'},
    'ext4_discard_preallocations': {'needed'},
    'kmem_kmalloc': {'accounted'},
    'mm_vmscan_lru_isolate': {'isolate_mode'},
    'sched_stat_runtime': {'vruntime'},
    'sched_process_fork': {'parent_ns_inum', 'vtids', 'child_ns_inum'},
    'writeback_wbc_writepage': {'for_reclaim'},
    'kvm_x86_apic_accept_irq': {'coalesced'},
    'kvm_x86_nested_intercepts': {'intercept'},
}
for name in ('', '_extfrag', '_zone_locked'):
    NOT_RECORDED['kmem_mm_page_alloc' + name] = {'page'}
for name in ('', '_batched'):
    NOT_RECORDED['kmem_mm_page_free' + name] = {'page'}
for name in ('net_dev_queue', 'net_if_receive_skb', 'net_if_rx'):
    NOT_RECORDED[name] = {'network_header_type', 'network_header'}
# The kernel records a number of 8 bytes, and the address of a text in the kernel.
OTHER_KIND = {('kvm_mmio', 'val'), ('rcu_utilization', 's')}
KINDS = {
    'integer': {'number'}, 'enum': {'number', 'enum'}, 'string': {'string'}, 'array_text': {'text', 'string'},
    'array': {'array'}, 'sequence': {'sequence'}, 'sequence_text': {'string'}
}


@functools.lru_cache(maxsize=None)
def headers():
    found = glob.glob('/usr/src/lttng-modules-*/include/instrumentation/events')
    if found:
        return found[-1]
    if not shutil.which('apt-get') or not shutil.which('dpkg-deb'):
        raise Skip('lttng-modules is not installed and cannot be fetched')
    where = os.path.join(os.path.abspath(os.environ.get('WMK_SCRATCH', 'build/tests/scratch')), 'lttng-modules')
    os.makedirs(where, exist_ok=True)
    if not glob.glob(where + '/*.deb'):
        finished(['apt-get', 'download', 'lttng-modules-dkms'], cwd=where, capture_output=True)
    for package in glob.glob(where + '/*.deb'):
        subprocess.run(['dpkg-deb', '-x', package, where], check=True)
    found = glob.glob(where + '/usr/src/lttng-modules-*/include/instrumentation/events')
    if not found:
        raise Skip('lttng-modules cannot be fetched')
    return found[-1]


def arguments(text, at):
    """The arguments of the call with its '(' at `at`."""
    depth, current, out, quoted = 0, '', [], False
    for c in text[at:]:
        quoted ^= c == '"'
        if not quoted and c in '([{':
            depth += 1
            if depth == 1:
                continue
        elif not quoted and c in ')]}':
            depth -= 1
            if not depth:
                return out + [current.strip()]
        elif not quoted and c == ',' and depth == 1:
            out.append(current.strip())
            current = ''
            continue
        current += c
    raise ValueError('a call has no closing parenthesis')


def without_inside(text):
    """Replace the content of ctf_custom_field(), because only its name counts."""
    while True:
        m = re.search(r'\bctf_custom_(type|code)\s*\(', text)
        if not m:
            return text
        depth, at = 0, m.end() - 1
        while True:
            depth += {'(': 1, ')': -1}.get(text[at], 0)
            at += 1
            if not depth:
                break
        text = text[:m.start()] + 'inside' + text[at:]


def fields_of(text):
    """name -> (kind, source expression)"""
    fields, text = {}, without_inside(text)
    for m in re.finditer(r'\bctf_(\w+)\s*\(', text):
        a, kind = arguments(text,
                            m.end() - 1), re.sub(r'_(hex|oct|network|network_hex|type)$', '',
                                                 re.sub(r'^(user_)', '', m[1]))
        at = {'string': 0, 'enum': 2}.get(kind, 1)
        if kind in KINDS or kind == 'custom_field':
            fields[a[at]] = (kind, ' '.join(a[at + 1:]))
    return fields


@functools.lru_cache(maxsize=None)
def theirs():
    """(the kernel's name, lttng-modules' name, fields) of each event."""
    events, classes = [], {}
    for path in sorted(glob.glob(headers() + '/**/*.h', recursive=True)):
        with open(path, encoding='utf-8') as f:
            text = re.sub(r'^\s*#\s*include.*$', '', f.read(), flags=re.M)
        text = subprocess.run(['gcc', '-E', '-P', '-nostdinc', *('-D' + d for d in DEFINES), '-'], input=text,
                              capture_output=True, text=True, check=False).stdout
        for m in re.finditer(r'\bLTTNG_TRACEPOINT_EVENT(\w*)\s*\(', text):
            a = arguments(text, m.end() - 1)
            fields = next((fields_of(x) for x in a if x.startswith('TP_FIELDS')), {})
            if m[1].startswith('_CLASS'):
                classes[a[0]] = fields
            elif m[1].startswith('_INSTANCE'):
                events.append((a[1], a[2] if '_MAP' in m[1] else a[1], a[0]))
            else:
                name = a[1] if '_MAP' in m[1] else a[0]
                classes['event ' + name] = fields
                events.append((a[0], name, 'event ' + name))
    return [(kernel, name, classes.get(of, {})) for kernel, name, of in events]


@functools.lru_cache(maxsize=None)
def own_classes():
    """the kernel's name -> [(system, name, {field: kind})]"""
    events = {}
    for line in subprocess.run([SHOW, FORMATS], capture_output=True, text=True, check=True).stdout.splitlines():
        system, kernel, name, *fields = line.split(' ')
        events.setdefault(kernel, []).append((system, name, dict(f.split(':') for f in fields)))
    return events


def both():
    if not shutil.which('gcc'):
        raise Skip('gcc is needed to preprocess the headers')
    pairs = [(name, fields, *event) for kernel, name, fields in theirs() for event in own_classes().get(kernel, [])]
    check(len(pairs) > 250, 'only %d events are in both', len(pairs))
    return pairs


def kernel_event_names_equal_those_of_lttng(case):
    for name, _, system, our_name, _ in both():
        check(name == our_name, '%s: %s has the name %s', system, name, our_name)


def kernel_field_names_equal_those_of_lttng(case):
    for name, fields, _, _, our_fields in both():
        lacking = set(fields) - set(our_fields)
        check(lacking == NOT_RECORDED.get(name, set()), '%s has no %s; has %s', name, lacking, sorted(our_fields))


def kernel_field_types_equal_those_of_lttng(case):
    # rwbs is a number of bits in lttng-modules and a text in the kernel's record. A value that analyses read as a
    # number is not an enumeration.
    checked = 0
    for name, fields, _, _, our_fields in both():
        for field, (kind, _) in fields.items():
            if field in our_fields and kind in KINDS and (name, field) not in OTHER_KIND:
                check(our_fields[field] in KINDS[kind], '%s: %s is a %s, not a %s', name, field, our_fields[field],
                      kind)
                checked += 1
    check(checked > 1000, 'only %d fields', checked)


def priority_fields_are_shifted_where_lttng_shifts_them(case):
    """event_names.c subtracts 100 from each priority from which lttng-modules subtracts it."""
    with open(os.path.join(HERE, '..', '..', 'src', 'kernel', 'event', 'event_names.c'), encoding='utf-8') as f:
        rows = re.findall(r'\{ "sched", "([^"]*)", NULL, "([^"]*)" \}', f.read())
    wanted = 0
    for name, fields, system, _, our_fields in both():
        if system != 'sched':
            continue
        rules = next((r for pattern, r in rows if re.fullmatch(pattern.replace('*', '.*'), name)), '').split()
        for field, (_, source) in fields.items():
            if field in our_fields:
                check(('MAX_RT_PRIO' in source) == (field + '-100' in rules), '%s: %s = %s; rules: %s', name, field,
                      source, rules)
                wanted += 'MAX_RT_PRIO' in source
    check(wanted >= 10, 'only %d priorities', wanted)


if __name__ == '__main__':
    main([kernel_event_names_equal_those_of_lttng, kernel_field_names_equal_those_of_lttng,
          kernel_field_types_equal_those_of_lttng, priority_fields_are_shifted_where_lttng_shifts_them])
