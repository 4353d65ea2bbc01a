/* SPDX-License-Identifier: MIT */
/*
 * fuzz_copy_program.c - arbitrary bytes as a record of the event that the first byte selects; the second byte is the
 * room for the payload. Nothing outside of the record is read, nothing outside of the room is written, and the payload
 * has the length that the decoder expects.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/t/decode.h"
#include "kernel/t/read_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

#define LOC(name, type, at) "\tfield:__data_loc " type "[] " name ";\toffset:" at ";\tsize:4;\tsigned:0;\n"
#define REL(name, type, at) "\tfield:__rel_loc " type "[] " name ";\toffset:" at ";\tsize:4;\tsigned:0;\n"
#define REST(name, type, at) "\tfield:" type " " name "[];\toffset:" at ";\tsize:0;\tsigned:0;\n"
#define FIXED(declaration, at, size) "\tfield:" declaration ";\toffset:" at ";\tsize:" size ";\tsigned:1;\n"

static const struct { const char *system, *text;
} formats[] = {
	{ "irq", "name: a\nID: 1\nformat:\n" COMMON LOC("t", "char", "8") },
	{ "irq", "name: b\nID: 1\nformat:\n" COMMON REL("t", "char", "8") LOC("u", "char", "12") REL("v", "u8", "16") },
	{ "irq", "name: c\nID: 1\nformat:\n" COMMON LOC("a", "u16", "8") LOC("b", "int", "12") LOC("c", "u64", "16")
			 LOC("d", "struct x", "20") },
	{ "irq", "name: d\nID: 1\nformat:\n" COMMON FIXED("char x[7]", "8", "7") REST("r", "char", "15") },
	{ "irq", "name: e\nID: 1\nformat:\n" COMMON FIXED("u64 x", "8", "8") REST("r", "u64", "16")
			 REST("s", "struct y", "12") },
	{ "sched", "name: sched_switch\nID: 1\nformat:\n" COMMON FIXED("char prev_comm[16]", "8", "16")
			   FIXED("pid_t prev_pid", "24", "4") FIXED("int prev_prio", "28", "4")
				   FIXED("long prev_state", "32", "8") FIXED("int next_prio", "40", "4") },
	{ "block", "name: block_rq_issue\nID: 1\nformat:\n" COMMON FIXED("u16 io", "8", "2")
			   FIXED("char rwbs[10]", "10", "10") LOC("cmd", "char", "20") },
	{ "syscalls",
	  "name: sys_enter_x\nID: 1\nformat:\n" COMMON FIXED("int nr", "16", "8") FIXED("char c", "24", "8")
		  FIXED("umode_t m", "32", "8") FIXED("void *p", "40", "8") FIXED("int args[3]", "48", "12") },
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

static struct wmk_kevent *events[FORMATS];
static struct decoded decoded[FORMATS];

static void prepare(unsigned which)
{
	struct wmk_kformat *format;

	if (events[which])
		return;
	must(wmk_kformat_parse(formats[which].system, formats[which].text, strlen(formats[which].text), &format) == 0);
	must(wmk_kevent_make(format, &events[which]) == 0);
	must(decoded_make(events[which]->class, WMK_CTF_1_8, &decoded[which]) == 0);
	free(format);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	const unsigned which = data[0] % FORMATS;
	const size_t room = data[1], len = size - 2;
	uint8_t *record = malloc(len ? len : 1), *out = malloc(room ? room : 1);

	must(record && out);
	prepare(which);
	memcpy(record, data + 2, len);
	const long n = wmk_kevent_copy(events[which], record, len, out, room);

	must(n <= (long)room);
	if (n >= 0) {
		struct wmk_ctf_bytes in = { out, 0, (uint64_t)n * 8 };
		struct wmk_ctf_walk walk;

		wmk_ctf_walk_begin(&walk, &in, 0);
		must(wmk_ctf_skip(&walk, decoded_payload(&decoded[which])) == 0 && walk.at == (uint64_t)n * 8);
	}
	free(record);
	free(out);
	wmk_error_clear();
	return 0;
}
