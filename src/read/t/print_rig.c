/* SPDX-License-Identifier: MIT */
/* print_rig.c - see print_rig.h. */
#include "read/t/print_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"

static void must(int err, const char *what)
{
	char text[400];

	if (err < 0)
		fail_msg("%s: %s", what, wmk_error_text(text, sizeof(text)));
}

void rig_open(struct rig *rig, const char *metadata, const struct wmk_ctf_class *class,
	      const struct wmk_print_options *options, const char *name)
{
	memset(rig, 0, sizeof(*rig));
	if (metadata) {
		must(wmk_ctf_metadata_parse(metadata, strlen(metadata), "metadata", false, &rig->class), "parse");
		class = rig->class;
	}
	must(wmk_ctf_compile(class, "metadata", &rig->decoder), "compile");
	must(wmk_print_create(options, &rig->print), "print");
	must(wmk_print_trace_add(rig->print, rig->decoder, name, NULL, &rig->trace), "trace");
	must(wmk_print_stream_add(rig->trace, &rig->decoder->streams[0], &rig->stream), "stream");
}

void rig_close(struct rig *rig)
{
	wmk_print_stream_free(rig->stream);
	wmk_print_trace_free(rig->trace);
	wmk_print_free(rig->print);
	wmk_print_text_free(&rig->out);
	wmk_ctf_decoder_free(rig->decoder);
	wmk_ctf_class_free(rig->class);
}

uint64_t rig_packet(struct rig *rig, const struct wmk_ctf_bytes *bytes, struct wmk_ctf_record *record)
{
	memset(record, 0, sizeof(*record));
	wmk_ctf_walk_begin(&record->walk, bytes, 0);
	must(wmk_ctf_skip(&record->walk, &rig->decoder->packet_header), "packet header");
	must(wmk_print_packet(rig->stream, &record->walk, NULL), "packet context");
	return record->walk.at;
}

void rig_print(struct rig *rig, const char *text, size_t size)
{
	const struct wmk_ctf_bytes bytes = { (const uint8_t *)text, 0, size * 8 };
	struct wmk_ctf_record record;
	uint64_t at = rig_packet(rig, &bytes, &record);

	for (; at < bytes.end; at = record.end) {
		must(wmk_ctf_record(rig->stream->class->decoder, &bytes, at, &record), "record");
		must(wmk_print_record(rig->stream, &bytes, &record, &rig->out), "line");
	}
}

const char *rig_text(struct rig *rig)
{
	assert_true(rig->out.len < rig->out.cap);
	rig->out.text[rig->out.len] = '\0';
	rig->out.len = 0;
	return rig->out.text;
}
