#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Checks names and structure against the rules of docs/tree.md.

usage: check_names.py ROOT [BUILD]     check; exit status 1 on a violation that tests/check_names_known.txt does not
list
       check_names.py --shrink ROOT [BUILD]    the same, and lower the numbers in that list to what was found
       check_names.py --self-test      plant violations that must be found, and similar texts that must not

Rules:
- columns: code has lines of at most 120 columns;
- length: a source has at most 600 lines;
- reference: links in documents lead to files and headings that exist;
- base-name: each file name names a concept; unique: a base name is unique in its folder of src/;
- tag, test-twice: the tag of a structure and the name of a test are unique in the tree. Programs of tests, benches and
  examples have a separate name space for tags, as have the unit tests of each folder.

With BUILD, a build with objects, also the rules of the call graph: no cycle between folders (folder-cycle) or between
sub-folders of one folder (sub-folder-cycle), and cycles of at most four files within one folder (file-cycle).
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib'))
from known import Known  # noqa: E402

KNOWN = 'tests/check_names_known.txt'
TITLE = 'Violations of the rules of names and structure that existed before tests/check_names.py.'
COLUMNS, LINES, LARGEST_CYCLE = 120, 600, 4
CODE = ('.c', '.h', '.cc', '.S', '.py', '.sh', '.build')
TOPS = ('src', 'include', 'tests', 'bench', 'examples', 'scripts', 'docs', 'data')
SKIPPED = re.compile(r'(^|/)(corpus[^/]*|formats|golden|traces)/')
NO_CONCEPT = set('internal inside util misc common helper who when own text look form part place words'.split())
PROGRAMS = ('tests/', 'bench/', 'examples/')
TAG = re.compile(r'^(?:struct|union|enum) (\w+)\s*\{', re.M)
TEST = re.compile(r'^(?:static void (\w+)\(void \*\*\w+\)|def ([a-z]\w*)\(case\))', re.M)
LINK = re.compile(r'\]\(([^)\s]+)\)')
FENCE = re.compile(r'```.*?```', re.S)


def files(root):
    for top in TOPS:
        for where, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                shown = os.path.relpath(os.path.join(where, name), root)
                if not SKIPPED.search(shown):
                    yield shown
    yield from (name for name in ('README.md', 'CONTRIBUTING.md') if os.path.exists(os.path.join(root, name)))


def read(root, path):
    with open(os.path.join(root, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def anchors(text):
    """The anchors of the headings of a document, as GitHub creates them."""
    found = set()
    for line in FENCE.sub('', text).splitlines():
        if line.startswith('#'):
            title = re.sub(r'[`*]', '', line.lstrip('#').strip()).lower()
            found.add(re.sub(r'[^\w\- ]', '', title).replace(' ', '-'))
    return found


def references(root, path, text):
    for target in LINK.findall(FENCE.sub('', text)):
        if '://' in target or target.startswith('mailto:'):
            continue
        name, _, heading = target.partition('#')
        there = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(os.path.join(root, there)):
            yield target
        elif heading and there.endswith('.md') and heading not in anchors(read(root, there)):
            yield target


def in_file(root, path, found):
    """Rules that need one file."""
    def violation(rule, words, subject=path):
        found.setdefault((rule, subject), []).append(words)

    if path.endswith('.md'):
        for target in references(root, path, read(root, path)):
            violation('reference', target)
    if not path.endswith(CODE):
        return
    lines = read(root, path).expandtabs(8).splitlines()
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            violation('columns', 'line %d' % number)
    if len(lines) > LINES and path.endswith(('.c', '.h', '.cc', '.S', '.py')):
        violation('length', '%d lines' % len(lines))
    base = os.path.basename(path).split('.')[0]
    if path.endswith(('.c', '.h')) and '/t/' not in path and base in NO_CONCEPT:
        violation('base-name', base)


def tag_scope(path):
    """Files with the same scope have different tags."""
    if path.startswith(PROGRAMS):
        return 'tests'
    return path[:path.index('/t/') + 2] if '/t/' in path else ''


def across_files(root, paths, found):
    """Rules about names that must be unique in the tree."""
    bases, tags, tests = {}, {}, {}
    for path in paths:
        words = path.split('/')
        if path.startswith('src/') and '/t/' not in path and path.endswith('.c'):
            bases.setdefault((words[1], words[-1]), []).append(path)
        if path.endswith(('.c', '.h')):
            text = read(root, path)
            for tag in set(TAG.findall(text)):
                tags.setdefault((*filter(None, [tag_scope(path)]), tag), []).append(path)
        if path.endswith('.c') and '/t/' in path or re.match(r'tests/cases/t_\w+\.py$', path):
            for match in TEST.finditer(read(root, path)):
                tests.setdefault(match.group(1) or match.group(2), []).append(path)
    tags = {tag if len(tag) > 1 else tag[0]: at for tag, at in tags.items()}
    for rule, where in (('unique', bases), ('tag', tags), ('test-twice', tests)):
        for name, at in where.items():
            if len(at) > 1:
                found[rule, '/'.join(name) if isinstance(name, tuple) else name] = [', '.join(at)] * (len(at) - 1)


def call_graph(root, build):
    """{file of src/: files with functions that it calls}, from the objects of a build."""
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as f:
        commands = json.load(f)
    objects = {}
    for command in commands:
        source = os.path.relpath(os.path.join(command['directory'], command['file']), os.path.abspath(root))
        if re.match(r'src/(?!.*/t/).*\.[cS]$', source):
            objects.setdefault(source, os.path.join(command['directory'], command['output']))
    objects = {source: path for source, path in objects.items() if os.path.exists(path)}
    defined, wanted = {}, {}
    listing = subprocess.run(['nm', '-A', '-P', *objects.values()], capture_output=True, text=True).stdout
    source_of = {path: source for source, path in objects.items()}
    for line in listing.splitlines():
        path, _, rest = line.partition(': ')
        name, kind = rest.split()[:2]
        if kind == 'U':
            wanted.setdefault(source_of[path], set()).add(name)
        elif kind in 'TDBRWV':
            defined[name] = source_of[path]
    return {source: {defined[n] for n in names if n in defined} - {source} for source, names in wanted.items()}


def cycles(graph):
    """Strongly connected components of more than one node (Tarjan, SIAM J. Comput. 1972, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, edges = work[-1]
            for to in edges:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(sorted(graph.get(to, ())))))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return found


def in_calls(graph, found):
    folder = lambda path: path.split('/')[1]  # noqa: E731
    folders, within = {}, {}
    for source, targets in graph.items():
        folders.setdefault(folder(source), set()).update(folder(t) for t in targets if folder(t) != folder(source))
        within.setdefault(folder(source), {})[source] = {t for t in targets if folder(t) == folder(source)}
    for cycle in cycles(folders):
        found['folder-cycle', '+'.join(cycle)] = cycle
    for name, files_of in within.items():
        parts = {}
        for source, targets in files_of.items():
            here = os.path.dirname(source)
            parts.setdefault(here, set()).update(os.path.dirname(t) for t in targets if os.path.dirname(t) != here)
        for cycle in cycles(parts):
            found['sub-folder-cycle', '+'.join(cycle)] = cycle
        largest = max((c for c in cycles(files_of)), key=len, default=[])
        if len(largest) > LARGEST_CYCLE:
            found['file-cycle', 'src/' + name] = [os.path.basename(path) for path in largest]


def check(root, build=None, shrink=False):
    found, paths = {}, list(files(root))
    for path in paths:
        in_file(root, path, found)
    across_files(root, paths, found)
    if build:
        in_calls(call_graph(root, build), found)
    known = Known(root, KNOWN, TITLE)
    if shrink:
        known.shrink(
            {**found, **({} if build else {k: [''] * n for k, n in known.counts.items() if k[0].endswith('-cycle')})})
    return known.excess(found)


def self_test():
    """(file, text, rules that must be found in it)"""
    cases = [
        ('src/ctf/a.c', 'x' * 121 + '\n', ['columns']),
        ('src/ctf/b.c', '\t' * 15 + '\n', []),
        ('src/ctf/c.c', '\t' * 16 + '\n', ['columns']),
        ('src/ctf/d.c', '\n' * 601, ['length']),
        ('src/ctf/e.c', '\n' * 600, []),
        ('src/ctf/who.c', '', ['base-name']),
        ('src/ctf/t/who.c', '', []),
        ('docs/f.md', '[a](g.md) [b](../src/ctf/a.c) [c](g.md#two-words)\n', []),
        ('docs/g.md', '## Two `words`\n[a](#two-words)\n', []),
        ('docs/h.md', '[a](nowhere.md)\n', ['reference']),
        ('docs/i.md', '[a](g.md#three)\n', ['reference']),
        ('src/wire/j.h', 'struct one {\n};\nstruct two {\n};\n', []),
        ('src/wire/k.h', 'struct two {\n};\n', []),
        ('src/wire/t/k.h', 'struct one {\n};\nstruct three {\n};\n', []),
        ('src/wire/t/l.h', 'struct three {\n};\n', []),
        ('src/ctf/t/k.h', 'struct three {\n};\n', []),
        ('bench/k.h', 'struct one {\n};\nstruct four {\n};\n', []),
        ('tests/programs/k.h', 'struct four {\n};\n', []),
        ('src/wire/sub/l.c', '', []),
        ('src/wire/l.c', '', []),
        ('src/wire/t/m.c', 'static void test_a(void **state)\n', []),
        ('tests/cases/t_n.py', 'def test_a(case):\n', []),
    ]
    across = {('two', 'tag'), ('src/wire/t/three', 'tag'), ('tests/four', 'tag'), ('wire/l.c', 'unique'),
              ('test_a', 'test-twice')}
    graph = {'src/a/%d.c' % i: {'src/a/%d.c' % ((i + 1) % 5)} for i in range(5)}
    graph.update({
        'src/b/x.c': {'src/c/y.c'}, 'src/c/y.c': {'src/b/z.c'},
        'src/d/%d.c' % 0: {'src/d/1.c'}, 'src/d/1.c': {'src/d/0.c'}
    })
    graph.update({'src/e/f/1.c': {'src/e/g/1.c'}, 'src/e/g/1.c': {'src/e/h/1.c'}, 'src/e/h/2.c': {'src/e/g/1.c'}})
    bad = 0
    with tempfile.TemporaryDirectory() as root:
        for path, text, _ in cases:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w') as f:
                f.write(text)
        wrong = [tuple(w.split(': ')[:2]) for w in check(root)]
        for path, text, rules in cases:
            found = [rule for subject, rule in wrong if subject == path]
            if found != rules:
                print('%s: found %s, expected %s' % (path, found, rules))
                bad = 1
        missing = across ^ {w for w in wrong if w[1] in ('tag', 'unique', 'test-twice')}
        calls = {}
        in_calls(graph, calls)
        if missing or set(calls) != {('file-cycle', 'src/a'), ('folder-cycle', 'b+c'),
                                     ('sub-folder-cycle', 'src/e/g+src/e/h')}:
            print('not found: %s; cycles found: %s' % (missing, set(calls)))
            bad = 1
    print('self-test: %d cases%s' % (len(cases) + 5, ' FAILED' if bad else ''))
    return bad


def main(args):
    if args == ['--self-test']:
        return self_test()
    shrink = args[:1] == ['--shrink']
    wrong = check(*(args[1:] if shrink else args or ['.']), shrink=shrink)
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
