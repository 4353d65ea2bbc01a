#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Installs into an empty directory and uses the result as a user would: pkg-config, compile, record, read, man pages.

usage: check_install.py BUILD
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from waits import finished  # noqa: E402

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))

PROGRAM = r'''
#include <stdio.h>
#include <waymark/trace.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		waymark(installed, event, i, wm_named("program", argv[0]));
	return argc - 1;
}
'''

CONTROLLER = r'''
#include <errno.h>
#include <stdio.h>
#include <waymark/ctl.h>
#include <waymark/trace.h>
int main(void)
{
	const struct waymark_ctl_connect_options options = {
		.size = sizeof(options), .rundir = "/nowhere/at/all", .start = WAYMARK_CTL_START_NEVER,
	};
	struct waymark_ctl *ctl;
	char why[500];

	waymark(installed, controls, 1);
	int err = waymark_ctl_connect(&options, &ctl);
	printf("%s: %s\n", waymark_ctl_library_version(), waymark_ctl_error_text(why, sizeof(why)));
	return err != -ENOENT;
}
'''

# Reads a trace.
READER = r'''
#include <stdio.h>
#include <string.h>
#include <waymark/ctf.h>
int main(int argc, char **argv)
{
	const struct waymark_ctf_record *record;
	struct waymark_ctf_value value;
	struct waymark_ctf *ctf;
	char why[500];
	int n = 0;

	if (argc != 2 || waymark_ctf_open(NULL, argv[1], &ctf) < 0)
		return printf("%s\n", waymark_ctf_error_text(why, sizeof(why))), 1;
	while (waymark_ctf_next(ctf, &record) > 0)
		n += strcmp(waymark_ctf_event_name(record), "installed:event") == 0 &&
		     waymark_ctf_field(record, "program", &value) == 0 && value.length > 0;
	waymark_ctf_close(ctf);
	return printf("%d\n", n) < 0;
}
'''


def run(argv, **more):
    done = finished(argv, 120, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit('%s failed with %d:\n%s%s' % (' '.join(argv), done.returncode, done.stdout, done.stderr))
    return done.stdout


def find(root, name):
    found = [os.path.join(top, f) for top, _, files in os.walk(root) for f in files if f == name]
    if not found:
        sys.exit('%s is not installed' % name)
    return found[0]


def exported(library):
    """The names that the library exports, without their version."""
    return [line.split()[-1].split('@')[0] for line in run(['nm', '-D', '--defined-only', library]).splitlines()]


def check_symbols(root, name, allowed, needs=r'libc\.|ld-linux'):
    library = os.path.realpath(find(root, name))
    versions = run(['readelf', '-V', library])
    if 'WAYMARK' not in versions.upper():
        sys.exit('%s has no version map' % name)
    wrong = [s for s in exported(library) if not re.match(allowed, s)]
    if wrong:
        sys.exit('%s exports %s' % (name, ', '.join(wrong)))
    needed = re.findall(r'NEEDED.*\[(.*?)\]', run(['readelf', '-d', library]))
    if [n for n in needed if not re.match(needs, n)]:
        sys.exit('%s needs %s, but may only need %s' % (name, ', '.join(needed), needs))


def check_sequences(root, build, name):
    """A program with a static library may be unloaded, so its restartable sequences clear their descriptors."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        outputs = [c['output'] for c in json.load(f) if '-DWMK_RSEQ_CLEAR' in c['command']]
    cleared = {os.path.basename(output) for output in outputs if '/%s.p/' % name in output}
    member, found = None, set()
    for line in run(['objdump', '-h', find(root, name)]).splitlines():
        if 'file format' in line:
            member = line.split(':')[0]
        elif '.text.wmk_abort' in line:
            found.add(member)
    if not found or found - cleared:
        sys.exit('%s: sequences are in %s, and cleared in %s' % (name, sorted(found), sorted(cleared)))


def check_program(root, env, flags, extra, work):
    source, program = os.path.join(work, 'user.c'), os.path.join(work, 'user')
    with open(source, 'w') as f:
        f.write(PROGRAM)
    compiler = os.environ.get('CC', 'cc').split()
    run(compiler + ['-O2', '-Wall', '-Wextra', '-Werror', source, '-o', program] + flags + extra)
    run([program], env=env)                      # without a recording session
    trace = os.path.join(work, 'trace')
    shutil.rmtree(trace, ignore_errors=True)
    out = run([find(root, 'waymark'), 'record', '--json', '-o', trace, '--', program], env=env)
    summary = json.loads(out.splitlines()[-1])
    text = run(['babeltrace2', trace])
    n = text.count('installed:event')
    if n != 10 or summary['lost']:
        sys.exit('%d records of 10, %s' % (n, summary))


def check_controller(env, flags, work, version):
    """A program that controls tracing and is traced itself: both libraries in one program, shared and static."""
    source, program = os.path.join(work, 'controller.c'), os.path.join(work, 'controller')
    with open(source, 'w') as f:
        f.write(CONTROLLER)
    run(os.environ.get('CC', 'cc').split() + ['-O2', '-Wall', '-Wextra', '-Werror', source, '-o', program] + flags)
    out = run([program], env=env)
    if not out.startswith(version + ': cannot connect') or '/nowhere/at/all/ctl.sock' not in out:
        sys.exit('unexpected output of libwaymark-ctl: ' + out)


def check_reader(env, flags, work):
    """A program that reads the trace of check_program()."""
    source, program = os.path.join(work, 'reader.c'), os.path.join(work, 'reader')
    with open(source, 'w') as f:
        f.write(READER)
    run(os.environ.get('CC', 'cc').split() + ['-O2', '-Wall', '-Wextra', '-Werror', source, '-o', program] + flags)
    out = run([program, os.path.join(work, 'trace')], env=env)
    if out != '10\n':
        sys.exit('libwaymark-ctf gives %s records of 10' % out)


def check_manual(root, waymark, env):
    """
    waymark and each command have a man page, troff reports no error in it, and it contains every option of the command
    table.
    """
    commands = re.findall(r'^  (\S+) ', run([waymark, 'help'], env=env), re.M)
    for page in ('waymark-ctl.7', 'waymark-ctf.7', 'waymark-filter.7', 'waymark-sessiond.8', 'waymark-consumerd.8',
                 'waymark-relayd.8', 'waymark_ctl_create.3', 'waymark_ctl_result_print_json.3'):
        find(root, page)
    for name in [''] + ['-' + c for c in commands]:
        page = find(root, 'waymark%s.1' % name)
        if shutil.which('groff'):
            said = subprocess.run(['groff', '-man', '-Tascii', '-ww', page], capture_output=True, text=True)
            if said.stderr:
                sys.exit('%s: %s' % (name, said.stderr))
        with open(page) as f:
            manual = f.read().replace('\\-', '-')
        if '.SH EXAMPLES\n' not in manual and name:
            sys.exit('waymark%s.1 has no examples' % name)
        for option in re.findall(r'--[a-z-]{2,}', run([waymark, 'help'] + [name[1:]] * bool(name), env=env)):
            if option not in manual:
                sys.exit('waymark%s.1 does not have %s' % (name, option))


def check_macros(root):
    """waymark(3) documents each public macro of the instrumentation headers, and the other names lead to it."""
    manual = re.sub(r'\\f[BIR]', '', open(find(root, 'waymark.3')).read())
    macros = set()
    for header in ('trace.h', 'event_c.h', 'event_cxx.h'):
        with open(find(root, header)) as f:
            macros |= set(re.findall(r'^#define (waymark\w*|wm_\w+|WAYMARK_EVENT|WAYMARK_LABELS)\(', f.read(), re.M))
    missing = [name for name in sorted(macros) if not re.search(r'\b%s\b' % name, manual)]
    if missing or len(macros) < 20:
        sys.exit('waymark.3 does not document %s (%d macros)' % (missing, len(macros)))
    for name in ('waymark_logf.3', 'WAYMARK_EVENT.3'):
        if os.path.basename(os.path.realpath(find(root, name))) != 'waymark.3':
            sys.exit('%s does not lead to waymark.3' % name)
    if shutil.which('groff'):
        said = subprocess.run(['groff', '-man', '-Tascii', '-ww', '-z', find(root, 'waymark.3')], capture_output=True,
                              text=True).stderr
        if said:
            sys.exit('waymark.3: ' + said)


def check_documents(root):
    """All documents are installed, and their links lead to installed files."""
    top = os.path.dirname(find(root, 'README.md'))
    names = os.listdir(os.path.join(SOURCE, 'docs'))
    pages = ['README.md'] + ['docs/' + name for name in names if name.endswith('.md')]
    for page in pages:
        path = os.path.join(top, page)
        if not os.path.exists(path):
            sys.exit('%s is not installed: add it to docs/meson.build' % page)
        with open(path) as f:
            for link in re.findall(r'\]\((?!\w+:|#)([^)#\s]+)', f.read()):
                if not os.path.exists(os.path.join(os.path.dirname(path), link)):
                    sys.exit('%s links to %s, which is not installed' % (page, link))


def masked(line):
    """A line of `waymark view` without its time, CPU, process number and width of columns."""
    return re.sub(r'^\S+ \d+ \d+ +\[\d+\] +(\w+)/\d+', r'\1', re.sub(r'  +', '  ', line))


def check_readme(root, env, flags, work):
    """The C programs of the README and of waymark(3) compile unchanged, and record 10 events."""
    with open(os.path.join(SOURCE, 'README.md')) as f:
        page = f.read()
    readme = re.search(r'^```c\n(.*?)^```', page, re.M | re.S).group(1)
    with open(find(root, 'waymark.3')) as f:
        manual = re.search(r'^\.SH EXAMPLES\n\.nf\n(.*?)^\.fi', f.read(), re.M | re.S).group(1)
    for name, text in (('readme', readme), ('manual', manual)):
        source, trace = os.path.join(work, name + '.c'), os.path.join(work, name + '-trace')
        with open(source, 'w') as f:
            f.write(text)
        program = source[:-2]
        run(os.environ.get('CC', 'cc').split() + ['-Wall', '-Wextra', '-Werror', source, '-o', program] + flags)
        run([find(root, 'waymark'), 'record', '--private', '-o', trace, '--', program], env=env)
        lines = run([find(root, 'waymark'), 'view', trace], env=env).splitlines()
        shown = sum('shop:order_paid' in line for line in lines)
        if shown != 10:
            sys.exit('the C program of the %s has recorded %d events, not 10' % (name, shown))
        if name == 'readme':
            screen = re.search(r'^\$ waymark view\n(\+.*?)^```', page, re.M | re.S).group(1).splitlines()
            if [masked(line) for line in screen] != [masked(line.replace(name, 'shop', 1)) for line in lines]:
                sys.exit('the README shows other lines than `waymark view`:\n%s' % '\n'.join(lines))


def check_plain_build(work):
    """Without options, meson builds what is installed and the libraries for that, and defines no test."""
    build = os.path.join(work, 'plain')
    run(['meson', 'setup', build, SOURCE])
    targets = json.loads(run(['meson', 'introspect', '--targets', build]))
    others = [t['name'] for t in targets
              if t['build_by_default'] and not t['installed'] and t['type'] != 'static library']
    tests = json.loads(run(['meson', 'introspect', '--tests', build]))
    if others or tests or not any(t['name'] == 'waymark' and t['build_by_default'] for t in targets):
        sys.exit('a plain build also has %s and %d tests' % (others, len(tests)))


def completed(script, line, env):
    """The completions of bash for a command line."""
    return run([
        'bash', '-c', '. "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _waymark; printf "%s\\n" "${COMPREPLY[@]}"', 'bash',
        script, line
    ], env=env).split()


def check_completion(root, env):
    """The shells can parse the completion files, and bash completes commands and options with them."""
    script = find(root, 'waymark.bash')
    env = dict(env, PATH=os.path.dirname(find(root, 'waymark')) + ':' + env['PATH'])
    run(['bash', '-n', script])
    if shutil.which('zsh'):
        run(['zsh', '-n', find(root, '_waymark')])
    for line, wanted in (('waymark rec', 'record'), ('waymark -n rec', 'record'),
                         ('waymark record --over', '--overwrite'), ('waymark add-context -t vpid,pro', 'vpid,procname'),
                         ('waymark enable-event a --loglevel=wa', 'warning'), ('waymark convert --to per', 'perfetto'),
                         ('waymark convert --from=str', 'strace'), ('waymark view --color al', 'always'),
                         ('waymark view -n scope,he', 'scope,header'), ('waymark create --trace-format ', 'ctf-2'),
                         ('waymark list --names ev', 'events'), ('waymark regenerate st',
                                                                 'statedump'), ('waymark list --ker', '--kernel'),
                         ('waymark help vi', 'view'), ('waymark help --completion=z', 'zsh'), ('waymark record -- wc',
                                                                                               'wc')):
        got = completed(script, line, env)
        if wanted not in got:
            sys.exit('bash completes "%s" to %s, not %s' % (line, got, wanted))


def check_units(root):
    """The systemd units are in systemd's directories, and name a daemon that was installed."""
    for kind in ('system', 'user'):
        units = os.path.join(os.path.dirname(os.path.dirname(find(root, 'waymark-sessiond.service'))), kind)
        with open(os.path.join(units, 'waymark-sessiond.service')) as f:
            program = re.search(r'^ExecStart=(\S+)', f.read(), re.M).group(1)
        if not os.access(root + program, os.X_OK):
            sys.exit('the unit of %s starts %s, which is not installed' % (kind, program))
        if not os.path.exists(os.path.join(units, 'waymark-sessiond.socket')):
            sys.exit('no socket unit of %s is installed' % kind)
    for kind in ('sysusers.d', 'tmpfiles.d'):
        if not os.path.exists(os.path.join(os.path.dirname(os.path.dirname(units)), kind, 'waymark.conf')):
            sys.exit('%s has no waymark.conf' % kind)


def check_calibrate(waymark, env):
    """
    Each part has its figures, in JSON and as text: a disabled tracepoint, the clock, a record without fields, fields by
    length, contexts.
    """
    cost = json.loads(run([waymark, 'calibrate', '--json'], env=env))
    results = {r.get('context', r['what']): r for r in cost['results']}
    parts = ['clock', 'record_0', 'record_4', 'record_64', 'vpid', 'vtid', 'procname', 'cpu_id', 'pthread_id', 'ip']
    for name in parts:
        if name not in results or not 0 < results[name]['low_ns'] <= results[name]['median_ns'] <= results[name][
                'high_ns']:
            sys.exit('waymark calibrate reports for %s: %s' % (name, results.get(name)))
    if [name for name in parts[1:] if 'more_ns' not in results[name]] or results['record_0']['more_ns'] <= 0:
        sys.exit('waymark calibrate has no cost of a part: %s' % cost)
    if 'disabled_site_ns' not in cost or set(results) != set(parts):
        sys.exit('waymark calibrate has measured %s' % cost)
    text = run([waymark, 'calibrate'], env=env)
    for words in [
            'reading the clock', 'disabled tracepoint', 'record without fields', 'record of 4 bytes',
            'record of 64 bytes', 'with vpid', 'with procname'
    ]:
        if not re.search(re.escape(words) + r'.* -?\d+\.\d', text):
            sys.exit('waymark calibrate does not print the %s: %s' % (words, text))


def check_session(root, env, work):
    """
    The command finds the installed daemons. They record the program that was compiled with the installed library.
    Completion knows the names of their sessions and channels.
    """
    home = os.path.join(work, 'home')
    os.mkdir(home, 0o700)
    env = dict(env, HOME=home, WAYMARK_RUNDIR=os.path.join(home, 'run'),
               PATH=os.path.dirname(find(root, 'waymark')) + ':' + env['PATH'])
    env.pop('WAYMARK_SESSIOND', None)
    try:
        out = run([
            'bash', '-ec',
            'waymark create one >&2; waymark enable-event "installed:*" >&2; waymark start >&2; "$1"; waymark stop '
            '>&2; '
            'waymark view', 'bash',
            os.path.join(work, 'user')
        ], env=env)
        for line, wanted in (('waymark start o', 'one'), ('waymark list ', 'one'), ('waymark enable-event -c ',
                                                                                    'channel0')):
            got = completed(find(root, 'waymark.bash'), line, env)
            if wanted not in got:
                sys.exit('bash completes "%s" to %s, not %s' % (line, got, wanted))
        run(['waymark', 'destroy'], env=env)
    finally:
        with open(os.path.join(home, 'run', 'sessiond.pid')) as f:
            os.kill(int(f.read()), signal.SIGTERM)
        deadline = time.monotonic() + 60
        while os.path.exists(os.path.join(home, 'run', 'ctl.sock')):
            if time.monotonic() > deadline:
                sys.exit('the session daemon does not exit on SIGTERM')
            time.sleep(0.01)
    if out.count('installed:event') != 10:
        sys.exit('a session of the installed daemons: %s' % out[-2000:])


def main(build):
    meson = shutil.which('meson')
    with tempfile.TemporaryDirectory(prefix='waymark-install-') as work:
        root = os.path.join(work, 'root')
        run([meson, 'install', '-C', build, '--destdir', root, '--no-rebuild', '--quiet'])
        pc = os.path.dirname(find(root, 'waymark.pc'))
        env = dict(os.environ, PKG_CONFIG_PATH=pc, PKG_CONFIG_SYSROOT_DIR=root)
        library = os.path.dirname(find(root, 'libwaymark.so.0'))
        env['LD_LIBRARY_PATH'] = library
        waymark = find(root, 'waymark')
        version = run([waymark, 'version'], env=env).split()[-1]
        if run(['pkg-config', '--modversion', 'waymark'], env=env).strip() != version:
            sys.exit('waymark.pc and `waymark version` differ')
        check_symbols(
            root, 'libwaymark.so.0',
            r'waymark_|WAYMARK|v?fork$|clone$|unshare$|setns$|pthread_exit$|thrd_exit$|'
            r'set[a-z]*id$|setgroups$|initgroups$'
        )
        check_symbols(root, 'libwaymark-ring.so.0', r'waymark_ring_|WAYMARK')
        flags = run(['pkg-config', '--cflags', '--libs', 'waymark'], env=env).split()
        check_program(root, env, flags, [], work)
        static = run(['pkg-config', '--cflags', 'waymark'], env=env).split() + [find(root, 'libwaymark.a'), '-pthread']
        check_program(root, env, static, ['-static'], work)
        for name in 'libwaymark.a', 'libwaymark-ring.a':
            check_sequences(root, build, name)
        check_symbols(root, 'libwaymark-ctl.so.0', r'waymark_ctl_|WAYMARK', r'libc\.|ld-linux|libjson-c\.')
        check_controller(env,
                         run(['pkg-config', '--cflags', '--libs', 'waymark', 'waymark-ctl'], env=env).split(), work,
                         version)
        json_c = run(['pkg-config', '--libs', 'json-c']).split()
        check_controller(
            env,
            run(['pkg-config', '--cflags', 'waymark-ctl'], env=env).split() +
            [find(root, 'libwaymark.a'), find(root, 'libwaymark-ctl.a')] + json_c + ['-pthread'], work, version)
        check_symbols(root, 'libwaymark-ctf.so.0', r'waymark_ctf_|WAYMARK', r'libc\.|ld-linux|libjson-c\.|libzstd\.')
        check_reader(env, run(['pkg-config', '--cflags', '--libs', 'waymark-ctf'], env=env).split(), work)
        check_reader(
            env,
            run(['pkg-config', '--cflags', 'waymark-ctf'], env=env).split() + [find(root, 'libwaymark-ctf.a')] +
            json_c + run(['pkg-config', '--libs', 'libzstd']).split() + ['-pthread'], work)
        check_manual(root, waymark, env)
        check_macros(root)
        check_documents(root)
        check_readme(root, env, flags, work)
        check_plain_build(work)
        check_units(root)
        check_completion(root, env)
        check_session(root, env, work)
        check_calibrate(waymark, env)
    print('installed, compiled with it, recorded: all correct')


if __name__ == '__main__':
    main(os.path.abspath(sys.argv[1]))
