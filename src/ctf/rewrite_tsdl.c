/* SPDX-License-Identifier: MIT */
/*
 * rewrite_tsdl.c - write metadata of CTF 1.8 (TSDL) for a trace that was read; see rewrite.h. tsdl_idents.h makes the
 * names.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ctf/build.h"
#include "ctf/tsdl_unknown.h"

static bool has_same_clocks(const struct wmk_tsdl_writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	char ident[WMK_CTF_IDENT], other[WMK_CTF_IDENT];

	for (uint32_t i = 0; i < class->n_clocks; i++) {
		wmk_tsdl_clock_ident(w, &class->clocks[i], ident);
		for (uint32_t j = 0; j < i; j++) {
			wmk_tsdl_clock_ident(w, &class->clocks[j], other);
			if (!strcmp(ident, other))
				return true;
		}
	}
	return false;
}

/* ── blocks ──────────────────────────────────────────────────────────────────────────────────────────── */

static void put_trace(struct wmk_tsdl_writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	char uuid[WMK_CTF_UUID_TEXT];

	wmk_ctf_put(w->out, "/* CTF 1.8 */\n\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = %s;\n",
		    class->order == WMK_ORDER_BIG ? "be" : "le");
	if (class->has_uuid)
		wmk_ctf_put_entry(w->out, "uuid", wmk_ctf_uuid_text(uuid, class->uuid));
	if (class->trace_name)
		w->lost |= 1u << WMK_CTF_LOST_TRACE;
	if (class->preamble_more)
		w->lost |= 1u << WMK_CTF_LOST_ATTRIBUTE;
	if (class->has_other_types)
		w->lost |= 1u << WMK_CTF_LOST_TYPE;
	wmk_tsdl_unknown_put(w, WMK_TSDL_UNKNOWN_TRACE, class->more);
	wmk_tsdl_begin(w, NULL, NULL, WMK_SCOPE_PACKET_HEADER, WMK_SCOPE_PACKET_HEADER);
	w->clock = NULL;
	wmk_tsdl_put_root(w, WMK_SCOPE_PACKET_HEADER, "packet.header");
	wmk_ctf_put(w->out, "};\n\n");
}

/*
 * Make a unique identifier for an environment entry if its name is not an identifier. If several entries had the same
 * name, readers would use only the last entry. (A duplicate gets a number that depends on the entry's index, so that
 * the search stays short.)
 */
static int name_env(const struct wmk_ctf_class *class, uint32_t at, json_object *taken, char ident[WMK_CTF_IDENT])
{
	const char *name = class->env[at].name,
		   *before = wmk_ctf_is_keyword(name) || (name[0] >= '0' && name[0] <= '9') ? "_" : "";
	char suffix[16] = "";

	wmk_ctf_ident(ident, before, name, suffix);
	for (uint64_t number = (uint64_t)at + 1; json_object_object_get_ex(taken, ident, NULL);
	     number += class->n_env) {
		snprintf(suffix, sizeof(suffix), "_%" PRIu64, number);
		wmk_ctf_ident(ident, before, name, suffix);
	}
	return json_object_object_add(taken, ident, NULL);
}

static void put_env(struct wmk_tsdl_writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	json_object *taken = class->n_env ? json_object_new_object() : NULL;
	char ident[WMK_CTF_IDENT];
	const char *name;
	int err = class->n_env && !taken ? -ENOMEM : 0;

	if (!class->n_env)
		return;
	for (uint32_t i = 0; i < class->n_env && err == 0; i++)
		if (wmk_tsdl_unknown_is_path(class->env[i].name))
			err = json_object_object_add(taken, class->env[i].name, NULL);
	wmk_ctf_put(w->out, "env {\n");
	for (uint32_t i = 0; i < class->n_env; i++) {
		const struct wmk_ctf_env_entry *e = &class->env[i];
		const bool is_path = wmk_tsdl_unknown_is_path(e->name);

		if (!is_path && err == 0) {
			err = name_env(class, i, taken, ident);
			w->lost |= 1u << WMK_CTF_LOST_NAME;
		}
		if (err < 0)
			break;
		name = is_path ? e->name : ident;
		if (e->text)
			wmk_ctf_put_entry(w->out, name, e->text);
		else
			wmk_ctf_put(w->out, e->is_unsigned ? "\t%s = %" PRIu64 ";\n" : "\t%s = %" PRId64 ";\n", name,
				    e->number);
	}
	wmk_ctf_put(w->out, "};\n\n");
	json_object_put(taken);
	if (err < 0 && w->err >= 0)
		w->err = wmk_error(-ENOMEM, "no memory for metadata");
}

static void put_clock(struct wmk_tsdl_writer *w, const struct wmk_ctf_clock_class *clock)
{
	char ident[WMK_CTF_IDENT];
	uint8_t uuid[16];

	wmk_tsdl_clock_ident(w, clock, ident);
	if (clock->name[0] && strcmp(ident, clock->name) != 0)
		w->lost |= 1u << WMK_CTF_LOST_NAME;
	wmk_ctf_put(w->out, "clock {\n");
	wmk_ctf_put_entry(w->out, "name", ident);
	if (clock->uuid && wmk_ctf_parse_uuid(clock->uuid, uuid))
		wmk_ctf_put_entry(w->out, "uuid", clock->uuid);
	else if (clock->uuid)
		w->lost |= 1u << WMK_CTF_LOST_ORIGIN;
	if (clock->description)
		wmk_ctf_put_entry(w->out, "description", clock->description);
	wmk_ctf_put(w->out,
		    "\tfreq = %" PRIu64 ";\n\tprecision = %" PRIu64 ";\n\toffset_s = %" PRId64 ";\n\toffset = %" PRIu64
		    ";\n\tabsolute = %s;\n",
		    clock->freq, clock->precision, clock->offset_s, clock->offset, clock->absolute ? "TRUE" : "FALSE");
	wmk_tsdl_unknown_put(w, WMK_TSDL_UNKNOWN_CLOCK, clock->more);
	wmk_ctf_put(w->out, "};\n\n");
}

static bool has_role(const struct wmk_ctf_program *program, unsigned role)
{
	for (uint32_t i = 0; i < program->n_ops; i++)
		if (program->ops[i].roles & WMK_ROLE_BIT(role) && program->ops[i].code <= WMK_CTF_ENUM)
			return true;
	return false;
}

/*
 * Return whether packets contain ids of stream classes. Readers accept the id of a stream class only if packets contain
 * ids, and the id of an event class only if records contain ids.
 */
static bool has_ids(const struct wmk_ctf_decoder *decoder)
{
	return has_role(&decoder->packet_header, WMK_ROLE_STREAM_CLASS);
}

/*
 * Return whether packets can belong to the stream class. Packets without an id belong to the only stream class, or to
 * the stream class with id 0. If packets have no id, metadata of CTF 1.8 must not contain stream classes to which no
 * packet belongs.
 */
static bool is_met(const struct wmk_ctf_decoder *decoder, const struct wmk_ctf_stream_decoder *stream)
{
	return has_ids(decoder) || decoder->n_streams == 1 || !stream->class->id;
}

/*
 * Records without an event id belong to the first event class (event_header.c). If the records of a stream have no id,
 * CTF 1.8 allows only one event class in the stream.
 */
static uint32_t n_events(const struct wmk_ctf_stream_decoder *stream)
{
	return has_role(&stream->event_header, WMK_ROLE_EVENT_CLASS) || !stream->n_events ? stream->n_events : 1;
}

static void put_stream(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream)
{
	if (stream->class->name)
		w->lost |= 1u << WMK_CTF_LOST_TRACE;
	wmk_ctf_put(w->out, "stream {\n");
	if (has_ids(w->decoder))
		wmk_ctf_put(w->out, "\tid = %" PRIu64 ";\n", stream->class->id);
	wmk_tsdl_unknown_put(w, WMK_TSDL_UNKNOWN_STREAM, stream->class->more);
	wmk_tsdl_begin(w, stream, NULL, WMK_SCOPE_PACKET_CONTEXT, WMK_SCOPE_COMMON_CONTEXT);
	w->clock = stream->class->clock;
	wmk_tsdl_put_root(w, WMK_SCOPE_PACKET_CONTEXT, "packet.context");
	wmk_tsdl_put_root(w, WMK_SCOPE_EVENT_HEADER, "event.header");
	wmk_tsdl_put_root(w, WMK_SCOPE_COMMON_CONTEXT, "event.context");
	wmk_ctf_put(w->out, "};\n\n");
}

static void put_event(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream,
		      const struct wmk_ctf_event_decoder *event)
{
	const struct wmk_ctf_event_class *class = event->class;

	wmk_ctf_put(w->out, "event {\n");
	if (class->name)
		wmk_ctf_put_entry(w->out, "name", class->name);
	if (has_role(&stream->event_header, WMK_ROLE_EVENT_CLASS))
		wmk_ctf_put(w->out, "\tid = %" PRIu64 ";\n", class->id);
	if (has_ids(w->decoder))
		wmk_ctf_put(w->out, "\tstream_id = %" PRIu64 ";\n", stream->class->id);
	if (class->level >= 0)
		wmk_ctf_put(w->out, "\tloglevel = %" PRId32 ";\n", class->level);
	if (class->emf_uri)
		wmk_ctf_put_entry(w->out, "model.emf.uri", class->emf_uri);
	wmk_tsdl_unknown_put(w, WMK_TSDL_UNKNOWN_EVENT, class->more);
	wmk_tsdl_begin(w, stream, event, WMK_SCOPE_CONTEXT, WMK_SCOPE_PAYLOAD);
	wmk_tsdl_put_root(w, WMK_SCOPE_CONTEXT, "context");
	wmk_tsdl_put_root(w, WMK_SCOPE_PAYLOAD, "fields");
	wmk_ctf_put(w->out, "};\n\n");
	if (w->err < 0)
		wmk_error_add(w->err, "event '%.80s'", wmk_or_empty(class->name));
	else if (w->out->len > WMK_CTF_METADATA_MAX)
		w->err = wmk_error(-E2BIG, "the metadata exceeds %u bytes", WMK_CTF_METADATA_MAX);
}

static void put_stream_and_events(struct wmk_tsdl_writer *w, const struct wmk_ctf_stream_decoder *stream)
{
	put_stream(w, stream);
	for (uint32_t e = 0; e < n_events(stream) && w->err >= 0; e++)
		put_event(w, stream, &stream->events[e]);
}

int wmk_ctf_rewrite_tsdl(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost)
{
	struct wmk_tsdl_writer w = { .decoder = decoder, .out = out };

	w.has_same_clocks = has_same_clocks(&w);
	put_trace(&w);
	put_env(&w);
	for (uint32_t i = 0; i < decoder->class->n_clocks; i++)
		put_clock(&w, &decoder->class->clocks[i]);
	for (uint32_t s = 0; s < decoder->n_streams && w.err >= 0; s++)
		if (is_met(decoder, &decoder->streams[s]))
			put_stream_and_events(&w, &decoder->streams[s]);
	wmk_tsdl_unknown_put_callsites(&w, decoder->class->more);
	if (w.err >= 0 && out->err)
		w.err = wmk_error(-ENOMEM, "no memory for metadata");
	for (unsigned scope = 0; scope < WMK_SCOPES; scope++)
		wmk_ctf_idents_free(&w.names[scope]);
	wmk_tsdl_options_free(&w.options);
	*lost = w.lost;
	return w.err;
}
