/* SPDX-License-Identifier: MIT */
/*
 * decode_case.h - a trace with one event, for tests of decode programs.
 */
#ifndef WMK_CTF_T_DECODE_CASE_H
#define WMK_CTF_T_DECODE_CASE_H

#include "base/error.h"
#include "ctf/decode.h"

struct made {
	struct wmk_ctf_class *class;
	struct wmk_ctf_decoder *decoder;
};

/* A trace with one stream class and one event: `stream` and `event` are the contents of their blocks. */
static inline struct made make(const char *order, const char *types, const char *stream, const char *event)
{
	struct made made = { NULL, NULL };
	char text[8192], message[1024];

	snprintf(text, sizeof(text),
		"trace { major = 1; minor = 8; byte_order = %s; };\ntypealias integer { size = 8; } := u8;\n"
		 "typealias integer { size = 16; } := u16;\ntypealias integer { size = 32; align = 32; } := u32;\n"
		 "typealias integer { size = 3; } := u3;\n%s\nstream { %s };\nevent { name = \"e\"; %s };", order,
			types, stream, event);
	if (wmk_ctf_metadata_parse(text, strlen(text), "m", false, &made.class) < 0 || wmk_ctf_compile(made.class,
		"m", &made.decoder) < 0)
		fail_msg("%s", wmk_error_text(message, sizeof(message)));
	return made;
}

static inline void unmake(struct made *made)
{
	wmk_ctf_decoder_free(made->decoder);
	wmk_ctf_class_free(made->class);
}

#endif
