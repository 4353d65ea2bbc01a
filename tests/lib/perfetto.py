# SPDX-License-Identifier: MIT
"""
Reads a Perfetto trace within the scope of perfetto.proto, which was written from Perfetto's published definitions
alone. protoc decodes the bytes; events() checks the consistency that ui.perfetto.dev needs. It shares no line with the
writer of such traces. perfetto_self.py tests it.
"""
import json
import os
import re

from harness import finished, need
from traces import Failure, check

HERE = os.path.dirname(os.path.abspath(__file__))
DEFINITIONS = 'perfetto.proto'

REALTIME, BOOTTIME = 1, 6                   # clocks, by the numbers of BuiltinClock
CLEARED, NEEDS = 1, 2                       # bits of sequence_flags
DEEPEST = 10                                # the longest chain of parents that trace_processor follows

TYPES = {'TYPE_SLICE_BEGIN': 'begin', 'TYPE_SLICE_END': 'end', 'TYPE_INSTANT': 'instant', 'TYPE_COUNTER': 'counter'}
# An annotation has one of these as its value.
KINDS = ('bool_value', 'uint_value', 'int_value', 'double_value', 'string_value', 'string_value_iid', 'pointer_value',
         'nested_value', 'legacy_json_value', 'proto_value', 'dict_entries', 'array_values')
# The fields in which a packet may define interned texts, and the member of the entry with the text.
INTERNED = {'event_categories': 'name', 'event_names': 'name', 'debug_annotation_names': 'name',
            'debug_annotation_string_values': 'str'}


def read_definitions(path=os.path.join(HERE, DEFINITIONS)):
    """{message: {field: (is it repeated, its type)}} of a .proto file. The names of its messages are unique."""
    messages, inside = {}, []
    with open(path, encoding='utf-8') as f:
        for line in f:
            line = line.split('//')[0]
            block = re.match(r'\s*(message|enum) (\w+) \{', line)
            field = re.match(r'\s*(optional|repeated) (\w+) (\w+) = \d+;', line)
            if block:
                inside.append(block[2])
                if block[1] == 'message':
                    check(block[2] not in messages, '%s defines %s twice', path, block[2])
                    messages[block[2]] = {}
            elif field:
                messages[inside[-1]][field[3]] = (field[1] == 'repeated', field[2])
            elif line.strip() == '}':
                inside.pop()
    return messages


ESCAPE = re.compile(rb'\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))')
LETTERS = {b'n': b'\n', b't': b'\t', b'r': b'\r', b'a': b'\a', b'b': b'\b', b'f': b'\f', b'v': b'\v'}


def unescape(text):
    """The bytes of a quoted string of the text format."""
    check(len(text) > 1 and text[0] == text[-1] and text[0] in '"\'', 'not a string of the text format: %s', text[:80])

    def byte(m):
        return bytes([int(m[1], 8)]) if m[1] else bytes([int(m[2], 16)]) if m[2] else LETTERS.get(m[3], m[3])
    return ESCAPE.sub(byte, text[1:-1].encode('utf-8', 'surrogateescape'))


def scalar(kind, text, where):
    """A value of the text format, by its type."""
    if kind == 'double':
        return float(text)
    if kind == 'bool':
        check(text in ('true', 'false'), '%s is not a boolean: %s', where, text)
        return text == 'true'
    if kind in ('string', 'bytes'):
        value = unescape(text)
        if kind == 'bytes':
            return value
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Failure('%s is not valid UTF-8: %s' % (where, text[:200]))
    if re.fullmatch(r'(?:u?int|s?fixed)(?:32|64)', kind):
        return int(text, 0)
    check(re.fullmatch(r'[A-Z]\w*', text), '%s is not a name of %s: %s', where, kind, text)
    return text


FIELD = re.compile(r'\s*(\w+)(?:: (.*)| \{)$')


def parse(text, message='Trace'):
    """A message of protoc's text format as a dict: a list for each repeated field that is there, a dict for a message,
    names for enums."""
    definitions = read_definitions()
    top = {}
    stack = [(message, top)]
    for line in text.split('\n'):
        if line.endswith('}') and line.strip() == '}':
            stack.pop()
            check(stack, 'protoc closes what it has not opened')
            continue
        if not line:
            continue
        m = FIELD.match(line)
        check(m, 'protoc printed a line that is not a field: %s', line[:200])
        name, value = m[1], m[2]
        inside, into = stack[-1]
        check(name in definitions[inside], 'field %s of %s is unknown: %s', name, inside, line.strip()[:200])
        repeated, kind = definitions[inside][name]
        if value is None:
            check(kind in definitions, 'field %s of %s is not a message', name, inside)
            item = {}
            stack.append((kind, item))
        else:
            item = scalar(kind, value, '%s.%s' % (inside, name))
        if repeated:
            into.setdefault(name, []).append(item)
        else:
            check(name not in into, 'field %s of %s is duplicated', name, inside)
            into[name] = item
    check(len(stack) == 1, 'protoc leaves %d messages open', len(stack) - 1)
    return top


def decode(path, timeout=240):
    """The packets of a trace file, in its order."""
    need('protoc')
    argv = ['protoc', '--decode=perfetto.protos.Trace', '-I', HERE, DEFINITIONS]
    with open(path, 'rb') as f:
        done = finished(argv, timeout, stdin=f, capture_output=True)
    check(done.returncode == 0, 'protoc cannot read %s: %s', path, done.stderr.decode(errors='replace')[:2000])
    return parse(done.stdout.decode('utf-8', 'surrogateescape')).get('packet', [])


class Sequence:
    """The state that earlier packets of one trusted_packet_sequence_id have set for later ones."""

    def __init__(self, number):
        self.number, self.time, self.valid = number, 0, False
        self.clear()

    def clear(self):
        self.defaults, self.texts = {}, {table: {} for table in INTERNED}

    def text(self, table, iid):
        check(iid in self.texts[table], 'sequence %d has no entry %d in %s', self.number, iid, table)
        return self.texts[table][iid]


class Reader:
    """One pass over the packets. `lossy`: records are missing, so an end may have no begin."""

    def __init__(self, lossy=False):
        self.lossy, self.events = lossy, []
        self.tracks, self.scopes, self.open = {}, {}, {}
        self.sequences, self.clock, self.snapshots, self.timed = {}, BOOTTIME, [], False
        self.ftrace, self.system = [], None

    def packet(self, packet):
        sequence = self.sequence(packet)
        payload = [k for k in ('track_event', 'track_descriptor', 'clock_snapshot', 'ftrace_events', 'system_info')
                   if k in packet]
        check(len(payload) <= 1, 'a packet holds %s, and can only hold one', ' and '.join(payload))
        if 'clock_snapshot' in packet:
            self.snapshot(packet['clock_snapshot'], sequence)
            return
        time = self.time(packet, sequence)
        if 'track_descriptor' in packet:
            self.descriptor(packet['track_descriptor'])
        if 'ftrace_events' in packet:
            self.bundle(packet['ftrace_events'])
        if 'system_info' in packet:
            check(not self.system and not self.ftrace, 'the system is described twice, or after its events')
            self.system = packet['system_info']['utsname']
        if 'track_event' in packet:
            check(sequence, 'an event belongs to no sequence: %s', packet)
            check(time is not None, 'an event has no time: %s', packet)
            self.event(packet['track_event'], sequence, time)

    def sequence(self, packet):
        """The sequence of a packet, updated by the packet; None if the packet names none."""
        number = packet.get('trusted_packet_sequence_id')
        flags = packet.get('sequence_flags', 0)
        check(flags in range((CLEARED | NEEDS) + 1), 'the sequence flags %d are undefined', flags)
        if number is None:
            stray = {
                'sequence_flags', 'incremental_state_cleared', 'previous_packet_dropped', 'first_packet_on_sequence',
                'trace_packet_defaults', 'interned_data'
            } & set(packet)
            check(not stray, 'a packet of no sequence has %s', ', '.join(sorted(stray)))
            return None
        check(number, 'the sequence of a packet is 0, which is invalid: %s', packet)
        first = number not in self.sequences
        sequence = self.sequences.setdefault(number, Sequence(number))
        check(first or not packet.get('first_packet_on_sequence'), 'sequence %d has a second first packet', number)
        if flags & CLEARED or packet.get('incremental_state_cleared'):
            sequence.clear()
            sequence.valid = True
        elif packet.get('previous_packet_dropped'):
            sequence.valid = False
        check(sequence.valid or not flags & NEEDS,
              'sequence %d: a packet needs state that nobody has begun (it would be '
              'skipped): %s', number, packet)
        for field in ('trace_packet_defaults', 'interned_data'):
            check(sequence.valid or field not in packet, 'sequence %d: %s before the state was cleared', number, field)
        sequence.needs = bool(flags & NEEDS)
        sequence.defaults = packet.get('trace_packet_defaults', sequence.defaults)
        for table, entries in packet.get('interned_data', {}).items():
            for entry in entries:
                iid, text = entry.get('iid', 0), entry.get(INTERNED[table])
                check(iid, 'sequence %d: an entry of %s has no number', number, table)
                if isinstance(text, bytes):
                    text = text.decode('utf-8', 'surrogateescape')
                check(sequence.texts[table].setdefault(iid, text) == text, 'sequence %d: entry %d of %s is duplicated',
                      number, iid, table)
        return sequence

    def bundle(self, bundle):
        """
        Events of a CPU: (time, cpu, lost, pid, name, fields). Their times are of CLOCK_BOOTTIME, whatever the clock of
        the packet, so this clock must be equal to the clock of the trace.
        """
        check('cpu' in bundle and bundle.get('event'), 'a bundle has no CPU or no events: %s', bundle)
        check(self.snapshots and all(s.get(BOOTTIME) == s.get(self.clock) for s in self.snapshots),
              'no snapshot makes CLOCK_BOOTTIME equal to the clock of the trace')
        for n, event in enumerate(bundle['event']):
            names = sorted(set(event) - {'timestamp', 'pid'})
            check(len(names) == 1 and 'timestamp' in event and 'pid' in event, 'an ftrace event is incomplete: %s',
                  event)
            lost = bundle.get('lost_events', False) and n == 0
            self.ftrace.append((event['timestamp'], bundle['cpu'], lost, event['pid'], names[0], event[names[0]]))

    def snapshot(self, snapshot, sequence):
        readings = {}
        for clock in snapshot.get('clocks', []):
            number = clock.get('clock_id', 0)
            check(number and 'timestamp' in clock, 'a clock snapshot has half a reading: %s', clock)
            check(not clock.get('is_incremental'), 'clock %d counts differences, which are not read here', number)
            key = self.clock_key(number, sequence)
            check(key not in readings, 'a snapshot reads clock %d twice', number)
            readings[key] = (clock['timestamp'], clock.get('unit_multiplier_ns') or 1)
        primary = snapshot.get('primary_trace_clock')
        if primary is not None:
            number = self.clock_number(primary)
            check(number in readings, 'a snapshot makes clock %d that of the trace, but does not read it', number)
            check(number == self.clock or not self.timed, 'the clock of the trace becomes %d after times were used',
                  number)
            self.clock = number
        check(readings.get(self.clock, (0, 1))[1] == 1, 'the clock of the trace does not count nanoseconds')
        self.snapshots.append(readings)

    @staticmethod
    def clock_number(name):
        names = {'BUILTIN_CLOCK_REALTIME': 1, 'BUILTIN_CLOCK_REALTIME_COARSE': 2, 'BUILTIN_CLOCK_MONOTONIC': 3,
                 'BUILTIN_CLOCK_MONOTONIC_COARSE': 4, 'BUILTIN_CLOCK_MONOTONIC_RAW': 5, 'BUILTIN_CLOCK_BOOTTIME': 6}
        check(name in names, '%s cannot be the clock of a trace', name)
        return names[name]

    @staticmethod
    def clock_key(number, sequence):
        if not 64 <= number < 128:
            return number
        check(sequence, 'clock %d belongs to a sequence, its packet to none', number)
        return (sequence.number, number)

    def time(self, packet, sequence):
        """Nanoseconds of the trace's clock, or None."""
        if 'timestamp' not in packet:
            return None
        time = packet['timestamp']
        defaults = sequence.defaults if sequence else {}
        number = packet.get('timestamp_clock_id') or defaults.get('timestamp_clock_id') or self.clock
        key = self.clock_key(number, sequence)
        self.timed = True
        if key != self.clock:
            known = [s for s in self.snapshots if key in s and self.clock in s]
            check(known, 'no clock snapshot leads from clock %s to the clock of the trace, %d', key, self.clock)
            unit = known[0][key][1]
            before = [s for s in known if s[key][0] <= time] or known[:1]
            time = (time - before[-1][key][0]) * unit + before[-1][self.clock][0]
        check(0 <= time < 1 << 63, 'a time is out of range: %d', time)
        if sequence:
            check(time >= sequence.time, 'sequence %d: the time goes back from %d to %d', sequence.number,
                  sequence.time, time)
            sequence.time = time
        return time

    def descriptor(self, track):
        check('uuid' in track, 'a track has no uuid: %s', track)
        uuid = track['uuid']
        kinds = [k for k in ('process', 'thread', 'counter') if k in track]
        check(len(kinds) <= 1, 'track %d is %s at once', uuid, ' and '.join(kinds))
        check('name' not in track or 'static_name' not in track, 'track %d has two names', uuid)
        for kind, ids in (('process', ('pid',)), ('thread', ('pid', 'tid'))):
            for field in ids if kind in track else ():
                check(field in track[kind], 'track %d is that of a %s and has no %s', uuid, kind, field)
                check(track[kind][field] >= 0, 'track %d: the %s of its %s is %d', uuid, field, kind,
                      track[kind][field])
        counter = track.get('counter')
        if counter is not None:
            check(name_of(track), 'track %d is that of a counter and has no name', uuid)
            check(not counter.get('is_incremental'), 'counter %d counts differences, which are not read here', uuid)
        before = self.tracks.setdefault(uuid, track)
        for field in ('parent_uuid', 'process', 'thread', 'counter', 'name', 'static_name'):
            old, new = before.get(field), track.get(field)
            if field in ('process', 'thread') and old and new:
                # The name of a process or thread may be declared later, but it never changes.
                check(all(new.get(key, value) == value for key, value in old.items()),
                      'track %d is declared again with another %s', uuid, field)
                if old != new:
                    old.update(new)
                    self.scopes.clear()  # of this track and of its descendants
            else:
                check(old == new, 'track %d is declared again with another %s', uuid, field)

    def scope(self, uuid):
        """The scope of a track: {pid, tid, process_name, thread_name, track}. Its ancestors must be declared."""
        if uuid in self.scopes:
            return self.scopes[uuid]
        check(uuid in self.tracks, 'track %d is used and has not been declared', uuid)
        track, line = self.tracks[uuid], [uuid]
        found = dict.fromkeys(('pid', 'tid', 'process_name', 'thread_name'))
        while True:
            at = self.tracks[line[-1]]
            for kind in ('thread', 'process'):
                for field, value in at.get(kind, {}).items():
                    check(field != 'pid' or found['pid'] in (None, value),
                          'track %d is of process %s, its parent of %s', uuid, found['pid'], value)
                    if field in found and found[field] is None:
                        found[field] = value
            parent = at.get('parent_uuid', 0)
            if not parent:
                break
            check(parent in self.tracks, 'track %d has the parent %d, which has not been declared', line[-1], parent)
            check(parent not in line, 'track %d is its own ancestor', parent)
            line.append(parent)
            check(len(line) <= DEEPEST, 'track %d has more than %d ancestors', uuid, DEEPEST)
        if found['pid'] is not None and found['process_name'] is None:
            # The parent of a thread's track is not necessarily the track of its process.
            for other in self.tracks.values():
                if other.get('process', {}).get('pid') == found['pid']:
                    found['process_name'] = other['process'].get('process_name')
        found['track'] = name_of(track) or found['thread_name' if 'thread' in track else 'process_name']
        self.scopes[uuid] = found
        return found

    def event(self, event, sequence, time):
        kind = TYPES.get(event.get('type'))
        check(kind, 'an event has no type: %s', event)
        defaults = sequence.defaults.get('track_event_defaults', {})
        uuid = event.get('track_uuid', defaults.get('track_uuid'))
        check(uuid is not None, 'an event names no track: %s', event)
        check('name' not in event or 'name_iid' not in event, 'an event has two names: %s', event)
        iids = 'name_iid' in event or 'category_iids' in event
        check(sequence.needs or 'track_uuid' in event and not iids,
              'an event relies on earlier packets and does not say so '
              '(sequence_flags): %s', event)
        name = sequence.text('event_names', event['name_iid']) if 'name_iid' in event else event.get('name')
        categories = event.get('categories',
                               []) + [sequence.text('event_categories', i) for i in event.get('category_iids', [])]
        scope = self.scope(uuid)
        counts = 'counter' in self.tracks[uuid]
        check(counts == (kind == 'counter'), 'a %s event on track %d, which is that of %s', kind, uuid,
              'a counter' if counts else 'no counter')
        values = [event[f] for f in ('counter_value', 'double_counter_value') if f in event]
        check(len(values) == counts, 'a %s event with %d counter values: %s', kind, len(values), event)
        check(name or kind in ('counter', 'end'), 'an event has no name: %s', event)
        self.nest(kind, uuid, name, categories, time)
        factor = self.tracks[uuid]['counter'].get('unit_multiplier') or 1 if counts else 1
        self.events.append(
            dict(scope, time=time, type=kind, name=name, categories=categories, uuid=uuid, sequence=sequence.number,
                 clock=self.clock, value=values[0] * factor if counts else None,
                 flows=event.get('flow_ids', []) + event.get('terminating_flow_ids', []),
                 args=entries(event.get('debug_annotations', []), sequence)))

    def nest(self, kind, uuid, name, categories, time):
        """Spans of one track are nested, and an end closes the innermost span."""
        spans = self.open.setdefault(uuid, [])
        if kind in ('begin', 'instant') and spans:
            check(time >= spans[-1][2], 'track %d: %s at %d is before the span around it, %s', uuid, name, time,
                  spans[-1])
        if kind == 'begin':
            spans.append((name, categories, time))
        if kind == 'end':
            check(spans or self.lossy, 'track %d: an end at %d closes nothing', uuid, time)
            if spans:
                begun, of, since = spans[-1]
                check(name in (None, begun) and categories in ([], of),
                      'track %d: the end of %s at %d, while %s is open', uuid, name, time, begun)
                check(time >= since, 'track %d: %s ends at %d, before it began', uuid, begun, time)
                spans.pop()

    def finish(self):
        for uuid in self.tracks:
            self.scope(uuid)
        return self.events


def name_of(track):
    return track.get('name') or track.get('static_name')


def entries(annotations, sequence):
    """
    The dict of annotations. trace_processor replaces `.`, `[` and `]` in names by `_`, and shows one of two equal
    names.
    """
    found, shown = {}, set()
    for annotation in annotations:
        check('name' not in annotation or 'name_iid' not in annotation, 'an annotation has two names: %s', annotation)
        if 'name_iid' in annotation:
            check(sequence.needs, 'an annotation relies on earlier packets, its packet does not say so: %s', annotation)
            name = sequence.text('debug_annotation_names', annotation['name_iid'])
        else:
            name = annotation.get('name')
        check(name, 'an annotation has no name: %s', annotation)
        as_shown = re.sub(r'[.\[\]]', '_', name)
        check(as_shown not in shown, 'two annotations are called %s', as_shown)
        shown.add(as_shown)
        found[name] = annotation_value(annotation, sequence)
    return found


def annotation_value(annotation, sequence):
    kinds = [k for k in KINDS if k in annotation]
    check(len(kinds) <= 1, 'an annotation has two values: %s', annotation)
    if not kinds:
        return None                         # an empty dict or array; the format does not distinguish them
    kind, value = kinds[0], annotation[kinds[0]]
    if kind == 'dict_entries':
        return entries(value, sequence)
    if kind == 'array_values':
        check(not any('name' in v or 'name_iid' in v for v in value), 'an element of an array has a name: %s',
              annotation)
        return [annotation_value(v, sequence) for v in value]
    if kind == 'string_value_iid':
        check(sequence.needs, 'an annotation relies on earlier packets, its packet does not say so: %s', annotation)
        return sequence.text('debug_annotation_string_values', value)
    if kind == 'legacy_json_value':
        return json.loads(value)
    return nested(value) if kind == 'nested_value' else value


def nested(value):
    """The older encoding of dicts and arrays. It is the only one for empty ones."""
    kind = value.get('nested_type', 'UNSPECIFIED')
    if kind == 'DICT':
        keys, values = value.get('dict_keys', []), value.get('dict_values', [])
        check(
            len(keys) == len(values) == len(set(keys)), 'a dict of %d keys and %d values: %s', len(keys), len(values),
            value)
        return dict(zip(keys, map(nested, values)))
    if kind == 'ARRAY':
        return [nested(v) for v in value.get('array_values', [])]
    values = [v for k, v in value.items() if k != 'nested_type']
    check(len(values) == 1, 'a nested value holds %d values: %s', len(values), value)
    return values[0]


def read(packets, lossy=False):
    reader = Reader(lossy)
    for packet in packets:
        reader.packet(packet)
    reader.finish()
    return reader


def events(packets, lossy=False):
    """
    The events of a trace, in the file's order, as dicts: time (ns of the trace's clock, `clock`), type (`begin`, `end`,
    `instant`, `counter`), name, categories, pid, tid, process_name, thread_name, track (its name), args, value (of a
    counter), uuid, sequence, flows. Fails on anything that a reader might reject.
    """
    return read(packets, lossy).events


def tracks(packets):
    """{uuid: {pid, tid, process_name, thread_name, track}} of every track, used or not."""
    return read(packets, lossy=True).scopes
