/* SPDX-License-Identifier: MIT */
/*
 * symbolizer.c - addresses of records and their symbols as text (see symbolizer.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "read/json_writer.h"
#include "read/record_scope.h"
#include "read/symbolizer.h"

/* The last three names are fields of kernel events; the other names are context fields. */
static const char *const fields[] = { "ip", "callstack_user", "callstack_kernel", "function", "location", "call_site" };

static const char *field_of(const char *name)
{
	for (unsigned i = 0; name && i < WMK_ARRAY_LEN(fields); i++)
		if (!strcmp(name, fields[i]))
			return fields[i];
	return NULL;
}

static int walk(struct wmk_read_stream *stream, unsigned part, struct wmk_read_addresses *addresses)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, part);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	const char *array = NULL;
	struct wmk_ctf_item item;
	bool is_first = true;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		const bool is_array = item.op->code == WMK_CTF_ARRAY;
		const char *field = array ? array : field_of(item.op->name);

		if (is_array && item.is_end) {
			array = NULL;
		} else if (is_array) {
			array = field_of(item.op->name);
			is_first = true;
		} else if (field && !item.is_end && item.op->code == WMK_CTF_INT &&
			   (part != WMK_READ_PAYLOAD || item.value.u >> 63) && addresses->n < WMK_READ_ADDRESSES_MAX) {
			const bool is_return = array ? !is_first : strcmp(field, "function") != 0;

			addresses->items[addresses->n++] = (struct wmk_read_address){
				.field = field, .value = item.value.u, .is_return = is_return };
			is_first = false;
		}
	}
	return walk->err;
}

int wmk_read_addresses(struct wmk_read_stream *stream, struct wmk_read_addresses *addresses)
{
	int err;

	addresses->n = 0;
	err = walk(stream, WMK_READ_COMMON, addresses);
	if (err >= 0)
		err = walk(stream, WMK_READ_CONTEXT, addresses);
	return err < 0 ? err : walk(stream, WMK_READ_PAYLOAD, addresses);
}

size_t wmk_read_frame_text(const struct wmk_read_frame *frame, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%.200s", frame->function);

	if (frame->offset)
		n += snprintf(buf + n, size - (size_t)n, "+0x%" PRIx64, frame->offset);
	if (frame->file && frame->line > 0)
		n += snprintf(buf + n, size - (size_t)n, " (%.200s:%d)", frame->file, frame->line);
	else if (frame->file)
		n += snprintf(buf + n, size - (size_t)n, " (%.200s)", frame->file);
	return (size_t)n;
}

static void put_frame(struct wmk_json_writer *w, const struct wmk_read_frame *frame, const char *separator,
		      bool is_json)
{
	char buf[512];
	const size_t len = wmk_read_frame_text(frame, buf, sizeof(buf));

	wmk_json_put_text(w, separator);
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)buf[i] < ' ' || buf[i] == 0x7f ? '?' : buf[i];
	if (is_json)
		wmk_json_put_string(w, buf, len);
	else
		wmk_json_put(w, buf, len);
}

int wmk_read_symbols_set(const struct wmk_read_symbolizer *symbolizer, struct wmk_read_stream *stream, bool is_json,
			 struct wmk_print_text *text)
{
	struct wmk_read_thread_id who = { .cpu = WMK_READ_NOWHERE };
	struct wmk_read_frame frames[WMK_READ_FRAMES_MAX];
	struct wmk_read_addresses addresses;
	const char *field = NULL;
	struct wmk_json_writer w;
	int err = symbolizer ? wmk_read_addresses(stream, &addresses) : 0;

	if (!symbolizer)
		return 0;
	text->len = 0;
	stream->symbols = text;
	if (err >= 0 && addresses.n)
		err = wmk_read_thread_id_of_record(&who, stream);
	if (err < 0 || !addresses.n)
		return err;
	w = wmk_json_begin(text);
	for (unsigned i = 0; i < addresses.n; i++) {
		const struct wmk_read_address *is = &addresses.items[i];
		/* (the call is before the address to which it returns) */
		const unsigned n = symbolizer->find(symbolizer->data, who.has_pid ? who.pid : -1, stream->ns,
						    is->value - is->is_return, frames, WMK_READ_FRAMES_MAX);

		if (n)
			frames[n - 1].offset += is->is_return;
		for (unsigned f = 0; f < n; f++) {
			const bool is_new = field != is->field;

			if (is_new && is_json) {
				wmk_json_put_text(&w, field ? "]," : ",\"symbols\":{");
				wmk_json_put_string(&w, is->field, strlen(is->field));
				wmk_json_put_text(&w, ":[");
			} else if (is_new) {
				wmk_json_put_text(&w, field ? "; " : "  # ");
				wmk_json_put_text(&w, is->field);
				wmk_json_put_text(&w, ": ");
			}
			put_frame(&w, &frames[f], is_new ? "" : is_json ? "," : " < ", is_json);
			field = is->field;
		}
	}
	if (is_json && field)
		wmk_json_put_text(&w, "]}");
	return wmk_json_end(&w, 0);
}
