/* SPDX-License-Identifier: MIT */
/*
 * record.c - the recording path: from a site's staged words and references into the rings of all channels that want the event.
 *
 *     waymark_record() ── one recorder, one run of words, no context ──► wmk_ring_write(), inlined: no lock, no call
 *           ├─ one recorder, one run, one reference behind it ──► record_tail() ──► wmk_ring_write_tail(), likewise
 *           ├─ one recorder with a filter ──► filter_table.h, where it compares with constants, or wmk_filter_accepts(); then as without
 *           └─ anything else ──► walk_chain(): every recorder of the chain ──► stage contexts, build fragments ──► ring
 *
 * Any thread, any time, signal handlers included. Everything that is read before the ring's sequence is a proposal, which the guard
 * (recorder.c) confirms or not. Nothing here allocates, locks or prints.
 */
#include <errno.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/testpoint.h"
#include "base/utf8.h"
#include "ring/writer.h"
#include "tracer/filter_table.h"
#include "tracer/fork.h"
#include "tracer/tracer.h"

#define FRAGS_FEW 24            /* enough for most events, and small on a signal stack */
#define STAGE_WORDS 64          /* contexts and the first run */
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_BYTES 3u

/* What a NULL array is recorded as; never written, so it costs address space only. */
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

/* At most `max` bytes of the text are there to be read. The length is fixed here, once: what another thread does to the text meanwhile shifts no later field. */
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

/* Contexts, and what follows them without a reference in between, are staged in one block: one fragment. */
static unsigned stage_contexts(struct build *b, const struct waymark_recorder *e, const struct wmk_event *event, const uint64_t **words, const void *ip)
{
	char *to = (char *)b->stage;
	unsigned op = 0;
	uint32_t n_contexts = wmk_read_guarded(e->n_contexts);

	for (uint32_t i = 0; i < n_contexts && i < WMK_RECORDER_CONTEXTS; i++) {
		const struct wmk_context_desc *context = wmk_context_get(wmk_read_guarded(e->contexts[i]));

		if (wmk_unlikely(!context))
			continue;       /* it changed under our hands: the guard will say so */
		context->fill(to, ip);
		to += context->bytes;
	}
	if (op < event->n_ops && event->ops[op].kind == WMK_OP_ZERO) {
		*to++ = 0;
		op++;
	}
	if (to != (char *)b->stage && op < event->n_ops && event->ops[op].kind == WMK_OP_RUN) {
		uint32_t bytes = event->ops[op].bytes;

		/* whole words: what the program staged with wide stores is read with wide loads */
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

/* The argument of "%.*s"; a negative one bounds nothing. */
static size_t precision(const uint64_t *words, uint32_t before)
{
	int32_t value;

	memcpy(&value, (const char *)words - before, sizeof(value));
	return value < 0 ? SIZE_MAX : (size_t)value;
}

static bool build(struct build *b, const struct waymark_recorder *e, const struct wmk_event *event, const uint64_t *words,
		  const struct waymark_ref *refs, const void *ip)
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

/* A loss that no ring has seen. The set may be given up at this moment: who is counted in keeps its mapping. 0, or -ESTALE. */
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

static __attribute__((noinline)) int record_few(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event,
						const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	struct waymark_ring_frag frags[FRAGS_FEW];
	struct build b;

	b.frags = frags;
	return record_frags(&b, e, gen, event, words, refs, ip);
}

static __attribute__((noinline)) int record_many(struct waymark_recorder *e, uint64_t gen,
						 const struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs, const void *ip)
{
	struct waymark_ring_frag frags[WAYMARK_RING_MAX_FRAGS];
	struct build b;

	b.frags = frags;
	return record_frags(&b, e, gen, event, words, refs, ip);
}

static __attribute__((noinline, cold)) void record_probe(struct waymark_recorder *e, uint64_t gen,
							  struct wmk_event *event, const uint64_t *words, const struct waymark_ref *refs)
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

/* -ESTALE: it was taken out before anything was recorded, and another may be in its place. */
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
	return 2u * event->n_ops + 1 <= FRAGS_FEW ? record_few(e, gen, event, words, refs, ip) : record_many(e, gen, event, words, refs, ip);
}

/* Every place in the chain once, in their order; again from the head when a recorder was taken out under its feet. */
static void walk_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip, bool own, bool probes)
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
		/* acquire: the generation is looked at again after it, so that the order is that one's (T5) */
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

/* Probes first: they see an event before its record is written. */
static __attribute__((noinline)) void record_chain(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip)
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

/* Fill the cache for `e`. A signal handler that comes meanwhile, with other contexts, records without the cache. */
static __attribute__((noinline, cold)) int ctx_cache_fill(const struct waymark_recorder *e, uint64_t gen, uint16_t key)
{
	char *to = (char *)wmk_thread.ctx_cache;
	int err = 0;

	if (wmk_thread.ctx_cache_busy)
		return -EAGAIN;
	wmk_thread.ctx_cache_busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	wmk_thread.ctx_key = 0;
	for (unsigned i = 0; i < wmk_read_guarded(e->n_contexts) && i < WMK_RECORDER_CONTEXTS && !err; i++) {
		const struct wmk_context_desc *context = wmk_context_get(wmk_read_guarded(e->contexts[i]));

		if (!context || to + context->bytes > (char *)(wmk_thread.ctx_cache + WMK_CTX_CACHE_WORDS)) {
			err = -ESTALE;
		} else {
			context->fill(to, NULL);
			to += context->bytes;
		}
	}
	if (!err && __atomic_load_n(&e->gen, __ATOMIC_ACQUIRE) == gen)
		wmk_thread.ctx_key = key;
	atomic_signal_fence(memory_order_seq_cst);
	wmk_thread.ctx_cache_busy = 0;
	return wmk_thread.ctx_key == key ? 0 : -ESTALE;
}

/* Word by word, no vectors: a load that spans several stores cannot be forwarded. */
static inline uint64_t *copy_words(uint64_t *to, const uint64_t *from, unsigned n)
{
	for (; n; n--) {
		*to++ = *from++;
		__asm__ __volatile__("" : : : "memory");
	}
	return to;
}

static inline int record_cached_ctx(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event, const uint64_t *words, uint16_t key)
{
	uint64_t block[WMK_CTX_CACHE_WORDS + WMK_RING_FAST_LEN / 8], *end;
	struct waymark_ring_set *set = wmk_read_guarded(e->set);
	unsigned n = wmk_read_guarded(e->ctx_words), run = wmk_read_guarded(e->run_words);

	/* A recorder that is another event's by now fails at the guard: until then, no more is read than the program has staged. */
	if (wmk_unlikely(run > event->n_words))
		return -EAGAIN;
	if (wmk_unlikely(!set) || (wmk_unlikely(wmk_thread.ctx_key != key) && ctx_cache_fill(e, gen, key) < 0))
		return -EAGAIN;
	end = copy_words(block, wmk_thread.ctx_cache, n);
	copy_words(end, words, run);
	if (wmk_unlikely(*(volatile uint16_t *)&wmk_thread.ctx_key != key))
		return -EAGAIN;
	return wmk_ring_write_short(set, &e->gen, gen, wmk_read_guarded(e->id), block,
				    wmk_read_guarded(e->run_bytes) + 8 * n);
}

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WMK_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WMK_SANITIZED 1
#endif

/*
 * Up to 63 bytes are measured here, with aligned loads, which never reach a page that the text does not. Only where sequences run:
 * not under a memory checker that holds each byte against what was allocated.
 */
#if defined(__x86_64__) && !defined(WMK_SANITIZED)
static inline size_t text_length(const char *text, size_t max)
{
	const __m128i zero = _mm_setzero_si128(), *at = (const __m128i *)((uintptr_t)text & ~(uintptr_t)15);
	unsigned skip = (unsigned)(uintptr_t)text & 15;
	uint64_t found = 0;

	if (wmk_unlikely(((uintptr_t)at & 4095) > 4096 - 64))
		return strnlen(text, max);
	for (unsigned i = 0; i < 4; i++)
		found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(at + i), zero)) << (16 * i);
	found >>= skip;
	if (wmk_unlikely(!found))
		return strnlen(text, max);
	return (size_t)__builtin_ctzll(found) < max ? (size_t)__builtin_ctzll(found) : max;
}
#else
#define text_length strnlen
#endif

/* The run's words, if any, and a count of 4 bytes behind them, composed in registers (as above). */
static inline void append_count(uint64_t *to, const uint64_t *words, unsigned bytes, uint32_t count)
{
	unsigned last = bytes / 8, shift = bytes % 8 * 8;
	uint64_t word = shift ? words[last] & ((1ull << shift) - 1) : 0;

	to = copy_words(to, words, last);
	to[0] = word | (uint64_t)count << shift;
	if (shift > 32)
		to[1] = (uint64_t)count >> (64 - shift);
}

/*
 * A run, and a reference behind it: short, whole and not NULL. -ESTALE, or -EAGAIN: build it after all. What the program's references
 * are is the event's to say: `e` can have become another event's by now, which only the guard will tell.
 */
static inline int record_tail(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event,
			      const uint64_t *words, const struct waymark_ref *ref, uint16_t key)
{
	uint64_t block[WMK_CTX_CACHE_WORDS + WMK_RING_FAST_LEN / 8 + 2], *to = block;
	struct waymark_ring_set *set = wmk_read_guarded(e->set);
	size_t limit = wmk_read_guarded(e->field_limit), max = limit < WMK_RING_TAIL_MAX ? limit : WMK_RING_TAIL_MAX, n = ref->len;
	uint32_t len = event->run_bytes;
	unsigned kind = event->tail;
	bool counted = kind == WMK_OP_BLOB || kind == WMK_OP_SEQ;

	if (wmk_unlikely(!ref->base || !set || len > WMK_RING_FAST_LEN))
		return -EAGAIN;
	if (kind == WMK_OP_ARRAY) {
		n = event->tail_bytes;
		max = WMK_RING_TAIL_MAX;
	} else if (!counted && n == SIZE_MAX) {
		if (wmk_unlikely(wmk_rseq_cpu(set->rseq_offset) >= set->seq_cpus))
			return -EAGAIN;
		n = text_length(ref->base, max + 1);
	}
	if (wmk_unlikely(n > max))
		return -EAGAIN;
	if (key) {
		if (wmk_unlikely(wmk_thread.ctx_key != key) && ctx_cache_fill(e, gen, key) < 0)
			return -EAGAIN;
		to = copy_words(to, wmk_thread.ctx_cache, wmk_read_guarded(e->ctx_words));
	}
	if (counted) {
		uint32_t count = (uint32_t)n >> event->tail_shift;

		n = (size_t)count << event->tail_shift;
		append_count(to, words, len, count);
		len += 4;
	} else if (key) {
		copy_words(to, words, (len + 7) / 8);
	}
	if (key && wmk_unlikely(*(volatile uint16_t *)&wmk_thread.ctx_key != key))
		return -EAGAIN;
	if (key || counted)
		words = block;
	len += (uint32_t)((char *)to - (char *)block);
	if (kind == WMK_OP_STRING || kind == WMK_OP_TEXT)
		return wmk_ring_write_tail(set, &e->gen, gen, wmk_read_guarded(e->id), words, len, ref->base, (uint32_t)n, 1);
	return wmk_ring_write_tail(set, &e->gen, gen, wmk_read_guarded(e->id), words, len, ref->base, (uint32_t)n, 0);
}

/*
 * One channel wants it, and no probe: what follows the look at the chain need not walk. 0, or something else: walk after all. A filter
 * that is a comparison or a table has been evaluated already.
 */
static __attribute__((noinline)) int record_single(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event, const uint64_t *words,
					    const struct waymark_ref *refs, const void *ip)
{
	uint16_t key = wmk_read_guarded(e->ctx_key);
	const struct wmk_filter_block *filter = wmk_read_guarded(e->filter);

	if (filter) {
		int wanted = wmk_read_guarded(e->quick_end) ? 1
							: wmk_filter_accepts(e, gen, filter, event, words, refs, ip);

		if (wanted <= 0)
			return wanted;
		if (wmk_read_guarded(e->short_run) && wmk_read_guarded(e->set) && wmk_ring_write_short(wmk_read_guarded(e->set), &e->gen, gen, wmk_read_guarded(e->id), words,
											       wmk_read_guarded(e->run_bytes)) == 0)
			return 0;
	}
	if (wmk_read_guarded(e->tail) && event->tail != WMK_OP_RUN) {
		int rc = record_tail(e, gen, event, words, refs, key);

		if (wmk_likely(rc != -EAGAIN))
			return rc;
	} else if (key) {
		return record_cached_ctx(e, gen, event, words, key);
	}
	if (wmk_unlikely(2u * event->n_ops + 1 > FRAGS_FEW))
		return -EAGAIN;
	return record_few(e, gen, event, words, refs, ip) == -ESTALE;
}

/* What follows the look at the first recorder, `e`, with the generation that it had then. It has no filter, or one that has not refused. */
static __attribute__((noinline)) void record_unfiltered(struct waymark_desc *desc, const uint64_t *words,
							const struct waymark_ref *refs, const void *ip,
							struct waymark_recorder *e, uint64_t gen)
{
	const struct wmk_event *event;

	if (wmk_likely(!wmk_read_guarded(e->next) && wmk_thread.mark == 0)) {
		/* (T7) acquire: where it is plain there is a set; pairs with choose_path()'s store, and no later use of `e` has none */
		if (wmk_likely(__atomic_load_n(&e->plain, __ATOMIC_ACQUIRE) == wmk_read_guarded(desc->event))) {
			if (wmk_likely(wmk_ring_write_short(wmk_read_guarded(e->set), &e->gen, gen, wmk_read_guarded(e->id), words,
							    wmk_read_guarded(e->run_bytes)) == 0))
				return;
		} else if (!wmk_read_guarded(e->probe) && (event = wmk_read_guarded(desc->event)) != NULL && wmk_read_guarded(e->event) == event) {
			/* read once: at exit it becomes NULL */
			if (record_single(e, gen, event, words, refs, ip) == 0)
				return;
		}
	}
	record_chain(desc, words, refs, ip);
}

/* waymark_record() for a recorder with a table for a filter. */
static inline __attribute__((always_inline)) void record_by_any_table(struct waymark_desc *desc, const uint64_t *words,
							       const struct waymark_ref *refs, const void *ip,
							       struct waymark_recorder *e, uint64_t gen, bool is_short)
{
	const struct wmk_filter_block *block = wmk_read_guarded(e->filter);
	const struct wmk_event *event = wmk_read_guarded(desc->event);      /* NULL at exit */

	if (wmk_likely(block && event) && wmk_filter_table_accepts(e, gen, block, event, words, refs, is_short) == 0)
		return;
	record_unfiltered(desc, words, refs, ip, e, gen);
}

static __attribute__((noinline)) void record_by_table(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs,
					       const void *ip, struct waymark_recorder *e, uint64_t gen)
{
	record_by_any_table(desc, words, refs, ip, e, gen, false);
}

static __attribute__((noinline)) void record_by_short_table(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs,
						     const void *ip, struct waymark_recorder *e, uint64_t gen)
{
	record_by_any_table(desc, words, refs, ip, e, gen, true);
}

/*
 * A function of its own, which jumps into the others: what a record needs saved, the ring's writing being compiled into where it is called, would
 * cost a record that is refused more than the question.
 */
#if defined(__x86_64__)
/* The name that enter.S calls: no other module can interpose it. */
void wmk_record(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip)
	__attribute__((alias("waymark_record"), visibility("hidden")));
#endif

void WMK_EXPORT __attribute__((aligned(64))) waymark_record(struct waymark_desc *desc, const uint64_t *words,
							    const struct waymark_ref *refs, const void *ip)
{
	struct waymark_recorder *e = __atomic_load_n(&desc->chain, __ATOMIC_ACQUIRE); /* (T3) */

	if (wmk_unlikely(!e))
		return;
	uint64_t gen = __atomic_load_n(&e->gen, __ATOMIC_ACQUIRE) | 1; /* (T4); a dead one's 0 becomes 1, which no guard ever is */
	const uint32_t end = wmk_read_guarded(e->quick_end);

	if (wmk_likely(end)) {
		/* read once: at exit it becomes NULL, which a recorder's is never */
		const struct wmk_event *event = wmk_read_guarded(desc->event);

		if (wmk_unlikely(wmk_read_guarded(e->event) != event) || wmk_unlikely(wmk_thread.mark != 0) || wmk_unlikely(wmk_read_guarded(e->next) != NULL)) {
			record_chain(desc, words, refs, ip ? ip : __builtin_return_address(0));
			return;
		}
		if (wmk_filter_quick_accepts(e, gen, event, words, end) == 0)
			return;
		ip = ip ? ip : __builtin_return_address(0);
		/* read again, so that no register holds it meanwhile */
		if (wmk_read_guarded(e->quick_end) == WMK_FILTER_QUICK_SHORT_TABLE)
			return record_by_short_table(desc, words, refs, ip, e, gen);
		if (wmk_read_guarded(e->quick_end) == WMK_FILTER_QUICK_TABLE)
			return record_by_table(desc, words, refs, ip, e, gen);
	}
	record_unfiltered(desc, words, refs, ip ? ip : __builtin_return_address(0), e, gen);
}
