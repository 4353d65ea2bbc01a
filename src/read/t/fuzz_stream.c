/* SPDX-License-Identifier: MIT */
/*
 * fuzz_stream.c - read arbitrary bytes as the two stream files of a trace. The first byte selects the metadata. Reading
 * must end, and each damage must have a message. The results are compared with one walk through each stream:
 *
 *     small   with a window of a few bytes          the same
 *     part    from a time to a time                 only records of that time; all of them if the times are in order
 *     grows   the file in two parts, followed       the same, up to an incomplete packet
 *     merge   both streams                          the same of each, the earlier one first
 *     live    both streams, followed (live.c)       the same of each
 *     made    written as a trace (ctf_exporter.c)   the same of each, also for a part of the time, with the new index
 *
 *     input   metadata │ size of the first stream, in units of 16 bytes │ from: a record │ to: number of records │
 *             window, truncation, other options │ first stream │ second stream
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "read/convert.h"
#include "read/live.h"
#include "read/record_scope.h"
#include "read/t/fuzz_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void fuzz_set_up(void);
void fuzz_clean_up(void);

#define HEAD 5u
#define UNIT 16u
#define STREAMS 2u
#define BYTES_MAX 8192u            /* maximum size of an input */
#define ITEMS_MAX (9u * BYTES_MAX) /* a record has at least one bit, a packet one byte */

#define TEXTS (WMK_ARRAY_LEN(metadata))

/* One result of a stream. */
struct item {
	int got;                   /* WMK_READ_PACKET or WMK_READ_RECORD */
	bool is_cut;               /* of a packet */
	int64_t ns;
	uint64_t hash;             /* of all of its values */
};

struct walk {
	struct item items[ITEMS_MAX];
	uint32_t n;
	bool is_tidy;              /* there was no damage, and all times are in order and within their packets */
	uint64_t class, instance;  /* of the first packet */
};

static const char *const names[STREAMS] = { "a", "b" }, *const folders[TEXTS] = { "0", "1", "2", "3", "4", "5", "6" };
/* In memory, because the files are rewritten often. */
static char top[] = "/dev/shm/waymark-fuzz-XXXXXX";
static int top_dir = -1;
static struct walk whole[STREAMS], made[STREAMS], other;

static void must(bool so)
{
	if (!so)
		abort();
}

/* ── files ───────────────────────────────────────────────────────────────────────────────────────────── */

static void put(int dir, const char *name, const void *bytes, size_t size)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && (!size || write(fd, bytes, size) == (ssize_t)size));
	close(fd);
}

/* Remove a trace with all files that it can have. */
static void remove_trace(const char *name)
{
	static const char *const inner[] = { "index/a.idx", "index/b.idx", "index", "a", "b", "metadata" };
	int dir = openat(top_dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(inner); i++)
		unlinkat(dir, inner[i], i == 2 ? AT_REMOVEDIR : 0);
	close(dir);
	unlinkat(top_dir, name, AT_REMOVEDIR);
}

static const char *path_of(const char *name)
{
	static char path[sizeof(top) + 16];

	snprintf(path, sizeof(path), "%s/%.10s", top, name);
	return path;
}

void fuzz_set_up(void)
{
	must(mkdtemp(top) != NULL && (top_dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
	for (unsigned i = 0; i < TEXTS; i++) {
		int dir = -1;

		must(mkdirat(top_dir, folders[i], 0700) == 0 &&
		     (dir = openat(top_dir, folders[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0);
		put(dir, "metadata", metadata[i].text, strlen(metadata[i].text));
		close(dir);
	}
}

void fuzz_clean_up(void)
{
	for (unsigned i = 0; i < TEXTS; i++)
		remove_trace(folders[i]);
	remove_trace("made");
	close(top_dir);
	rmdir(top);
}

/* ── results of a stream ─────────────────────────────────────────────────────────────────────────────── */

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9E3779B97F4A7C15u ^ hash >> 29;
}

/* Hash all values of a scope of the record. */
static uint64_t hash_part(struct wmk_read_stream *stream, unsigned part, uint64_t hash)
{
	struct wmk_ctf_walk *walk = &stream->record.walk;
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, part);
	struct wmk_ctf_item item;

	wmk_ctf_walk_enter(walk, program);
	while (wmk_ctf_next(walk, &item)) {
		hash = mixed(hash, (uint64_t)item.op->code << 1 | item.is_end);
		if (item.op->code <= WMK_CTF_FLAGS)
			hash = mixed(hash, item.value.u);
		for (size_t i = 0; item.op->code >= WMK_CTF_STRING && item.op->code <= WMK_CTF_BLOB && i < item.len;
		     i++)
			hash = mixed(hash, (uint8_t)item.text[i]);
	}
	must(walk->err == 0);
	return hash;
}

static uint64_t hash_of(struct wmk_read_stream *stream, int got)
{
	const struct wmk_read_packet *packet = &stream->packet;
	uint64_t hash = mixed((uint64_t)got, stream->decoder->class->id);

	if (got == WMK_READ_PACKET)
		return mixed(mixed(mixed(mixed(hash, packet->begin), packet->end), packet->lost), packet->sequence);
	hash = mixed(mixed(hash, stream->record.event->id), stream->record.time);
	for (unsigned part = WMK_READ_COMMON; part < WMK_READ_SCOPES; part++)
		hash = hash_part(stream, part, hash);
	return hash;
}

static void check_place(const struct wmk_read_stream *stream, uint64_t before)
{
	const struct wmk_ctf_record *record = &stream->record;

	must(record->at >= before && record->common_at >= record->at && record->context_at >= record->common_at &&
	     record->payload_at >= record->context_at && record->end >= record->payload_at &&
	     record->end <= stream->packet.content && record->end > record->at);
}

/* Every damage has a message. */
static void check_damage(int err)
{
	must(err < 0 && wmk_error_number() < 0 && wmk_error_get(0) && *wmk_error_get(0));
	wmk_error_clear();
}

static void take(struct walk *walk, struct wmk_read_stream *stream, int got)
{
	const struct wmk_read_packet *packet = &stream->packet;
	const int64_t ends = wmk_read_scale_ns(&stream->scale, packet->end);
	struct item *item = &walk->items[walk->n];

	must(walk->n < ITEMS_MAX);
	*item = (struct item){ got, got == WMK_READ_PACKET && packet->is_cut, stream->ns, hash_of(stream, got) };
	if (!walk->n) {
		walk->class = stream->decoder->class->id;
		walk->instance = stream->instance;
	}
	/* (the order of times includes the packet's begin) */
	if ((walk->n && item->ns < item[-1].ns) || (packet->has_end && packet->end && item->ns > ends))
		walk->is_tidy = false;
	walk->n++;
}

/* Read up to the end, or until there is no more data. It ends, because most calls advance by at least one bit. */
static void go(struct walk *walk, struct wmk_read_stream *stream)
{
	uint64_t calls = 0, before = 0;
	int got;

	while ((got = wmk_read_stream_next(stream)) != WMK_READ_END && got != WMK_READ_LATER) {
		must(++calls < 3 * ITEMS_MAX);
		if (got < 0) {
			check_damage(got);
			walk->is_tidy = false;
			continue;
		}
		if (got == WMK_READ_RECORD)
			check_place(stream, before);
		before = got == WMK_READ_RECORD ? stream->record.end : stream->packet.records_at;
		take(walk, stream, got);
	}
	must(got == WMK_READ_LATER || wmk_read_stream_next(stream) == WMK_READ_END);
}

static void begin(struct walk *walk)
{
	walk->n = 0;
	walk->is_tidy = true;
}

static struct wmk_read_stream *opened(const struct wmk_read_trace *trace, unsigned which)
{
	struct wmk_read_stream *stream;

	must(wmk_read_stream_open(trace, names[which], &stream) >= 0);
	return stream;
}

static bool is_same(const struct item *a, const struct item *b)
{
	return a->got == b->got && a->ns == b->ns && a->hash == b->hash;
}

static void check_same(const struct walk *a, const struct walk *b)
{
	must(a->n == b->n);
	for (uint32_t i = 0; i < a->n; i++)
		must(is_same(&a->items[i], &b->items[i]));
}

/* ── other ways to read ──────────────────────────────────────────────────────────────────────────────── */

static void read_small(const struct wmk_read_trace *trace, unsigned which, size_t window)
{
	struct wmk_read_stream *stream = opened(trace, which);

	free(stream->buffer);
	stream->cap = window;
	must((stream->buffer = malloc(window)) != NULL);
	begin(&other);
	go(&other, stream);
	wmk_read_stream_close(stream);
	check_same(&whole[which], &other);
}

/* The results are those of the selected time, in this order; all of them if the stream is tidy. */
static void read_part(const struct wmk_read_trace *trace, const struct walk *all, unsigned which, int64_t from,
		      int64_t to)
{
	struct wmk_read_stream *stream = opened(trace, which);
	uint32_t at = 0;

	stream->from = from;
	stream->to = to;
	begin(&other);
	go(&other, stream);
	wmk_read_stream_close(stream);
	must(!all->is_tidy || other.is_tidy);
	for (uint32_t i = 0; i < other.n; i++, at++) {
		for (; at < all->n && !is_same(&all->items[at], &other.items[i]); at++)
			must(!all->is_tidy || all->items[at].got == WMK_READ_PACKET || all->items[at].ns < from ||
			     all->items[at].ns > to);
		must(at < all->n);
		must(other.items[i].got == WMK_READ_PACKET || (other.items[i].ns >= from && other.items[i].ns <= to));
	}
	for (; at < all->n && all->is_tidy; at++)
		must(all->items[at].got == WMK_READ_PACKET || all->items[at].ns < from || all->items[at].ns > to);
}

/* Compare up to the packet in which the file ends, or in which the walk was truncated. */
static void check_begin(const struct walk *all, const struct walk *part, bool is_all)
{
	must(part->n <= all->n);
	for (uint32_t i = 0; i < part->n; i++)
		must(is_same(&all->items[i], &part->items[i]));
	must(part->n == all->n || all->items[part->n].got == WMK_READ_PACKET);
	must(!is_all || part->n == all->n || all->items[part->n].is_cut);
}

static void read_growing(const struct wmk_read_trace *trace, unsigned which, const uint8_t *bytes, size_t size,
			 size_t cut)
{
	struct wmk_read_stream *stream = opened(trace, which);

	stream->growth = WMK_READ_SO_FAR;
	stream->limit = cut;
	begin(&other);
	go(&other, stream);
	wmk_read_stream_close(stream);
	check_begin(&whole[which], &other, false);

	put(trace->dir, names[which], bytes, cut);
	stream = opened(trace, which);
	stream->growth = WMK_READ_LIVE;
	begin(&other);
	for (unsigned i = 0; i < 2; i++) {
		if (wmk_read_stream_poll(stream) > 0)
			go(&other, stream);
		put(trace->dir, names[which], bytes, size);
	}
	wmk_read_stream_close(stream);
	check_begin(&whole[which], &other, true);
}

/* ── both streams ────────────────────────────────────────────────────────────────────────────────────── */

static void on_damage(void *data, const struct wmk_read_stream *stream, int err)
{
	(void)data;
	must(stream != NULL);
	check_damage(err);
}

/* Find the stream. The result must be its next one. */
static unsigned check_next(struct wmk_read_stream *stream, int got, uint32_t at[STREAMS])
{
	const unsigned which = strcmp(stream->file, names[1]) == 0;
	const struct item now = { got, false, stream->ns, hash_of(stream, got) };

	must(at[which] < whole[which].n && is_same(&whole[which].items[at[which]++], &now));
	return which;
}

/* Whether stream `a` precedes the other one at equal times. */
static bool is_first(unsigned a)
{
	const struct walk *mine = &whole[a], *its = &whole[!a];

	if (mine->class != its->class)
		return mine->class < its->class;
	return mine->instance != its->instance ? mine->instance < its->instance : a == 0;
}

static void read_merged(const struct wmk_read_trace *trace)
{
	uint32_t at[STREAMS] = { 0, 0 };
	struct wmk_read_stream *stream;
	struct wmk_read_merge *merge;
	int got;

	must(wmk_read_merge_create(on_damage, NULL, &merge) >= 0 && wmk_read_merge_add(merge, trace) >= 0);
	while ((got = wmk_read_merge_next(merge, &stream)) != WMK_READ_END) {
		must(got > 0);
		const unsigned which = check_next(stream, got, at), not = !which;

		must(at[not ] == whole[not ].n || stream->ns < whole[not ].items[at[not ]].ns ||
		     (stream->ns == whole[not ].items[at[not ]].ns && is_first(which)));
	}
	must(at[0] == whole[0].n && at[1] == whole[1].n);
	wmk_read_merge_free(merge);
}

static enum wmk_read_still is_over(void *data)
{
	(void)data;
	return WMK_READ_OVER;
}

static int on_opened(void *data, struct wmk_read_trace *trace)
{
	(void)data;
	(void)trace;
	return 0;
}

static void on_leaving(void *data, struct wmk_read_stream *stream)
{
	(void)data;
	(void)stream;
}

static void on_closing(void *data, const struct wmk_read_trace *trace)
{
	(void)data;
	(void)trace;
}

static void read_live(const char *path)
{
	const struct wmk_read_live_ops ops = { on_damage, on_opened, on_leaving, on_closing, NULL };
	struct wmk_read_follow follow = { .still = is_over, .wake = eventfd(1, EFD_CLOEXEC) };
	uint32_t at[STREAMS] = { 0, 0 };
	struct wmk_read_stream *stream;
	struct wmk_read_live *live = NULL;
	int got;

	must(follow.wake >= 0 && wmk_read_live_create(&path, 1, &follow, &ops, &live) >= 0);
	while ((got = wmk_read_live_next(live, &stream)) != WMK_READ_END) {
		must(got > 0);
		if (got == WMK_READ_LATER)
			must(wmk_read_live_wait(live) >= 0);
		else
			check_next(stream, got, at);
	}
	must(at[0] == whole[0].n && at[1] == whole[1].n);
	wmk_read_live_free(live);
	close(follow.wake);
}

/* ── export ───────────────────────────────────────────────────────────────────────────────────── */

/* Export a stream, and keep its results in `walk`. Negative: it cannot be exported. */
static int write_stream(const struct wmk_read_exporter *form, void *form_whole, struct wmk_read_stream *stream,
			void **state, struct walk *walk)
{
	struct wmk_print_text out = { .text = NULL };
	int got, err = 0;

	begin(walk);
	while (err >= 0 && (got = wmk_read_stream_next(stream)) != WMK_READ_END) {
		if (got < 0) {
			check_damage(got);
			walk->is_tidy = false;
			continue;
		}
		if (!*state)
			err = form->stream(form_whole, stream, state);
		if (err >= 0)
			err = got == WMK_READ_PACKET ? form->packet(*state, stream)
						     : form->record(*state, stream, &out);
		if (err >= 0)
			take(walk, stream, got);
		else
			check_damage(err);
		err = got == WMK_READ_RECORD && (err == -EPROTO || err == -ENODATA || err == -E2BIG) ? 0 : err;
	}
	return err;
}

/* Only the split into packets may differ. */
static void check_made(const struct walk *was, const struct walk *is)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < is->n; i++) {
		if (is->items[i].got == WMK_READ_PACKET)
			continue;
		while (at < was->n && was->items[at].got == WMK_READ_PACKET)
			at++;
		must(at < was->n && is_same(&was->items[at++], &is->items[i]));
	}
	while (at < was->n && was->items[at].got == WMK_READ_PACKET)
		at++;
	must(at == was->n);
}

static void read_made(const int64_t part[2])
{
	struct wmk_read_trace *trace;

	must(wmk_read_trace_open(path_of("made"), path_of("made"), &trace) >= 0);
	for (uint32_t i = 0; i < trace->n_files; i++) {
		const unsigned which = strcmp(trace->files[i], names[1]) == 0;
		const bool is_tidy = made[which].is_tidy;
		struct wmk_read_stream *stream = opened(trace, which);

		begin(&other);
		go(&other, stream);
		wmk_read_stream_close(stream);
		check_made(&made[which], &other);
		must(!is_tidy || other.is_tidy);
		made[which] = other;
		read_part(trace, &made[which], which, part[0], part[1]);
	}
	wmk_read_trace_close(trace);
}

static void write_again(const struct wmk_read_trace *trace, const struct wmk_read_exporter *form, const int64_t part[2])
{
	void *state[STREAMS] = { NULL, NULL }, *form_whole;
	struct wmk_print_text out = { .text = NULL };
	int err = 0;

	remove_trace("made");
	must(form->create(path_of("made"), &form_whole) >= 0 && form->trace(form_whole, trace) >= 0 &&
	     form->begin(form_whole, &out) >= 0);
	for (unsigned i = 0; i < STREAMS && err >= 0; i++) {
		struct wmk_read_stream *stream = opened(trace, i);

		err = write_stream(form, form_whole, stream, &state[i], &made[i]);
		wmk_read_stream_close(stream);
	}
	if (err >= 0 && (err = form->end(form_whole, &out)) < 0)
		check_damage(err);
	for (unsigned i = 0; i < STREAMS; i++)
		if (state[i])
			form->stream_free(state[i]);
	form->free(form_whole);
	if (err >= 0)
		read_made(part);
}

/* ── an input ────────────────────────────────────────────────────────────────────────────────────────── */

/* Select the time from a record of the first or second stream to a later record. */
static void choose_part(uint8_t from, uint8_t to, int64_t part[2])
{
	const struct walk *walk = &whole[from % STREAMS];

	part[0] = walk->n ? walk->items[from / STREAMS % walk->n].ns + (from == 255) : 0;
	part[1] = walk->n && to ? walk->items[(from / STREAMS % walk->n + to) % walk->n].ns : INT64_MAX;
}

static void read_all(const struct wmk_read_trace *trace, unsigned text, const uint8_t *head,
		     const uint8_t *bytes[STREAMS], const size_t sizes[STREAMS])
{
	int64_t part[2];

	for (unsigned i = 0; i < STREAMS; i++) {
		struct wmk_read_stream *stream = opened(trace, i);

		begin(&whole[i]);
		go(&whole[i], stream);
		wmk_read_stream_close(stream);
	}
	choose_part(head[2], head[3], part);
	for (unsigned i = 0; i < STREAMS; i++) {
		read_small(trace, i, 1 + head[4] / 4);
		read_part(trace, &whole[i], i, part[0], part[1]);
		if (metadata[text].has_sizes)
			read_growing(trace, i, bytes[i], sizes[i], sizes[i] * head[4] / 256);
	}
	read_merged(trace);
	if (head[4] % 4 == 1)
		read_live(path_of(folders[text]));
	else if (head[4] % 4)
		write_again(trace, head[4] % 4 == 2 ? &wmk_read_ctf18 : &wmk_read_ctf2, part);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wmk_read_trace *traces[TEXTS];

	if (size < HEAD)
		return 0;
	const unsigned text = data[0] % TEXTS;
	const size_t rest = size - HEAD, first = data[1] * UNIT < rest ? data[1] * UNIT : rest;
	const uint8_t *bytes[STREAMS] = { data + HEAD, data + HEAD + first };
	const size_t sizes[STREAMS] = { first, rest - first };

	for (unsigned i = 0; i < TEXTS && !traces[i]; i++) {
		const char *path = path_of(folders[i]);
		int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		/* (an empty file is not a stream of the trace) */
		for (unsigned j = 0; j < STREAMS; j++)
			put(dir, names[j], "", 1);
		must(wmk_read_trace_open(path, path, &traces[i]) >= 0);
		close(dir);
	}
	for (unsigned i = 0; i < STREAMS; i++)
		put(traces[text]->dir, names[i], bytes[i], sizes[i]);
	read_all(traces[text], text, data, bytes, sizes);
	wmk_error_clear();
	return 0;
}
