#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Build program.c and program.cc with all usual options of compiler and linker, and run each program.

  matrix.py SOURCE_ROOT SCRATCH [--list]

A short run (WMK_ROUNDS_PERCENT below 100) combines each compiler with each optimization level and each kind of code
(PIC, PIE, no PIE). It combines each extra option with both languages, alternately by gcc and by clang. A long run
builds the product of all options. Combinations that this toolchain does not support are listed.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys

COMPILERS = ['gcc', 'clang', 'g++', 'clang++']
ARM = ['aarch64-linux-gnu-gcc', 'aarch64-linux-gnu-g++']  # static, run by qemu-aarch64
LEVELS = ['-O0', '-O1', '-O2', '-O3', '-Os']
POSITIONS = ['pic', 'pie', 'no-pie']
WARNINGS = [
    '-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wcast-qual', '-Wundef', '-Wpointer-arith',
    '-Wformat=2', '-Werror'
]
# name, flags of compiler and linker, without the shared library
EXTRAS = [
    ('plain', [], False),
    ('lto', ['-flto'], False),
    ('gc-sections', ['-ffunction-sections', '-fdata-sections', '-Wl,--gc-sections'], False),
    ('lto-gc', ['-flto', '-ffunction-sections', '-Wl,--gc-sections'], False),
    ('bfd', ['-fuse-ld=bfd'], False),
    ('gold', ['-fuse-ld=gold'], False),
    ('gold-gc', ['-fuse-ld=gold', '-ffunction-sections', '-Wl,--gc-sections'], False),
    ('lld', ['-fuse-ld=lld'], False),
    ('lld-gc', ['-fuse-ld=lld', '-ffunction-sections', '-Wl,--gc-sections', '-Wl,-z,start-stop-gc'], False),
    ('static', ['-static'], True),
    ('static-gc', ['-static', '-ffunction-sections', '-Wl,--gc-sections'], True),
    ('hidden', ['-fvisibility=hidden'], False),
    ('no-patch', ['-DWAYMARK_NO_PATCH'], False),
    ('no-patch-gc', ['-DWAYMARK_NO_PATCH', '-ffunction-sections', '-Wl,--gc-sections'], False),
    ('sanitize', ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'], False),
    ('thread', ['-fsanitize=thread'], False),
    ('native', ['-march=native', '-fomit-frame-pointer'], False),
    ('frame-pointer', ['-fno-omit-frame-pointer', '-fno-asynchronous-unwind-tables'], False),
    ('cf-protection', ['-fcf-protection=full'], False),
    ('coverage', ['--coverage'], False),
    ('gnu', ['-std=gnu17'], False),
    ('newest', ['-std=c2x'], False),
]


def position_flags(position):
    return {'pic': (['-fPIC'], ['-pie']), 'pie': (['-fPIE'], ['-pie']), 'no-pie': (['-fno-pie'], ['-no-pie'])}[position]


def standard(compiler, extra):
    cxx = '++' in compiler
    if extra in ('gnu', 'newest'):
        return {'gnu': '-std=gnu++17' if cxx else '-std=gnu17', 'newest': '-std=c++20' if cxx else '-std=c2x'}[extra]
    return '-std=c++11' if cxx else '-std=c11'


def flags_of(compiler, level, position, extra):
    name, flags, alone = extra
    if name.startswith('static') and position != 'no-pie':
        return None
    if name.startswith('lto') and compiler.startswith('clang'):
        flags = flags + ['-fuse-ld=lld']
    if name == 'gold' and compiler.startswith('clang') and not shutil.which('ld.gold'):
        return None
    compile_position, link_position = position_flags(position)
    link = [f for f in flags if f.startswith(('-Wl,', '-fuse', '-f', '-static', '--'))]
    return [f for f in flags if not f.startswith(('-Wl,', '-fuse', '-static', '-std'))] + compile_position + \
        [level, standard(compiler, name)], link + ([] if alone else link_position), alone


def combinations(long):
    if long:
        return [(c, o, p, e) for c in COMPILERS for o in LEVELS for p in POSITIONS for e in EXTRAS]
    out = []
    for k, c in enumerate(COMPILERS):
        out += [(c, o, POSITIONS[(i + k) % 3], EXTRAS[0]) for i, o in enumerate(LEVELS)]
        for i, e in enumerate(EXTRAS[1:]):
            if i % 2 == (k in (0, 3)):
                continue
            position = 'no-pie' if e[0].startswith('static') else POSITIONS[(i + k) % 3]
            out.append((c, LEVELS[(i + 2 * k) % 5], position, e))
    return out


def on_arm(long):
    static = next(e for e in EXTRAS if e[0] == 'static-gc')
    no_patch = ('no-patch', ['-DWAYMARK_NO_PATCH', '-static'], True)
    return [(c, o, 'no-pie', e) for c in ARM for o in (LEVELS if long else ['-O0', '-O2']) for e in (static, no_patch)]


class Failure(Exception):
    pass


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
                          check=False, **more)
    if done.returncode:
        raise Failure('%s\n%s\n(exit %d)' % (' '.join(command), done.stdout[-4000:], done.returncode))
    return done.stdout


def one(root, scratch, combination):
    compiler, level, position, extra = combination
    made = flags_of(*combination)
    if not made:
        return None
    compile_flags, link_flags, alone = made
    name = '%s %s %s %s' % (compiler, level, position, extra[0])
    place = os.path.join(scratch, name.replace(' ', '_').replace('+', 'x'))
    os.makedirs(place, exist_ok=True)
    tests = os.path.join(root, 'tests', 'front')
    suffix = 'cc' if '++' in compiler else 'c'
    include = ['-I' + os.path.join(root, 'include'), '-I' + tests]

    def build(source, more=()):
        target = os.path.join(place, os.path.basename(source) + '.o')
        plain = source.endswith('harness.c')
        cc = compiler.replace('clang++', 'clang').replace('g++', 'gcc') if source.endswith('.c') else compiler
        flags = ['-std=gnu11' if f.startswith('-std') and plain else f for f in compile_flags] + \
            (['-fvisibility=default', '-fno-sanitize=all'] if plain else [])
        if source.endswith('.c') and '++' in compiler:
            flags = ['-std=gnu11' if f.startswith('-std') else f for f in flags]
        run([
            cc, *flags, *([] if plain else WARNINGS), *include, *more, '-c',
            os.path.join(tests, source), '-o', target
        ], cwd=place)
        return target

    try:
        library = None if alone else os.path.join(place, 'liblibrary.so')
        harness = build('harness.c')
        objects = [build('program.' + suffix, ['-DWITH_LIBRARY'] if library else []), build('other.' + suffix), harness]
        if library:
            shared = [
                compiler, '-shared', *link_flags,
                build('library.' + suffix, ['-fPIC', '-fvisibility=default']), '-o', library
            ]
            run([x for x in shared if x not in ('-pie', '-no-pie')], cwd=place)
        program = os.path.join(place, 'program')
        run([
            compiler, *link_flags, '-rdynamic', *objects, *([library, '-Wl,-rpath,' + place] if library else []), '-o',
            program
        ], cwd=place)
        said = run([*(['qemu-aarch64'] if compiler in ARM else []), program], cwd=place)
        if 'ok:' not in said:
            raise Failure(said)
        if extra[0] in ('plain', 'lto', 'gc-sections', 'lld-gc'):
            run([compiler, *link_flags, build('siteless.c'), harness, '-o', program + '-siteless'], cwd=place)
            run([program + '-siteless'], cwd=place)
    except Failure as failure:
        return '%s: %s' % (name, failure)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return ''


def main():
    root, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    only = [a for a in sys.argv[3:] if not a.startswith('-')]
    compilers = [c for c in COMPILERS + ARM if shutil.which(c) and (c not in ARM or shutil.which('qemu-aarch64'))]
    for c in COMPILERS + ARM:
        if c not in compilers:
            print('not here: ' + c)
    long = int(os.environ.get('WMK_ROUNDS_PERCENT', '10')) >= 100
    todo = [c for c in combinations(long) + on_arm(long)
            if c[0] in compilers and (not only or c[3][0] in only or c[0] in only)]
    failed = done = left_out = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for result in pool.map(lambda c: one(root, scratch, c), todo):
            done += result is not None
            left_out += result is None
            if result:
                failed += 1
                print(result, flush=True)
    print('%d combinations built and run, %d failed; %d do not exist' % (done, failed, left_out))
    return failed != 0 or done == 0


sys.exit(main())
