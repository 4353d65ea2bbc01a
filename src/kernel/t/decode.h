/* SPDX-License-Identifier: MIT */
/*
 * decode.h - for tests and fuzzers: compiles an event class to the decoder of a trace reader, to walk the payload of a
 * record.
 */
#ifndef WMK_KERNEL_T_DECODE_H
#define WMK_KERNEL_T_DECODE_H

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/decode.h"
#include "ctf/writer.h"

struct decoded {
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
};

/* Writes the metadata of a trace with this one event and parses it. Returns 0 or the error. */
static inline int decoded_make(const struct wmk_event_class *event, uint32_t version, struct decoded *made)
{
	const struct wmk_clock clock = { .freq = 1000000000, .name = "monotonic" };
	const struct wmk_ctf_trace trace = { .version = version, .name = "t", .domain = "kernel", .clock = &clock };
	struct wmk_ctf_text_buffer text = { 0 };
	int err = wmk_ctf_trace_text(&text, &trace);

	*made = (struct decoded){ NULL, NULL };
	if (err >= 0)
		err = wmk_ctf_stream_text(&text, version, 0, NULL, 0);
	if (err >= 0)
		err = wmk_ctf_event_text(&text, version, 0, 0, event);
	if (err >= 0)
		err = wmk_ctf_metadata_parse(text.text, text.len, "metadata", false, &made->class);
	if (err >= 0)
		err = wmk_ctf_compile(made->class, "metadata", &made->decoder);
	wmk_ctf_text_free(&text);
	return err;
}

static inline void decoded_free(struct decoded *made)
{
	wmk_ctf_decoder_free(made->decoder);
	wmk_ctf_class_free(made->class);
}

static inline const struct wmk_ctf_program *decoded_payload(const struct decoded *made)
{
	return &made->decoder->streams[0].events[0].payload;
}

#endif
