/* SPDX-License-Identifier: MIT */
/*
 * merge.c - merge many streams by time with a loser tree (see merge.h).
 *
 * Leaf i is stream i. Each inner node holds the stream that lost the comparison at this node; tree[0] is the overall
 * winner. After the winner's stream has advanced, the merge compares it with the losers on its path to the root. No
 * comparison is needed while the winner's time is before `until`, which is the earliest time of the losers on the path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "read/merge.h"

struct merged_stream {
	struct wmk_read_stream *stream;
	int got;                   /* the result of wmk_read_stream_next() */
	int64_t ns;                /* INT64_MAX after the end */
	uint32_t rank;             /* order among equal times */
};

struct wmk_read_merge {
	wmk_read_damage damage;
	void *data;
	struct merged_stream *leaves;
	uint32_t n, cap;
	uint32_t *tree;            /* n elements; NULL before the first record */
	struct merged_stream *first;        /* the winner */
	int64_t until;             /* ns: the winner wins again before this time; INT64_MIN: unknown */
};

int wmk_read_merge_create(wmk_read_damage damage, void *data, struct wmk_read_merge **merge)
{
	struct wmk_read_merge *m = calloc(1, sizeof(*m));

	if (!m)
		return wmk_error(-ENOMEM, "no memory to merge traces");
	m->damage = damage;
	m->data = data;
	m->until = INT64_MIN;
	*merge = m;
	return 0;
}

void wmk_read_merge_free(struct wmk_read_merge *merge)
{
	if (!merge)
		return;
	for (uint32_t i = 0; i < merge->n; i++)
		wmk_read_stream_close(merge->leaves[i].stream);
	free(merge->leaves);
	free(merge->tree);
	free(merge);
}

int wmk_read_merge_add(struct wmk_read_merge *merge, const struct wmk_read_trace *trace)
{
	for (uint32_t i = 0; i < merge->n; i++)
		if (i == 0 || merge->leaves[i].stream->trace != merge->leaves[i - 1].stream->trace)
			wmk_read_trace_join(merge->leaves[i].stream->trace, trace);
	for (uint32_t i = 0; i < trace->n_files; i++) {
		struct merged_stream *leaves = wmk_array_room(merge->leaves, merge->n, &merge->cap, sizeof(*leaves));
		struct wmk_read_stream *stream;
		int err;

		if (!leaves)
			return wmk_error(-ENOMEM, "no memory to merge traces");
		merge->leaves = leaves;
		err = wmk_read_stream_open(trace, trace->files[i], &stream);
		if (err < 0)
			return err;
		if (trace->is_written) {
			stream->growth = WMK_READ_SO_FAR;
			stream->limit = stream->frames ? UINT64_MAX : trace->sizes[i];
		}
		merge->leaves[merge->n++] = (struct merged_stream){ .stream = stream };
	}
	return 0;
}

void wmk_read_merge_trim(struct wmk_read_merge *merge, int64_t from, int64_t to)
{
	for (uint32_t i = 0; i < merge->n; i++) {
		merge->leaves[i].stream->from = from;
		merge->leaves[i].stream->to = to;
	}
}

/*
 * 0: *ns is the begin of the first packet with a record; 1: the stream has no record, and *ns is the begin of its first
 * packet; -errno.
 */
static int stream_first(const struct wmk_read_stream *stream, int64_t *ns)
{
	struct wmk_read_stream *other;
	int err = wmk_read_stream_open(stream->trace, stream->file, &other), got;
	int64_t begin = 0;

	if (err < 0)
		return err;
	err = -ENODATA;
	while ((got = wmk_read_stream_next(other)) == WMK_READ_PACKET && other->packet.has_begin) {
		begin = other->ns;
		if (err < 0)
			*ns = begin;
		err = 1;
	}
	wmk_read_stream_close(other);
	if (err < 0 || got == WMK_READ_END)
		return err;
	*ns = begin;
	return 0;
}

void wmk_read_first_add(struct wmk_read_first *first, const struct wmk_read_stream *stream)
{
	int64_t ns = 0;
	const int err = stream_first(stream, &ns);
	const bool is_better = first->err < 0 || (first->err == 1 && err == 0);

	if (err >= 0 && (is_better || (err == first->err && ns < first->ns)))
		*first = (struct wmk_read_first){ .err = err, .ns = ns };
	wmk_error_clear();
}

int wmk_read_first_result(const struct wmk_read_first *first, int64_t *ns)
{
	*ns = first->ns;
	return first->err < 0 ? wmk_errorx(-ENODATA, "no packet of the trace has a time") : 0;
}

int wmk_read_merge_first(const struct wmk_read_merge *merge, int64_t *ns)
{
	struct wmk_read_first first = { .err = -ENODATA };

	for (uint32_t i = 0; i < merge->n; i++)
		wmk_read_first_add(&first, merge->leaves[i].stream);
	return wmk_read_first_result(&first, ns);
}

/*
 * Store `got`, which is a result of the leaf's stream, in the leaf. If `got` reports damage, the function reports the
 * damage and advances the stream to its next record.
 */
static void take(struct wmk_read_merge *merge, struct merged_stream *leaf, int got)
{
	for (; got < 0; got = wmk_read_stream_next(leaf->stream))
		merge->damage(merge->data, leaf->stream, got);
	leaf->got = got;
	leaf->ns = got == WMK_READ_END ? INT64_MAX : leaf->stream->ns;
}

/* Before the first packet, the merge knows only the trace of a stream, so the order of two streams may be undefined. */
int wmk_read_stream_order(const struct wmk_read_stream *a, const struct wmk_read_stream *b)
{
	const struct wmk_ctf_class *left = a->trace->class, *right = b->trace->class;
	int order;

	if (a->trace != b->trace) {
		if (left->has_uuid != right->has_uuid)
			return left->has_uuid ? -1 : 1;
		order = left->has_uuid ? memcmp(left->uuid, right->uuid, sizeof(left->uuid)) : 0;
		if (order || (order = strcmp(a->trace->name, b->trace->name)))
			return order;
	}
	if (!a->decoder || !b->decoder)
		return 0;
	if (a->decoder->class->id != b->decoder->class->id)
		return a->decoder->class->id < b->decoder->class->id ? -1 : 1;
	return a->instance < b->instance ? -1 : a->instance > b->instance;
}

static bool is_before(const struct wmk_read_merge *merge, uint32_t a, uint32_t b)
{
	const struct merged_stream *left = &merge->leaves[a], *right = &merge->leaves[b];

	if (left->ns != right->ns)
		return left->ns < right->ns;
	if (!left->got != !right->got)
		return left->got != 0;
	return left->rank < right->rank;
}

/* Return the earliest time of the streams that lost against the winner, which is leaf `i`. */
static int64_t next_best(const struct wmk_read_merge *merge, uint32_t i)
{
	int64_t least = INT64_MAX;

	for (uint32_t node = (i + merge->n) / 2; node > 0; node /= 2)
		if (merge->leaves[merge->tree[node]].ns < least)
			least = merge->leaves[merge->tree[node]].ns;
	return least;
}

/*
 * Compare leaf `i` with the losers on the path from the leaf to the root. Compute `until` only if the same leaf wins
 * twice in a row, because such a leaf often wins many more times.
 */
static void play(struct wmk_read_merge *merge, uint32_t i)
{
	uint32_t winner = i;

	for (uint32_t node = (i + merge->n) / 2; node > 0; node /= 2)
		if (is_before(merge, merge->tree[node], winner)) {
			uint32_t loser = winner;

			winner = merge->tree[node];
			merge->tree[node] = loser;
		}
	merge->until = winner == merge->tree[0] ? next_best(merge, i) : INT64_MIN;
	merge->first = &merge->leaves[winner];
	merge->tree[0] = winner;
}

/* Build the tree below `node`: the function returns the winner, and stores the losers in the nodes. */
static uint32_t found(struct wmk_read_merge *merge, uint32_t node)
{
	uint32_t left, right;

	if (node >= merge->n)
		return node - merge->n;
	left = found(merge, 2 * node);
	right = found(merge, 2 * node + 1);
	merge->tree[node] = is_before(merge, left, right) ? right : left;
	return merge->tree[node] == right ? left : right;
}

static int by_order(const void *left, const void *right)
{
	const struct merged_stream *a = *(struct merged_stream *const *)left,
				   *b = *(struct merged_stream *const *)right;
	int order;

	/* (a stream without any packet has ended and needs no order) */
	if (!a->stream->decoder != !b->stream->decoder)
		return a->stream->decoder ? -1 : 1;
	order = wmk_read_stream_order(a->stream, b->stream);
	return order ? order : a < b ? -1 : 1;
}

/* Order the streams. The class and the number of a stream are known after its first packet header has been read. */
static int rank(struct wmk_read_merge *merge)
{
	struct merged_stream **leaves = malloc((merge->n ? merge->n : 1) * sizeof(struct merged_stream *));

	if (!leaves)
		return wmk_error(-ENOMEM, "no memory to merge %u streams", merge->n);
	for (uint32_t i = 0; i < merge->n; i++)
		leaves[i] = &merge->leaves[i];
	qsort(leaves, merge->n, sizeof(struct merged_stream *), by_order);
	for (uint32_t i = 0; i < merge->n; i++)
		leaves[i]->rank = i;
	free(leaves);
	return 0;
}

static int begin(struct wmk_read_merge *merge)
{
	uint32_t *tree = calloc(merge->n ? merge->n : 1, sizeof(*tree));
	int err;

	if (!tree)
		return wmk_error(-ENOMEM, "no memory to merge %u streams", merge->n);
	for (uint32_t i = 0; i < merge->n; i++)
		take(merge, &merge->leaves[i], wmk_read_stream_next(merge->leaves[i].stream));
	err = rank(merge);
	if (err < 0) {
		free(tree);
		return err;
	}
	merge->tree = tree;
	if (merge->n) {
		tree[0] = found(merge, 1);
		merge->first = &merge->leaves[tree[0]];
	}
	return 0;
}

/*
 * Store `got`, the next result of the winner's stream, and find the new winner. The first call of the function finds
 * the first winner.
 */
static __attribute__((noinline)) int next_of_all(struct wmk_read_merge *merge, int got, struct wmk_read_stream **stream)
{
	if (!merge->tree) {
		int err = begin(merge);

		if (err < 0)
			return err;
	} else if (merge->n) {
		take(merge, merge->first, got);
		play(merge, merge->tree[0]);
	}
	if (!merge->n)
		return WMK_READ_END;
	*stream = merge->first->stream;
	return merge->first->got;
}

int wmk_read_merge_next(struct wmk_read_merge *merge, struct wmk_read_stream **stream)
{
	struct merged_stream *first = merge->first;
	int got;

	if (!first)
		return next_of_all(merge, 0, stream);
	got = wmk_read_stream_next(first->stream);
	if (got <= 0 || first->stream->ns >= merge->until)
		return next_of_all(merge, got, stream);
	*stream = first->stream;
	return got;
}
