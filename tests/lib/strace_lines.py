# SPDX-License-Identifier: MIT
"""
Parses lines of strace and of `waymark strace`: system calls by process, without the values that differ between runs.
"""
import collections
import re

# `plain`: the original text except for VOLATILE. A size may equal the number of a process by chance.
Call = collections.namedtuple('Call', 'name text plain')

# Values that differ between runs: addresses, times, random bytes.
VOLATILE = ((re.compile(r'0x[0-9a-f]{5,16}\b'), 'ADDRESS'),
            (re.compile(r'left \{tv_sec=\d+, tv_nsec=\d+\}'), 'left TIME'),
            (re.compile(r'tv_sec=\d{9,}, tv_nsec=\d+'), 'TIME'),
            (re.compile(r'(getrandom\()".*?"'), r'\1RANDOM'))


class Process:
    """Its system calls, in order; its children, by their numbers; signals and exits as printed."""

    def __init__(self):
        self.calls, self.children, self.others = [], [], []


def read(text, follow):
    """
    Parse lines of `-o FILE`, with -f if `follow`. Returns {number: Process}, the first process first. Interrupted calls
    are joined with their resumption.
    """
    processes, begun = {}, {}
    for line in text.splitlines():
        pid, rest = (line.split(None, 1) if follow else ('0', line))
        process = processes.setdefault(int(pid), Process())
        if rest.startswith(('---', '+++', '[ ')):
            process.others.append(rest)
            continue
        resumed = re.match(r'<\.\.\. (\w+) resumed>(.*)', rest)
        if rest.endswith(' <unfinished ...>'):
            begun[pid] = rest[:-len(' <unfinished ...>')]
            continue
        if resumed:
            head = begun.pop(pid, None)
            if head is None:
                process.others.append(rest)
                continue
            rest = head + resumed.group(2)
        rest = re.sub(r'\) +(= [^=]*)$', r') \1', rest)
        name = re.match(r'\w+', rest)
        if not name:
            process.others.append(rest)
            continue
        process.calls.append(Call(name.group(), rest, rest))
        made = re.match(r'(?:clone|clone3|fork|vfork)\(.*= (\d+)$', rest)
        if made:
            process.children.append(int(made.group(1)))
    return processes


def by_birth(processes):
    """
    Processes named by their parent: "0", "0.0", "0.1", ...; with their system calls, in which these names replace
    process numbers.
    """
    names = {}

    def name(pid, as_what):
        names[pid] = as_what
        for i, child in enumerate(processes[pid].children if pid in processes else ()):
            name(child, '%s.%d' % (as_what, i))
    name(next(iter(processes)), '0')
    known = re.compile(r'\b(%s)\b' % '|'.join(str(pid) for pid in names)) if any(names) else None
    result = {}
    for pid, process in processes.items():
        calls = []
        for call in process.calls:
            text = call.text
            for pattern, instead in VOLATILE:
                text = pattern.sub(instead, text)
            named = known.sub(lambda m: '<%s>' % names[int(m.group())], text) if known else text
            calls.append(Call(call.name, named, text))
        result[names.get(pid, 'unknown %d' % pid)] = calls
    return result
