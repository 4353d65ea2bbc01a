/* SPDX-License-Identifier: MIT */
/* fake_sessiond_read.c - convert the records of the rings to text. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/writer.h"
#include "tracer/t/fake_sessiond_state.h"

struct cursor {
	const unsigned char *at, *end;
	char *out;
	size_t left;
	bool bad;
};

static void print(struct cursor *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(struct cursor *k, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(k->out, k->left, format, args);

	va_end(args);
	if (n < 0 || (size_t)n >= k->left)
		n = (int)k->left - 1;
	k->out += n;
	k->left -= (size_t)n;
}

static const unsigned char *take(struct cursor *k, size_t n)
{
	static const unsigned char nothing[16];
	const unsigned char *p = k->at;

	if ((size_t)(k->end - k->at) < n) {
		k->bad = true;
		return nothing;
	}
	k->at += n;
	return p;
}

static void show(struct cursor *k, const struct wmk_type *type);

static void show_number(struct cursor *k, const struct wmk_type *type)
{
	unsigned bytes = type->width / 8u;
	const unsigned char *p = take(k, bytes);
	uint64_t u = 0;
	float f;
	double d;

	for (unsigned i = 0; i < bytes; i++)
		u |= (uint64_t)p[type->order == WMK_ORDER_BIG ? bytes - 1 - i : i] << (8 * i);
	if (type->kind == WMK_TYPE_FLOAT) {
		memcpy(&f, p, 4);
		if (bytes == 8)
			memcpy(&d, p, 8);
		print(k, "%g", bytes == 8 ? d : (double)f);
	} else if (type->is_signed) {
		print(k, "%" PRId64, (int64_t)(u << (64 - type->width)) >> (64 - type->width));
	} else if (type->base == 16) {
		print(k, "0x%" PRIx64, u);
	} else {
		print(k, "%" PRIu64, u);
	}
}

static void show_many(struct cursor *k, const struct wmk_type *elem, uint32_t n)
{
	print(k, "[");
	for (uint32_t i = 0; i < n && !k->bad; i++) {
		print(k, i ? "," : "");
		show(k, elem);
	}
	print(k, "]");
}

static uint32_t length(struct cursor *k)
{
	uint32_t n;

	memcpy(&n, take(k, 4), 4);
	return k->bad ? 0 : n;
}

static void show(struct cursor *k, const struct wmk_type *type)
{
	static const struct wmk_type byte = { .kind = WMK_TYPE_INT, .width = 8, .base = 16 };
	const unsigned char *p;
	size_t len;

	switch (type->kind) {
	case WMK_TYPE_STRING:
		len = strnlen((const char *)k->at, (size_t)(k->end - k->at));
		p = take(k, len + 1);
		print(k, "\"%s\"", k->bad ? "" : (const char *)p);
		break;
	case WMK_TYPE_ARRAY:
		if (type->is_text) {
			p = take(k, type->count);
			print(k, "\"%.*s\"", (int)type->count, (const char *)p);
		} else {
			show_many(k, type->elem, type->count);
		}
		break;
	case WMK_TYPE_SEQUENCE:
		show_many(k, type->elem, length(k));
		break;
	case WMK_TYPE_BLOB:
		show_many(k, &byte, length(k));
		break;
	default:
		show_number(k, type);
	}
}

static uint64_t header(struct cursor *k, uint32_t *id, uint64_t last)
{
	uint64_t raw = 0, ts;
	unsigned first = k->at < k->end ? *k->at & 31 : 0;

	if (first < 30) {
		memcpy(&raw, take(k, 4), 4);
		*id = first;
		ts = raw >> 5;
	} else if (first == 30) {
		memcpy(&raw, take(k, 6), 6);
		*id = (uint32_t)(raw >> 5 & 0xffff);
		ts = raw >> 21;
	} else {
		take(k, 1);
		memcpy(id, take(k, 4), 4);
		memcpy(&ts, take(k, 8), 8);
		return ts;
	}
	ts |= last & ~((1ull << 27) - 1);
	return ts < last ? ts + (1ull << 27) : ts;
}

static bool show_record(struct fake_sessiond *c, struct cursor *k, uint32_t id)
{
	if (id >= c->n_classes)
		return false;
	const struct wmk_event_class *class = c->classes[id];

	if (c->options.n_contexts)
		print(k, "{");
	for (unsigned i = 0; i < c->options.n_contexts; i++) {
		const struct wmk_ctf_context *context = wmk_ctf_context(c->options.contexts[i]);

		print(k, "%s%s=", i ? " " : "", context->field.name);
		show(k, &context->field.type);
	}
	print(k, "%s%s:%s", c->options.n_contexts ? "} " : "", class->provider, class->name);
	for (unsigned i = 0; i < class->n_fields && !k->bad; i++) {
		print(k, " %s=", class->fields[i].name);
		show(k, &class->fields[i].type);
	}
	return !k->bad;
}

static long read_packet(struct fake_sessiond *c, const struct waymark_ring_packet *packet, fake_sessiond_record_fn fn,
			void *data, uint64_t *last)
{
	static char text[1 << 16];
	struct cursor k = { .at = packet->data, .end = (const unsigned char *)packet->data + packet->len };
	long n = 0;

	*last = packet->begin_ts;
	while (k.at < k.end) {
		uint32_t id;

		k.out = text;
		k.left = sizeof(text);
		*last = header(&k, &id, *last);
		if (!show_record(c, &k, id))
			return -1;
		if (fn)
			fn(data, packet->ring, *last, text);
		n++;
	}
	return n;
}

/* Open the readers once: a reader starts at the first record of the ring, which is overwritten later. */
static int open_readers(struct fake_sessiond *c)
{
	uint32_t n = waymark_ring_set_rings(c->set);

	if (c->readers)
		return 0;
	c->readers = calloc(n, sizeof(*c->readers));
	for (uint32_t i = 0; c->readers && i < n; i++)
		if (waymark_ring_reader_open(c->set, i, &c->readers[i]) < 0)
			abort();
	return c->readers ? 0 : -1;
}

static long read_ring(struct fake_sessiond *c, struct waymark_ring_reader *reader, fake_sessiond_record_fn fn,
		      void *data)
{
	struct waymark_ring_packet packet = { 0 };
	uint64_t last = 0;
	long total = 0;
	int rc;

	while ((rc = waymark_ring_reader_next(reader, WAYMARK_RING_FLUSH, &packet)) == 1) {
		long n = read_packet(c, &packet, fn, data, &last);

		if (n < 0)
			return -1;
		total += n;
		waymark_ring_reader_release(reader, &packet);
	}
	if (rc < 0)
		fprintf(stderr, "the ring cannot be read: %s\n", strerror(-rc));
	return rc < 0 ? -1 : total;
}

long fake_sessiond_read(struct fake_sessiond *c, fake_sessiond_record_fn fn, void *data, uint64_t *lost, uint64_t *cut)
{
	long total = 0, n;

	if (lost)
		*lost = 0;
	if (cut)
		*cut = 0;
	/* the thread that serves applications adds classes */
	pthread_mutex_lock(&c->lock);
	if (open_readers(c) < 0)
		total = -1;
	for (uint32_t i = 0; i < waymark_ring_set_rings(c->set) && total >= 0; i++) {
		n = read_ring(c, c->readers[i], fn, data);
		total = n < 0 ? -1 : total + n;
		if (lost)
			*lost += waymark_ring_reader_lost(c->readers[i], NULL);
		if (cut)
			*cut += waymark_ring_reader_cut(c->readers[i]);
	}
	pthread_mutex_unlock(&c->lock);
	return total;
}
