/* SPDX-License-Identifier: MIT */
/*
 * reader.c - read a ring while applications write it. The applications that write into a ring may be faulty or
 * malicious. The reader uses the private copy of the geometry in the set. Every position, offset, count and time in
 * shared memory is loaded once, and checked before use.
 *
 *     discard    pieces are read in place; consumed_pos releases the sub-buffer
 *     overwrite  pieces are copied, then write_pos is loaded again: the copy is valid only if the writer is far enough
 *
 * resume.c continues after an earlier reader, and restarts the counts.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/reader.h"
#include "ring/writer.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define SNAPSHOT_TRIES 100000
#define STUCK_TRIES 100
#define OVERTAKEN_TRIES 1000       /* for one packet: only a process that forges write_pos exceeds this */

static int report_corrupt(struct waymark_ring_reader *r)
{
	r->broken = WMK_RING_REPORTED;
	return -EIO;
}

/* Both the record count and the time must be valid before one of these values is used. */
static int snapshot_is_sane(struct waymark_ring_reader *r, const struct wmk_ring_snapshot *s)
{
	const int records = wmk_ring_records_fit(r, s->records, s->pos);

	return records < 0 ? records : wmk_ring_in(r, "the time of its last record", s->last_ts, 0, WMK_RING_TIME_MAX);
}

int wmk_ring_snapshot(struct waymark_ring_reader *r, struct wmk_ring_snapshot *s)
{
	const struct wmk_ring_ctl *ctl = r->ctl;
	int stuck = 0;

	for (int i = 0; i < SNAPSHOT_TRIES; i++) {
		const struct wmk_ring_slot *slot;

		/* (A) acquire: everything stored before the commit is visible; pairs with the commit. */
		s->pos = __atomic_load_n(&ctl->write_pos, __ATOMIC_ACQUIRE);
		slot = &ctl->slot[wmk_ring_load(&ctl->slot[0].tag) != s->pos];
		if (wmk_ring_load(&slot->tag) != s->pos) {
			__atomic_thread_fence(__ATOMIC_ACQUIRE); /* (D) */
			stuck = wmk_ring_load(&ctl->write_pos) == s->pos ? stuck + 1 : 0;
			if (stuck == STUCK_TRIES)
				return wmk_ring_in(r, "its write position", s->pos, wmk_ring_load(&slot->tag),
						   wmk_ring_load(&slot->tag));
			continue;
		}
		s->last_ts = wmk_ring_load(&slot->last_ts);
		s->records = wmk_ring_load(&slot->records);
		/*
		 * (D) acquire fence: if a newer time or count was loaded, the newer tag is visible below; pairs with
		 * the order of stores to a slot.
		 */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (wmk_ring_load(&slot->tag) == s->pos)
			return snapshot_is_sane(r, s);
	}
	return -EAGAIN;
}

void wmk_ring_read_sub(const struct waymark_ring_reader *r, uint64_t sub, struct wmk_ring_sub *out)
{
	const struct wmk_ring_sub *in = (const struct wmk_ring_sub *)(r->data + (sub & r->set->ring_mask));

	out->begin_ts = wmk_ring_load(&in->begin_ts);
	out->end_ts = wmk_ring_load(&in->end_ts);
	out->sequence = wmk_ring_load(&in->sequence);
	out->records_start = wmk_ring_load(&in->records_start);
	out->lost_start = wmk_ring_load(&in->lost_start);
	out->content_end = wmk_ring_load(&in->content_end);
	out->records_end = wmk_ring_load(&in->records_end);
	out->lost_end = wmk_ring_load(&in->lost_end);
}

uint64_t waymark_ring_reader_position(const struct waymark_ring_reader *r)
{
	/* Relaxed: the value is a hint, and waymark_ring_reader_next() loads write_pos again with (A). */
	return wmk_ring_load(&r->ctl->write_pos);
}

uint64_t wmk_ring_reader_raise_floor(struct waymark_ring_reader *r)
{
	const uint64_t claim = wmk_ring_load(&r->ctl->claim);
	const int held = r->ring >= r->set->options.n_cpus && claim != WMK_CLAIM_FREE && claim != WMK_CLAIM_RETIRED;

	if (held || r->set->clock == WAYMARK_CLOCK_PLUGIN)
		return 0;
	const uint64_t now = wmk_ring_now(r->set);

	if (r->ring < r->set->options.n_cpus)
		wmk_ring_set_to(&r->ctl->floor_ts, now);
	return now;
}

int wmk_ring_reader_has_unread(const struct waymark_ring_reader *r)
{
	return r->broken != WMK_RING_REPORTED && waymark_ring_reader_position(r) != r->pos && r->pos < r->limit.pos;
}

/*
 * Copy len bytes by relaxed atomic words, because a writer may change the bytes during the copy. overtaken() detects
 * such a change afterwards.
 */
static void copy_racing(unsigned char *to, const unsigned char *from, size_t len)
{
	for (; len != 0 && ((uintptr_t)from & 7) != 0; len--)
		*to++ = __atomic_load_n(from++, __ATOMIC_RELAXED);
	for (; len >= 8; len -= 8, to += 8, from += 8) {
		uint64_t word = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);

		memcpy(to, &word, 8);
	}
	for (; len != 0; len--)
		*to++ = __atomic_load_n(from++, __ATOMIC_RELAXED);
}

/* The piece [pos, end) of the sub-buffer at `sub`; the values are not checked yet. */
struct ring_piece {
	uint64_t sub, pos, end;
	uint64_t begin_ts, end_ts, records_end;
	uint64_t lost;
	uint32_t whole;
};

/* True if the piece is within its sub-buffer. */
static int piece_fits(const struct waymark_ring_reader *r, const struct ring_piece *p)
{
#ifdef WMK_PLANTED_BUG
	return p->end >= p->pos;
#endif
	return p->end >= p->pos && p->end - p->sub <= r->set->usable && p->pos - p->sub >= r->set->first;
}

/* True if the piece is consistent with the pieces that were read before, and with the writer's position. */
static int piece_is_sane(struct waymark_ring_reader *r, const struct wmk_ring_snapshot *s, const struct ring_piece *p)
{
	const uint64_t from = r->unsure ? p->sub + r->set->first : p->pos, bytes = p->end - p->pos;
	const uint64_t most = r->next_records + (p->end - from) / WMK_RING_RECORD_MIN;
	int bad;

	if (!piece_fits(r, p)) {
		wmk_ring_in(r, "the end of a sub-buffer's records", p->end - p->sub, p->pos - p->sub, r->set->usable);
		return 0;
	}
	bad = wmk_ring_in(r, "the time of a sub-buffer's first record", p->begin_ts, r->last_ts, WMK_RING_TIME_MAX);
	bad |= wmk_ring_in(r, "the time of a sub-buffer's last record", p->end_ts, p->begin_ts, WMK_RING_TIME_MAX);
	bad |= wmk_ring_in(r, "the number of records at a sub-buffer's end", p->records_end,
			   r->next_records + (bytes && !r->unsure), most < s->records ? most : s->records);
	bad |= wmk_ring_in(r, "the number of records lost at a sub-buffer's end", p->lost, 0, wmk_ring_sum_lost(r));
	return !bad;
}

/*
 * Store the end position and the counts of the returned piece in the ring. A later reader needs the end position and
 * the counts if this process crashes before it releases the returned piece. UINT64_MAX is never a position.
 */
static void leave_given(struct waymark_ring_reader *r, uint64_t end)
{
	wmk_ring_set_to(&r->ctl->given_pos, UINT64_MAX);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&r->ctl->given_records, r->next_records);
	wmk_ring_set_to(&r->ctl->given_lost, r->next_overwritten);
	__asm__ __volatile__("" : : : "memory");
	wmk_ring_set_to(&r->ctl->given_pos, end);
}

static void hand_out(struct waymark_ring_reader *r, const struct ring_piece *p, struct waymark_ring_packet *packet)
{
	const struct waymark_ring_set *set = r->set;
	int is_copy = set->options.mode == WAYMARK_RING_OVERWRITE, first = p->pos - p->sub == set->first;
	unsigned char *data = r->data + (p->pos & set->ring_mask);
	uint64_t lost;

	if (is_copy)
		data = r->copy + set->options.header_room;
	r->next_pos = p->whole ? p->sub + set->subbuf_size : p->end;
	r->next_ts = p->end > p->pos ? p->end_ts : r->last_ts;
	r->next_records = p->records_end;
	if (!r->observer)
		leave_given(r, p->end);
	lost = wmk_ring_since(p->lost, wmk_ring_base_lost(r));
	if (r->lost < lost)
		r->lost = lost;
	*packet = (struct waymark_ring_packet) {
		.begin_ts = p->begin_ts,
		.end_ts = p->end_ts,
		.begin_pos = p->pos,
		.sequence = r->sequence,
		.records = wmk_ring_since(r->next_records - r->next_overwritten, r->base.records - r->base.overwritten),
		.lost = r->lost + wmk_ring_since(r->next_overwritten, r->base.overwritten),
		.cut = waymark_ring_reader_cut(r),
		.data = data,
		.len = p->end - p->pos,
		.room = is_copy || first ? data - set->options.header_room : NULL,
		.file_offset = is_copy ? UINT64_MAX : (uint64_t)(data - (unsigned char *)set->header),
		.whole = p->whole,
		.ring = r->ring,
	};
}

/* Describe the piece from r->next_pos to the writer's position in `s`. 1: *p is filled; 0: no piece; -EIO. */
static int describe(struct waymark_ring_reader *r, const struct wmk_ring_snapshot *s, unsigned flags,
		    struct ring_piece *p)
{
	const struct waymark_ring_set *set = r->set;
	uint64_t offset = r->next_pos & (set->subbuf_size - 1);
	struct wmk_ring_sub sub;

	p->sub = r->next_pos - offset;
	p->pos = offset < set->first ? p->sub + set->first : r->next_pos;
	p->whole = s->pos - p->sub > set->subbuf_size;
	if (s->pos == r->next_pos || (!p->whole && !(flags & WAYMARK_RING_FLUSH)))
		return 0;
	wmk_ring_read_sub(r, p->sub, &sub);
	if (sub.sequence != p->sub / set->subbuf_size)
		return wmk_ring_in(r, "the number of a sub-buffer", sub.sequence, p->sub / set->subbuf_size,
				   p->sub / set->subbuf_size);
	p->begin_ts = p->pos - p->sub == set->first ? sub.begin_ts : r->last_ts;
	if (p->whole) {
		p->end = p->sub + sub.content_end;
		p->end_ts = sub.end_ts;
		p->records_end = sub.records_end;
		p->lost = sub.lost_end;
	} else {
		p->end = s->pos;
		p->end_ts = s->last_ts;
		p->records_end = s->records;
		p->lost = wmk_ring_sum_lost(r);
	}
	return 1;
}

/*
 * 1: the piece is in *packet; -EIO; 0: the piece is empty and released: the reader had read the sub-buffer to the end
 * before the writer left the sub-buffer.
 */
static int deliver(struct waymark_ring_reader *r, const struct wmk_ring_snapshot *s, const struct ring_piece *p,
		   struct waymark_ring_packet *packet)
{
	if (!piece_is_sane(r, s, p))
		return report_corrupt(r);
	hand_out(r, p, packet);
	if (packet->len != 0 || !p->whole)
		return 1;
	waymark_ring_reader_release(r, packet);
	r->sequence--;
	return 0;
}

static int next_in_place(struct waymark_ring_reader *r, unsigned flags, const struct wmk_ring_snapshot *s,
			 struct waymark_ring_packet *packet)
{
	struct ring_piece p;
	int rc;

	for (;;) {
		rc = describe(r, s, flags, &p);
		if (rc <= 0)
			return rc < 0 ? report_corrupt(r) : 0;
		rc = deliver(r, s, &p, packet);
		if (rc != 0)
			return rc;
	}
}

/*
 * Return the oldest sub-buffer that a reader may use. A reader may not use the sub-buffer that the writer enters next.
 */
static uint64_t oldest(const struct waymark_ring_set *set, uint64_t write_pos)
{
	uint64_t current = write_pos & ~(set->subbuf_size - 1);
	uint64_t behind = (uint64_t)(set->options.n_subbufs - 2) * set->subbuf_size;

	return current > behind ? current - behind : 0;
}

/*
 * Return the earliest position in an overwrite ring that may be read: the oldest sub-buffer or, if later, the position
 * at which an observer begins.
 */
static uint64_t earliest(const struct waymark_ring_reader *r, uint64_t write_pos)
{
	const uint64_t first = oldest(r->set, write_pos);

	return first > r->begin ? first : r->begin;
}

/*
 * Return true if the writer may have overwritten the data that was just read from the sub-buffer at `sub`. If
 * overtaken() returns true, the caller discards the data.
 */
static int overtaken(const struct waymark_ring_reader *r, uint64_t sub)
{
	/*
	 * (C) load barrier between the data and the second load of write_pos; pairs with the writer's store barrier and
	 * its check of write_pos.
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return sub < oldest(r->set, wmk_ring_load(&r->ctl->write_pos));
}

/*
 * 1: copied, and not overwritten meanwhile; 0: overwritten. A piece that exceeds its sub-buffer is not copied:
 * deliver() reports this piece as corrupt.
 */
static int copy_piece(struct waymark_ring_reader *r, const struct ring_piece *p)
{
	if (piece_fits(r, p))
		copy_racing(r->copy + r->set->options.header_room, r->data + (p->pos & r->set->ring_mask),
			    p->end - p->pos);
	return !overtaken(r, p->sub);
}

/* Load and check the writer's position. 0; -EIO: the ring is corrupt; -EAGAIN: the writer is too fast. */
static int look(struct waymark_ring_reader *r, struct wmk_ring_snapshot *s)
{
	const int rc = wmk_ring_snapshot(r, s);
	const uint64_t offset = s->pos & (r->set->subbuf_size - 1);

	if (rc < 0)
		return rc;
	if (wmk_ring_in(r, "its write position", s->pos, r->seen_pos > r->pos ? r->seen_pos : r->pos, UINT64_MAX) < 0 ||
	    wmk_ring_in(r, "its write position in a sub-buffer", offset, r->set->first, r->set->usable) < 0)
		return -EIO;
	r->seen_pos = s->pos;
	/* Load the counts after the position, so that the counts include all losses before the position. */
	return wmk_ring_counts_load(r);
}

/*
 * Allocate memory for copied pieces, if the reader has none. Returns 0 or -ENOMEM. Records begin after the header of
 * the sub-buffer and the header_room, so memory of the size of a sub-buffer contains the header_room and the records.
 * For a large copy, the page faults of small pages would take longer than the copy, so it uses huge pages.
 */
static int alloc_copy(struct waymark_ring_reader *r)
{
	const size_t size = r->set->subbuf_size;

	if (r->copy)
		return 0;
	r->copy = size < HUGE_PAGE ? malloc(size) : aligned_alloc(HUGE_PAGE, size);
	if (!r->copy)
		return -ENOMEM;
	if (size >= HUGE_PAGE)
		wmk_ring_syscall(SYS_madvise, (long)r->copy, (long)size, MADV_HUGEPAGE, 0, 0, 0);
	return 0;
}

void *wmk_ring_reader_take(struct waymark_ring_reader *reader)
{
	void *copy = reader->copy;

	reader->copy = NULL;
	return copy;
}

static int next_copy(struct waymark_ring_reader *r, unsigned flags, struct wmk_ring_snapshot *s,
		     struct waymark_ring_packet *packet)
{
	struct ring_piece p;
	int rc = alloc_copy(r);

	if (rc < 0)
		return rc;
	for (int tries = 0; tries < OVERTAKEN_TRIES;) {
		uint64_t first = earliest(r, s->pos);
		int skipped = r->next_pos < first;
		struct wmk_ring_sub sub;

		if (skipped) {
			r->next_pos = first;
			wmk_ring_read_sub(r, first, &sub);
			rc = describe(r, s, flags, &p);
		} else {
			rc = describe(r, s, flags, &p);
		}
		if (rc == 0)
			return 0;
		if ((rc > 0 && !copy_piece(r, &p)) || (rc < 0 && overtaken(r, p.sub))) {
			/* If the writer has overwritten the piece, try again from the oldest sub-buffer. */
			rc = look(r, s);
			if (rc < 0)
				return rc == -EIO ? report_corrupt(r) : 0;
			tries++;
			continue;
		}
		if (rc < 0)
			return report_corrupt(r);
		if (skipped) {
			if (wmk_ring_in(r, "the number of records before a sub-buffer", sub.records_start,
					r->next_records, s->records) < 0 ||
			    wmk_ring_in(r, "the time of a sub-buffer's first record", sub.begin_ts, r->last_ts,
					WMK_RING_TIME_MAX) < 0)
				return report_corrupt(r);
			r->next_overwritten += sub.records_start - r->next_records;
			r->next_records = sub.records_start;
			if (r->observer)
				wmk_ring_count_from(r, &sub);
		}
		rc = deliver(r, s, &p, packet);
		if (rc != 0)
			return rc;
	}
	return report_corrupt(r);
}

int waymark_ring_reader_next(struct waymark_ring_reader *r, unsigned flags, struct waymark_ring_packet *packet)
{
	struct wmk_ring_snapshot s;
	int rc;

	if (r->broken == WMK_RING_REPORTED)
		return 0;
	if (wmk_ring_counts_load(r) < 0)
		return report_corrupt(r);
	if (waymark_ring_reader_position(r) == r->pos || r->pos >= r->limit.pos)
		return 0;
	r->next_pos = r->pos;
	r->next_ts = r->last_ts;
	r->next_records = r->records;
	r->next_overwritten = r->overwritten;
	rc = look(r, &s);
	if (rc < 0)
		return rc == -EIO ? report_corrupt(r) : 0;
	if (r->set->options.mode == WAYMARK_RING_OVERWRITE)
		return next_copy(r, flags, &s, packet);
	if (s.pos > r->limit.pos)
		s = r->limit;
	const uint64_t begin = r->pos & ~(r->set->subbuf_size - 1);

	if (wmk_ring_in(r, "its write position", s.pos, r->pos, begin + r->set->ring_mask + 1) < 0)
		return report_corrupt(r);
	return next_in_place(r, flags, &s, packet);
}

int waymark_ring_reader_release(struct waymark_ring_reader *r, const struct waymark_ring_packet *packet)
{
	if (packet->ring != r->ring || packet->sequence != r->sequence)
		return -EINVAL;
	r->pos = r->next_pos;
	r->last_ts = r->next_ts;
	r->records = r->next_records;
	r->counted_pos = r->pos;
	r->overwritten = r->next_overwritten;
	r->unsure = 0;
	r->sequence++;
	if (r->observer)
		return 0;
	wmk_ring_leave_word(r);
	if (packet->whole)
		/* (B) release: after all reads of the sub-buffer; pairs with the writer's load-acquire. */
		__atomic_store_n(&r->ctl->consumed_pos, r->pos, __ATOMIC_RELEASE);
	return 0;
}

int waymark_ring_reader_open(struct waymark_ring_set *set, uint32_t ring, struct waymark_ring_reader **reader)
{
	struct waymark_ring_reader *r;

	if (ring >= set->n_rings || !set->is_reader)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->set = set;
	r->ring = ring;
	r->ctl = set->ring[ring].ctl;
	r->data = set->ring[ring].data;
	if (set->options.mode == WAYMARK_RING_OVERWRITE && alloc_copy(r) < 0) {
		free(r);
		return -ENOMEM;
	}
	wmk_ring_base_load(r);
	r->limit.pos = UINT64_MAX;
	*reader = r;
	return 0;
}

void waymark_ring_reader_close(struct waymark_ring_reader *r)
{
	if (!r)
		return;
	free(r->copy);
	free(r);
}

int waymark_ring_reader_beacon(struct waymark_ring_reader *r, uint64_t *floor)
{
	struct waymark_ring_set *set = r->set;
	cpu_set_t *old, *one;
	size_t size = CPU_ALLOC_SIZE(WMK_RING_MAX_CPUS);
	int err = 0;

	if (r->ring >= set->options.n_cpus)
		return -ENOTSUP;
	old = CPU_ALLOC(WMK_RING_MAX_CPUS);
	one = CPU_ALLOC(WMK_RING_MAX_CPUS);
	if (!old || !one || sched_getaffinity(0, size, old) < 0) {
		err = -errno;
		goto out;
	}
	if (!CPU_ISSET_S(r->ring, size, old)) {
		err = -EPERM;
		goto out;
	}
	CPU_ZERO_S(size, one);
	CPU_SET_S(r->ring, size, one);
	/*
	 * When this thread runs on the ring's CPU, the kernel aborts a restartable sequence in progress on this CPU. A
	 * restartable sequence that starts on this CPU afterwards reads the new floor_ts.
	 */
	if (sched_setaffinity(0, size, one) < 0) {
		err = -errno;
		goto out;
	}
	*floor = wmk_ring_now(set);
	wmk_ring_set_to(&r->ctl->floor_ts, *floor);
	sched_setaffinity(0, size, old);
out:
	CPU_FREE(old);
	CPU_FREE(one);
	return err;
}
