/* SPDX-License-Identifier: MIT */
/*
 * test_format_file.c - parses format files: those recorded in t/formats, of which some are hand-written like those of
 * older and newer kernels, and all of this machine, if readable. Malformed files are rejected with a position.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
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
#include "kernel/event/kernel_event.h"
#include "kernel/t/decode.h"
#include "kernel/t/read_file.h"

static struct wmk_kformat *parse(const char *system, const char *text)
{
	struct wmk_kformat *format;
	char message[1024];

	if (wmk_kformat_parse(system, text, strlen(text), &format) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	return format;
}

static struct wmk_kformat *recorded(const char *file, const char *system)
{
	char path[512], *text;

	snprintf(path, sizeof(path), "%s/%s", KERNEL_FORMATS, file);
	text = read_file(path);
	assert_non_null(text);
	struct wmk_kformat *format = parse(system, text);

	free(text);
	return format;
}

static const struct wmk_kfield *field_of(const struct wmk_kformat *format, const char *name)
{
	for (uint32_t i = 0; i < format->n_common + format->n_fields; i++)
		if (strcmp(format->fields[i].name, name) == 0)
			return &format->fields[i];
	fail_msg("no field %s", name);
	return NULL;
}

/* "NUMBER 24+8 elem 0 count 0 signed text pointer" */
static void field_is(const struct wmk_kformat *format, const char *name, const char *wanted)
{
	static const char *const shapes[] = { "NUMBER", "ARRAY", "BYTES", "DYNAMIC", "RELATIVE", "REST" };
	const struct wmk_kfield *f = field_of(format, name);
	char text[256];

	snprintf(text, sizeof(text), "%s %s %" PRIu32 "+%" PRIu32 " %" PRIu32 "*%" PRIu32 "%s%s%s", f->type,
		 shapes[f->shape], f->offset, f->size, f->elem, f->count, f->is_signed ? " signed" : "",
		 f->is_text ? " text" : "", f->is_pointer ? " pointer" : "");
	assert_string_equal(text, wanted);
}

static void labels_are(const struct wmk_kformat *format, const char *name, bool is_flags, const char *wanted)
{
	const struct wmk_kfield *f = field_of(format, name);
	char text[512] = "";

	assert_int_equal(f->is_flags, is_flags);
	for (uint32_t i = 0; i < f->n_labels; i++) {
		assert_int_equal(f->labels[i].from, f->labels[i].to);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%" PRId64 " ", f->labels[i].name,
			 f->labels[i].from);
	}
	assert_string_equal(text, wanted);
}

static void recorded_format_files_are_parsed_into_typed_fields(void **state)
{
	struct wmk_kformat *format = recorded("sched.sched_switch", "sched");

	(void)state;
	assert_string_equal(format->system, "sched");
	assert_string_equal(format->name, "sched_switch");
	assert_int_equal(format->n_common, 4);
	assert_int_equal(format->n_fields, 7);
	assert_int_equal(format->size, 64);
	field_is(format, "common_type", "unsigned short NUMBER 0+2 0*0");
	field_is(format, "prev_comm", "char ARRAY 8+16 1*16 text");
	field_is(format, "prev_state", "long NUMBER 32+8 0*0 signed");
	labels_are(format, "prev_state", false, "");
	free(format);
	format = recorded("syscalls.sys_enter_openat", "syscalls");
	field_is(format, "filename", "const char * NUMBER 24+8 0*0 pointer");
	field_is(format, "mode", "umode_t NUMBER 40+8 0*0");
	free(format);
	format = recorded("irq.softirq_entry", "irq");
	labels_are(format, "vec", false,
		   "HI=0 TIMER=1 NET_TX=2 NET_RX=3 BLOCK=4 IRQ_POLL=5 TASKLET=6 SCHED=7 HRTIMER=8 RCU=9 ");
	free(format);
	format = recorded("raw_syscalls.sys_enter", "raw_syscalls");
	field_is(format, "args", "unsigned long ARRAY 16+48 8*6");
	free(format);
	format = recorded("ipi.ipi_send_cpumask", "ipi");
	field_is(format, "cpumask", "cpumask_t DYNAMIC 8+4 8*0");
	free(format);
	format = recorded("ftrace.print", "ftrace");
	field_is(format, "buf", "char REST 16+0 1*0 text");
	free(format);
}

static void formats_of_other_kernels_become_fields_of_their_layout(void **state)
{
	struct wmk_kformat *format = recorded("old.sched_switch", "sched");

	(void)state;
	assert_int_equal(format->n_common, 5);
	field_is(format, "prev_comm", "char ARRAY 12+16 1*16 text");
	field_is(format, "prev_state", "long NUMBER 40+8 0*0");
	free(format);
	format = recorded("bits32.all_shapes", "bits32");
	field_is(format, "ptr", "void * NUMBER 12+4 0*0 pointer");
	field_is(format, "args", "unsigned long ARRAY 16+24 4*6");
	field_is(format, "mask", "unsigned long DYNAMIC 40+4 4*0");
	field_is(format, "cpus", "cpumask_t DYNAMIC 44+4 4*0");
	field_is(format, "peer", "struct sockaddr_in BYTES 48+16 0*0");
	field_is(format, "function", "void (*function)(unsigned long) NUMBER 64+4 0*0 pointer");
	free(format);
	format = recorded("new.all_shapes", "new");
	assert_int_equal(format->n_common, 6);
	field_is(format, "label", "char RELATIVE 32+4 1*0 text");
	field_is(format, "bytes", "u8 RELATIVE 36+4 1*0");
	field_is(format, "longs", "u64 DYNAMIC 40+4 8*0");
	field_is(format, "wild", "struct wild DYNAMIC 44+4 0*0");
	field_is(format, "name", "char ARRAY 48+12 1*12 text");
	field_is(format, "grid", "u8 ARRAY 76+6 1*6");
	field_is(format, "pair", "s16 ARRAY 82+4 2*2 signed");
	field_is(format, "seen", "struct opaque BYTES 86+3 0*0");
	field_is(format, "rest", "u32 REST 96+0 4*0");
	labels_are(format, "state", false,
		   "LOST=-1 SEVENTEEN=17 EIGHT=8 NINE=9 MINUS_TWO=-2 a \"quoted\" one=7 TILDE=240 ");
	labels_are(format, "flags", true, "FOUR=16 TOP=-9223372036854775808 ");
	labels_are(format, "half", false, "");
	free(format);
}

#define HEAD "name: x\nID: 7\nformat:\n"

static void refused(const char *text, const char *words)
{
	struct wmk_kformat *format;
	char message[1024];

	assert_int_equal(wmk_kformat_parse("s", text, strlen(text), &format), -EPROTO);
	wmk_error_text(message, sizeof(message));
	if (!strstr(message, words))
		fail_msg("\"%s\" does not contain \"%s\"", message, words);
	wmk_error_clear();
}

static void wrong_formats_are_refused_with_line_and_column(void **state)
{
	struct wmk_kformat *format;
	char *large = malloc(WMK_KFORMAT_MAX + 1);

	(void)state;
	refused("", "line 1, column 1: expected `name:`");
	refused(HEAD, "line 4, column 1: expected `name:`");
	refused("name: x\nformat:\nfield:int a;\toffset:0;\tsize:4;\n", "`ID:`");
	refused("ID: 7\nfield:int a;\toffset:0;\tsize:4;\n", "`name:`");
	refused("name: x\nID: 65536\n", "line 2, column 4: expected one number");
	refused("name: x\nID: 7\nID: 7\n", "line 3");
	refused("name: x\nname: y\n", "line 2");
	refused(HEAD "\tfield:int a", "line 4, column 8: expected a declaration and ';'");
	refused(HEAD "\tfield:int;\toffset:0;\tsize:4;\tsigned:1;\n\tfield:;\toffset:0;\tsize:4;\n",
		"line 5, column 8: expected a type and a name");
	refused(HEAD "\tfield:int a;\tsize:4;\tsigned:1;\n", "line 4, column 14: expected offset:NUMBER");
	refused(HEAD "\tfield:int a;\toffset:0;\tsigned:1;\n", "expected offset:NUMBER");
	refused(HEAD "\tfield:int a;\toffset:-4;\tsize:4;\tsigned:1;\n", "expected offset:NUMBER");
	refused(HEAD "\tfield:int a;\toffset:0;\tsize:4;\tsigned:2;\n", "expected offset:NUMBER");
	refused(HEAD "\tfield:int a;\toffset:65533;\tsize:4;\tsigned:1;\n", "65536 bytes");
	refused(HEAD "\tfield:int a;\toffset:4294967295;\tsize:4;\tsigned:1;\n", "expected offset:NUMBER");
	refused(HEAD "\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\tsigned:1;\n", "size:4 (position and length");
	memset(large, 'x', WMK_KFORMAT_MAX + 1);
	assert_int_equal(wmk_kformat_parse("s", large, WMK_KFORMAT_MAX + 1, &format), -E2BIG);
	assert_int_equal(wmk_kformat_parse("s", large, WMK_KFORMAT_MAX, &format), -EPROTO);
	free(large);
}

/* Labels at the limits: 1024 of a field, names of 255 bytes. */
static void labels_of_a_field_are_limited_in_number_and_length(void **state)
{
	char *text = malloc(200000);
	size_t len = (size_t)sprintf(text, HEAD "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\nprint fmt: \"\", "
						"__print_symbolic(REC->a");

	(void)state;
	for (int i = 0; i < 1500; i++)
		len += (size_t)sprintf(text + len, ", { %d, \"%0*d\" }", i, i == 3 ? 300 : 4, i);
	struct wmk_kformat *format = parse("s", text);

	assert_int_equal(format->fields[0].n_labels, WMK_KFORMAT_LABELS);
	assert_int_equal(strlen(format->fields[0].labels[3].name), WMK_NAME_MAX);
	assert_string_equal(format->fields[0].labels[1023].name, "1023");
	free(format);
	free(text);
}

/* Parses each prefix of a format in a separate allocation: bytes after the end must not be read. */
static void cut_format_is_not_read_beyond_its_end(void **state)
{
	char path[512], *text;
	struct wmk_kformat *format;
	unsigned n = 0;

	(void)state;
	snprintf(path, sizeof(path), "%s/new.all_shapes", KERNEL_FORMATS);
	text = read_file(path);
	assert_non_null(text);
	for (size_t len = 0; len <= strlen(text); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		if (wmk_kformat_parse("s", copy, len, &format) == 0) {
			free(format);
			n++;
		}
		free(copy);
	}
	assert_true(n > 1000);
	free(text);
}

/* Each parsed format makes an event that can be described in both versions of the trace format. */
static void whole(const char *path)
{
	char *text = read_file(path), system[256], message[1024], *slash;
	struct wmk_kevent *event;
	struct decoded decoded;

	/* (a module may have been unloaded) */
	if (!text)
		return;
	snprintf(system, sizeof(system), "%s", strstr(path, "/events/") ? strstr(path, "/events/") + 8 : "recorded");
	slash = strchr(system, '/');
	if (slash)
		*slash = '\0';
	struct wmk_kformat *format = parse(system, text);

	if (wmk_kevent_make(format, &event) < 0)
		fail_msg("%s: %s", path, wmk_error_text(message, sizeof(message)));
	for (unsigned version = WMK_CTF_1_8; version <= WMK_CTF_2; version++) {
		if (decoded_make(event->class, version, &decoded) < 0)
			fail_msg("%s: %s", path, wmk_error_text(message, sizeof(message)));
		decoded_free(&decoded);
	}
	wmk_kevent_free(event);
	free(format);
	free(text);
}

static void every_format_of_this_machine_is_parsed(void **state)
{
	glob_t found;

	(void)state;
	assert_int_equal(glob(KERNEL_FORMATS "/*", 0, NULL, &found), 0);
	assert_true(found.gl_pathc > 20);
	for (size_t i = 0; i < found.gl_pathc; i++)
		whole(found.gl_pathv[i]);
	globfree(&found);
	if (glob("/sys/kernel/tracing/events/*/*/format", 0, NULL, &found) != 0) {
		print_message("the formats of this machine's kernel are not readable\n");
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++)
		whole(found.gl_pathv[i]);
	print_message("%zu formats of this machine's kernel\n", found.gl_pathc);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_format_files_are_parsed_into_typed_fields),
		cmocka_unit_test(formats_of_other_kernels_become_fields_of_their_layout),
		cmocka_unit_test(wrong_formats_are_refused_with_line_and_column),
		cmocka_unit_test(labels_of_a_field_are_limited_in_number_and_length),
		cmocka_unit_test(cut_format_is_not_read_beyond_its_end),
		cmocka_unit_test(every_format_of_this_machine_is_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
