# SPDX-License-Identifier: MIT
"""Builders for metadata of CTF 2: fragments and field classes in a notation that is shorter than JSON."""
import json

BE, LE = 'big-endian', 'little-endian'
PREAMBLE = {'type': 'preamble', 'version': 2}
STREAM = {'type': 'data-stream-class'}


def bits(kind, length, order=LE, align=1, **more):
    return {'type': 'fixed-length-' + kind, 'length': length, 'byte-order': order, 'alignment': align,
            **{name.replace('_', '-'): value for name, value in more.items()}}


def u(length, order=LE, align=1, **more):
    return bits('unsigned-integer', length, order, align, **more)


def i(length, order=LE, align=1, **more):
    return bits('signed-integer', length, order, align, **more)


def of(kind, **more):
    return {'type': kind, **{name.replace('_', '-'): value for name, value in more.items()}}


def structure(*members, **more):
    return of('structure', member_classes=[{'name': name, 'field-class': c} for name, c in members], **more)


def at(*path, **more):
    return {'path': list(path), **more}


def option(ranges, c, **more):
    return {'selector-field-ranges': ranges, 'field-class': c, **more}


def event(*members, **more):
    return {'type': 'event-record-class', 'payload-field-class': structure(*members), **more}


def metadata(*fragments):
    return b''.join(b'\x1e' + json.dumps(f).encode() + b'\n' for f in fragments)
