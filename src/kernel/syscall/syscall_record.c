/* SPDX-License-Identifier: MIT */
/*
 * syscall_record.c - parse a record of a ring (see syscall_bpf.h). Every length has a limit; a record that exceeds a
 * limit is invalid.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "kernel/syscall/syscall_bpf.h"

int wmk_syscalls_record_parse(const uint8_t *bytes, size_t len, struct wmk_syscalls_record *record)
{
	struct wmk_syscalls_head head;
	size_t at = sizeof(head);

	if (len < sizeof(head))
		return wmk_error(-EPROTO, "invalid record: %zu bytes, less than its header of %zu", len, sizeof(head));
	memcpy(&head, bytes, sizeof(head));
	const bool is_other = head.number == WMK_SYSCALLS_OTHER && head.n_values == WMK_SYSCALLS_ARGS + 1;

	if (head.n_values > WMK_SYSCALLS_ARGS + is_other || head.n_parts > WMK_SYSCALLS_PARTS ||
	    head.number >= WMK_SYSCALLS_NUMBERS ||
	    head.n_values * sizeof(uint64_t) > len - at)
		return wmk_error(-EPROTO, "invalid record: system call %u with %u values and %u parts", head.number,
				 head.n_values, head.n_parts);
	*record = (struct wmk_syscalls_record){ .mono = head.time,
						.pid = head.pid,
						.tid = head.tid,
						.cpu = head.cpu,
						.number = head.number,
						.is_exit = head.flags & WMK_SYSCALLS_IS_EXIT,
						.is_signal = head.flags & WMK_SYSCALLS_IS_SIGNAL,
						.is_end = head.flags & WMK_SYSCALLS_IS_END,
						.abi = head.flags & WMK_SYSCALLS_IS_COMPAT ? WMK_KABI_COMPAT
											   : WMK_KABI_NATIVE,
						.n_values = head.n_values - is_other,
						.n_parts = head.n_parts };
	memcpy(record->values, bytes + at, record->n_values * sizeof(uint64_t));
	if (is_other)
		memcpy(&record->other, bytes + at + WMK_SYSCALLS_ARGS * sizeof(uint64_t), sizeof(record->other));
	at += head.n_values * sizeof(uint64_t);
	for (unsigned i = 0; i < head.n_parts; i++) {
		struct wmk_syscalls_piece *piece = &record->parts[i];
		struct wmk_syscalls_part part;

		if (at > len || len - at < sizeof(part))
			return wmk_error(-EPROTO, "invalid record: it ends before its part %u", i + 1);
		memcpy(&part, bytes + at, sizeof(part));
		at += sizeof(part);
		if (part.len > len - at)
			return wmk_error(-EPROTO, "invalid record: part %u has %u bytes, but %zu are left", i + 1,
					 part.len, len - at);
		*piece = (struct wmk_syscalls_piece){ .arg = part.arg, .flags = part.flags, .count = part.count,
						      .len = part.len, .bytes = bytes + at };
		at += (part.len + 7u) & ~(size_t)7;
	}
	return 0;
}
