/* SPDX-License-Identifier: MIT */
/*
 * overwrite.pml - the writer overwrites the oldest sub-buffer while the reader copies.
 *
 *   (A) commit, release <-> reader's load of write_pos, acquire
 *   (C) writer, between the commit that ends a sub-buffer and the first store into the next: a store-store barrier
 *       (C_FENCE), or an acquire in the sequence's check of write_pos that waits for the earlier release: ldar after
 *       stlr (C_LDAR)
 *       <-> reader: copy, load barrier, load of write_pos again
 *
 * A copy is valid if write_pos is still at most n - 2 sub-buffers past the copied sub-buffer. The content of a valid
 * copy must be correct. The sum of read, overwritten and remaining records must be the number of all records.
 */
#include "named.pml"

#define CPUS 1
#define SUBS 4
/* a header, two records, slack: after the first record, write_pos is never at a sub-buffer's beginning */
#define SUB 4
#define RING 16
#define LAPS_SUBS 6     /* sub-buffers that the writer enters */
#define TAKES 2

/* memory: the data, two words of each sub-buffer, followed by two values of each sub-buffer: */
#define START0 8        /* number of records before it, + 1 */
#define END0 12         /* position of the end of its content */
#define WRITE_POS 16
#define CELLS 17
#include "buffer.pml"
#define place(p) (((p) / SUB) % SUBS * 2 + (p) % SUB - 1)

#ifdef WRONG_DISTANCE
#define ALLOWED (RING - SUB)
#else
#define ALLOWED (RING - 2 * SUB)
#endif

/*
 * What was committed: records, numbered from 1, at their positions. For each sub-buffer: the number of records before
 * it, + 1, and its end.
 */
byte truth[LAPS_SUBS * SUB], starts[LAPS_SUBS], ends[LAPS_SUBS];
byte restarts = 1;
bit torn_copy, overwritten_miscounted;

proctype writer() {
	byte n, pos, start;

	do
	:: pos / SUB == LAPS_SUBS - 1 && pos % SUB == SUB - 1 -> break
	:: else ->
again:
#ifdef C_LDAR
		/* The check of write_pos waits until the last commit is visible. */
		(buf[0].n == 0 || (buf[0].kind[0] != RELEASE && buf[0].kind[1] != RELEASE && buf[0].kind[2] != RELEASE &&
		 buf[0].kind[3] != RELEASE && buf[0].kind[4] != RELEASE));
#endif
		atomic {
			if
			:: pos == 0 -> start = 1
			:: pos % SUB == 2 && pos / SUB % 4 != 1 && pos / SUB % 4 != 2 -> start = (pos / SUB + 1) * SUB + 1
			:: pos % SUB == 2 && pos / SUB % 4 == 1 -> start = pos
			:: pos % SUB == 2 && pos / SUB % 4 == 2 -> start = pos
			:: pos % SUB == 2 && pos / SUB == 2 -> start = (pos / SUB + 1) * SUB + 1   /* a longer record, and a gap */
			:: pos % SUB == 3 -> start = (pos / SUB + 1) * SUB + 1
			fi
		};
		if
		:: start % SUB == 1 ->
			if
			:: pos > 0 -> store(0, END0 + pos / SUB % SUBS, pos)
			:: else
			fi;
#ifdef C_FENCE
			store_barrier(0);                             /* (C) */
#endif
			store(0, START0 + start / SUB % SUBS, n + 1)
		:: else
		fi;
		if
		:: restarts > 0 && pos == RING + 2 -> restarts--; store(0, place(start), 99); goto again
		:: true
		fi;
		store(0, place(start), n + 1);
		atomic {
			n++;
			truth[start] = n;
			if
			:: start % SUB == 1 ->
				starts[start / SUB] = n;
				if
				:: pos > 0 -> ends[start / SUB - 1] = pos
				:: else
				fi
			:: else
			fi;
			pos = start + 1;
			append(0, WRITE_POS, pos, RELEASE)                    /* (A) */
		}
	od
}

#define current(p) ((p) / SUB * SUB)
#define oldest(p) (current(p) > RING - 2 * SUB -> current(p) - (RING - 2 * SUB) : 0)

proctype reader() {
	byte takes, taken, lost, pos, seen, sub, begin, upto, records, word[2], i, again;

	do
	:: takes == TAKES -> break
	:: mem[WRITE_POS] != pos ->
		seen = mem[WRITE_POS];                                        /* (A) */
		atomic {
			if        /* overtaken: continue with the oldest sub-buffer */
			:: pos < oldest(seen) -> pos = oldest(seen)
			:: else
			fi;
			sub = current(pos)
		};
		begin = mem[START0 + (sub / SUB) % SUBS];
		if
		:: seen > sub + SUB -> upto = mem[END0 + (sub / SUB) % SUBS]
		:: else -> upto = seen
		fi;
		i = 0;
		do
		:: i == 2 -> break
		:: i < 2 -> word[i] = mem[place(sub + i + 1)]; i++
#ifdef NO_LOAD_BARRIER
		/* nothing orders this load after the copy */
		:: again == 0 && i < 2 -> again = mem[WRITE_POS]
#endif
		od;
#ifdef NO_RECHECK
		again = seen;
#else
		if                                                            /* (C) */
		:: again == 0 -> again = mem[WRITE_POS]
		:: again != 0                                                 /* never: loaded before the copy */
		fi;
#endif
		atomic {
			if
			/* discarded; counted as overwritten later */
			:: current(again) - sub > ALLOWED
			:: else ->
				must_not(torn_copy, begin != starts[sub / SUB] ||
					 (seen > sub + SUB && upto != ends[sub / SUB]) || upto < sub + 2 || upto > sub + 3 ||
					 word[0] != truth[sub + 1] || (upto == sub + 3 && word[1] != truth[sub + 2]));
				/*
				 * overwritten: the difference between the records counted so far and the count in this
				 * sub-buffer
				 */
				if
				:: pos <= sub + 1 -> lost = lost + begin - 1 - records; records = begin - 1; pos = sub + 1
				:: else
				fi;
				taken = taken + upto - pos;
				records = records + upto - pos;
				must_not(overwritten_miscounted, taken + lost != truth[upto - 1]);
				pos = upto;
				if
				:: seen > sub + SUB -> pos = sub + SUB
				:: else
				fi
			fi;
			takes++;
			begin = 0; upto = 0; word[0] = 0; word[1] = 0; i = 0; again = 0; seen = 0; sub = 0
		}
	:: mem[WRITE_POS] == pos && pos > 0 -> break
	od
}

init {
	atomic {
		run drain(0);
		run writer();
		run reader()
	}
}
