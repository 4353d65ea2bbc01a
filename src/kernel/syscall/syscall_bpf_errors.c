/* SPDX-License-Identifier: MIT */
/*
 * syscall_bpf_errors.c - explain why the BPF program for system calls cannot be loaded (see syscall_bpf.h).
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"

/* Copy the line with the verifier's reason: the last line before the verifier's statistics. */
static void verifier_line(const char *log, char *line, size_t size)
{
	const char *end = strstr(log, "\nprocessed "), *begin;
	size_t len;

	*line = 0;
	if (!end)
		return;
	for (begin = end; begin > log && begin[-1] != '\n'; begin--)
		;
	len = (size_t)(end - begin) < size - 1 ? (size_t)(end - begin) : size - 1;
	memcpy(line, begin, len);
	line[len] = 0;
}

int wmk_syscalls_refused(int err, const struct wmk_syscalls_facts *facts)
{
	char line[96];

	if (!facts->has_btf)
		return wmk_errorx(-ENOTSUP, "this kernel has no type information (/sys/kernel/btf/vmlinux; "
					    "CONFIG_DEBUG_INFO_BTF): the data that arguments of system calls point "
					    "to cannot be recorded");
	if (err == -EPERM || err == -EACCES) {
		if (!facts->is_root)
			return wmk_errorx(-EPERM,
					  "BPF, which records the data that arguments of system calls point "
					  "to, needs root (or CAP_BPF and CAP_PERFMON)");
		if (strstr(facts->lockdown, "[confidentiality]"))
			return wmk_errorx(-EPERM,
					  "the kernel is locked down (confidentiality): BPF cannot read memory");
	}
	verifier_line(facts->log, line, sizeof(line));
	if (*line)
		return wmk_errorx(err, "this kernel's verifier rejects the BPF program: %s", line);
	if (err == -EPERM || err == -EACCES)
		return wmk_errorx(err,
				  "bpf() is refused even to root: by a container, seccomp or a security module");
	if (err == -ENOSYS)
		return wmk_errorx(-ENOTSUP, "this kernel has no BPF (CONFIG_BPF_SYSCALL)");
	if (!facts->has_ringbuf)
		return wmk_errorx(-ENOTSUP, "this kernel has no BPF ring buffer (it needs Linux 5.8)");
	return wmk_error(err, "cannot load the BPF program for system calls");
}
