#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
`waymark view` and the decoder of ctf2.py read CTF 2: invalid traces of each kind, and strings and BLOBs of each kind.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
import corpus2_bad  # noqa: E402
import ctf2  # noqa: E402
from corpus2_bad_metadata import METADATA  # noqa: E402
from ctf18 import save  # noqa: E402
from harness import VIEW, WAYMARK, check, main, rounds  # noqa: E402
from t_convert_ctf import rewritten  # noqa: E402
from t_view import BROKEN, read  # noqa: E402
from ctf2_texts import KINDS, REPLACED, UNITS, Blob, Text, Value, encoded, unit  # noqa: E402
from traces import Failure, group_of  # noqa: E402
from wide_numbers import Array, Leaf, Made, Struct, scratch  # noqa: E402

ONES = b'\1' * 64


def view(case, path, status):
    """(records, error output)."""
    got, lines, err = read(case, [WAYMARK, 'view', '--json', path])
    said = err.decode(errors='replace')
    check(got == status and not any(words in err for words in BROKEN), '%s: status %s, not %s: %s', path, got, status,
          said[-800:])
    return [json.loads(line) for line in lines], said


def decoded(path, file=None, errors='strict'):
    """(records of a file, or of all files; the error of ctf2.py or None)."""
    records = []
    try:
        trace = ctf2.Trace(path, errors)
        trace.files = [file] if file else trace.files
        records.extend(trace.records())
    except Failure as failure:
        return records, str(failure)
    return records, None


def prints(words, said, path):
    for word in words:
        check(word.lower() in said.lower(), '%s: "%s" is not printed: %s', path, word, said[-800:])


def plain(value):
    """The value as JSON shows it."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner)
            for inner in value] if isinstance(value, list) else value.hex() if isinstance(value, bytes) else value


# ── invalid traces ──────────────────────────────────────────────────────────────────────────────────────

def bad_metadata(bad):
    def run(case):
        path = case.path(bad.name)
        save(path, metadata=bad.metadata, stream=ONES)
        records, said = view(case, path, 1)
        check(not records, '%s: %d records', path, len(records))
        prints(bad.words, said, path)
        records, failure = decoded(path)
        check(failure and not records, '%s: ctf2.py reports no error, or reads records: %d', path, len(records))
    run.__name__ = 'bad_metadata_' + bad.name
    return run


def bad_data(bad):
    def run(case):
        path, good = case.path(bad.name), case.path('good')
        corpus2_bad.write(good)
        wanted = {
            record.fields['payload']['n']: plain(record.fields['payload']) for record in ctf2.Trace(good).records()
        }
        bad.write(path)
        records, said = view(case, path, 1)
        prints(bad.words, said, path)
        numbers = [record['fields']['n'] for record in records]
        of_b = [number for number in wanted if number >= 100]
        check([n for n in numbers if n < 100] == bad.kept and [n for n in numbers if n >= 100] == of_b,
              '%s: not the records %s and %s, but %s', path, bad.kept, of_b, numbers)
        for record in records:
            check(record['fields'] == wanted[record['fields']['n']], '%s: not %s: %s', path,
                  wanted[record['fields']['n']], record)
        theirs, failure = decoded(path, corpus2_bad.A)
        theirs = [record.fields['payload']['n'] for record in theirs]
        check(failure and theirs == bad.kept[:len(theirs)], '%s: ctf2.py: %s, records %s', path, failure, theirs)
    run.__name__ = 'bad_' + bad.name
    return run


def valid_ctf_2_base_trace_is_read_without_errors(case):
    """The valid trace that the invalid ones are derived from."""
    path = case.path('good')
    corpus2_bad.write(path)
    records, said = view(case, path, 0)
    theirs, failure = decoded(path)
    check(not said and failure is None and len(records) == len(theirs) == 2 * len(corpus2_bad.ALL),
          '%d and %d records: %s %s', len(records), len(theirs), said, failure)
    for file in (corpus2_bad.A, corpus2_bad.B):
        check([r['fields'] for r in records
               if r['stream'] == file] == [plain(r.fields['payload']) for r in theirs if r.file == file],
              '%s: the values differ', file)


def truncated_metadata_is_reported_and_records_are_read(case):
    """
    Complete fragments of truncated metadata are read, and the truncation is reported even if no record needs the
    missing part.
    """
    path = case.path('cut')
    for length in range(1, 60):
        save(
            path, metadata=corpus2_bad.metadata(*corpus2_bad.fragments()) + b'\x1e' +
            b'{"type": "event-record-class", "id": 9, "name": "never recorded"}'[:length],
            **{corpus2_bad.A: b''.join(corpus2_bad.stream_of(0))})
        records, said = view(case, path, 1)
        check(len(records) == len(corpus2_bad.ALL), '%d bytes: %d records', length, len(records))
        prints(['metadata:8:', 'fragment 8', 'ends too early'], said, path)


def absent_class_ids_are_0_in_ctf_2(case):
    """
    The only stream class and event class of a CTF 1.8 trace may have any id. Converted to CTF 2, where an absent id
    means 0, the trace has the same records for both decoders.
    """
    tsdl = '/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\nstream { id = 3; };\n' \
        'event { name = "e"; id = 7; stream_id = 3; fields := struct { %s }; };\n'
    path = case.path('any')
    save(path, metadata=tsdl % 'integer { size = 8; } n;', stream=b'\1\2\3')
    for directory in (path, rewritten(case, 'ctf-2', path)):
        check([record['fields'] for record in view(case, directory, 0)[0]] == [{'n': 1}, {'n': 2}, {'n': 3}],
              '%s: the records differ', directory)
    records, failure = decoded(directory)
    check(failure is None and [record.fields['payload']['n'] for record in records] == [1, 2, 3], '%s: ctf2.py: %s, %s',
          directory, failure, records)


# ── strings, BLOBs ──────────────────────────────────────────────────────────────────────────────────────

def shown(value):
    """The value that a reader must show."""
    if isinstance(value, Value):
        return value.shown
    if isinstance(value, dict):
        return {name: shown(inner) for name, inner in value.items()}
    return [shown(inner) for inner in value] if isinstance(value, list) else value


def is_whole(value):
    if isinstance(value, Value):
        return value.is_whole
    return all(map(is_whole,
                   value.values() if isinstance(value, dict) else value)) if isinstance(value, (dict, list)) else True


def compare(case, made, name):
    """
    Compare the written values with the JSON of `view`, its text and ctf2.py; then do the same with the converted trace.
    """
    path = made.write(scratch(case, name))
    wanted = [shown(record[-1]) for _, record in made.records()]
    good = all(is_whole(record[-1]) for _, record in made.records())
    for directory in (path, rewritten(case, 'ctf-2', path)):
        got = [record['fields'] for record in view(case, directory, 0)[0]]
        check(len(got) == len(wanted), '%s: %d records, not %d', directory, len(got), len(wanted))
        for number, (ours, right) in enumerate(zip(got, wanted)):
            check(ours == right, '%s, record %d: %r, not %r', directory, number, ours, right)
        records, failure = decoded(directory, errors='one-by-one')
        theirs = [plain(record.fields['payload']) for record in records]
        check(theirs == wanted if good else failure and theirs == wanted[:len(theirs)], '%s: ctf2.py: %s, %r, not %r',
              directory, failure, theirs, wanted)
        for line, right in zip(read(case, [WAYMARK, *VIEW, directory])[1], wanted):
            text = line.decode()
            fields = group_of(text, text.index('{ t = '))[0]['t']
            check(fields.keys() == right['t'].keys() and all(map(same_text, fields.values(), right['t'].values())),
                  '%s: %s is not %r', directory, fields, right['t'])


def same_text(text, value):
    """Does the text of a line equal the string or the length?"""
    return text == value if isinstance(text, int) else text.encode('latin-1',
                                                                   'backslashreplace').decode('unicode_escape') == value


def random_ctf_2_strings_and_blobs_are_read(case):
    """Random records with several fields of each kind and encoding."""
    for _ in range(rounds(100)):
        texts, others = [], []
        for number, encoding in enumerate(UNITS):
            for kind in KINDS:
                size = Leaf('unsigned', 8, pick=lambda random, unit=UNITS[encoding][0]: unit * random.randrange(12))
                texts += [('n%d%s' % (number, kind[0]), size)] if kind == 'dynamic-length' else []
                texts.append(('s%d%s' % (number, kind[0]),
                              Text(kind, encoding,
                                   UNITS[encoding][0] * case.random.randrange(9) if kind == 'static-length' else None,
                                   'n%d%s' % (number, kind[0]) if kind == 'dynamic-length' else None)))
            others += [('a%d' % number, Array(Text('null-terminated', encoding), 2)),
                       ('b%d' % number, Array(Text('static-length', encoding, 4), 3))]
        blobs = [('bits', Leaf('unsigned', 3)), ('blob', Blob(case.random.randrange(20))), ('size', Leaf('unsigned',
                                                                                                         5)),
                 ('more', Blob(of='size')), ('none', Blob(0)), ('blobs', Array(Blob(2), 2))]
        made = Made(2, 'le', [(None, Struct([('t', Struct(texts)), *blobs, *others]))])
        made.packet(case.random, [made.draw(case.random) for _ in range(4)])
        compare(case, made, 'texts')


def edges(encoding):
    """Each edge case: (name, bytes, expected text, the bytes are whole code units)."""
    size = UNITS[encoding][0]
    a, pair, high, low, end = encoded(0x41, encoding), encoded(0x1f600,
                                                               encoding), unit(0xd83d,
                                                                               encoding), unit(0xde00,
                                                                                               encoding), bytes(size)
    # UTF-32 has no surrogate pairs: each half is invalid.
    both = '\U0001f600' if size == 2 else REPLACED * 2
    return [('nothing', b'', '', True), ('end_alone', end, '', True), ('pair', pair, '\U0001f600', True),
            ('halves', high + low, both, True), ('high', high, REPLACED, True), ('low', low, REPLACED, True),
            ('turned', low + high, REPLACED * 2, True), ('high_and_pair', high + high + low, REPLACED + both, True),
            ('high_and_end', high + end + a, REPLACED, True), ('end_within', a + end + a, 'A', True),
            ('rest_after_end', a + end + b'\xff', 'A', True), ('odd', a + b'\x61', 'A' + REPLACED, False),
            ('odd_high', high + b'\xde', REPLACED * 2, False), ('odd_alone', b'\x61', REPLACED, False),
            ('zeroes_between', unit(0x4100, encoding) + unit(0x41, encoding), '\u4100A', True),
            ('mark', unit(0xfeff, encoding) + a, '\ufeffA', True),
            ('other_mark', unit(0xfffe, encoding) + a, '\ufffeA', True),
            ('ones', b'\xff' * 4, '\uffff' * 2 if size == 2 else REPLACED, True)]


def ctf_2_strings_with_partial_code_units_are_read(case):
    """
    Each edge case in a static-length and a dynamic-length string. A partial code unit violates the specification, but
    the rest of the string is read.
    """
    for encoding in UNITS:
        for good in (True, False):
            members = []
            for name, data, meant, is_good in edges(encoding):
                if is_good != good:
                    continue
                value = [Value(data, meant, is_good)]
                size = Leaf('unsigned', 8, pick=lambda random, length=len(data): length)
                members += [('s_' + name, Text('static-length', encoding, len(data), values=value)),
                            ('n_' + name, size),
                            ('d_' + name, Text('dynamic-length', encoding, of='n_' + name, values=value))]
            made = Made(2, 'be', [(None, Struct([('t', Struct(members))]))])
            made.packet(case.random, [made.draw(case.random)])
            compare(case, made, 'edges')


if __name__ == '__main__':
    main([
        valid_ctf_2_base_trace_is_read_without_errors, truncated_metadata_is_reported_and_records_are_read,
        absent_class_ids_are_0_in_ctf_2,
        random_ctf_2_strings_and_blobs_are_read, ctf_2_strings_with_partial_code_units_are_read
    ] + [bad_metadata(bad) for bad in METADATA] + [bad_data(bad) for bad in corpus2_bad.DATA])
