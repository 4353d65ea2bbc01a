/* SPDX-License-Identifier: MIT */
/*
 * rewrite_json.c - write metadata of CTF 2 (CTF2-SPEC-2.0, section 5) for a trace that was read; see rewrite.h. The
 * writer builds each fragment as a json-c tree, and writes the tree when it is complete.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/rewrite_tree.h"
#include "ctf/text_buffer.h"

#define SEPARATOR "\x1e"
#define SPACE "babeltrace.org,2020"       /* namespace of attributes that several readers know */

/* Append a fragment and free its tree. */
static void put_fragment(struct wmk_tree_writer *w, json_object *tree)
{
	const char *text =
		w->err >= 0 && tree
			? json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
			: NULL;

	if (text)
		wmk_ctf_put(w->out, SEPARATOR "%s\n", text);
	if (!text || w->out->err)
		wmk_tree_no_memory(w);
	if (w->err >= 0 && w->out->len > WMK_CTF_METADATA_MAX)
		w->err = wmk_error(-E2BIG, "the metadata exceeds %u bytes", WMK_CTF_METADATA_MAX);
	json_object_put(tree);
}

static json_object *fragment(struct wmk_tree_writer *w, const char *type)
{
	json_object *made = json_object_new_object();

	wmk_tree_put_text(w, made, "type", type);
	return made;
}

static void put_root(struct wmk_tree_writer *w, json_object *object, const char *key, enum wmk_scope scope)
{
	w->scope = scope;
	if (w->parts.of[scope]->n_ops)
		wmk_tree_put(w, object, key, wmk_tree_class_of(w, 0));
}

/* ── fragments ───────────────────────────────────────────────────────────────────────────────────────── */

static void put_preamble(struct wmk_tree_writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	json_object *preamble = fragment(w, "preamble"), *uuid;

	wmk_tree_put_number(w, preamble, "version", 2);
	wmk_tree_put_more(w, preamble, class->preamble_more);
	if (class->has_uuid) {
		uuid = json_object_new_array();
		for (size_t i = 0; i < sizeof(class->uuid); i++)
			wmk_tree_append(w, uuid, json_object_new_int(class->uuid[i]));
		wmk_tree_put(w, preamble, "uuid", uuid);
	}
	put_fragment(w, preamble);
}

static void put_trace(struct wmk_tree_writer *w)
{
	const struct wmk_ctf_class *class = w->decoder->class;
	json_object *trace = fragment(w, "trace-class"), *env = json_object_new_object();

	wmk_tree_put_text(w, trace, "name", class->trace_name);
	wmk_tree_put_more(w, trace, class->more);
	for (uint32_t i = 0; i < class->n_env; i++) {
		const struct wmk_ctf_env_entry *e = &class->env[i];

		wmk_tree_put(w, env, e->name,
			     e->text ? wmk_tree_text_of(w, e->text)
				     : wmk_tree_integer_of((uint64_t)e->number, !e->is_unsigned));
	}
	if (class->n_env)
		wmk_tree_put(w, trace, "environment", env);
	else
		json_object_put(env);
	w->parts = wmk_ctf_scope_programs_of(w->decoder, NULL, NULL);
	put_root(w, trace, "packet-header-field-class", WMK_SCOPE_PACKET_HEADER);
	put_fragment(w, trace);
}

static json_object *clock_id(const struct wmk_tree_writer *w, const struct wmk_ctf_clock_class *clock)
{
	char id[40];

	snprintf(id, sizeof(id), "clock%td", clock - w->decoder->class->clocks);
	return json_object_new_string(id);
}

static void put_clock(struct wmk_tree_writer *w, const struct wmk_ctf_clock_class *clock)
{
	json_object *made = fragment(w, "clock-class"), *offset = json_object_new_object();

	wmk_tree_put(w, made, "id", clock_id(w, clock));
	if (clock->name[0])
		wmk_tree_put_text(w, made, "name", clock->name);
	wmk_tree_put_text(w, made, "uid", clock->uuid);
	wmk_tree_put_text(w, made, "description", clock->description);
	wmk_tree_put_number(w, made, "frequency", clock->freq);
	if (clock->precision)
		wmk_tree_put_number(w, made, "precision", clock->precision);
	if (clock->absolute)
		wmk_tree_put_text(w, made, "origin", "unix-epoch");
	wmk_tree_put(w, offset, "seconds", json_object_new_int64(clock->offset_s));
	wmk_tree_put_number(w, offset, "cycles", clock->offset);
	wmk_tree_put(w, made, "offset-from-origin", offset);
	wmk_tree_put_more(w, made, clock->more);
	put_fragment(w, made);
}

static bool has_role(const struct wmk_ctf_program *program, unsigned role)
{
	for (uint32_t i = 0; i < program->n_ops; i++)
		if (program->ops[i].roles & WMK_ROLE_BIT(role))
			return true;
	return false;
}

/*
 * In CTF 1.8, a class may have any id if no field contains ids, because all packets belong to the only stream class and
 * all records to the first event class. In CTF 2, a class has the id 0 if no packet or record contains its id (sections
 * 6.2 and 6.3).
 */
static uint64_t stream_id(const struct wmk_tree_writer *w, const struct wmk_ctf_stream_decoder *stream)
{
	const bool has_ids = has_role(&w->decoder->packet_header, WMK_ROLE_STREAM_CLASS);

	return w->decoder->class->major == 1 && w->decoder->n_streams == 1 && !has_ids ? 0 : stream->class->id;
}

static uint64_t event_id(const struct wmk_tree_writer *w, const struct wmk_ctf_stream_decoder *stream,
			 const struct wmk_ctf_event_decoder *event)
{
	const bool has_ids = has_role(&stream->event_header, WMK_ROLE_EVENT_CLASS);

	return w->decoder->class->major == 1 && event == stream->events && !has_ids ? 0 : event->class->id;
}

static void put_stream(struct wmk_tree_writer *w, const struct wmk_ctf_stream_decoder *stream)
{
	json_object *made = fragment(w, "data-stream-class");

	w->clock = stream->class->clock;
	w->has_clock = w->clock;
	wmk_tree_put_number(w, made, "id", stream_id(w, stream));
	wmk_tree_put_text(w, made, "name", stream->class->name);
	wmk_tree_put_more(w, made, stream->class->more);
	if (stream->class->clock)
		wmk_tree_put(w, made, "default-clock-class-id", clock_id(w, stream->class->clock));
	w->parts = wmk_ctf_scope_programs_of(w->decoder, stream, NULL);
	put_root(w, made, "packet-context-field-class", WMK_SCOPE_PACKET_CONTEXT);
	put_root(w, made, "event-record-header-field-class", WMK_SCOPE_EVENT_HEADER);
	put_root(w, made, "event-record-common-context-field-class", WMK_SCOPE_COMMON_CONTEXT);
	put_fragment(w, made);
}

static void put_attributes(struct wmk_tree_writer *w, json_object *made, const struct wmk_ctf_event_class *class)
{
	json_object *all, *ours;

	wmk_tree_put_more(w, made, class->more);
	if (class->level < 0 && !class->emf_uri)
		return;
	/* Add the log level and the EMF URI to the attributes that the parser kept. */
	all = json_object_object_get_ex(made, "attributes", &all) ? json_object_get(all) : json_object_new_object();
	ours = json_object_object_get_ex(all, SPACE, &ours) && json_object_is_type(ours, json_type_object)
		       ? json_object_get(ours)
		       : json_object_new_object();
	if (class->level >= 0)
		wmk_tree_put_text(w, ours, "log-level", wmk_ctf2_levels[class->level]);
	wmk_tree_put_text(w, ours, "emf-uri", class->emf_uri);
	wmk_tree_put(w, all, SPACE, ours);
	wmk_tree_put(w, made, "attributes", all);
}

static void put_event(struct wmk_tree_writer *w, const struct wmk_ctf_stream_decoder *stream,
		      const struct wmk_ctf_event_decoder *event)
{
	json_object *made = fragment(w, "event-record-class");

	wmk_tree_put_number(w, made, "id", event_id(w, stream, event));
	wmk_tree_put_number(w, made, "data-stream-class-id", stream_id(w, stream));
	wmk_tree_put_text(w, made, "name", event->class->name);
	put_attributes(w, made, event->class);
	w->parts = wmk_ctf_scope_programs_of(w->decoder, stream, event);
	put_root(w, made, "specific-context-field-class", WMK_SCOPE_CONTEXT);
	put_root(w, made, "payload-field-class", WMK_SCOPE_PAYLOAD);
	put_fragment(w, made);
	if (w->err < 0)
		wmk_error_add(w->err, "event '%.80s'", wmk_or_empty(event->class->name));
}

static void put_trace_and_clocks(struct wmk_tree_writer *w)
{
	put_preamble(w);
	put_trace(w);
	for (uint32_t i = 0; i < w->decoder->class->n_clocks && w->err >= 0; i++)
		put_clock(w, &w->decoder->class->clocks[i]);
}

int wmk_ctf_rewrite_part(const struct wmk_ctf_decoder *decoder, enum wmk_ctf_part part, struct wmk_ctf_text_buffer *out)
{
	struct wmk_tree_writer w = { .decoder = decoder, .out = out, .has_clock = true };

	if (part == WMK_CTF_PART_TRACE)
		put_trace_and_clocks(&w);
	else if (part == WMK_CTF_PART_STREAM)
		put_stream(&w, &decoder->streams[0]);
	else
		put_event(&w, &decoder->streams[0], &decoder->streams[0].events[0]);
	json_object_put(w.names);
	return w.err;
}

int wmk_ctf_rewrite_json(const struct wmk_ctf_decoder *decoder, struct wmk_ctf_text_buffer *out, uint32_t *lost)
{
	struct wmk_tree_writer w = { .decoder = decoder, .out = out };

	put_trace_and_clocks(&w);
	for (uint32_t s = 0; s < decoder->n_streams && w.err >= 0; s++) {
		put_stream(&w, &decoder->streams[s]);
		for (uint32_t e = 0; e < decoder->streams[s].n_events && w.err >= 0; e++)
			put_event(&w, &decoder->streams[s], &decoder->streams[s].events[e]);
	}
	if (decoder->class->has_other_types)
		w.lost |= 1u << WMK_CTF_LOST_TYPE;
	json_object_put(w.names);
	*lost = w.lost;
	return w.err;
}
