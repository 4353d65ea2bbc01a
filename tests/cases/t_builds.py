#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One program, built with different compilers, languages and options: each build records all its events."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'lib'))
from harness import FEATURES, PERCENT, Skip, check, limit, main  # noqa: E402
from t_types import every_type  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
BUILD = os.environ.get('WMK_BUILD', os.path.join(ROOT, 'build'))
STRICT = ['-Wall', '-Wextra', '-Wshadow', '-Werror', '-D_GNU_SOURCE', '-I' + os.path.join(ROOT, 'include'),
          '-I' + os.path.join(ROOT, 'tests', 'programs')]
EVENTS = ['types:scalars', 'types:refs', 'types:wrapped', 'types:names', 'sched:switch', 'marker:plain', 'types:once',
          'types:nothing_at_all']
WAYS = {
    'O2': ['-O2'], 'no_patch': ['-O2', '-DWAYMARK_NO_PATCH'], 'static': ['-O2', '-static'],
    'O0': ['-O0', '-g'], 'O1': ['-O1'], 'O3': ['-O3', '-march=native'], 'Os': ['-Os'],
    'lto': ['-O2', '-flto'],
    'sections': ['-O2', '-ffunction-sections', '-fdata-sections', '-Wl,--gc-sections'],
    'hidden': ['-O2', '-fvisibility=hidden'], 'no_pie': ['-O2', '-fno-pie', '-no-pie'],
    'pic': ['-O2', '-fPIC', '-fPIE', '-pie'],
    'now': ['-O2', '-Wl,-z,now,-z,relro'], 'address': ['-O1', '-fsanitize=address,undefined'], 'lld': ['-O2',
            '-fuse-ld=lld'],
}


def library(name):
    found = [p for p in glob.glob(os.path.join(BUILD, '**', name), recursive=True) if '.p' + os.sep not in p]
    check(found, 'no file %s below %s', name, BUILD)
    return found[0]


def compiled(case, compiler, source, flags, output):
    link = [library('libwaymark.a')] if '-static' in flags else [
        '-L' + os.path.dirname(library('libwaymark.so')), '-lwaymark',
        '-Wl,-rpath,' + os.path.dirname(library('libwaymark.so'))]
    path = case.path(output)
    done = subprocess.run([compiler, *STRICT, *flags, source, '-o', path, *link, '-lpthread'], capture_output=True,
                          text=True)
    return path, done.stderr if done.returncode else ''


def one_way(case, compiler, way, language=()):
    source = os.path.join(ROOT, 'tests', 'programs', 'types_cxx.cc' if '++' in compiler else 'types.c')
    name = '%s-%s-%s' % (compiler, way, '-'.join(language))
    path, errors = compiled(case, compiler, source, [*language, *WAYS[way]], name)
    if errors and re.search('cannot find -l(asan|ubsan|c$|gcc)|unable to find|invalid linker|libclang_rt|LLVMgold',
                            errors):
        return False
    check(not errors, '%s: %s', name, errors[:1500])
    case.ledger.__init__(case.ledger.path)
    result = case.record([path, '3'], env={'ASAN_OPTIONS': 'detect_leaks=0'})
    check(result.status == 0, '%s: status %d: %s', name, result.status, result.err[-800:])
    count = collections.Counter(r.name for r in result.trace().records())
    for event in EVENTS:
        check(count[event] == 3, '%s: %d records of %s, not 3; all records: %s', name, count[event], event, dict(count))
    return True


def every_way(case, compiler, ways, languages=((),), always=1):
    """
    Try all ways in a long run; the first `always` and two others in a short run. In a long run three may be missing on
    this machine.
    """
    if not shutil.which(compiler):
        raise Skip(compiler + ' is not installed')
    if 'sanitize' in FEATURES:
        raise Skip('a sanitized library needs sanitized programs')
    wanted = [(way, language) for way in ways for language in languages]
    if PERCENT < 100:
        wanted = wanted[:always] + case.random.sample(wanted[always:], 2)
    done = [w for w in wanted if one_way(case, compiler, *w)]
    check(
        len(done) >= (len(wanted) - 3 if PERCENT >= 100 else always), 'only these builds succeed on this machine: %s',
        done)
    print('# %s: %s' % (compiler, ' '.join('-'.join([way, *language]) for way, language in done)))


@limit(100)
def program_built_by_gcc_is_recorded(case):
    every_way(case, 'gcc', list(WAYS), always=3)


@limit(100)
def program_built_by_clang_is_recorded(case):
    every_way(case, 'clang', list(WAYS))


@limit(100)
def program_built_by_gxx_is_recorded(case):
    every_way(case, 'g++', list(WAYS), (['-std=gnu++11'], ['-std=gnu++17'], ['-std=gnu++20']))


@limit(100)
def program_built_by_clangxx_is_recorded(case):
    every_way(case, 'clang++', list(WAYS), (['-std=gnu++11'], ['-std=gnu++20']))


@limit(100)
def program_built_for_aarch64_is_recorded(case):
    """
    libwaymark and the program run for another instruction set under an emulator. This machine's `waymark` records the
    correct values.
    """
    compiler, emulator = 'aarch64-linux-gnu-gcc', 'qemu-aarch64'
    for tool in (compiler, emulator):
        if not shutil.which(tool):
            raise Skip(tool + ' is not installed')
    if 'sanitize' in FEATURES:
        raise Skip('the emulated program is not sanitized')
    parts = [path for folder in ('tracer', 'schema', 'wire', 'base', 'ring')
             for path in sorted(glob.glob(os.path.join(ROOT, 'src', folder, '*.[cS]')))]
    parts += [os.path.join(ROOT, 'src', 'filter', name) for name in ('program.c', 'run.c')]
    program = case.path('types-aarch64')
    done = subprocess.run([
        compiler, '-std=gnu11', '-O2', *STRICT, '-fno-strict-aliasing', '-DWMK_RSEQ_CLEAR', '-ftls-model=initial-exec',
        '-I' + os.path.join(ROOT, 'src'), '-static',
        os.path.join(ROOT, 'tests', 'programs', 'types.c'), *parts, '-o', program, '-lpthread'
    ], capture_output=True, text=True)
    check(done.returncode == 0, '%s', done.stderr[-1500:])
    every_type(case, [emulator, program])


if __name__ == '__main__':
    main([
        program_built_by_gcc_is_recorded, program_built_by_clang_is_recorded, program_built_by_gxx_is_recorded,
        program_built_by_clangxx_is_recorded, program_built_for_aarch64_is_recorded
    ])
