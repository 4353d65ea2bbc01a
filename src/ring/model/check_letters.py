#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Checks the lettered pairs of src/ring against docs/ordering.md and the models. Each letter in the code has a row in that
page. The row names a model and every file that has the letter. Each model that a row names has the letter. No
letter is missing in the code, the page or the models. For each letter, at least one comment in the code contains "pairs
with". Exit status 0 or 1.
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RING = HERE.parent
PAGE = RING.parent.parent / "docs" / "ordering.md"
LETTER = re.compile(r"\(([A-Z])\)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def letters_of(paths, text_of):
    """{letter: {file name: its comments that contain the letter}}"""
    found = {}
    for path in paths:
        for text in text_of(path.read_text()):
            for letter in LETTER.findall(text):
                found.setdefault(letter, {}).setdefault(path, []).append(text)
    return found


def check():
    wrong = []
    sources = [p for p in sorted([*RING.glob("*.[ch]"), *RING.glob("arch/*/*.h")])]
    code = letters_of(sources, COMMENT.findall)
    models = letters_of(sorted(HERE.glob("*.pml")), COMMENT.findall)
    rows = {}
    for line in PAGE.read_text().splitlines():
        match = re.match(r"\| \(([A-Z])\) \|", line)
        if match and match.group(1) in rows:
            wrong.append(f"({match.group(1)}) has two rows in {PAGE.name}")
        elif match:
            rows[match.group(1)] = line
    for letter in sorted(code.keys() | models.keys() | rows.keys()):
        if letter not in code:
            wrong.append(f"({letter}) stands nowhere in the code of src/ring")
        if letter not in rows:
            wrong.append(f"({letter}) has no row in {PAGE.name}")
        if letter not in models:
            wrong.append(f"({letter}) is named by no model")
        if letter not in code or letter not in rows or letter not in models:
            continue
        named = set(re.findall(r"`(\w+\.pml)`", rows[letter]))
        if not named:
            wrong.append(f"({letter}): its row in {PAGE.name} names no model")
        for model in named - {p.name for p in models[letter]}:
            wrong.append(f"({letter}): {model} does not name it, {PAGE.name} says so")
        for path in code[letter]:
            where = str(path.relative_to(RING))
            arch = where.startswith("arch/")
            if f"`{where}`" not in rows[letter] and not (arch and (f"`{path.parent.relative_to(RING)}`" in rows[letter]
                                                                   or "`arch/*/commit.h`" in rows[letter])):
                # x86-64 has the orders that aarch64 needs instructions for, so its comments need not name a pair
                if not (arch and "x86-64" in rows[letter]):
                    wrong.append(f"({letter}): {where} has it, its row in {PAGE.name} does not name that file")
        if not any(re.search(r"pairs?\s+(\*\s+)?with", text) for texts in code[letter].values() for text in texts):
            wrong.append(f"({letter}): no comment in the code names its pair")
    # orders without a letter; the list of retired sets is private to a process and needs no letter
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)", line):
                near = "\n".join(path.read_text().splitlines()[max(0, number - 14):number + 1])
                if not LETTER.search(near) and not re.search(r"(Acquire|Release): pairs with", near):
                    wrong.append(f"{path.relative_to(RING)}:{number}: an order without a letter")
    return sorted(rows), wrong


def main():
    rows, wrong = check()
    for line in wrong:
        print(f"FAIL {line}")
    print(f"{len(rows)} pairs, {len(wrong)} failed")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
