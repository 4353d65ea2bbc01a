/* SPDX-License-Identifier: MIT */
/*
 * fuzz_syscalls.c - any bytes as a record of a system call: no read beyond its end, no write beyond the output buffer,
 * and the payload ends where its class ends. The first two bytes are the size of the buffer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/syscall/syscall_event.h"
#include "kernel/t/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_syscalls_record record;
	struct wmk_event_class *class;
	struct wmk_syscall call;
	size_t room;
	uint8_t *bytes, *out;
	long len;

	if (size < 2)
		return 0;
	room = (data[0] | (size_t)data[1] << 8) & 0x3fff;
	/* Exact sizes, so that an access beyond them is noticed. */
	bytes = malloc(size - 2 ? size - 2 : 1);
	out = malloc(room ? room : 1);
	must(bytes && out);
	memcpy(bytes, data + 2, size - 2);
	if (wmk_syscalls_record_parse(bytes, size - 2, &record) == 0) {
		(void)!wmk_syscall_describe((enum wmk_kabi)record.abi, record.number, &call);
		must(wmk_syscalls_class(&call, record.is_exit, &class) == 0);
		len = wmk_syscalls_payload(&call, &record, out, room);
		must(len <= (long)room);
		must(len < 0 || payload_is_whole(class, out, out + len));
		wmk_event_class_free(class);
	}
	wmk_error_clear();
	free(bytes);
	free(out);
	return 0;
}
