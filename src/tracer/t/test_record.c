/* SPDX-License-Identifier: MIT */
/*
 * test_record.c - the records of a program, with every field type at every position, are read from the rings unchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tracer/t/fake_sessiond.h"
#include "tracer/t/run.h"

static struct run_records run_fields(const struct fake_sessiond_options *options, uint64_t *lost, uint64_t *cut)
{
	struct run_records records = { 0 };
	struct fake_sessiond *c = fake_sessiond_start(run_make_dir(), options);

	assert_int_equal(run_program("prog_fields", NULL), 0);
	assert_true(fake_sessiond_read(c, run_keep, &records, lost, cut) > 0);
	fake_sessiond_free(c);
	run_remove_dir();
	return records;
}

static void assert_once(const struct run_records *records, const char *text)
{
	if (run_count(records, text) == 1)
		return;
	for (unsigned i = 0; i < records->n; i++)
		fprintf(stderr, "  %.200s\n", records->text[i]);
	fail_msg("%u times and not once: %s", run_count(records, text), text);
}

static void every_field_type_is_recorded(void **state)
{
	static const char *const expected[] = {
		"t:in_constructor",
		"t:in_destructor",
		"t:in_handler number=10",
		"t:in_thread arg=42",
		"t:guards_agree",
		"t:small s8=-8 u8=200 s16=-1600 u16=60000",
		"t:large s32=-320000 u32=4000000000 s64=-64000000000 u64=18000000000000000000",
		"t:other yes=1 f=1.5 d=-0.25 pointer=0x1234",
		"t:shown hex=0xee6b2800 net=4660",
		"t:labels c=2",
		"t:strings text=\"hello\" null=\"(null)\" part=\"abc\" last=7",
		"t:blobs raw=[0x1,0x2,0xff] seq=[1,-2] arr=[1,-2,3] none=[]",
		("t:cut before=1 large=\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xe2\x80\xa6\" "
		 "seq=[2021161080,2021161080,2021161080,2021161080,2021161080,2021161080,2021161080,2021161080] "
		 "after=2"),
		/* 35 bytes do not fit into 32: 29 and the ellipsis */
		"t:utf8 text=\"aaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4\xe2\x80\xa6\"",
		"marker:mark count=5 name=\"five\"",
		"marker:bound n=1 s_precision=4 s=\"abcd\" c=\"abc\" w_width=5 w=9",
		"marker:unbound s_precision=-1 s=\"whole\"",
		"t:run_time a=9 s=\"run\" b=-9",
	};
	struct fake_sessiond_options options = { .field_limit = 32 };
	uint64_t lost, cut;
	struct run_records records = run_fields(&options, &lost, &cut);

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_once(&records, expected[i]);
	assert_int_equal(run_count_prefix(&records, "text:prog_fields"), 1);
	assert_int_equal(lost, 0);
	/* two fields of t:cut, one of t:utf8, and paths of loaded objects */
	assert_true(cut >= 3);
	run_forget(&records);
}

static void context_fields_are_recorded(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:small", .n_contexts = 3,
		.contexts = { WMK_CONTEXT_VPID, WMK_CONTEXT_VTID, WMK_CONTEXT_PROCNAME } };
	uint64_t lost;
	struct run_records records = run_fields(&options, &lost, NULL);
	int pid, tid;
	char name[17];

	(void)state;
	assert_int_equal(records.n, 1);
	assert_int_equal(sscanf(records.text[0], "{vpid=%d vtid=%d procname=\"%16[a-z_]", &pid, &tid, name), 3);
	assert_int_equal(pid, tid);
	assert_string_equal(name, "prog_fields");
	assert_non_null(strstr(records.text[0], "} t:small s8=-8 u8=200 s16=-1600 u16=60000"));
	run_forget(&records);
}

static void all_context_fields_are_recorded(void **state)
{
	struct fake_sessiond_options options = { .prefix = "t:strings",
					      .n_contexts = 6,
					      .contexts = { WMK_CONTEXT_CPU_ID, WMK_CONTEXT_IP, WMK_CONTEXT_PROCNAME,
							    WMK_CONTEXT_PTHREAD_ID, WMK_CONTEXT_VTID,
							    WMK_CONTEXT_VPID } };
	uint64_t lost;
	struct run_records records = run_fields(&options, &lost, NULL);
	int cpu;
	unsigned long ip;

	(void)state;
	assert_int_equal(records.n, 1);
	assert_int_equal(sscanf(records.text[0], "{cpu_id=%d ip=0x%lx", &cpu, &ip), 2);
	assert_true(cpu >= 0 && ip > 4096);
	assert_non_null(strstr(records.text[0], "} t:strings text=\"hello\""));
	run_forget(&records);
}

/* The name of the debug file of each loaded object is recorded as binutils reads it. */
static void check_debug_links(const struct run_records *records)
{
	char path[256], command[400], name[256];
	unsigned looked = 0;

	for (unsigned i = 0; i < records->n; i++) {
		const char *at = strstr(records->text[i], "bin_info") ? strstr(records->text[i], "path=\"") : NULL;
		unsigned found = 0;

		if (!at || sscanf(at, "path=\"%255[^\"]", path) != 1)
			continue;
		snprintf(command, sizeof(command),
			 "readelf -p .gnu_debuglink '%s' 2>/dev/null | sed -n 's/^ *\\[ *0\\] *//p'", path);
		FILE *readelf = popen(command, "re");

		assert_non_null(readelf);
		int got = fscanf(readelf, "%255s", name);

		pclose(readelf);
		for (unsigned k = 0; k < records->n && got == 1; k++)
			found += strstr(records->text[k], "debug_link") && strstr(records->text[k], name);
		assert_int_equal(found, got == 1);
		looked++;
	}
	assert_true(looked >= 2);
}

/* The state dump of loaded objects. */
static void loaded_objects_are_recorded(void **state)
{
	struct fake_sessiond_options options = { .prefix = "lttng_ust_statedump:" };
	uint64_t lost;
	struct run_records records = run_fields(&options, &lost, NULL);
	unsigned program = 0;

	(void)state;
	assert_once(&records, "lttng_ust_statedump:start");
	assert_once(&records, "lttng_ust_statedump:end");
	for (unsigned i = 0; i < records.n; i++)
		program += strstr(records.text[i], "bin_info") && strstr(records.text[i], "/prog_fields\" is_pic=1");
	assert_int_equal(program, 1);
	assert_true(run_count_prefix(&records, "lttng_ust_statedump:build_id") >= 1);
	check_debug_links(&records);
	run_forget(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_type_is_recorded),
		cmocka_unit_test(context_fields_are_recorded),
		cmocka_unit_test(all_context_fields_are_recorded),
		cmocka_unit_test(loaded_objects_are_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
