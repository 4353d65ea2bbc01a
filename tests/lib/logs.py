# SPDX-License-Identifier: MIT
"""
Independent parsers of logs: regular expressions for well-formed logs.

expect(format, text, ...) returns [(nanoseconds, event, context, fields)], in the order of lines; enumerations have
their labels as values.
"""
import calendar
import datetime
import re

FACILITIES = ('kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock '
              'local0 local1 local2 local3 local4 local5 local6 local7').split()
SEVERITIES = 'emerg alert crit err warn notice info debug'.split()
MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split()

ISO = re.compile(r'(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z| UTC|[+-]\d\d:?\d\d)?')
BSD = re.compile(r'(\w{3}) +(\d+) (\d\d):(\d\d):(\d\d)')
TAG = re.compile(r'([^\s:\[]+)(?:\[(\d+)\])?:(?: |$)')


def ns_of(seconds, digits=None):
    return seconds * 1000000000 + (int((digits + '0' * 9)[:9]) if digits else 0)


def decimal(text):
    whole, part = text.split('.')
    return ns_of(int(whole), part)


def iso(match):
    year, month, day, hour, minute, second = (int(n) for n in match.groups()[:6])
    zone = match.group(8)
    seconds = calendar.timegm((year, month, day, hour, minute, second))
    if zone and zone[0] in '+-':
        seconds -= (1 if zone[0] == '+' else -1) * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    return ns_of(seconds, match.group(7))


def priority(number):
    return {'facility': FACILITIES[int(number) // 8], 'severity': SEVERITIES[int(number) % 8]}


def syslog_message(rest, pri):
    tag = TAG.match(rest)
    host = ''
    if not tag:
        host, _, rest = rest.partition(' ')
        rest = rest.lstrip(' ')
        tag = TAG.match(rest)
    context = {'vpid': int(tag.group(2)), 'procname': tag.group(1)} if tag and tag.group(2) else {}
    return context, {
        'host': host, 'tag': tag.group(1) if tag else '', **pri, 'message': rest[tag.end():] if tag else rest
    }


def syslog_5424(line):
    head = re.match(r'<(\d+)>1 (\S+) (\S+) (\S+) (\S+) (\S+) (-|(?:\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])+)(?: (.*))?$',
                    line)
    pri, when, host, app, pid, msgid, data, message = ('' if group in ('-', None) else group for group in head.groups())
    context, fields = {}, {'host': host, 'tag': app}
    if pid.isdigit():
        context = {'vpid': int(pid), 'procname': app}
    elif pid:
        fields['procid'] = pid
    fields.update(priority(pri))
    fields.update({name: value for name, value in (('msgid', msgid), ('structured', data)) if value})
    return iso(ISO.match(when)) if when else None, context, {**fields, 'message': message}


def syslog(lines, year=None, **_):
    before, month_before = 0, None
    for line in lines:
        pri, rest = {}, line
        numbered = re.match(r'<(\d+)>', line)
        if numbered and line[numbered.end():].startswith('1 '):
            when, context, fields = syslog_5424(line)
            before = when if when is not None else before
            yield before, 'syslog:message', context, fields
            continue
        if numbered:
            pri, rest = priority(numbered.group(1)), line[numbered.end():]
        rest = re.sub(r'^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ', '', rest)
        found = ISO.match(rest)
        if found:
            before = iso(found)
        else:
            found = BSD.match(rest)
            if not found:
                yield before, 'syslog:line', {}, {'text': line}
                continue
            month = MONTHS.index(found.group(1)) + 1
            if month_before == 12 and month == 1:
                year += 1
            month_before = month
            before = ns_of(calendar.timegm((year, month, *(int(n) for n in found.groups()[1:]))))
        yield (before, 'syslog:message', *syslog_message(rest[found.end():].lstrip(' '), pri))


def dmesg(lines, origin=0, **_):
    before = origin
    for line in lines:
        found = re.match(
            r'(?:<(\d+)>|(\w+) *:(\w+) *: )?\[ *(\d+\.\d+|\w{3} \w{3} +\d+ [\d:]+ \d{4})\](?: ?\[ *([TC])(\d+)\])? '
            r'?(.*)$',
            line)
        if not found:
            yield before, 'dmesg:line', {}, {'text': line}
            continue
        number, facility, severity, when, who, which, message = found.groups()
        fields = priority(number) if number else {'facility': facility, 'severity': severity} if facility else {}
        if '.' in when:
            before = origin + decimal(when)
        else:
            before = ns_of(calendar.timegm(datetime.datetime.strptime(when, '%a %b %d %H:%M:%S %Y').timetuple()))
        yield before, 'dmesg:message', {{'T': 'vtid', 'C': 'cpu_id'}[who]: int(which)
                                        } if who else {}, {**fields, 'message': message}


def number(name, text):
    if re.search('(comm|name)$', name):
        return text
    return int(text) if re.fullmatch(r'-?\d+', text) else int(text, 16) if re.fullmatch(r'0x[0-9a-f]+', text) else text


def perf_fields(text):
    if re.match(r'[A-Za-z_]\w*=(?!=)', text):
        pieces = re.split(r'(?:^| )([A-Za-z_]\w*)=(?!=)', text)[1:]
        return {
            name: number(name, re.sub(r'( ==>| \[ns\])$', '', value.strip()))
            for name, value in zip(pieces[::2], pieces[1::2])
        }
    if re.match(r'[A-Za-z_]\w*: ', text):
        pairs = (piece.split(': ', 1) for piece in text.split(', '))
        return {name: number('', value) for name, value in pairs}
    return {'text': text} if text else {}


def perf(lines, origin=0, **_):
    found = []
    for line in lines:
        head = re.match(
            r'\s*(.*?)\s+(-?\d+)(?:/(-?\d+))?\s+(?:\[(\d+)\]\s+)?(\d+\.\d+):\s+(?:(\d+) )?\s*(\S+):\s*(.*?)\s*$', line)
        if not head:
            found[-1][3].setdefault('callchain', []).append(line.strip())
            continue
        comm, pid, tid, cpu, when, period, event, rest = head.groups()
        context = {'vpid': int(pid), 'vtid': int(tid)} if tid else {'vtid': int(pid)}
        context['procname'] = comm
        if cpu:
            context['cpu_id'] = int(cpu)
        place = re.match(r'([0-9a-f]+) (.*\))$', rest) if period else None
        fields = {'period': int(period)} if period else {}
        fields.update({'ip': int(place.group(1), 16), 'symbol': place.group(2)} if place else perf_fields(rest))
        found.append((origin + decimal(when), event if '_' in event else 'perf:' + event, context, fields))
    return found


def strace_result(text):
    fields = {}
    took = re.search(r' <(\d+\.\d+)>$', text)
    if took:
        text = text[:took.start()]
    ret = re.match(r'(0x[0-9a-f]+|-?\d+|\?)', text).group(1)
    if ret != '?':
        fields['ret'] = int(ret, 0)
    rest = text[len(ret):].strip()
    error = re.match(r'E[A-Z0-9]+\b', rest)
    if error:
        fields['error'], rest = error.group(0), rest[error.end():].strip()
    if rest:
        fields['more'] = rest
    if took:
        fields['duration_ns'] = decimal(took.group(1))
    return fields


def strace_other(rest):
    """(event, fields) of a line that is not a system call."""
    ended = re.match(r'\+\+\+ (.*) \+\+\+$', rest)
    if ended:
        status, signal = re.match(r'exited with (\d+)$', ended.group(1)), re.match(r'killed by (\S+)', ended.group(1))
        return 'strace:exit', {
            **({'status': int(status.group(1))} if status else {}),
            **({'signal': signal.group(1)} if signal else {}), 'text': ended.group(1)
        }
    came = re.match(r'--- (\S+) (.*) ---$', rest)
    if came:
        return 'strace:signal', {'name': came.group(1), 'info': came.group(2)}
    return ('strace:note', {'message': rest}) if 'rocess ' in rest and rest.endswith('attached') else None


def strace(lines, origin=0, day=None, **_):
    """`day`: the day of the first line, in seconds."""
    before, time_before, open_calls, found = origin, None, {}, []
    for line in lines:
        pid, pid_too, when, rest = re.match(
            r'(?:\[pid +(\d+)\] |(\d+) +(?=\d))? *(?:(\d+\.\d+|\d\d:\d\d:\d\d(?:\.\d+)?) )?(.*)$', line).groups()
        pid = pid or pid_too
        if when and ':' in when:
            hour, minute, second = when.split(':')
            time = ns_of(int(hour) * 3600 + int(minute) * 60, '0') + decimal(second)
            if time_before is not None and time < time_before:
                day += 86400
            time_before, before = time, ns_of(day) + time
        elif when:
            before = decimal(when) if len(when) > 16 else before + decimal(when)
        context = {'vtid': int(pid)} if pid else {}
        other = strace_other(rest)
        if other:
            if other[0] == 'strace:exit':
                open_calls.pop(pid, None)
            found.append((before, other[0], context, other[1]))
            continue
        again = re.match(r'<\.\.\. (\w+) resumed>(.*)\) += (.*)$', rest)
        if again:
            name, args, result = again.groups()
            fields = {'name': name, 'args': args.strip(), **strace_result(result)}
            # (lines have no thread number while the process has one thread)
            at = open_calls.pop(pid, None)
            if at is None and pid:
                at = open_calls.pop(None, None)
            if at is None and len(open_calls) == 1:
                at = open_calls.popitem()[1]
                context = found[at][2]
            if at is None:
                found.append((before, 'strace:resumed', context, fields))
                continue
            begun = found[at]
            first = begun[3]['args']
            fields['args'] = first + (' ' if first.endswith(',') and args else '') + args.rstrip()
            fields.setdefault('duration_ns', before - begun[0])
            found[at] = (begun[0], 'strace:call', context, fields)
        elif rest.endswith('<unfinished ...>'):
            name, args = re.match(r'(\w+)\((.*)<unfinished \.\.\.>$', rest).groups()
            open_calls[pid] = len(found)
            found.append((before, 'strace:unfinished', context, {'name': name, 'args': args.strip()}))
        else:
            name, args, result = re.match(r'(\w+)\((.*)\) += (.*)$', rest).groups()
            found.append(
                (before, 'strace:call', context,
                 {'name': name, 'args': re.sub(r'\s*<unfinished \.\.\.>$', '', args).strip(), **strace_result(result)}))
    return found


def expect(form, text, **more):
    lines = [line for line in text.split('\n') if line.strip()]
    return list({'syslog': syslog, 'dmesg': dmesg, 'perf': perf, 'strace': strace}[form](lines, **more))
