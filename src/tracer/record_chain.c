/* SPDX-License-Identifier: MIT */
/*
 * record_chain.c - the recording path for several recorders, probes, all context fields, and all field types: this path
 * lists fragments, and the ring copies them. The rules of record.c also apply to record_chain.c.
 */
#include <errno.h>
#include <string.h>

#include "base/testpoint.h"
#include "base/utf8.h"
#include "ring/writer.h"
#include "tracer/context.h"
#include "tracer/filter_table.h"
#include "tracer/probe.h"
#include "tracer/record_chain.h"
#include "tracer/tls_owner.h"

#define STAGE_WORDS 64          /* context fields and the first run */
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_BYTES 3u

/*
 * The value that is recorded for a NULL array. The memory of the zeros is never written, so the memory costs only
 * address space.
 */
static const uint64_t zeros[8192];

struct build {
	struct waymark_ring_frag *frags;
	unsigned n;
	uint32_t total;
	unsigned cut;
	unsigned n_lens;
	uint64_t lens[WAYMARK_MAX_FIELDS];
	uint64_t stage[STAGE_WORDS];
};

static inline void add(struct build *b, const void *base, uint32_t len, uint32_t kind)
{
	b->frags[b->n++] = (struct waymark_ring_frag){ base, len, kind };
	b->total += len + (kind == WAYMARK_FRAG_TEXT);
}

/*
 * Add a text of at most `max` readable bytes. The length of the text is read once: if another thread changes the text
 * during the record, later fields keep their positions.
 */
static void add_text(struct build *b, const struct waymark_ref *ref, uint32_t limit, size_t max)
{
	const char *text = ref->base;
	size_t len = ref->len;

	if (!text) {
		add(b, "(null)", 6, WAYMARK_FRAG_TEXT);
		return;
	}
	if (len == SIZE_MAX)
		len = strnlen(text, max <= limit ? max : (size_t)limit + 1);
	else if (len > max)
		len = max;
	if (wmk_likely(len <= limit)) {
		add(b, text, (uint32_t)len, WAYMARK_FRAG_TEXT);
		return;
	}
	if (limit < ELLIPSIS_BYTES) {
		add(b, text, (uint32_t)wmk_utf8_whole(text, limit), WAYMARK_FRAG_TEXT);
	} else {
		add(b, text, (uint32_t)wmk_utf8_whole(text, limit - ELLIPSIS_BYTES), WAYMARK_FRAG_TEXT_OPEN);
		add(b, ELLIPSIS, ELLIPSIS_BYTES, WAYMARK_FRAG_TEXT);
	}
	b->cut++;
}

static void add_sequence(struct build *b, const struct waymark_ref *ref, uint32_t limit, uint32_t elem)
{
	size_t len = ref->base ? ref->len : 0;

	if (wmk_unlikely(len > limit)) {
		len = limit;
		b->cut++;
	}
	uint32_t count = (uint32_t)(len / elem);

	b->lens[b->n_lens] = count;
	add(b, &b->lens[b->n_lens++], 4, WAYMARK_FRAG_WORDS);
	if (count)
		add(b, ref->base, count * elem, WAYMARK_FRAG_BYTES);
}

static bool add_array(struct build *b, const struct waymark_ref *ref, uint32_t bytes)
{
	if (wmk_unlikely(!ref->base)) {
		if (bytes > sizeof(zeros))
			return false;
		add(b, zeros, bytes, WAYMARK_FRAG_BYTES);
	} else if (bytes) {
		add(b, ref->base, bytes, WAYMARK_FRAG_BYTES);
	}
	return true;
}

/*
 * Stage the context fields, and the scalars that directly follow the context fields, in one block, which becomes one
 * fragment.
 */
static unsigned stage_contexts(struct build *b, const struct waymark_recorder *e, const struct wmk_event *event,
			       const uint64_t **words, const void *ip)
{
	char *to = (char *)b->stage;
	unsigned op = 0;
	uint32_t n_contexts = wmk_read_guarded(e->n_contexts);

	for (uint32_t i = 0; i < n_contexts && i < WMK_RECORDER_CONTEXTS; i++) {
		const struct wmk_context_desc *context = wmk_context_get(wmk_read_guarded(e->contexts[i]));

		if (wmk_unlikely(!context))
			continue;       /* the recorder was reused: the guard rejects the record later */
		context->fill(to, ip);
		to += context->bytes;
	}
	if (op < event->n_ops && event->ops[op].kind == WMK_OP_ZERO) {
		*to++ = 0;
		op++;
	}
	if (to != (char *)b->stage && op < event->n_ops && event->ops[op].kind == WMK_OP_RUN) {
		uint32_t bytes = event->ops[op].bytes;

		/* whole words: the application staged them with wide stores, so they are read with wide loads */
		for (unsigned w = 0; w < event->ops[op].words; w++, to += 8)
			memcpy(to, *words + w, 8);
		to -= event->ops[op].words * 8u - bytes;
		*words += event->ops[op].words;
		op++;
	}
	if (to != (char *)b->stage)
		add(b, b->stage, (uint32_t)(to - (char *)b->stage), WAYMARK_FRAG_WORDS);
	return op;
}

/* Return the precision argument of "%.*s"; a negative argument means no limit. */
static size_t precision(const uint64_t *words, uint32_t before)
{
	int32_t value;

	memcpy(&value, (const char *)words - before, sizeof(value));
	return value < 0 ? SIZE_MAX : (size_t)value;
}

static bool build(struct build *b, const struct waymark_recorder *e, const struct wmk_event *event,
		  const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	uint32_t limit = wmk_read_guarded(e->field_limit);

	b->n = b->cut = b->n_lens = b->total = 0;
	for (unsigned i = stage_contexts(b, e, event, &words, ip); i < event->n_ops; i++) {
		const struct wmk_op *op = &event->ops[i];

		switch (op->kind) {
		case WMK_OP_RUN:
			add(b, words, op->bytes, WAYMARK_FRAG_WORDS);
			words += op->words;
			break;
		case WMK_OP_STRING:
			add_text(b, refs++, limit, SIZE_MAX);
			break;
		case WMK_OP_STRING_MAX:
			add_text(b, refs++, limit, op->bytes);
			break;
		case WMK_OP_STRING_ARG:
			add_text(b, refs++, limit, precision(words, op->bytes));
			break;
		case WMK_OP_TEXT:
			add_text(b, refs++, limit, SIZE_MAX);
			break;
		case WMK_OP_BLOB:
		case WMK_OP_SEQ:
			add_sequence(b, refs++, limit, op->bytes);
			break;
		case WMK_OP_ARRAY:
			if (!add_array(b, refs++, op->bytes))
				return false;
			break;
		default:
			break;
		}
	}
	return true;
}

/*
 * Count a record that is lost before it reaches a ring. The set may be retired at any time, but the mapping of the set
 * stays within the grace-period section. Returns 0 or -ESTALE.
 */
static int count_lost(struct waymark_recorder *e, uint64_t gen, bool own)
{
	struct wmk_ring_inside inside = wmk_ring_grace_enter();

	WMK_TESTPOINT(record_losing);
	bool there = __atomic_load_n(&e->gen, __ATOMIC_SEQ_CST) == gen && wmk_read_guarded(e->set);

	if (there)
		wmk_ring_count_lost(wmk_read_guarded(e->set));
	if (there && !own)
		wmk_ring_explain(wmk_read_guarded(e->set), WMK_RING_WHY_SHARED_STORAGE);
	WMK_TESTPOINT(record_lost);
	wmk_ring_grace_leave(inside);
	return there ? 0 : -ESTALE;
}

static inline __attribute__((always_inline)) int record_frags(struct build *b, struct waymark_recorder *e, uint64_t gen,
							      const struct wmk_event *event, const uint64_t *words,
							      const struct waymark_ref *refs, const void *ip)
{
	struct waymark_ring_set *set = wmk_read_guarded(e->set);
	int rc;

	if (wmk_unlikely(!set))
		return -ESTALE;
	if (wmk_unlikely(!build(b, e, event, words, refs, ip)))
		return count_lost(e, gen, true);
	rc = wmk_ring_write(set, &e->gen, gen, wmk_read_guarded(e->id), b->frags, b->n, b->total);
	if (wmk_unlikely(b->cut) && rc == 0) {
		WMK_TESTPOINT(record_cut);
		wmk_ring_count_cut(set, b->cut);
	}
	return rc;
}

int wmk_record_small(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event, const uint64_t *words,
		     const struct waymark_ref *refs, const void *ip)
{
	struct waymark_ring_frag frags[WMK_RECORD_SMALL_FRAGS];
	struct build b;

	b.frags = frags;
	return record_frags(&b, e, gen, event, words, refs, ip);
}

static __attribute__((noinline)) int record_large(struct waymark_recorder *e, uint64_t gen,
						  const struct wmk_event *event, const uint64_t *words,
						  const struct waymark_ref *refs, const void *ip)
{
	struct waymark_ring_frag frags[WAYMARK_RING_MAX_FRAGS];
	struct build b;

	b.frags = frags;
	return record_frags(&b, e, gen, event, words, refs, ip);
}

static __attribute__((noinline, cold)) void record_probe(struct waymark_recorder *e, uint64_t gen,
							 struct wmk_event *event, const uint64_t *words,
							 const struct waymark_ref *refs)
{
	if (wmk_thread.in_probe)
		return;
	wmk_thread.in_probe++;
	struct wmk_ring_inside inside = wmk_ring_grace_enter();

	WMK_TESTPOINT(record_probing);
	if (__atomic_load_n(&e->gen, __ATOMIC_SEQ_CST) == gen)
		wmk_probe_call(event, wmk_read_guarded(e->probe), wmk_read_guarded(e->data), words, refs);
	WMK_TESTPOINT(record_probed);
	wmk_ring_grace_leave(inside);
	wmk_thread.in_probe--;
}

/*
 * Record for one recorder. Returns -ESTALE if the recorder was removed before the record was committed. Another
 * recorder may have replaced the removed recorder.
 */
static int record_one(struct waymark_recorder *e, uint64_t gen, struct wmk_event *event, const uint64_t *words,
	       const struct waymark_ref *refs, const void *ip, bool own)
{
	if (wmk_unlikely(!own))
		return count_lost(e, gen, false);
	if (wmk_read_guarded(e->probe)) {
		record_probe(e, gen, event, words, refs);
		return 0;
	}
	const struct wmk_filter_block *filter = wmk_read_guarded(e->filter);

	if (filter) {
		int wanted = wmk_filter_any_accepts(e, gen, filter, event, words, refs, ip);

		if (wanted <= 0)
			return wanted;
	}
	return wmk_record_is_small(event) ? wmk_record_small(e, gen, event, words, refs, ip)
					  : record_large(e, gen, event, words, refs, ip);
}

/* Visit each recorder of the chain once, in order; if the current recorder is removed, start again from the head. */
static void walk_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip,
		       bool own, bool probes)
{
	uint64_t done = 0;
	struct waymark_recorder *e;

again:
	e = __atomic_load_n(&desc->chain, __ATOMIC_ACQUIRE); /* (T3) */
	while (e) {
		uint64_t gen = __atomic_load_n(&e->gen, __ATOMIC_ACQUIRE); /* (T4), (T5) */
		struct wmk_event *event = wmk_read_guarded(desc->event);

		if (gen == 0 || wmk_read_guarded(e->event) != event)
			goto again;
		/* acquire: the generation is checked again after this load, so `order` belongs to it (T5) */
		uint64_t order = __atomic_load_n(&e->order, __ATOMIC_ACQUIRE);

		if (wmk_unlikely(__atomic_load_n(&e->gen, __ATOMIC_RELAXED) != gen))
			goto again;
		if (order > done && probes == (wmk_read_guarded(e->probe) != NULL)) {
			if (record_one(e, gen, event, words, refs, ip, own) == -ESTALE)
				goto again;
			done = order;
		}
		struct waymark_recorder *next = __atomic_load_n(&e->next, __ATOMIC_ACQUIRE);

		if (wmk_unlikely(__atomic_load_n(&e->gen, __ATOMIC_RELAXED) != gen))
			goto again;
		e = next;
	}
}

void wmk_record_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	int saved = errno;
	bool own = wmk_task_is_own();
	const struct wmk_event *event = wmk_read_guarded(desc->event);

	if (own && event && wmk_unlikely(__atomic_load_n(&event->n_probes, __ATOMIC_RELAXED)))
		walk_chain(desc, words, refs, ip, own, true);
	WMK_TESTPOINT(record_walking);
	walk_chain(desc, words, refs, ip, own, false);
	WMK_TESTPOINT(record_walked);
	errno = saved;
}
