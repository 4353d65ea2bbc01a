/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tsdl.h - types in TSDL, of what was read. Internal to src/ctf; for rewrite_tsdl.c, which makes blocks of them. The first error is kept in `err`.
 */
#ifndef WMK_CTF_REWRITE_TSDL_H
#define WMK_CTF_REWRITE_TSDL_H

#include "ctf/idents.h"
#include "ctf/rewrite.h"
#include "ctf/text.h"

struct wmk_tsdl_writer {
	const struct wmk_ctf_decoder *decoder;
	const struct wmk_ctf_clock_class *clock; /* of the stream; or NULL */
	struct wmk_ctf_text *out;
	uint32_t lost;
	int err;
	bool has_same_clocks;
	unsigned n_types;          /* that have got a name */
	/* What is being written. */
	struct wmk_ctf_parts parts;
	unsigned scope;
	bool is_clock_told;        /* what readers find the stream's clock by is there already */
	struct wmk_ctf_idents names[WMK_SCOPES];
};

/* What a clock is called: where two would be called the same, all get their number. */
void wmk_tsdl_clock_ident(const struct wmk_tsdl_writer *w, const struct wmk_ctf_clock_class *clock, char ident[WMK_CTF_IDENT]);
/* What is written next, and the names in the scopes from `first` to `last`, which may ask for each other's. */
void wmk_tsdl_begin(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream, const struct wmk_ctf_event_decoder *event, unsigned first,
		    unsigned last);
/* `name := struct { ... };` of a scope that there is. */
void wmk_tsdl_put_root(struct wmk_tsdl_writer *w, enum wmk_scope scope, const char *name);

#endif
