/* SPDX-License-Identifier: MIT */
/*
 * discard.pml - one CPU's writer against the reader on another CPU; a full ring loses records.
 *
 * Because of the sequences (commit.pml), all writers of a CPU act as one writer. A restarted sequence repeats its
 * stores; the earlier stores remain.
 *
 *   (A) commit, release                <-> reader's load of write_pos, acquire
 *   (B) reader's consumed_pos, release <-> writer's load of it before its first store to the sub-buffer, acquire
 *   (F) reader's backed_pos, release   <-> writer's load of it before its first store to memory that may be missing,
 *                                          acquire
 *
 * The model compares each word that the reader takes with the word that was committed there.
 */
#include "named.pml"

#define CPUS 1
#define SUB 2
#define RING 4
#define RECORDS 5
#define POSITIONS 11

/* memory: the data, followed by */
#define END0 4          /* end of the content of sub-buffers 0, 1; a position */
#define WRITE_POS 6
#define CONSUMED 7
#define BACKED 8
#define CELLS 9
#include "buffer.pml"

byte truth[POSITIONS];  /* the value that was committed at each position, 0: none */
bit there[2];           /* the kernel has memory for the sub-buffer */
bit torn, untrue, written;
byte restarts = 1;
bit torn_record, touched_unbacked;

/* A store to the ring: the sub-buffer must be backed. */
inline touch(p, v) {
	atomic {
		must_not(touched_unbacked, !there[((p) / SUB) % 2]);
		append(0, (p) % RING, v, PLAIN)
	}
}

proctype writer() {
	byte n, pos, start, size, consumed, backed, value, look;
	bit opens, ahead;

	do
	:: n == RECORDS -> break
	:: else ->
		value = n + 1;
again:
		atomic {
			if
			:: size = 1
			:: size = 2
			fi;
			start = pos;
			opens = (pos % SUB == 0);
			if
			:: pos % SUB + size > SUB -> opens = 1; start = (pos / SUB + 1) * SUB
			:: else
			fi
		};
		if
		:: opens ->
#ifdef WEAK_B_WRITER
			/* Nothing orders the first store after the load: the store may become visible before. */
			if
			:: start >= RING -> ahead = 1; touch(start, value)
			:: true
			fi;
#endif
#ifndef NO_CONSUMED_CHECK
			atomic {
				load(0, CONSUMED, consumed);          /* (B) */
				if
				:: start + SUB - consumed > RING ->
					untrue = ahead;               /* such a store never becomes visible */
					goto lost
				:: else -> consumed = 0; ahead = 0
				fi
			};
#endif
#ifndef NO_BACKED_CHECK
			atomic {
				load(0, BACKED, backed);              /* (F) */
				if
				:: start < RING && start + SUB > backed -> goto lost
				:: else -> backed = 0
				fi
			};
#endif
			if
			:: start > 0 -> store(0, END0 + (start / SUB - 1) % 2, pos)
			:: else
			fi
		:: else
		fi;
#ifndef COMMIT_FIRST
		touch(start, value);
		if
		:: restarts > 0 -> restarts--; value = value + 8; goto again
		:: size == 2 -> touch(start + 1, value)
		:: size == 1
		fi;
#endif
		atomic {
			truth[start] = value;
			if
			:: size == 2 -> truth[start + 1] = value
			:: else
			fi;
#ifdef WEAK_A_WRITER
			append(0, WRITE_POS, start + size, PLAIN)
#else
			append(0, WRITE_POS, start + size, RELEASE)   /* (A) */
#endif
		};
#ifdef COMMIT_FIRST
		touch(start, value);
		if
		:: size == 2 -> touch(start + 1, value)
		:: size == 1
		fi;
#endif
		pos = start + size;
lost:
		atomic { n++; value = 0; size = 0; start = 0; consumed = 0; backed = 0; opens = 0; ahead = 0 };
		if
		:: untrue -> break                                    /* never: only if a store was made ahead */
		:: else
		fi
	od;
	stored(0) -> written = 1
}

inline take(p) {
	atomic {
		got = mem[(p) % RING];
#ifdef WEAK_A_READER
		if
		:: p == early_pos -> got = early
		:: else
		fi;
#endif
		torn = torn || got == 0 || got != truth[p];
		got = 0
	}
}

proctype reader() {
	byte pos, seen, upto, got;
#ifdef WEAK_A_READER
	byte early, early_pos;
#endif

	do
	:: mem[WRITE_POS] == pos && written -> break
	:: mem[WRITE_POS] != pos ->
#ifdef WEAK_A_READER
		/* Nothing orders a load of data after the load of write_pos: the load of data may come first. */
		atomic {
			if
			:: early_pos = pos
			:: early_pos = pos + 1
			fi;
			early = mem[early_pos % RING]
		};
#endif
		seen = mem[WRITE_POS];                                /* (A) */
		do
		:: pos >= seen -> break
		:: else ->
			upto = seen;
			if
			:: seen > (pos / SUB + 1) * SUB -> upto = mem[END0 + (pos / SUB) % 2]
			:: else
			fi;
			if
			:: upto < pos || upto > (pos / SUB + 1) * SUB -> torn = 1; upto = pos     /* never: */
			:: else
			fi;
			do
			:: pos == upto -> break
			:: pos != upto ->
#ifdef WEAK_B_READER
				/* Nothing orders the load before the store. */
				if
				:: pos % SUB == SUB - 1 -> mem[CONSUMED] = pos + 1
				:: true
				fi;
#endif
				take(pos);
				pos++
			od;
			if
			:: seen > (pos / SUB + 1) * SUB && pos % SUB != 0 -> pos = (pos / SUB + 1) * SUB
			:: else
			fi;
			if
			:: pos % SUB == 0 && mem[CONSUMED] < pos -> mem[CONSUMED] = pos      /* (B) */
			:: else
			fi;
			upto = 0
		od;
		seen = 0
	od
}

/* The reader's second task: backing the sub-buffers of the first lap with memory. */
proctype backer() {
	byte k;

	do
	:: k == 2 -> break
	:: else ->
#ifdef BACKED_FIRST
		mem[BACKED] = (k + 1) * SUB;
		there[k] = 1;
#else
		there[k] = 1;
		mem[BACKED] = (k + 1) * SUB;                          /* (F) */
#endif
		k++
	od
}

init {
	atomic {
		run drain(0);
		run writer();
		run reader();
		run backer()
	};
	_nr_pr == 2 ->
	d_step { must_not(torn_record, torn && !untrue) }
}
