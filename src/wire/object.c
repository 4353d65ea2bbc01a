/* SPDX-License-Identifier: MIT */
/*
 * object.c - encode, decode and copy structures by their tables (see object.h). The functions for encoding, decoding
 * and copying go through the table recursively. Each function that goes through the table keeps the path to the current
 * member, so that an error can name the member, for example channels[2].rules[0].pattern.
 */
#include "wire/object.h"

#include "base/error.h"
#include "base/hash.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WMK_OBJECT_PART_MAX + sizeof(struct wmk_frame) <= WMK_WIRE_KEEP,
	       "one receive buffer must hold a complete part");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are sent in host byte order");

static const struct wmk_member empty_members[] = { WMK_MEMBER(U32, wmk_empty, reserved) };
const struct wmk_object wmk_empty_object = WMK_OBJECT_OF("empty", wmk_empty, empty_members);

const struct wmk_request_type *wmk_request_type_find(const struct wmk_request_type *table, unsigned n, uint16_t type)
{
	for (unsigned i = 0; i < n; i++)
		if (table[i].type == type)
			return &table[i];
	return NULL;
}

/* The path to the current member: all members from the root, with the index of list elements. */
struct object_path {
	struct {
		const char *name;
		long element;        /* -1: not an element of a list */
	} steps[WMK_OBJECT_DEPTH_MAX + 1];
	unsigned depth;
};

static int path_push(struct object_path *path, const char *name, int err)
{
	if (path->depth == WMK_OBJECT_DEPTH_MAX)
		return wmk_error(err, "%s: objects are nested more than %u levels deep", name, WMK_OBJECT_DEPTH_MAX);
	path->steps[path->depth].name = name;
	path->steps[path->depth++].element = -1;
	return 0;
}

static void path_element(struct object_path *path, uint32_t element)
{
	path->steps[path->depth - 1].element = element;
}

static void path_pop(struct object_path *path)
{
	path->depth--;
}

static int path_error(const struct object_path *path, const char *name, int err, const char *what,
		      unsigned long long number, unsigned long long limit)
{
	char text[100];
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < path->depth && len < sizeof(text); i++) {
		int n = path->steps[i].element < 0
				? snprintf(text + len, sizeof(text) - len, "%s.", path->steps[i].name)
				: snprintf(text + len, sizeof(text) - len, "%s[%ld].", path->steps[i].name,
					   path->steps[i].element);

		len += n > 0 ? (size_t)n : 0;
	}
	return wmk_error(err, "%s%s: %llu %s, above the limit of %llu", text, name, number, what, limit);
}

static const struct wmk_list *list_at(const void *object, const struct wmk_member *m)
{
	return (const void *)((const uint8_t *)object + m->offset);
}

static const char *text_at(const void *object, size_t offset)
{
	const char *text;

	memcpy(&text, (const uint8_t *)object + offset, sizeof(text));
	return text ? text : "";
}

size_t wmk_member_size(const struct wmk_member *m)
{
	switch (m->kind) {
	case WMK_MEMBER_TEXT:
		return sizeof(const char *);
	case WMK_MEMBER_U32:
	case WMK_MEMBER_ENUM:
		return sizeof(uint32_t);
	case WMK_MEMBER_BOOL:
		return sizeof(bool);
	case WMK_MEMBER_UUID:
		return 16;
	default:
		return sizeof(uint64_t);
	}
}

/* Return the size of a list element in memory, in bytes. */
static size_t element_size(const struct wmk_member *m)
{
	return m->kind == WMK_MEMBER_LIST    ? m->of->size
	       : m->kind == WMK_MEMBER_TEXTS ? sizeof(const char *)
					     : sizeof(uint64_t);
}

/* ── encoding ────────────────────────────────────────────────────────────────────────────────────────── */

struct object_writer {
	uint8_t *bytes;
	size_t len, cap;
	struct object_path path;
	struct wmk_out *out; /* receives each full frame; NULL: all bytes stay in `bytes` */
	uint32_t request;
	size_t appended;         /* number of bytes that were appended */
};

/* Append the content of the buffer as a frame, and empty the buffer. */
static int put_frame(struct object_writer *w, uint16_t type)
{
	const int err = wmk_out_frame(w->out, (enum wmk_msg)type, w->request, w->bytes, w->len, -1);

	w->appended += w->len;
	w->len = 0;
	return err;
}

static int buffer_append(struct object_writer *w, const uint8_t *data, size_t size)
{
	if (size > w->cap - w->len) {
		size_t cap = w->cap ? w->cap : 256;

		while (cap - w->len < size)
			cap *= 2;
		uint8_t *bytes = realloc(w->bytes, cap);
		if (!bytes)
			return wmk_error(-ENOMEM, "no memory for a message of %zu bytes", cap);
		w->bytes = bytes;
		w->cap = cap;
	}
	if (size)
		memcpy(w->bytes + w->len, data, size);
	w->len += size;
	return 0;
}

static int put(struct object_writer *w, const void *data, size_t size)
{
	const uint8_t *at = data;

	if (size > WMK_OBJECT_MAX - w->appended - w->len)
		return wmk_error(-EMSGSIZE, "the message exceeds the limit of %u bytes", WMK_OBJECT_MAX);
	while (w->out && size > WMK_OBJECT_PART_MAX - w->len) {
		const size_t fits = WMK_OBJECT_PART_MAX - w->len;
		int err = buffer_append(w, at, fits);

		if (err == 0)
			err = put_frame(w, WMK_OBJECT_PART);
		if (err < 0)
			return err;
		at += fits;
		size -= fits;
	}
	return buffer_append(w, at, size);
}

static int put_text(struct object_writer *w, const struct wmk_member *m, const char *text, size_t limit)
{
	size_t len = strnlen(text, limit + 1);
	uint32_t length = (uint32_t)len;

	if (len > limit)
		return path_error(&w->path, m->name, -EMSGSIZE, "bytes of text", strlen(text), limit);
	int err = put(w, &length, sizeof(length));
	return err < 0 ? err : put(w, text, len);
}

static int put_object(struct object_writer *w, const struct wmk_object *is, const void *object);

static int put_list(struct object_writer *w, const struct wmk_member *m, const struct wmk_list *list)
{
	if (list->n > m->limit)
		return path_error(&w->path, m->name, -EMSGSIZE, "elements", list->n, m->limit);
	int err = put(w, &list->n, sizeof(list->n));
	if (list->n == 0)
		return err;
	if (err == 0 && m->kind == WMK_MEMBER_NUMBERS)
		return put(w, list->items, list->n * sizeof(uint64_t));
	if (err == 0)
		err = path_push(&w->path, m->name, -EMSGSIZE);
	if (err < 0)
		return err;
	for (uint32_t i = 0; err == 0 && i < list->n; i++) {
		path_element(&w->path, i);
		err = m->kind == WMK_MEMBER_LIST
			      ? put_object(w, m->of, (const uint8_t *)list->items + i * m->of->size)
			      : put_text(w, m, text_at(list->items, i * sizeof(const char *)), WMK_OBJECT_TEXT_MAX);
	}
	path_pop(&w->path);
	return err;
}

static int put_number(struct object_writer *w, const struct wmk_member *m, const uint8_t *at)
{
	uint32_t word;

	if (m->kind == WMK_MEMBER_ENUM) {
		memcpy(&word, at, sizeof(word));
		if (word >= m->n_names)
			return path_error(&w->path, m->name, -EINVAL, "as an enum value", word, m->n_names - 1);
	}
	return put(w, at, wmk_member_size(m));
}

static int put_member(struct object_writer *w, const struct wmk_member *m, const void *object)
{
	switch (m->kind) {
	case WMK_MEMBER_TEXT:
		return put_text(w, m, text_at(object, m->offset), m->limit);
	case WMK_MEMBER_LIST:
	case WMK_MEMBER_TEXTS:
	case WMK_MEMBER_NUMBERS:
		return put_list(w, m, list_at(object, m));
	case WMK_MEMBER_OBJECT: {
		int err = path_push(&w->path, m->name, -EMSGSIZE);

		if (err < 0)
			return err;
		err = put_object(w, m->of, (const uint8_t *)object + m->offset);
		path_pop(&w->path);
		return err;
	}
	default:
		return put_number(w, m, (const uint8_t *)object + m->offset);
	}
}

static int put_object(struct object_writer *w, const struct wmk_object *is, const void *object)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < is->n_members; i++)
		err = put_member(w, &is->members[i], object);
	return err;
}

static int put_all(struct object_writer *w, const struct wmk_object *is, const void *object)
{
	const int err = put_object(w, is, object);

	return err < 0 ? wmk_error_add(err, "cannot encode the object '%s'", is->name) : 0;
}

long wmk_object_encode(const struct wmk_object *is, const void *object, uint8_t **bytes)
{
	struct object_writer w = { 0 };
	const int err = put_all(&w, is, object);

	if (err == 0) {
		*bytes = w.bytes;
		return (long)w.len;
	}
	free(w.bytes);
	*bytes = NULL;
	return err;
}

int wmk_object_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		    const void *object)
{
	struct object_writer w = { .out = out, .request = request };
	const size_t before = wmk_out_queued(out);
	int err = put_all(&w, is, object);

	if (err == 0)
		err = put_frame(&w, type);
	if (err < 0)
		out->len = out->sent + before;   /* remove the frames of the incomplete object */
	free(w.bytes);
	return err;
}

/* ── decoding ────────────────────────────────────────────────────────────────────────────────────────── */

#define CACHED 256u           /* texts in the cache: a power of two */
#define CACHED_LEN_MAX 64u

struct object_reader {
	const uint8_t *at;
	size_t left;
	struct wmk_arena *arena;
	struct object_path path;
	/*
	 * Lists often contain equal texts, for example the event names of a thousand applications that run the same
	 * program. The decoder therefore keeps the last text for each hash value, and uses the kept text for equal
	 * texts that follow.
	 */
	const char *cached[CACHED];
};

static int get(struct object_reader *r, const struct wmk_member *m, void *to, size_t size)
{
	if (size > r->left)
		return path_error(&r->path, m->name, -EPROTO, "bytes in the rest of the message", size, r->left);
	memcpy(to, r->at, size);
	r->at += size;
	r->left -= size;
	return 0;
}

/*
 * Decode the next `len` bytes as a text. The caller has checked that the message has at least `len` more bytes, and
 * that these bytes contain no NUL. NULL: no memory.
 */
static const char *take_text(struct object_reader *r, uint32_t len)
{
	const char *none = NULL, **cached = len > CACHED_LEN_MAX
						   ? &none
						   : &r->cached[wmk_hash_bytes(WMK_HASH_BEGIN, r->at, len) % CACHED];

	if (!*cached || strncmp(*cached, (const char *)r->at, len) != 0 || (*cached)[len]) {
		char *copy = wmk_arena_alloc(r->arena, (size_t)len + 1);

		if (!copy)
			return NULL;
		*cached = memcpy(copy, r->at, len);
	}
	r->at += len;
	r->left -= len;
	return *cached;
}

static int get_text(struct object_reader *r, const struct wmk_member *m, uint8_t *to, size_t limit)
{
	const char *empty = "";
	uint32_t len = 0;
	int err = get(r, m, &len, sizeof(len));

	if (err < 0)
		return err;
#ifndef WMK_PLANTED_BUG_OBJECT           /* a planted bug that the fuzzer must find */
	if (len > r->left)
		return path_error(&r->path, m->name, -EPROTO, "bytes of text in the rest of the message", len, r->left);
#endif
	if (len > limit)
		return path_error(&r->path, m->name, -EPROTO, "bytes of text", len, limit);
	if (len == 0) {
		memcpy(to, &empty, sizeof(empty));
		return 0;
	}
	if (memchr(r->at, '\0', len))
		return path_error(&r->path, m->name, -EPROTO, "NUL bytes in a text", 1, 0);
	const char *text = take_text(r, len);
	if (!text)
		return -ENOMEM;
	memcpy(to, &text, sizeof(text));
	return 0;
}

/* Return the minimum encoded size of an object that the table describes. */
static size_t min_size(const struct wmk_object *is)
{
	size_t size = 0;

	for (unsigned i = 0; i < is->n_members; i++) {
		const struct wmk_member *m = &is->members[i];

		if (m->kind == WMK_MEMBER_OBJECT)
			size += min_size(m->of);
		else if (m->kind == WMK_MEMBER_TEXT || m->kind == WMK_MEMBER_LIST || m->kind == WMK_MEMBER_TEXTS ||
			 m->kind == WMK_MEMBER_NUMBERS)
			size += sizeof(uint32_t);
		else
			size += wmk_member_size(m);
	}
	return size ? size : 1;
}

static size_t element_min_size(const struct wmk_member *m)
{
	return m->kind == WMK_MEMBER_LIST    ? min_size(m->of)
	       : m->kind == WMK_MEMBER_TEXTS ? sizeof(uint32_t)
					     : sizeof(uint64_t);
}

static int get_object(struct object_reader *r, const struct wmk_object *is, uint8_t *object);

static int get_list(struct object_reader *r, const struct wmk_member *m, struct wmk_list *list)
{
	uint32_t n = 0;
	int err = get(r, m, &n, sizeof(n));

	if (err < 0 || n == 0)
		return err;
	if (n > m->limit)
		return path_error(&r->path, m->name, -EPROTO, "elements", n, m->limit);
	if (n > r->left / element_min_size(m))
		return path_error(&r->path, m->name, -EPROTO, "elements in the rest of the message", n,
				  r->left / element_min_size(m));
	err = wmk_arena_list(r->arena, list, n, element_size(m));
	if (err == 0)
		err = path_push(&r->path, m->name, -EPROTO);
	if (err < 0)
		return err;
	uint8_t *items = list->items;
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		path_element(&r->path, i);
		if (m->kind == WMK_MEMBER_LIST)
			err = get_object(r, m->of, items + i * m->of->size);
		else if (m->kind == WMK_MEMBER_TEXTS)
			err = get_text(r, m, items + i * sizeof(const char *), WMK_OBJECT_TEXT_MAX);
		else
			err = get(r, m, items + i * sizeof(uint64_t), sizeof(uint64_t));
	}
	path_pop(&r->path);
	return err;
}

static int get_number(struct object_reader *r, const struct wmk_member *m, uint8_t *to)
{
	uint8_t bytes[16];
	uint32_t word;
	int err = get(r, m, bytes, wmk_member_size(m));

	if (err < 0)
		return err;
	memcpy(&word, bytes, sizeof(word));
	if (m->kind == WMK_MEMBER_BOOL && bytes[0] > 1)
		return path_error(&r->path, m->name, -EPROTO, "as a boolean", bytes[0], 1);
	if (m->kind == WMK_MEMBER_ENUM && word >= m->n_names)
		return path_error(&r->path, m->name, -EPROTO, "as an enum value", word, m->n_names - 1);
	memcpy(to, bytes, wmk_member_size(m));
	return 0;
}

static int get_member(struct object_reader *r, const struct wmk_member *m, uint8_t *object)
{
	switch (m->kind) {
	case WMK_MEMBER_TEXT:
		return get_text(r, m, object + m->offset, m->limit);
	case WMK_MEMBER_LIST:
	case WMK_MEMBER_TEXTS:
	case WMK_MEMBER_NUMBERS:
		return get_list(r, m, (void *)(object + m->offset));
	case WMK_MEMBER_OBJECT: {
		int err = path_push(&r->path, m->name, -EPROTO);

		if (err < 0)
			return err;
		err = get_object(r, m->of, object + m->offset);
		path_pop(&r->path);
		return err;
	}
	default:
		return get_number(r, m, object + m->offset);
	}
}

static int get_object(struct object_reader *r, const struct wmk_object *is, uint8_t *object)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < is->n_members; i++)
		err = get_member(r, &is->members[i], object);
	return err;
}

int wmk_object_decode(const struct wmk_object *is, const void *body, size_t len, void *object, struct wmk_arena *arena)
{
	struct object_reader r = { .at = body, .left = len, .arena = arena };

	memset(object, 0, is->size);
	if (len > WMK_OBJECT_MAX)
		return wmk_error(-EPROTO, "a message of %zu bytes exceeds the limit of %u", len, WMK_OBJECT_MAX);
	int err = get_object(&r, is, object);
	if (err == 0 && r.left)
		err = wmk_error(-EPROTO, "%zu bytes after the last member", r.left);
	if (err < 0) {
		memset(object, 0, is->size);
		wmk_error_add(err, "cannot decode the object '%s'", is->name);
	}
	return err;
}

/* ── copying ─────────────────────────────────────────────────────────────────────────────────────────── */

static int copy_text(const char *from, uint8_t *to, struct wmk_arena *arena)
{
	const char *text = wmk_arena_text(arena, from);

	memcpy(to, &text, sizeof(text));
	return text ? 0 : -ENOMEM;
}

static int copy_list(const struct wmk_member *m, const struct wmk_list *from, struct wmk_list *to,
		     struct wmk_arena *arena)
{
	int err = wmk_arena_list(arena, to, from->n, element_size(m));
	const uint8_t *source = from->items;
	uint8_t *items = to->items;

	if (err == 0 && from->n && m->kind == WMK_MEMBER_NUMBERS)
		memcpy(items, source, from->n * sizeof(uint64_t));
	else if (m->kind != WMK_MEMBER_NUMBERS)
		for (uint32_t i = 0; err == 0 && i < from->n; i++)
			err = m->kind == WMK_MEMBER_LIST
				      ? wmk_object_copy(m->of, source + i * m->of->size, items + i * m->of->size, arena)
				      : copy_text(text_at(source, i * sizeof(const char *)),
						  items + i * sizeof(const char *), arena);
	return err;
}

int wmk_object_copy(const struct wmk_object *is, const void *from, void *to, struct wmk_arena *arena)
{
	int err = 0;

	memset(to, 0, is->size);
	for (unsigned i = 0; err == 0 && i < is->n_members; i++) {
		const struct wmk_member *m = &is->members[i];
		const uint8_t *source = (const uint8_t *)from + m->offset;
		uint8_t *target = (uint8_t *)to + m->offset;

		switch (m->kind) {
		case WMK_MEMBER_TEXT:
			err = copy_text(text_at(from, m->offset), target, arena);
			break;
		case WMK_MEMBER_LIST:
		case WMK_MEMBER_TEXTS:
		case WMK_MEMBER_NUMBERS:
			err = copy_list(m, list_at(from, m), (void *)target, arena);
			break;
		case WMK_MEMBER_OBJECT:
			err = wmk_object_copy(m->of, source, target, arena);
			break;
		default:
			memcpy(target, source, wmk_member_size(m));
		}
	}
	return err;
}
