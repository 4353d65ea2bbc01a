#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run static aarch64 programs on two emulated CPUs under Debian's own arm64 kernel.

Restartable sequences need a kernel that knows them for the machine's own instruction set, which qemu-user has not: this boots
a stock kernel in qemu-system with an initramfs that holds nothing but the programs.

    qemu.py --cache DIR [--file PATH]... --test 'NAME=VALUE... /program args' ...

Each --file is put into the root of the initramfs. Exit status 0 when every test exited with 0, 77 (skipped) when qemu or the kernel
package cannot be had, 1 otherwise.
"""
import argparse
import glob
import gzip
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CC = "aarch64-linux-gnu-gcc"


def skip(words):
    print("skipped: " + words)
    sys.exit(77)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def kernel(cache):
    """Path of Debian's arm64 kernel, which scripts/setup.sh --long unpacks into `cache`."""
    found = glob.glob(os.path.join(cache, "root/boot/vmlinuz-*"))
    return found[0] if found else skip("no arm64 kernel in %s: run scripts/setup.sh --long" % cache)


def cpio_entry(name, mode, data, number):
    """One entry of a `newc` archive (Linux: Documentation/driver-api/early-userspace/buffer-format.rst)."""
    raw = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
    head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
    head += b"\0" * (-len(head) % 4)
    return head + data + b"\0" * (-len(data) % 4)


def initramfs(path, files, tests):
    entries = [("init", 0o100755, open(files[0], "rb").read())]
    entries += [(os.path.basename(f), 0o100755, open(f, "rb").read()) for f in files[1:]]
    entries += [("tests", 0o100644, ("\n".join(tests) + "\n").encode())]
    with gzip.open(path, "wb", compresslevel=1) as out:
        for number, (name, mode, data) in enumerate(entries):
            out.write(cpio_entry(name, mode, data, number + 1))
        out.write(cpio_entry("TRAILER!!!", 0, b"", 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", required=True)
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--timeout", type=int, default=900)
    args = parser.parse_args()
    for tool in ("qemu-system-aarch64", CC):
        if not shutil.which(tool):
            skip(tool + " is not installed")
    image = kernel(args.cache)
    init = os.path.join(args.cache, "init")
    subprocess.run([CC, "-static", "-O2", "-o", init, os.path.join(HERE, "init.c")], check=True)
    ramfs = os.path.join(args.cache, "initramfs-%d.gz" % os.getpid())
    initramfs(ramfs, [init] + args.file, args.test)
    try:
        answer = run(["qemu-system-aarch64", "-M", "virt", "-cpu", "max", "-smp", "2", "-m", "1024", "-nographic", "-nic", "none", "-no-reboot",
                      "-kernel", image, "-initrd", ramfs, "-append", "console=ttyAMA0 panic=-1 quiet"],
                     stdin=subprocess.DEVNULL, timeout=args.timeout)
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        print(out.decode(errors="replace") if isinstance(out, bytes) else out)
        print("FAILED: the machine did not end within %d s" % args.timeout)
        return 1
    finally:
        os.unlink(ramfs)
    print(answer.stdout)
    results = [line.strip() for line in answer.stdout.splitlines() if line.startswith("RESULT ")]
    good = [line for line in results if line.startswith("RESULT 0 ")]
    whole = "END OF TESTS" in answer.stdout and len(results) == len(args.test)
    print("%d of %d passed%s" % (len(good), len(args.test), "" if whole else ", and the machine ended early"))
    return 0 if whole and len(good) == len(args.test) else 1


if __name__ == "__main__":
    sys.exit(main())
