# SPDX-License-Identifier: MIT
"""Lists of violations that existed before a check was introduced: lines `COUNT RULE SUBJECT`. A count only falls."""
import os


class Known:
    def __init__(self, root, path, title):
        self.path, self.title, self.counts = os.path.join(root, path), title, {}
        try:
            with open(self.path, encoding='utf-8') as f:
                for line in f:
                    if not line.startswith('#'):
                        count, rule, subject = line.rstrip('\n').split(' ', 2)
                        self.counts[rule, subject] = int(count)
        except FileNotFoundError:
            pass

    def excess(self, found):
        """
        For {(rule, subject): [sentence]}: a line for each key with more sentences than its known count; it quotes the
        last eight.
        """
        return [
            '%s: %s: %d, and %d are known: %s' %
            (key[1], key[0], len(sentences), self.counts.get(key, 0), '; '.join(sentences[-8:]))
            for key, sentences in sorted(found.items(), key=lambda item: item[0][::-1])
            if len(sentences) > self.counts.get(key, 0)
        ]

    def shrink(self, found):
        """Lower each count to the number that was found."""
        self.write({key: min(count, len(found.get(key, ()))) for key, count in self.counts.items()})

    def write(self, counts):
        self.counts = {key: count for key, count in counts.items() if count}
        with open(self.path, 'w', encoding='utf-8') as f:
            f.write('# %s Counts only fall.\n' % self.title)
            f.writelines('%d %s %s\n' % (count, *key)
                         for key, count in sorted(self.counts.items(), key=lambda item: item[0][::-1]))
