#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the tmpfiles.d entry that makes root's wait page: as src/wire/wait.h defines it, before any daemon has run.

usage: wait_page.py TMPFILES.CONF WAIT.H
"""
import base64
import re
import sys

with open(sys.argv[2], encoding='utf-8') as f:
    header = f.read()


def constant(name):
    return int(re.search(r'#define %s (0x[0-9a-f]+|\d+)u' % name, header).group(1), 0)


page = constant('WMK_WAIT_MAGIC').to_bytes(8, 'little') + constant('WMK_WAIT_VERSION').to_bytes(4, 'little')
page += bytes(constant('WMK_WAIT_BYTES') - len(page))
with open(sys.argv[1], encoding='utf-8') as f:
    print(f.read().replace('@PAGE@', base64.b64encode(page).decode()), end='')
