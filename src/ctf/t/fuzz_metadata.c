/* SPDX-License-Identifier: MIT */
/*
 * fuzz_metadata.c - any bytes as metadata: extracted from packets, parsed as TSDL or JSON, compiled. If that succeeds,
 * the decoder decodes some bytes, and the metadata is written in both versions.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/decode.h"
#include "ctf/rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decode the begin of a stream, as far as possible. */
static void decode(const struct wmk_ctf_decoder *decoder)
{
	static const uint8_t zeros[64] = { 3, 2, 1, 1 };
	struct wmk_ctf_bytes in = { zeros, 0, sizeof(zeros) * 8 };
	struct wmk_ctf_record record = { .time = 0 };
	struct wmk_ctf_item item;

	for (uint32_t i = 0; i < decoder->n_streams; i++) {
		wmk_ctf_walk_begin(&record.walk, &in, 0);
		wmk_ctf_walk_enter(&record.walk, &decoder->packet_header);
		while (wmk_ctf_next(&record.walk, &item))
			;
		uint64_t at = record.walk.at;

		for (int n = 0; n < 8 && wmk_ctf_record(&decoder->streams[i], &in, at, &record) >= 0; n++)
			at = record.end;
	}
}

/* Whether packets contain the id of their class. */
static bool tells_class(const struct wmk_ctf_decoder *decoder)
{
	bool tells = false;

	for (uint32_t i = 0; i < decoder->packet_header.n_ops; i++)
		tells |= decoder->packet_header.ops[i].roles & WMK_ROLE_BIT(WMK_ROLE_STREAM_CLASS);
	return tells;
}

/* The written metadata must parse, in either version, with as many classes; 1.8 omits those that no packet can have. */
static void say_again(const struct wmk_ctf_decoder *decoder,
		      int (*say)(const struct wmk_ctf_decoder *, struct wmk_ctf_text_buffer *, uint32_t *))
{
	struct wmk_ctf_text_buffer text = { NULL, 0, 0, 0 };
	struct wmk_ctf_decoder *again;
	struct wmk_ctf_class *class;
	uint32_t lost;

	if (say(decoder, &text, &lost) >= 0) {
		if (wmk_ctf_metadata_parse(text.text, text.len, "said", false, &class) < 0 ||
		    wmk_ctf_compile(class, "said", &again) < 0 ||
		    (again->n_streams != decoder->n_streams &&
		     (say != wmk_ctf_rewrite_tsdl || tells_class(decoder) || again->n_streams > 1)))
			abort();
		wmk_ctf_decoder_free(again);
		wmk_ctf_class_free(class);
	}
	wmk_ctf_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_ctf_decoder *decoder;
	struct wmk_ctf_class *class;
	char *text, *exact;
	size_t len;
	bool cut;

	if (wmk_ctf_metadata_text(data, size, &text, &len, &cut) < 0)
		return 0;
	/* without the final NUL, so that a read of it is found */
	exact = malloc(len ? len : 1);
	if (!exact)
		abort();
	memcpy(exact, text, len);
	free(text);
	for (int partial = 0; partial < 2; partial++) {
		if (wmk_ctf_metadata_parse(exact, len, "fuzzed", partial, &class) < 0)
			continue;
		if (wmk_ctf_compile(class, "fuzzed", &decoder) >= 0) {
			decode(decoder);
			say_again(decoder, wmk_ctf_rewrite_json);
			say_again(decoder, wmk_ctf_rewrite_tsdl);
			wmk_ctf_decoder_free(decoder);
		}
		wmk_ctf_class_free(class);
	}
	wmk_error_clear();
	free(exact);
	return 0;
}
