/* SPDX-License-Identifier: MIT */
/*
 * fuzz_print.c - arbitrary bytes as entry and exit records of a system call. The printer must not read after their ends
 * or write after the line's memory, and the printed part must not depend on the size of that memory. The first two
 * bytes select the size, the next two the beginning of the exit record.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "strace/print_syscall.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

/* An allocation of the exact size, so that sanitizers detect an excess of one byte. */
static uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	must(bytes);
	if (size)
		memcpy(bytes, data, size);
	return bytes;
}

static void print_all(const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		      const struct wmk_syscalls_record *exit, struct wmk_kline *line)
{
	wmk_kprint_entry(print, entry, exit, line);
	wmk_kprint_rest(print, entry, exit, line);
	wmk_kprint_result(print, entry, exit, line);
	for (unsigned i = 0; i < print->n_args; i++)
		wmk_kprint_arg(print, i, entry, NULL, line);
	wmk_kprint_siginfo(exit->values, exit->n_values, line);
	wmk_kprint_end(exit, line);
}

static void print_into(const struct wmk_syscalls_record *entry, const struct wmk_syscalls_record *exit, size_t room)
{
	struct wmk_kline narrow = { .text = malloc(room ? room : 1), .room = room },
			 wide = { .text = malloc(4 * WMK_KPRINT_ROOM), .room = 4 * WMK_KPRINT_ROOM };
	struct wmk_kprint print;

	must(narrow.text && wide.text);
	wmk_kprint_make((enum wmk_kabi)entry->abi, entry->number, (uint32_t)(room & 255), &print);
	print_all(&print, entry, exit, &narrow);
	print_all(&print, entry, exit, &wide);
	must(!wide.is_cut && narrow.len <= narrow.room && narrow.is_cut == (wide.len > room));
	must(memcmp(narrow.text, wide.text, narrow.len) == 0 && (narrow.is_cut || narrow.len == wide.len));
	free(narrow.text);
	free(wide.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_syscalls_record entry, exit;
	uint8_t *first, *second;
	size_t room, split;

	if (size < 4)
		return 0;
	room = data[0] | (size_t)data[1] << 8;
	split = data[2] | (size_t)data[3] << 8;
	data += 4;
	size -= 4;
	if (split > size)
		split = size;
	first = copy_of(data, split);
	second = copy_of(data + split, size - split);
	if (wmk_syscalls_record_parse(first, split, &entry) == 0 &&
	    wmk_syscalls_record_parse(second, size - split, &exit) == 0)
		print_into(&entry, &exit, room);
	wmk_error_clear();
	free(first);
	free(second);
	return 0;
}
