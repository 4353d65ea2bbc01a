# SPDX-License-Identifier: MIT
"""A trace as two independent readers see it, and the comparison of the records with the ledger of the programs."""
import collections
import os
import re
import struct

from waits import Failure, check, finished

LEDGER_SLOTS, LEDGER_HEAD, LEDGER_SLOT = 8192, 8 * (1 + 64 + 63), 64
LEDGER_SIZE = LEDGER_HEAD + LEDGER_SLOTS * LEDGER_SLOT
MASK = (1 << 64) - 1
ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

# A reader's report of lost records is data, not a warning about the trace.
LOSS = re.compile(r'racer (?:may have )?(?:discarded|lost)')
LOST = re.compile(r'discarded (\d+) events?')


def writer_sum(writer, seq):
    x = ((seq + 1) * 0x9e3779b97f4a7c15 & MASK) ^ ((writer + 1) * 0xc2b2ae3d27d4eb4f & MASK)
    return (x ^ x >> 32) & 0xffffffff


class Ledger:
    """
    The file on which the processes of a test publish how many records they have begun and completed
    (tests/programs/ledger.h).
    """

    def __init__(self, path):
        self.path = path
        with open(path, 'wb') as f:
            f.truncate(LEDGER_SIZE)

    def read(self):
        """{writer: (begun, returned)} of the writers that have begun records."""
        with open(self.path, 'rb') as f:
            data = f.read()
        found = {}
        for w in range(LEDGER_SLOTS):
            begun, returned = struct.unpack_from('<QQ', data, LEDGER_HEAD + w * LEDGER_SLOT)
            if begun:
                found[w] = (begun, returned)
        return found

    def flag(self, index):
        with open(self.path, 'rb') as f:
            f.seek(8 + 8 * index)
            return struct.unpack('<Q', f.read(8))[0]

    def set_flag(self, index, value):
        with open(self.path, 'r+b') as f:
            f.seek(8 + 8 * index)
            f.write(struct.pack('<Q', value))

    def begun(self):
        return sum(b for b, _ in self.read().values())


Record = collections.namedtuple('Record', 'time name scopes fields')


def _value(text, at):
    """Parse one value of the text form at text[at:]; returns (value, where it ends)."""
    c = text[at]
    if c == '"':
        end = at + 1
        while text[end] != '"':
            end += 2 if text[end] == '\\' else 1
        return text[at + 1:end], end + 1
    if c in '{[(':
        return group_of(text, at)
    end = at
    while end < len(text) and text[end] not in ',}])':
        end += 1
    word = text[at:end].strip()
    if re.fullmatch(r'0[0-7]+', word):
        return int(word, 8), end
    for convert in (lambda s: int(s, 0), float):
        try:
            return convert(word), end
        except ValueError:
            pass
    return word, end


def group_of(text, at):
    """`{ name = value, ... }`, `[ [0] = value, ... ]` or `( "LABEL" : container = 3 )` at text[at:]."""
    close = {'{': '}', '[': ']', '(': ')'}[text[at]]
    named, items, opened = {}, [], text[at]
    at += 1
    while True:
        while text[at] in ' ,:':
            at += 1
        if text[at] == close:
            break
        label = re.compile(r'(?:\[(\d+)\]|(\w+)) = ').match(text, at)
        if label:
            at = label.end()
        value, at = _value(text, at)
        if label and label.group(2):
            named[label.group(2)] = value
        else:
            items.append(value)
    at += 1
    if opened == '(':
        return (tuple(items), named.get('container')), at
    return (items if opened == '[' else named), at


# Fields that babeltrace 1 derives for `ip` from the state dump and the program's debugging information. They are not in
# the trace.
FOUND_OUT = re.compile(r', debug_info = \{[^}]*\}')
LINE = re.compile(r'\[(\d+)\] (?:\S+ )?([^\s{]+:[^{]*?): \{')


def groups_after(head_of, line):
    """The part that `head_of` matches, up to the first brace, and the groups after it."""
    head = head_of.match(line)
    check(head, 'a reader printed a line that is not a record: %s', line[:200])
    at, groups = head.end() - 1, []
    while at < len(line):
        group, at = group_of(line, at)
        groups.append(group)
        while at < len(line) and line[at] in ', ':
            at += 1
    return head, groups


def parse_line(line):
    head, groups = groups_after(LINE, line)
    scopes = {}
    for group in groups:
        scopes.update(group)
    return Record(int(head.group(1)), head.group(2), scopes, groups[-1] if len(groups) > 1 else {})


def run_reader(reader, directory, options=(), lossy=False, timeout=240):
    """
    The lines of a reader's text output. Fails on any warning. Returns (lines, records lost as the reader reports).
    """
    argv = [reader, '--clock-cycles', '--no-delta', *options, directory]
    # Long reads of strings with any bytes: latin-1 keeps every byte unchanged.
    done = finished(argv, timeout, capture_output=True)
    err = done.stderr.decode('latin-1')
    check(done.returncode == 0, '%s: status %d: %s', reader, done.returncode, err[:2000])
    lost = 0
    for line in filter(str.strip, err.splitlines()):
        if lossy and LOSS.search(line):
            lost += sum(int(n) for n in LOST.findall(line))
        else:
            raise Failure('%s warns: %s' % (reader, line[:500]))
    return [FOUND_OUT.sub('', s) for s in done.stdout.decode('latin-1').split('\n') if s], lost


def metadata_text(directory):
    """The trace's metadata files, as text (found below `directory`)."""
    found = []
    for top, _, files in os.walk(directory):
        if 'metadata' in files:
            with open(os.path.join(top, 'metadata'), encoding='utf-8', errors='replace') as f:
                found.append(f.read())
    return found


class Trace:
    """Read by babeltrace 1.5 and babeltrace 2.0; both must agree, record by record."""

    def __init__(self, directory, lossy=False):
        self.directory = directory
        metadata = metadata_text(directory)
        check(metadata, 'no metadata below %s', directory)
        frequency = re.search(r'clock \{[^}]*freq = (\d+)', metadata[0])
        check(frequency, 'the metadata declares no clock with a frequency')
        self.frequency = int(frequency.group(1))
        one, self.lost_one = run_reader('babeltrace', directory, lossy=lossy)
        two, self.lost_two = run_reader('babeltrace2', directory, lossy=lossy)
        # Values are those of the first reader: the second (2.0.4) shows the previous value of the field for an empty
        # string.
        self.lines = one
        check(len(one) == len(two), 'babeltrace 1 reads %d records, babeltrace 2 %d', len(one), len(two))
        if one != two:
            self.compare(one, two)
        times = [int(line[1:21]) for line in two]
        # Readers merge by nanosecond: within one, counters of different streams come in any order.
        slack = self.frequency // 1000000000 + 1
        check(all(a <= b + slack for a, b in zip(times, times[1:])), 'the merged times go back')

    @staticmethod
    def compare(one, two):
        """
        The lines are equal in another order (equal times in different streams), or equal in value with another
        notation.
        """
        only_one, only_two = collections.Counter(one), collections.Counter(two)
        only_one, only_two = only_one - only_two, only_two - only_one

        def form(lines):
            return sorted(((r.time, r.name, r.scopes) for r in map(parse_line, lines.elements())), key=lambda r: (r[0],
                    str(r)))
        for left, right in zip(form(only_one), form(only_two)):
            check(left[:2] == right[:2] and list(left[2]) == list(right[2]), 'the two readers differ: %s / %s', left,
                  right)
            for name, value in left[2].items():
                check(value in (right[2][name], ''), 'the two readers differ in %s: %s / %s', name, left, right)

    def records(self, name=None):
        wanted = None if name is None else ' %s: {' % name
        for line in self.lines:
            if wanted is None or wanted in line:
                yield parse_line(line)

    def count(self):
        return len(self.lines)


SEQ = re.compile(r'\[(\d+)\] (?:\S+ )?test:(seq|text|more): \{(.*)\{ writer = (\d+), seq = (\d+), t0 = (\d+), '
                 r'mono = (\d+), sum = (\d+)(?:, text = "([a-z]*)(…|\xe2\x80\xa6)?")? \}$')
CPU = re.compile(r'cpu_id = (-?\d+)')


def check_sequences(trace, ledger, lost=0, killed=False, missing_allowed=None):
    """
    Check that every number occurs once, that it was begun, that times are correct, and that `returned <= read + lost <=
    begun`.

    `lost` is the count of the recorder. `killed`: a process was killed, so only the inequality is required; otherwise
    all three are equal. Returns {writer: sorted numbers}.
    """
    begun, seen, at = ledger.read(), collections.defaultdict(dict), {}
    use_counter = trace.frequency != 1000000000
    for line in trace.lines:
        if not any(' test:%s: {' % name in line for name in ('seq', 'text', 'more')):
            continue
        m = SEQ.match(line)
        check(m, 'a record of the test cannot be parsed: %s', line[:300])
        time, writer, seq, t0, mono, total = int(m[1]), int(m[4]), int(m[5]), int(m[6]), int(m[7]), int(m[8])
        check(writer in begun, 'a record of writer %d, which began no record: %s', writer, line)
        check(total == writer_sum(writer, seq), 'a torn record: %s', line)
        check(seq not in seen[writer], 'writer %d: number %d is recorded twice, the second time as %s', writer, seq,
              line[:600])
        check(1 <= seq <= begun[writer][0], 'writer %d: number %d is recorded, but only %d were begun', writer, seq,
              begun[writer][0])
        if m[2] == 'text' and m[9]:
            first = seq % 26
            check(m[9] == (ALPHABET * ((first + len(m[9])) // 26 + 1))[first:first + len(m[9])], 'a torn text: %s',
                  line[:300])
        before = t0 if use_counter else mono
        check(time >= before, 'writer %d, number %d: recorded at %d, before the call at %d', writer, seq, time, before)
        seen[writer][seq] = (before, time)
        cpu = CPU.search(m[3])
        # (Claim rings belong to no CPU: there are several, and readers merge them by nanosecond.)
        if cpu and cpu[1] not in ('-1', '4294967295'):
            check(at.get(cpu[1], 0) <= time, 'CPU %s: time goes back at %s', cpu[1], line)
            at[cpu[1]] = time
    for writer, numbers in seen.items():
        order = sorted(numbers)
        for a, b in zip(order, order[1:]):
            check(numbers[a][1] <= numbers[b][0], 'writer %d: number %d has a time after number %d began', writer, a, b)
    read = sum(map(len, seen.values()))
    sum_begun, sum_returned = sum(b for b, _ in begun.values()), sum(r for _, r in begun.values())
    words = 'returned %d, read %d + lost %d, begun %d' % (sum_returned, read, lost, sum_begun)
    missing = [(w, n) for w, (_, returned) in sorted(begun.items()) for n in range(1, returned + 1) if n not in seen[w]]
    words += '; missing (writer, number): %s' % missing[:20] if missing and not lost else ''
    check(sum_returned <= read + lost <= sum_begun, 'the counts are inconsistent: ' + words)
    if not killed:
        check(sum_returned == sum_begun, 'calls did not return although no process was killed: ' + words)
    return {w: sorted(n) for w, n in seen.items()}
