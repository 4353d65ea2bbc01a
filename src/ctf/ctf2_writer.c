/* SPDX-License-Identifier: MIT */
/*
 * ctf2_writer.c - declare our own traces in CTF 2: make the classes that a reader of the trace would have, and write
 * them with rewrite.h (see ctf2_writer.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/tsdl_fields.h"
#include "ctf/ctf2_writer.h"
#include "ctf/rewrite.h"
#include "ctf/text_buffer.h"
#include "schema/scratch.h"

/* ── headers of packets and records ──────────────────────────────────────────────────────────────────── */

#define NUMBER(name_, width_, align_, role_) \
	{ .name = name_, \
	  .type = { .kind = WMK_TYPE_INT, .width = width_, .align = align_, .base = 10, .roles = WMK_ROLE_BIT(role_) } }
#define STRUCT(fields, align_) \
	{ .kind = WMK_TYPE_STRUCT, .count = WMK_ARRAY_LEN(fields), .members = fields, .align = align_ }

/* The header and the context of a packet, as packet.c encodes them. */
static const struct wmk_field header_fields[] = {
	NUMBER("magic", 32, 8, WMK_ROLE_MAGIC),
	{ .name = "uuid", .type = { .kind = WMK_TYPE_BLOB, .count = 16, .roles = WMK_ROLE_BIT(WMK_ROLE_UUID) } },
	NUMBER("stream_id", 32, 8, WMK_ROLE_STREAM_CLASS),
	NUMBER("stream_instance_id", 64, 8, WMK_ROLE_STREAM),
};
static const struct wmk_type packet_header = STRUCT(header_fields, 8);

static const struct wmk_field packet_fields[] = {
	NUMBER("timestamp_begin", 64, 8, WMK_ROLE_BEGIN),     NUMBER("timestamp_end", 64, 8, WMK_ROLE_END),
	NUMBER("content_size", 64, 8, WMK_ROLE_CONTENT_SIZE), NUMBER("packet_size", 64, 8, WMK_ROLE_PACKET_SIZE),
	NUMBER("packet_seq_num", 64, 8, WMK_ROLE_SEQUENCE),   NUMBER("cpu_id", 32, 8, WMK_ROLE_CPU),
	NUMBER("events_discarded", 64, 64, WMK_ROLE_LOST),
};
static const struct wmk_type packet_context = STRUCT(packet_fields, 64);

/* The header of a record, as an application writes it into a ring (docs/trace-format.md). */
static const struct wmk_field compact_fields[] = { NUMBER("timestamp", 27, 1, WMK_ROLE_TIME) };
static const struct wmk_field medium_fields[] = { NUMBER("id", 16, 1, WMK_ROLE_EVENT_CLASS),
						  NUMBER("timestamp", 27, 1, WMK_ROLE_TIME) };
static const struct wmk_field extended_fields[] = { NUMBER("id", 32, 8, WMK_ROLE_EVENT_CLASS),
						    NUMBER("timestamp", 64, 8, WMK_ROLE_TIME) };
static const struct wmk_label header_labels[] = { { "compact", 0, 29 }, { "medium", 30, 30 }, { "extended", 31, 31 } };
static const char *const id_path[] = { "id" };
static const struct wmk_ref id_ref = { .scope = WMK_SCOPE_NEAR, .n = 1, .names = id_path };
static const struct wmk_field header_options[] = {
	{ .name = "compact", .type = STRUCT(compact_fields, 1) },
	{ .name = "medium", .type = STRUCT(medium_fields, 1) },
	{ .name = "extended", .type = STRUCT(extended_fields, 8) },
};
static const struct wmk_field record_fields[] = {
	{ .name = "id",
	  .type = { .kind = WMK_TYPE_ENUM,
		    .width = 5,
		    .align = 1,
		    .base = 10,
		    .roles = WMK_ROLE_BIT(WMK_ROLE_EVENT_CLASS),
		    .count = 3,
		    .labels = header_labels } },
	{ .name = "v",
	  .type = { .kind = WMK_TYPE_VARIANT, .align = 1, .ref = &id_ref, .count = 3, .members = header_options } },
};
static const struct wmk_type event_header = STRUCT(record_fields, 8);

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

static int lower_type(struct wmk_scratch *scratch, const struct wmk_type *from, unsigned depth, struct wmk_type *to);
static int lower_fields(struct wmk_scratch *scratch, const struct wmk_field *from, uint32_t n, unsigned depth,
			struct wmk_type *to);

/* Return whether a field of this type needs a helper field before it, for its length or presence. */
static bool has_helper(const struct wmk_type *type)
{
	return type->kind == WMK_TYPE_SEQUENCE || type->kind == WMK_TYPE_BLOB || type->kind == WMK_TYPE_OPTIONAL;
}

/* Convert flags for CTF 2: keep only the bits that have a name. */
static int lower_flags(struct wmk_scratch *scratch, const struct wmk_type *from, struct wmk_type *to)
{
	struct wmk_label *labels = wmk_scratch_alloc(scratch, (from->count ? from->count : 1) * sizeof(*labels));

	if (!labels)
		return -ENOMEM;
	to->labels = labels;
	to->count = 0;
	to->base = 16;
	for (uint32_t i = 0; i < from->count; i++)
		if (from->labels[i].from && from->labels[i].name)
			labels[to->count++] =
				(struct wmk_label){ from->labels[i].name, from->labels[i].from, from->labels[i].from };
	return 0;
}

/* Lower an element. An element that needs a helper field becomes a structure of the helper field and the element. */
static int lower_element(struct wmk_scratch *scratch, const struct wmk_type *from, unsigned depth, struct wmk_type *to)
{
	struct wmk_type *elem = wmk_scratch_alloc(scratch, sizeof(*elem));
	struct wmk_field *field = elem ? wmk_scratch_alloc(scratch, sizeof(*field)) : NULL;

	if (!field)
		return -ENOMEM;
	to->elem = elem;
	if (!has_helper(from))
		return lower_type(scratch, from, depth + 1, elem);
	*field = (struct wmk_field){ .name = "element", .type = *from };
	return lower_fields(scratch, field, 1, depth + 1, elem);
}

/* Convert a type for CTF 2, but not the helper field of the type. */
static int lower_type(struct wmk_scratch *scratch, const struct wmk_type *from, unsigned depth, struct wmk_type *to)
{
	if (depth > WMK_CTF_DEPTH_MAX)
		return wmk_error(-E2BIG, "more than %d levels of nested types", WMK_CTF_DEPTH_MAX);
	*to = *from;
	to->align = 8;
	switch (from->kind) {
	case WMK_TYPE_STRUCT:
		return lower_fields(scratch, from->members, from->count, depth + 1, to);
	case WMK_TYPE_FLAGS:
		return lower_flags(scratch, from, to);
	case WMK_TYPE_ENUM:
		to->kind = from->count ? WMK_TYPE_ENUM : WMK_TYPE_INT;
		return 0;
	case WMK_TYPE_BOOL:
		to->width = 8;
		return 0;
	case WMK_TYPE_ARRAY:
	case WMK_TYPE_SEQUENCE:
	case WMK_TYPE_OPTIONAL:
		return lower_element(scratch, from->elem, depth, to);
	default:
		return 0;
	}
}

static bool is_named(const struct wmk_field *fields, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (fields[i].name && !strcmp(fields[i].name, name))
			return true;
	return false;
}

/* Add the helper field `_x_length` or `_x_present`, as in CTF 1.8, and let `to` refer to the helper field. */
static int add_helper(struct wmk_scratch *scratch, const struct wmk_field *from, const struct wmk_field *all,
		      uint32_t n, struct wmk_field *helper, struct wmk_type *to)
{
	const bool is_optional = from->type.kind == WMK_TYPE_OPTIONAL;
	struct wmk_ref *ref = wmk_scratch_alloc(scratch, sizeof(*ref));
	const char **path = ref ? wmk_scratch_alloc(scratch, sizeof(*path)) : NULL;
	char name[WMK_NAME_MAX + 32];

	if (!path)
		return -ENOMEM;
	snprintf(name, sizeof(name), "_%.*s_%s", WMK_NAME_MAX, from->name, is_optional ? "present" : "length");
	for (unsigned number = 2; is_named(all, n, name); number++)
		snprintf(name, sizeof(name), "_%.*s_%s_%u", WMK_NAME_MAX, from->name,
			 is_optional ? "present" : "length", number);
	helper->name = *path = wmk_scratch_text(scratch, name, strlen(name));
	if (!helper->name)
		return -ENOMEM;
	helper->type = (struct wmk_type){ .kind = is_optional ? WMK_TYPE_BOOL : WMK_TYPE_INT,
					  .width = is_optional ? 8 : 32,
					  .align = 8,
					  .base = 10 };
	*ref = (struct wmk_ref){ .scope = WMK_SCOPE_NEAR, .n = 1, .names = path };
	to->ref = ref;
	return 0;
}

/* Convert the members of a structure and add helper fields between the members. */
static int lower_fields(struct wmk_scratch *scratch, const struct wmk_field *from, uint32_t n, unsigned depth,
			struct wmk_type *to)
{
	struct wmk_field *members = wmk_scratch_alloc(scratch, 2 * (size_t)(n ? n : 1) * sizeof(*members)), *last;
	uint32_t made = 0;
	int err = members ? 0 : -ENOMEM;

	*to = (struct wmk_type){ .kind = WMK_TYPE_STRUCT, .align = 8, .members = members };
	for (uint32_t i = 0; i < n && err >= 0; i++) {
		last = &members[made + has_helper(&from[i].type)];
		last->name = from[i].name;
		err = lower_type(scratch, &from[i].type, depth, &last->type);
		/* (the helper's name must also differ from the names of later fields) */
		if (err >= 0 && has_helper(&from[i].type))
			err = add_helper(scratch, &from[i], from, n, &members[made], &last->type);
		made += 1 + has_helper(&from[i].type);
	}
	to->count = made;
	return err;
}

/* ── classes ─────────────────────────────────────────────────────────────────────────────────────────── */

struct recorded_classes {
	struct wmk_ctf_class class;
	struct wmk_ctf_clock_class clock;
	struct wmk_ctf_stream_class stream;
	const struct wmk_ctf_stream_class *streams;
	struct wmk_ctf_event_class event;
	const struct wmk_ctf_event_class *events;
	struct wmk_type context, payload;
};

/* Make a trace class with one stream class that has these context fields; callers fill in the other members. */
static int begin(struct wmk_scratch *scratch, struct recorded_classes *own, uint32_t stream_id,
		 const struct wmk_field *contexts, unsigned n_contexts)
{
	own->clock = (struct wmk_ctf_clock_class){ .name = "", .freq = 1 };
	own->class = (struct wmk_ctf_class){
		.major = 2,
		.order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? WMK_ORDER_BIG : WMK_ORDER_LITTLE,
		.has_uuid = true,
		.packet_header = &packet_header,
		.clocks = &own->clock,
		.n_clocks = 1,
		.streams = &own->streams,
		.n_streams = 1,
	};
	own->stream = (struct wmk_ctf_stream_class){ .id = stream_id,
						     .clock = &own->clock,
						     .packet_context = &packet_context,
						     .event_header = &event_header,
						     .events = &own->events };
	own->streams = &own->stream;
	own->events = &own->event;
	if (!n_contexts)
		return 0;
	own->stream.event_context = &own->context;
	return lower_fields(scratch, contexts, n_contexts, 0, &own->context);
}

/* Compile the class and write one part of the metadata. */
static int write_part(const struct recorded_classes *own, int err, enum wmk_ctf_part part,
		      struct wmk_ctf_text_buffer *out)
{
	struct wmk_ctf_decoder *decoder = NULL;
	const size_t start = out->len;

	if (err >= 0)
		err = wmk_ctf_compile(&own->class, "our own", &decoder);
	if (err >= 0)
		err = wmk_ctf_rewrite_part(decoder, part, out);
	if (err < 0)
		wmk_ctf_text_cut(out, start);
	wmk_ctf_decoder_free(decoder);
	return err;
}

int wmk_ctf2_put_trace(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace)
{
	struct wmk_ctf_env_entry *env = calloc(WMK_CTF_ENV_FIXED + trace->n_env, sizeof(*env));
	struct wmk_scratch scratch = { NULL };
	struct recorded_classes own;
	unsigned n = 0;
	int err = begin(&scratch, &own, 0, NULL, 0);
	struct wmk_ctf_env fixed[WMK_CTF_ENV_FIXED];

	if (!env)
		return wmk_error(-ENOMEM, "no memory for an environment");
	const unsigned n_fixed = wmk_ctf_env_fixed(trace, fixed);

	for (unsigned i = 0; i < n_fixed + trace->n_env; i++) {
		const struct wmk_ctf_env *e = i < n_fixed ? &fixed[i] : &trace->env[i - n_fixed];

		env[n++] = (struct wmk_ctf_env_entry){ .name = e->name, .text = e->text, .number = e->number };
	}
	memcpy(own.class.uuid, trace->uuid, sizeof(own.class.uuid));
	own.class.n_streams = 0;
	own.class.trace_name = trace->name;
	own.class.env = env;
	own.class.n_env = n;
	own.clock = (struct wmk_ctf_clock_class){
		.name = trace->clock->name,
		.uuid = trace->clock->uuid[0] ? trace->clock->uuid : NULL,
		.description = trace->clock->description,
		.freq = trace->clock->freq,
		.precision = trace->clock->precision,
		.offset_s = trace->clock->offset_s,
		.offset = trace->clock->offset,
		.absolute = true,
	};
	err = write_part(&own, err, WMK_CTF_PART_TRACE, out);
	wmk_scratch_free(&scratch);
	free(env);
	return err;
}

int wmk_ctf2_put_stream(struct wmk_ctf_text_buffer *out, uint32_t id, const struct wmk_field *contexts,
			unsigned n_contexts)
{
	struct wmk_scratch scratch = { NULL };
	struct recorded_classes own;
	int err = begin(&scratch, &own, id, contexts, n_contexts);

	err = write_part(&own, err, WMK_CTF_PART_STREAM, out);
	wmk_scratch_free(&scratch);
	return err < 0 ? wmk_error_add(err, "cannot declare the contexts of stream %" PRIu32, id) : 0;
}

int wmk_ctf2_put_event(struct wmk_ctf_text_buffer *out, uint32_t stream_id, uint32_t event_id,
		      const struct wmk_event_class *event)
{
	char full[WMK_FULL_NAME], uri[WMK_MESSAGE_URI];
	struct wmk_scratch scratch = { NULL };
	struct recorded_classes own;
	int err = begin(&scratch, &own, stream_id, NULL, 0);

	wmk_event_full_name(event, full);
	own.event = (struct wmk_ctf_event_class){ .stream = &own.stream,
						  .id = event_id,
						  .name = full,
						  .emf_uri = wmk_message_uri(event, uri),
						  .level = event->level,
						  .payload = &own.payload };
	own.stream.n_events = 1;
	if (err >= 0)
		err = lower_fields(&scratch, event->fields, event->n_fields, 0, &own.payload);
	err = write_part(&own, err, WMK_CTF_PART_EVENT, out);
	wmk_scratch_free(&scratch);
	return err < 0 ? wmk_error_add(err, "cannot declare event %.80s", full) : 0;
}
