#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Apply a map of renames to the tree. The same map updates a branch that was made before the rename.

usage: rename.py MAP...   apply maps (scripts/renames/*.map), and print remaining bare mentions of renamed files
       rename.py --self-test

A map has one rename on each line; "#" begins a comment:
  file OLD NEW     paths from the root; the include lines, lists of meson.build and mentions "folder/name" change too
  name OLD NEW     an identifier, as a whole word, in every text file
  tag FILE OLD NEW "struct OLD" (union, enum) in one file, named by its path before the map
  local FILE OLD NEW  an identifier in the code of one file, not in its comments and strings
  test FILE OLD NEW  the function of a test, in C like `local`; in Python also where it is imported, but not attributes
                   or local variables of that name; and in the lists of cases of tests/against
  word PATH OLD NEW  OLD as a whole word, except in file names, in text files at and below one path
  attribute PATH OLD NEW  a Python method or attribute, at and below one path
The include guard of a renamed header changes, too.
A line has no effect if its OLD no longer exists, so a map can be applied twice.
"""
import ast
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = re.compile(r'(^|/)(corpus[^/]*|formats|golden|traces)/|^scripts/renames/|^docs/decisions/')
NO_CODE = r'(?s:/\*.*?\*/)|"(?:\\.|[^"\\\n])*"|#include [^\n]*'
BEFORE, AFTER = r'(?<![\w/.-])', r'(?![\w-])(?!\.\w)'

BELOW = {'word': r'(?<!\w)%s(?!\w|\.[chS]\b|\.py\b)', 'attribute': r'(?:(?<=\w\.)|(?<=[)\]]\.)|(?<=    def ))%s\b'}


def git(root, *words):
    return subprocess.run(['git', '-C', root, *words], check=True, capture_output=True, text=True).stdout


def texts(root):
    for path in git(root, 'ls-files').splitlines():
        whole = os.path.join(root, path)
        if SKIPPED.search(path) or os.path.islink(whole) or not os.path.isfile(whole):
            continue
        with open(whole, 'rb') as f:
            data = f.read()
        try:
            yield path, data.decode()
        except UnicodeDecodeError:
            continue


def parse(lines):
    files, names, in_one = {}, {}, []
    for number, line in enumerate(lines, 1):
        words = line.split('#')[0].split()
        if not words:
            continue
        if len(words) == 4 and words[0] in ('tag', 'local', 'test', *BELOW):
            in_one.append(tuple(words))
            continue
        if len(words) != 3 or words[0] not in ('file', 'name'):
            raise SystemExit('line %d: "%s" is not a rename (use: file|name OLD NEW, '
                             'tag|local|test|word|attribute PATH OLD NEW)'
                             % (number, line.strip()))
        (files if words[0] == 'file' else names)[words[1]] = words[2]
    return files, names, in_one


def stem(path):
    return os.path.basename(path).split('.')[0]


class Globals(ast.NodeVisitor):
    """(line, column in bytes, name) of each mention of a function of the module, without local variables."""

    def __init__(self, names, origin):
        self.names, self.origin, self.local, self.found = names, origin, [], []

    def visit_function(self, node):
        if node.name in self.names and not self.local:
            self.found.append((node.lineno, len('def '), node.name))
        for outside in node.decorator_list + node.args.defaults:
            self.visit(outside)
        bound = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        bound |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        bound |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
        self.local.append(bound)
        for statement in node.body:
            self.visit(statement)
        self.local.pop()

    visit_FunctionDef = visit_function

    def visit_ClassDef(self, node):
        self.local.append(set())
        self.generic_visit(node)
        self.local.pop()

    def visit_Name(self, node):
        if node.id in self.names and not any(node.id in bound for bound in self.local):
            self.found.append((node.lineno, node.col_offset, node.id))

    def visit_ImportFrom(self, node):
        for alias in node.names if node.module == self.origin else []:
            if alias.name in self.names:
                self.found.append((alias.lineno, alias.col_offset, alias.name))


def rename_in_python(text, names, origin, is_here):
    """The text with these functions of the module `origin` renamed. `is_here`: it is that module; else it may import
    them."""
    tree = ast.parse(text)
    if not is_here:
        imported = {a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == origin for a in n.names}
        names = {old: new for old, new in names.items() if old in imported}
    walk = Globals(names, origin)
    walk.visit(tree)
    lines = text.encode().split(b'\n')
    for number, column, name in sorted(walk.found, reverse=True):
        line = lines[number - 1]
        lines[number - 1] = line[:column] + names[name].encode() + line[column + len(name.encode()):]
    return b'\n'.join(lines).decode()


def rename_imports(text, files):
    """Rename modules in import statements, which have their base names."""
    modules = {stem(old): stem(new) for old, new in files.items() if old.endswith('.py') and stem(old) != stem(new)}
    for old, new in modules.items():
        text = re.sub(r'(?m)^from %s import' % old, 'from %s import' % new, text)
        text = re.sub(r'(?m)^import %s(?= as |( +#.*)?$)( as \w+)?' % old,
                      lambda m, old=old, new=new: 'import %s%s' % (new, m.group(2) or ' as ' + old), text)
    return text


def rename_tests(root, tests, files):
    by_file = {}
    for path, old, new in tests:
        by_file.setdefault(path, {})[old] = new
    for before, names in by_file.items():
        path = before if os.path.exists(os.path.join(root, before)) else files.get(before, before)
        words = '|'.join(map(re.escape, names))
        for other, text in list(texts(root)):
            changed = text
            if other == path and not path.endswith('.py'):
                for old, new in names.items():
                    changed = rename_in_one(changed, 'local', old, new)
            elif other.endswith('.py') and os.path.dirname(other) == os.path.dirname(path):
                changed = rename_in_python(text, names, stem(path), other == path)
            elif other.startswith('tests/against/'):
                case = r'(?m)^((?:%s|%s):)(%s)$' % (stem(before)[2:], stem(path)[2:], words)
                changed = re.sub(case, lambda m: m.group(1) + names[m.group(2)], text)
            if changed != text:
                with open(os.path.join(root, other), 'w', encoding='utf-8') as f:
                    f.write(changed)


def rename_below(root, kind, top, old, new):
    """Rename in text files at and below a path; attributes in Python files only."""
    pattern = BELOW[kind] % re.escape(old)
    for path, text in list(texts(root)):
        if (path == top or path.startswith(top + '/')) and (kind != 'attribute' or path.endswith('.py')):
            changed = re.sub(pattern, lambda m: new, text)
            if changed != text:
                with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                    f.write(changed)


def guard(path):
    """WMK_KERNEL_TRACKER_H for src/kernel/tasks/tracker.h."""
    words = path.split('/')
    return 'WMK_%s_%s' % (words[1].upper(), words[-1].replace('.', '_').upper())


def top_of(path):
    """src/kernel/t/x.c belongs to src/kernel; tests/cases/x.py to tests."""
    words = path.split('/')
    return '/'.join(words[:2]) if words[0] == 'src' else words[0]


def mentions(path, before, files):
    """Mentions of each renamed file in the text of a file: the whole path, "folder/name", the bare name in its folder.

    `before`: the path that the file had before the renames.
    """
    here = os.path.dirname(path)
    for old, new in files.items():
        yield old, new
        if old.startswith('src/'):
            yield old[4:], new[4:]
        if old.startswith('include/'):
            yield old[8:], new[8:]
        if os.path.basename(path) == 'meson.build':
            if old.startswith(here + '/'):
                yield os.path.relpath(old, here), os.path.relpath(new, here)
        elif top_of(old) == top_of(before):
            yield os.path.basename(old), os.path.basename(new)


def rename_in_one(text, kind, old, new):
    if kind == 'tag':
        return re.sub(r'\b(struct|union|enum) %s\b' % re.escape(old), r'\1 ' + new, text)
    return re.sub(NO_CODE + r'|\b%s\b' % re.escape(old), lambda m: new if m.group() == old else m.group(), text)


def apply(root, files, names, in_one):
    rename_tests(root, [words[1:] for words in in_one if words[0] == 'test'], files)
    for kind, path, old, new in in_one:
        if kind in BELOW:
            rename_below(root, kind, path, old, new)
            continue
        path = os.path.join(root, path)
        if kind != 'test' and os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                text = f.read()
            with open(path, 'w', encoding='utf-8') as f:
                f.write(rename_in_one(text, kind, old, new))
    def exists(path):
        return os.path.exists(os.path.join(root, path))

    # A branch may mention the old name of a file that was renamed before.
    files = {old: new for old, new in files.items() if exists(old) or exists(new)}
    for old, new in files.items():
        if not exists(old):
            continue
        os.makedirs(os.path.dirname(os.path.join(root, new)), exist_ok=True)
        git(root, 'mv', old, new)
    names = {**names, **{guard(old): guard(new) for old, new in files.items() if re.match(r'src/\w+/.*\.h$', old)}}
    word = re.compile(r'(?<![\w/])(%s)\b(?!\.[chS]\b)' % '|'.join(map(re.escape, names))) if names else None
    before = {}
    for old, new in files.items():
        before.update({new: old} if os.path.isfile(os.path.join(root, new)) else {})
    bare = {os.path.basename(old): new for old, new in files.items()}
    for path, text in list(texts(root)):
        changed = text
        table = dict(mentions(path, before.get(path, path), files))
        if table:
            longest = sorted(table, key=len, reverse=True)
            any_of = '(%s)' % '|'.join(map(re.escape, longest))
            changed = re.sub(BEFORE + any_of + AFTER, lambda m: table[m.group(1)], changed)
        if word:
            changed = word.sub(lambda m: names[m.group(1)], changed)
        if path.endswith('.py'):
            changed = rename_imports(changed, files)
        if changed != text:
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(changed)
        for old, new in bare.items():
            if top_of(path) != top_of(new) and re.search(BEFORE + re.escape(old) + AFTER, changed):
                print('%s mentions %s: rename to %s by hand if it means that file' % (path, old, new))


def self_test():
    with tempfile.TemporaryDirectory() as root:
        def put(path, text):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), 'w', encoding='utf-8') as f:
                f.write(text)
        put('src/a/who.c', '/* who.c, who.h */ #include "a/who.h"\nint who(int who_else);')
        put('src/a/who.h', '#ifndef WMK_A_WHO_H\nint who(int);')
        put('src/a/print.c', '/* print.c, who.c */')
        put('src/a/meson.build', "files('who.c', 'b_who.c')")
        put('src/b/x.c', '#include "a/who.h"\n#include "b/who.h"\nstruct s s; who(1); /* n */ n("n");')
        put('docs/a.md', 'see `a/who.h` and src/a/who.c')
        put('tests/cases/t_a.py', 'def cut(case):\n    f = "cut"; x.cut(f)\n\n\n'
            'class C:\n    def cut(self):\n        cut(self)\n\n\nmain([cut])\n')
        put('tests/cases/t_b.py', 'from t_a import cut\ncut(1)\n')
        put('tests/lib/word.py', '')
        put('tests/lib/t_d.py', 'import word  # noqa\nimport word as w\nfrom word import x\nimport words\n')
        put('tests/cases/t_c.py', "cut(1)  # it says\n"
            "w(1).says('hard', 'harder', says)\nclass C:\n    def says(self):\n        pass\n")
        put('tests/against/0.txt', 'a:cut\nb:cut\n')
        put('src/b/t/x.c', 'void test_a(void); run(test_a, test_ab);')
        git(root, 'init', '-q')
        git(root, 'add', '.')
        renames = parse([
            'file src/a/who.c src/a/tasks/task.c', 'file src/a/who.h src/a/tasks/task.h # moved',
            'file src/a/print.c src/c/line.c', 'name who task_find', 'tag src/b/x.c s set', 'local src/b/x.c n count',
            'file tests/lib/word.py tests/lib/lines.py', 'test tests/cases/t_a.py cut cut_file',
            'test src/b/t/x.c test_a test_once', "word tests 'hard' 'adverse'", 'attribute tests says prints'
        ])
        for _ in range(2):
            apply(root, *renames)
        got = {path: text for path, text in texts(root)}
        wanted = {
            'src/a/tasks/task.c': '/* task.c, task.h */ #include "a/tasks/task.h"\nint task_find(int who_else);',
            'src/a/tasks/task.h': '#ifndef WMK_A_TASK_H\nint task_find(int);', 'src/c/line.c': '/* line.c, task.c */',
            'src/a/meson.build': "files('tasks/task.c', 'b_who.c')",
            'src/b/x.c': '#include "a/tasks/task.h"\n#include "b/who.h"\n'
                         'struct set s; task_find(1); /* n */ count("n");',
            'docs/a.md': 'see `a/tasks/task.h` and src/a/tasks/task.c',
            'tests/lib/lines.py': '', 'tests/lib/t_d.py':
            'import lines as word  # noqa\nimport lines as w\nfrom lines import x\nimport words\n',
            'tests/cases/t_a.py': 'def cut_file(case):\n    f = "cut"; x.cut(f)\n\n\n'
            'class C:\n    def cut(self):\n'
            '        cut_file(self)\n\n\nmain([cut_file])\n',
            'tests/cases/t_b.py': 'from t_a import cut_file\ncut_file(1)\n',
            'tests/cases/t_c.py': "cut(1)  # it says\nw(1).prints('adverse', 'harder', says)\nclass C:\n"
            '    def prints(self):\n        pass\n',
            'tests/against/0.txt': 'a:cut_file\nb:cut\n',
            'src/b/t/x.c': 'void test_once(void); run(test_once, test_ab);'
        }
        if got != wanted:
            raise SystemExit('self-test: got %r' % {k: v for k, v in got.items() if wanted.get(k) != v})
    print('rename: self-test ok')


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for name in sys.argv[1:]:
        with open(name, encoding='utf-8') as f:
            apply(root, *parse(f))


if __name__ == '__main__':
    main()
