/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_event.c - event classes and copy programs: hand-made records are copied and decoded in both versions of
 * the trace format. Allocations have the exact size, so that sanitizers detect any access outside.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "kernel/event/copy_program.h"
#include "kernel/event/kernel_event.h"
#include "kernel/t/read_file.h"
#include "kernel/t/show_item.h"

static struct wmk_kevent *make_text(const char *system, const char *text)
{
	struct wmk_kformat *format;
	struct wmk_kevent *event = NULL;
	char message[1024];

	if (wmk_kformat_parse(system, text, strlen(text), &format) < 0 || wmk_kevent_make(format, &event) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	free(format);
	return event;
}

static struct wmk_kevent *make(const char *system, const char *name)
{
	char path[512], *text;

	snprintf(path, sizeof(path), "%s/%s.%s", KERNEL_FORMATS, system, name);
	text = read_file(path);
	assert_non_null(text);
	struct wmk_kevent *event = make_text(system, text);

	free(text);
	return event;
}

/* Copies with all and with less room: the same result, or -ENOSPC. The decoder of the version finds `wanted`. */
static void copies_as_of(unsigned version, const struct wmk_kevent *event, const void *record, size_t len,
			 const char *wanted)
{
	struct decoded decoded;
	uint8_t *in = malloc(len), large[4096];
	char text[4096];

	memcpy(in, record, len);
	const long n = wmk_kevent_copy(event, in, len, large, sizeof(large));

	assert_true(n >= 0);
	for (size_t room = 0; room < (size_t)n + 40; room++) {
		uint8_t *out = malloc(room ? room : 1);
		const long got = wmk_kevent_copy(event, in, len, out, room);

		/* (max_fixed counts fixed texts with their full length) */
		assert_true(got == n || (got == -ENOSPC && room < event->max_fixed + (size_t)n));
		assert_true(got != n || room >= (size_t)n);
		if (got == n)
			assert_memory_equal(out, large, (size_t)n);
		free(out);
	}
	assert_int_equal(decoded_make(event->class, version, &decoded), 0);
	assert_string_equal(decoded.decoder->streams[0].events[0].class->name, event->class->name);
	show_payload(&decoded, large, (size_t)n, text, sizeof(text));
	assert_string_equal(text, wanted);
	decoded_free(&decoded);
	/* Any shorter record is rejected. */
	for (size_t less = 0; less < event->min_len; less++) {
		uint8_t *cut = malloc(less ? less : 1);

		memcpy(cut, record, less);
		assert_int_equal(wmk_kevent_copy(event, cut, less, large, sizeof(large)), -EPROTO);
		wmk_error_clear();
		free(cut);
	}
	free(in);
}

static void copies_as(const struct wmk_kevent *event, const void *record, size_t len, const char *wanted)
{
	copies_as_of(WMK_CTF_1_8, event, record, len, wanted);
	copies_as_of(WMK_CTF_2, event, record, len, wanted);
}

static const struct wmk_field *field_of(const struct wmk_kevent *event, const char *name)
{
	for (unsigned i = 0; i < event->class->n_fields; i++)
		if (strcmp(event->class->fields[i].name, name) == 0)
			return &event->class->fields[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void put(uint8_t *record, size_t at, unsigned size, uint64_t value)
{
	memcpy(record + at, &value, size);
}

static void sched_switch_is_copied_with_tids_and_shifted_priorities(void **state)
{
	struct wmk_kevent *event = make("sched", "sched_switch");
	uint8_t record[64] = { 0 };

	(void)state;
	assert_string_equal(event->class->provider, "");
	assert_string_equal(event->class->name, "sched_switch");
	assert_string_equal(event->system, "sched");
	assert_string_equal(event->kernel_name, "sched_switch");
	assert_int_equal(event->kernel_id, 372);
	assert_int_equal(event->min_len, 64);
	assert_int_equal(event->max_fixed, 56);
	/* One run of bytes, and two additions to priorities in it. */
	assert_int_equal(event->n_copies, 3);
	assert_int_equal(event->copies[0].code, WMK_KCOPY_BYTES);
	memcpy(record + 8, "swapper/0", 9);
	put(record, 24, 4, 0);
	put(record, 28, 4, 120);
	put(record, 32, 8, 2);
	memcpy(record + 40, "sixteen letters!", 16);
	put(record, 56, 4, 4711);
	put(record, 60, 4, 49);
	copies_as(event, record, sizeof(record),
		  "{ prev_comm=\"swapper/0\" prev_tid=0 prev_prio=20 prev_state=2 next_comm=\"sixteen letters!\" "
		  "next_tid=4711 next_prio=-51 } ");
	wmk_kevent_free(event);
}

static void syscall_arguments_are_copied_in_the_width_of_their_type(void **state)
{
	struct wmk_kevent *event = make("syscalls", "sys_enter_openat");
	uint8_t record[48];

	(void)state;
	assert_string_equal(event->class->name, "syscall_entry_openat");
	assert_int_equal(event->max_fixed, 18);
	memset(record, 0xee, sizeof(record));
	put(record, 16, 8, 0xffffff9cu);
	put(record, 24, 8, 0x7ffe12345678);
	put(record, 32, 8, 0x941);
	put(record, 40, 8, 0xdead01b6);
	copies_as(event, record, sizeof(record), "{ dfd=-100 filename=140729203840632 flags=2369 mode=438 } ");
	assert_int_equal(field_of(event, "filename")->type.base, 16);
	assert_int_equal(field_of(event, "mode")->type.width, 16);
	wmk_kevent_free(event);
	event = make("syscalls", "sys_exit_openat");
	assert_string_equal(event->class->name, "syscall_exit_openat");
	put(record, 16, 8, (uint64_t)-2);
	copies_as(event, record, 24, "{ ret=-2 } ");
	wmk_kevent_free(event);
	event = make_text("syscalls", "name: sys_enter_getpid\nID: 9\nformat:\n" COMMON
				      "\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;\n");
	assert_int_equal(event->class->n_fields, 0);
	copies_as(event, record, 12, "{ } ");
	wmk_kevent_free(event);
}

static void fields_with_printed_labels_become_enumerations_or_flags(void **state)
{
	struct wmk_kevent *event = make("irq", "softirq_entry");
	uint8_t record[12] = { 0 };

	(void)state;
	assert_string_equal(event->class->name, "irq_softirq_entry");
	assert_int_equal(field_of(event, "vec")->type.kind, WMK_TYPE_INT);
	put(record, 8, 4, 7);
	copies_as(event, record, 12, "{ vec=7 } ");
	wmk_kevent_free(event);
	event = make("kmem", "rss_stat");
	assert_int_equal(field_of(event, "member")->type.kind, WMK_TYPE_ENUM);
	assert_string_equal(field_of(event, "member")->type.labels[1].name, "MM_ANONPAGES");
	wmk_kevent_free(event);
	event = make("new", "all_shapes");
	assert_int_equal(field_of(event, "flags")->type.kind, WMK_TYPE_FLAGS);
	assert_int_equal(field_of(event, "state")->type.kind, WMK_TYPE_ENUM);
	assert_true(field_of(event, "state")->type.is_signed);
	wmk_kevent_free(event);
}

/* Texts and elements outside of the fixed part; positions outside of the record. */
static void texts_outside_of_the_fixed_part_are_copied_within_the_record(void **state)
{
	struct wmk_kevent *event = make("irq", "irq_handler_entry");
	uint8_t record[32] = { 0 }, out[64];

	(void)state;
	put(record, 8, 4, 5);
	put(record, 12, 4, 16 | 5 << 16);
	memcpy(record + 16, "eth0", 5);
	copies_as(event, record, 24, "{ irq=5 name=\"eth0\" } ");
	/* without a NUL, limited by the length; up to the record's last byte; empty; ... */
	put(record, 12, 4, 16 | 3 << 16);
	copies_as(event, record, 24, "{ irq=5 name=\"eth\" } ");
	put(record, 12, 4, 21 | 3 << 16);
	copies_as(event, record, 24, "{ irq=5 name=\"\" } ");
	put(record, 12, 4, 24);
	copies_as(event, record, 24, "{ irq=5 name=\"\" } ");
	/* ... outside of the record */
	put(record, 12, 4, 16 | 9 << 16);
	assert_int_equal(wmk_kevent_copy(event, record, 24, out, sizeof(out)), -EPROTO);
	put(record, 12, 4, 25);
	assert_int_equal(wmk_kevent_copy(event, record, 24, out, sizeof(out)), -EPROTO);
	put(record, 12, 4, 0xffffffff);
	assert_int_equal(wmk_kevent_copy(event, record, 24, out, sizeof(out)), -EPROTO);
	wmk_kevent_free(event);
	event = make("ipi", "ipi_send_cpumask");
	memset(record, 0, sizeof(record));
	uint8_t mask[52] = { 0 };

	put(mask, 8, 4, 32 | 16 << 16);
	put(mask, 16, 8, 0xffffffff81000000);
	put(mask, 32, 8, 3);
	put(mask, 40, 8, 1);
	copies_as(event, mask, 48,
		  "{ _cpumask_length=2 cpumask[2]{ =3 =1 } callsite=18446744071578845184 callback=0 } ");
	put(mask, 8, 4, 32 | 15 << 16);
	copies_as(event, mask, 48, "{ _cpumask_length=1 cpumask[1]{ =3 } callsite=18446744071578845184 callback=0 } ");
	wmk_kevent_free(event);
}

static void kernel_fields_of_all_types_are_copied_into_the_record(void **state)
{
	struct wmk_kevent *event = make("new", "all_shapes");
	uint8_t record[160] = { 0 };

	(void)state;
	put(record, 12, 1, 0xff);
	put(record, 14, 2, 500);
	put(record, 16, 4, (uint32_t)-2);
	put(record, 24, 8, 16);
	put(record, 32, 4, (120 - 36) | 6 << 16);
	memcpy(record + 120, "label", 6);
	put(record, 36, 4, (126 - 40) | 2 << 16);
	put(record, 126, 2, 0x0201);
	put(record, 40, 4, 128 | 16 << 16);
	put(record, 128, 8, 77);
	put(record, 136, 8, 78);
	put(record, 44, 4, 144 | 3 << 16);
	put(record, 144, 3, 0x030201);
	memcpy(record + 48, "twelve bytes", 12);
	memcpy(record + 60, "comm\0hidden", 11);
	put(record, 76, 6, 0x060504030201);
	put(record, 82, 4, 0xfffe0007);
	put(record, 86, 3, 0x0a0908);
	put(record, 92, 4, 9);
	put(record, 96, 4, 1);
#define BEFORE \
	"{ tiny=-1 half=500 state=-2 flags=16 label=\"label\" _bytes_length=2 bytes[2]{ =1 =2 } _longs_length=2 " \
	"longs[2]{ =77 =78 } _wild_length=3 "
#define BEHIND \
	"name=\"twelve bytes\" comm=\"comm\" grid[6]{ =1 =2 =3 =4 =5 =6 } pair[2]{ =7 =-2 } seen[3]{ =8 =9 =10 } " \
	"state_2=9 _rest_length=14 " \
	"rest[14]{ =1 =0 =0 =0 =0 =0 =1700946284 =33620076 =77 =0 =78 =0 =197121 =0 } } "
	/* (in CTF 1.8, a blob is an array of bytes; in CTF 2, its length is shown) */
	copies_as_of(WMK_CTF_1_8, event, record, 152, BEFORE "wild[3]{ =1 =2 =3 } " BEHIND);
	copies_as_of(WMK_CTF_2, event, record, 152, BEFORE "wild=3 " BEHIND);
	assert_int_equal(field_of(event, "wild")->type.kind, WMK_TYPE_BLOB);
	assert_int_equal(field_of(event, "seen")->type.elem->base, 16);
	wmk_kevent_free(event);
	event = make("raw_syscalls", "sys_enter");
	memset(record, 0, sizeof(record));
	for (unsigned i = 0; i < 7; i++)
		put(record, 8 + 8 * i, 8, i);
	copies_as(event, record, 64, "{ id=0 args[6]{ =1 =2 =3 =4 =5 =6 } } ");
	assert_int_equal(event->n_copies, 1);
	wmk_kevent_free(event);
	event = make("ftrace", "print");
	memcpy(record + 16, "said\n\0\0", 8);
	copies_as(event, record, 24, "{ ip=0 buf=\"said\n\" } ");
	wmk_kevent_free(event);
}

static void block_request_is_copied_with_flags_as_bits_and_its_tid(void **state)
{
	struct wmk_kevent *event = make("block", "block_rq_issue");
	uint8_t record[72] = { 0 };

	(void)state;
	put(record, 4, 4, 4242);
	put(record, 8, 4, 0x800010);
	put(record, 16, 8, 123456);
	memcpy(record + 34, "WFS", 3);
	memcpy(record + 44, "writer", 6);
	put(record, 60, 4, 64 | 1 << 16);
	copies_as(event, record, 68,
		  "{ dev=8388624 sector=123456 nr_sector=0 bytes=0 ioprio=0 rwbs=545 comm=\"writer\" cmd=\"\" tid=4242 "
		  "} ");
	wmk_kevent_free(event);
}

static void event_formats_without_valid_name_and_fields_are_refused(void **state)
{
	static const char *const wrong[] = {
		"name: x\nID: 9\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: a:b\nID: 9\nformat:\n" COMMON,
		"name: a\"b\nID: 9\nformat:\n" COMMON,
		"name: x\nID: 9\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" COMMON,
	};
	char *many = malloc(65536);
	size_t len = (size_t)sprintf(many, "name: x\nID: 9\nformat:\n" COMMON);
	struct wmk_kformat *format;
	struct wmk_kevent *event;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(wmk_kformat_parse("s", wrong[i], strlen(wrong[i]), &format), 0);
		assert_int_equal(wmk_kevent_make(format, &event), -ENOTSUP);
		assert_int_not_equal(wmk_error_number(), 0);
		free(format);
	}
	for (unsigned i = 0; i < 256; i++) {
		len += (size_t)sprintf(many + len, "\tfield:int f%u;\toffset:8;\tsize:4;\tsigned:1;\n", i);
		assert_int_equal(wmk_kformat_parse("s", many, len, &format), 0);
		assert_int_equal(wmk_kevent_make(format, &event), i < 255 ? 0 : -ENOTSUP);
		if (i < 255)
			wmk_kevent_free(event);
		free(format);
	}
	free(many);
	wmk_kevent_free(NULL);
}

static void common_fields_of_a_kernel_record_are_decoded(void **state)
{
	static const uint8_t record[8] = { 0x74, 0x01, 0x04, 0x02, 0xff, 0xff, 0xff, 0xff };
	struct wmk_kcommon common;

	(void)state;
	wmk_kcommon_read(record, &common);
	assert_int_equal(common.type, 372);
	assert_int_equal(common.flags, 4);
	assert_int_equal(common.preempt_count, 2);
	assert_int_equal(common.tid, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sched_switch_is_copied_with_tids_and_shifted_priorities),
		cmocka_unit_test(syscall_arguments_are_copied_in_the_width_of_their_type),
		cmocka_unit_test(fields_with_printed_labels_become_enumerations_or_flags),
		cmocka_unit_test(texts_outside_of_the_fixed_part_are_copied_within_the_record),
		cmocka_unit_test(kernel_fields_of_all_types_are_copied_into_the_record),
		cmocka_unit_test(block_request_is_copied_with_flags_as_bits_and_its_tid),
		cmocka_unit_test(event_formats_without_valid_name_and_fields_are_refused),
		cmocka_unit_test(common_fields_of_a_kernel_record_are_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
