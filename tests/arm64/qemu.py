#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Run static aarch64 programs on two emulated CPUs under Debian's own arm64 kernel.

Restartable sequences need a kernel for the machine's own instruction set, which qemu-user does not have. This script
boots a stock kernel in qemu-system with an initramfs that contains only the programs.

    qemu.py --work DIR [--file PATH]... --test 'NAME=VALUE... /program args' ...

Each --file is copied to the root of the initramfs, which is created in --work. Exit status 0 if every test exited with
0, status 77 (skipped) if qemu or the kernel package is not available, 1 otherwise.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from emulated import OPTIONS, Initramfs, Kernel, NotHere, installed  # noqa: E402

CC = "aarch64-linux-gnu-gcc"


def skip(words):
    print("skipped: " + words)
    sys.exit(77)


def initramfs(path, files, tests):
    archive = Initramfs()
    archive.file(files[0], "init")
    for source in files[1:]:
        archive.file(source, os.path.basename(source))
    archive.text("tests", "\n".join(tests) + "\n")
    archive.folder("dev")
    archive.write(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("--file", action="append", default=[])
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--timeout", type=int, default=900)
    args = parser.parse_args()
    try:
        qemu, image = installed("qemu-system-aarch64"), Kernel("arm64").image
        installed(CC)
    except NotHere as reason:
        skip(str(reason))
    init = os.path.join(args.work, "init")
    subprocess.run([CC, "-static", "-O2", "-o", init, os.path.join(HERE, "init.c")], check=True)
    ramfs = os.path.join(args.work, "initramfs-%d" % os.getpid())
    initramfs(ramfs, [init] + args.file, args.test)
    try:
        answer = subprocess.run([
            qemu, "-accel", "tcg,thread=multi", *OPTIONS, "-M", "virt", "-cpu", "max", "-m", "1024", "-serial", "stdio",
            "-kernel", image, "-initrd", ramfs, "-append", "console=ttyAMA0 panic=-1 quiet"
        ], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=args.timeout)
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
