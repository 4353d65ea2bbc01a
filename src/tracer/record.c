/* SPDX-License-Identifier: MIT */
/*
 * record.c - the recording path: from the staged words and references of a site into the ring.
 *
 *     waymark_record() ── one recorder, one run of words, no context field ──► wmk_ring_write_short(), inlined: no lock
 *         ├─ one recorder with a filter ──► filter_table.h for comparisons with constants, else wmk_filter_accepts();
 *         │                                 then as without filter
 *         ├─ one recorder, one run, then one reference ──► record_tail() ──► wmk_ring_write_tail(), inlined
 *         └─ anything else ──► wmk_record_chain() (record_chain.c)
 *
 * Any thread; async-signal-safe. No function of record.c allocates, locks or prints. Values that are read before the
 * restartable sequence of the ring are valid only if the guard (recorder.h) is unchanged in the sequence.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "ring/writer.h"
#include "tracer/compiler.h"
#include "tracer/context.h"
#include "tracer/filter_table.h"
#include "tracer/record_chain.h"
#include "tracer/thread_state.h"

/*
 * Fill the context cache for the recorder `e`. A signal handler may interrupt ctx_cache_fill(). If the signal handler
 * needs other context fields, it records without the context cache.
 */
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

/* Copy single words instead of vectors, because a load that spans several stores cannot use store forwarding. */
static inline uint64_t *copy_words(uint64_t *to, const uint64_t *from, unsigned n)
{
	for (; n; n--) {
		*to++ = *from++;
		__asm__ __volatile__("" : : : "memory");
	}
	return to;
}

static inline int record_cached_ctx(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event,
				    const uint64_t *words, uint16_t key)
{
	uint64_t block[WMK_CTX_CACHE_WORDS + WMK_RING_FAST_LEN / 8], *end;
	struct waymark_ring_set *set = wmk_read_guarded(e->set);
	unsigned n = wmk_read_guarded(e->ctx_words), run = wmk_read_guarded(e->run_words);

	/*
	 * If the recorder was reused for another event, the guard rejects the record later. Before the guard is
	 * checked, the function must not read more words than the application has staged.
	 */
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
 * Measure up to 63 bytes with aligned loads, which never access a page without a byte of the text. Memory checkers
 * compare the address of each byte with the allocation, so builds for memory checkers use strnlen().
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
		found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(at + i), zero))
			 << (16 * i);
	found >>= skip;
	if (wmk_unlikely(!found))
		return strnlen(text, max);
	return (size_t)__builtin_ctzll(found) < max ? (size_t)__builtin_ctzll(found) : max;
}
#else
#define text_length strnlen
#endif

/* Copy the words of the run and a following count of 4 bytes, composed in registers (see copy_words()). */
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
 * Record a run and a following reference that is short, not cut and not NULL. Returns -ESTALE, or -EAGAIN if the caller
 * must use the general path. The operations are taken from `event` instead of `e`, because the recorder may have been
 * reused for another event, which only the guard detects.
 */
static inline int record_tail(struct waymark_recorder *e, uint64_t gen, const struct wmk_event *event,
			      const uint64_t *words, const struct waymark_ref *ref, uint16_t key)
{
	uint64_t block[WMK_CTX_CACHE_WORDS + WMK_RING_FAST_LEN / 8 + 2], *to = block;
	struct waymark_ring_set *set = wmk_read_guarded(e->set);
	size_t limit = wmk_read_guarded(e->field_limit), max = limit < WMK_RING_TAIL_MAX ? limit : WMK_RING_TAIL_MAX,
	       n = ref->len;
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
		return wmk_ring_write_tail(set, &e->gen, gen, wmk_read_guarded(e->id), words, len, ref->base,
					   (uint32_t)n, 1);
	return wmk_ring_write_tail(set, &e->gen, gen, wmk_read_guarded(e->id), words, len, ref->base, (uint32_t)n, 0);
}

/*
 * Record for a chain of one recorder, without a probe. Returns 0, or another value if the caller must walk the chain.
 * The caller has already evaluated a filter that is one comparison or a table of comparisons.
 */
static __attribute__((noinline)) int record_single(struct waymark_recorder *e, uint64_t gen,
						   const struct wmk_event *event, const uint64_t *words,
						   const struct waymark_ref *refs, const void *ip)
{
	uint16_t key = wmk_read_guarded(e->ctx_key);
	const struct wmk_filter_block *filter = wmk_read_guarded(e->filter);

	if (filter) {
		int wanted = wmk_read_guarded(e->quick_end) ? 1
							: wmk_filter_accepts(e, gen, filter, event, words, refs, ip);

		if (wanted <= 0)
			return wanted;
		if (wmk_read_guarded(e->short_run) && wmk_read_guarded(e->set) &&
		    wmk_ring_write_short(wmk_read_guarded(e->set), &e->gen, gen, wmk_read_guarded(e->id), words,
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
	if (wmk_unlikely(!wmk_record_is_small(event)))
		return -EAGAIN;
	return wmk_record_small(e, gen, event, words, refs, ip) == -ESTALE;
}

/*
 * Record for the first recorder `e`, with the generation that was read before. The recorder has no filter, or the
 * filter has not rejected the record.
 */
static __attribute__((noinline)) void record_unfiltered(struct waymark_desc *desc, const uint64_t *words,
							const struct waymark_ref *refs, const void *ip,
							struct waymark_recorder *e, uint64_t gen)
{
	const struct wmk_event *event;

	if (wmk_likely(!wmk_read_guarded(e->next) && wmk_thread.mark == 0)) {
		/*
		 * (T7) acquire: a recorder with `plain` has a set; pairs with the store in choose_path(); `set` never
		 * becomes NULL again
		 */
		if (wmk_likely(__atomic_load_n(&e->plain, __ATOMIC_ACQUIRE) == wmk_read_guarded(desc->event))) {
			if (wmk_likely(wmk_ring_write_short(wmk_read_guarded(e->set), &e->gen, gen,
							    wmk_read_guarded(e->id), words,
							    wmk_read_guarded(e->run_bytes)) == 0))
				return;
		} else if (!wmk_read_guarded(e->probe) && (event = wmk_read_guarded(desc->event)) != NULL &&
			   wmk_read_guarded(e->event) == event) {
			/* read once: it becomes NULL at exit */
			if (record_single(e, gen, event, words, refs, ip) == 0)
				return;
		}
	}
	wmk_record_chain(desc, words, refs, ip);
}

/* waymark_record() for a recorder with a table as filter. */
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

static __attribute__((noinline)) void record_by_table(struct waymark_desc *desc, const uint64_t *words,
						      const struct waymark_ref *refs, const void *ip,
						      struct waymark_recorder *e, uint64_t gen)
{
	record_by_any_table(desc, words, refs, ip, e, gen, false);
}

static __attribute__((noinline)) void record_by_short_table(struct waymark_desc *desc, const uint64_t *words,
							    const struct waymark_ref *refs, const void *ip,
							    struct waymark_recorder *e, uint64_t gen)
{
	record_by_any_table(desc, words, refs, ip, e, gen, true);
}

/*
 * waymark_record() is separate from the functions above and ends in a jump to them. The functions to which
 * waymark_record() jumps save the registers that the inlined ring code needs. In waymark_record(), saving the registers
 * would take longer than the filter of a rejected record.
 */
#if defined(__x86_64__)
/* The name of waymark_record() for enter.S: the name is hidden, so other modules cannot interpose it. */
void wmk_record(struct waymark_desc *desc, const uint64_t *words, const struct waymark_ref *refs, const void *ip)
	__attribute__((alias("waymark_record"), visibility("hidden")));
#endif

void WMK_EXPORT __attribute__((aligned(64))) waymark_record(struct waymark_desc *desc, const uint64_t *words,
							    const struct waymark_ref *refs, const void *ip)
{
	struct waymark_recorder *e = __atomic_load_n(&desc->chain, __ATOMIC_ACQUIRE); /* (T3) */

	if (wmk_unlikely(!e))
		return;
	/* (T4); the 0 of a removed recorder becomes 1, which is never a valid guard */
	uint64_t gen = __atomic_load_n(&e->gen, __ATOMIC_ACQUIRE) | 1;
	const uint32_t end = wmk_read_guarded(e->quick_end);

	if (wmk_likely(end)) {
		/* read once: desc->event becomes NULL at exit, but e->event is never NULL */
		const struct wmk_event *event = wmk_read_guarded(desc->event);

		if (wmk_unlikely(wmk_read_guarded(e->event) != event) || wmk_unlikely(wmk_thread.mark != 0) ||
		    wmk_unlikely(wmk_read_guarded(e->next) != NULL)) {
			wmk_record_chain(desc, words, refs, ip ? ip : __builtin_return_address(0));
			return;
		}
		if (wmk_filter_quick_accepts(e, gen, event, words, end) == 0)
			return;
		ip = ip ? ip : __builtin_return_address(0);
		/* read again, so that no register must keep it */
		if (wmk_read_guarded(e->quick_end) == WMK_FILTER_QUICK_SHORT_TABLE)
			return record_by_short_table(desc, words, refs, ip, e, gen);
		if (wmk_read_guarded(e->quick_end) == WMK_FILTER_QUICK_TABLE)
			return record_by_table(desc, words, refs, ip, e, gen);
	}
	record_unfiltered(desc, words, refs, ip ? ip : __builtin_return_address(0), e, gen);
}
