/* SPDX-License-Identifier: MIT */
/*
 * dump_rig.c - prints a state dump as lines of text (see dump_rig.h).
 */
#include "dump_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "ctf/t/show.h"
#include "ctf/writer.h"

void dump_rig_open(struct dump_rig *rig)
{
	struct wmk_clock clock = { .freq = 1000000000, .name = "monotonic" };
	const struct wmk_ctf_trace trace = { .domain = "kernel", .name = "t", .clock = &clock };
	struct wmk_ctf_text_buffer text = { .text = NULL };
	char message[1024];

	*rig = (struct dump_rig){ .n = 0 };
	assert_int_equal(wmk_ctf_trace_text(&text, &trace), 0);
	assert_int_equal(wmk_ctf_stream_text(&text, WMK_CTF_1_8, 0, NULL, 0), 0);
	for (uint32_t i = 0; i < WMK_KSTATEDUMP_EVENTS; i++)
		assert_int_equal(wmk_ctf_event_text(&text, WMK_CTF_1_8, 0, i, &wmk_kstatedump_classes[i]), 0);
	if (wmk_ctf_metadata_parse(text.text, text.len, "m", false, &rig->class) < 0 ||
	    wmk_ctf_compile(rig->class, "m", &rig->decoder) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	wmk_ctf_text_free(&text);
}

static void forget_lines(struct dump_rig *rig)
{
	while (rig->n)
		free(rig->lines[--rig->n]);
}

void dump_rig_close(struct dump_rig *rig)
{
	forget_lines(rig);
	free(rig->lines);
	wmk_ctf_decoder_free(rig->decoder);
	wmk_ctf_class_free(rig->class);
}

static uint64_t tick(void *data)
{
	return ++((struct dump_rig *)data)->now;
}

static int take(void *data, unsigned event, uint64_t ts, const void *payload, size_t len)
{
	struct dump_rig *rig = data;
	/* An allocation of its own, so that sanitizers detect reads after it. */
	uint8_t *copy = malloc(len ? len : 1);
	const struct wmk_ctf_bytes in = { copy, 0, len * 8 };
	char text[DUMP_LINE], line[DUMP_LINE + 64];
	static struct wmk_ctf_walk walk;

	assert_non_null(copy);
	assert_in_range(event, 0, WMK_KSTATEDUMP_EVENTS - 1);
	assert_in_range(len, 0, WMK_KSTATEDUMP_PAYLOAD_MAX);
	assert_true(ts > rig->last_ts);
	rig->last_ts = ts;
	memcpy(copy, payload, len);
	wmk_ctf_walk_begin(&walk, &in, 0);
	assert_int_equal(show(&walk, &rig->decoder->streams[0].events[event].payload, text, sizeof(text)), 0);
	assert_int_equal(walk.at, len * 8);
	free(copy);
	snprintf(line, sizeof(line), "%s%s", wmk_kstatedump_classes[event].name + strlen("lttng_statedump_"), text);
	if (rig->n == rig->cap) {
		rig->cap = rig->cap ? 2 * rig->cap : 256;
		rig->lines = realloc(rig->lines, rig->cap * sizeof(*rig->lines));
		assert_non_null(rig->lines);
	}
	rig->lines[rig->n] = strdup(line);
	assert_non_null(rig->lines[rig->n++]);
	return rig->n == rig->refuse_at ? 77 : 0;
}

int dump_rig_run(struct dump_rig *rig, struct wmk_kstatedump_options options)
{
	forget_lines(rig);
	options.clock = tick;
	options.clock_data = rig;
	options.counts = &rig->counts;
	return wmk_kstatedump(&options, take, rig);
}

size_t dump_rig_count(const struct dump_rig *rig, const char *line)
{
	size_t n = 0;

	for (size_t i = 0; i < rig->n; i++)
		n += strcmp(rig->lines[i], line) == 0;
	return n;
}

size_t dump_rig_begin(const struct dump_rig *rig, const char *begin)
{
	size_t n = 0;

	for (size_t i = 0; i < rig->n; i++)
		n += strncmp(rig->lines[i], begin, strlen(begin)) == 0;
	return n;
}

void dump_rig_once(const struct dump_rig *rig, const char *format, ...)
{
	char line[DUMP_LINE + 64];
	va_list args;
	size_t n;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	n = dump_rig_count(rig, line);
	if (n == 1)
		return;
	for (size_t i = 0; i < rig->n; i++)
		print_error("%s\n", rig->lines[i]);
	fail_msg("%zu times: %s", n, line);
}
