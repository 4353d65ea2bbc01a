/* SPDX-License-Identifier: MIT */
/*
 * reclaim.pml - two threads of one CPU write, while the reader gives back the memory of the idle ring and allocates it
 * again.
 *
 *   (J) writer: commit, full fence, load of `backed`  <-> reader: store of `backed`, full fence, load of `write_pos`
 *
 * A sub-buffer holds one record here, so position p is the record p, and also the sub-buffer that the record enters. A
 * thread plans a record (position, fence, `backed`), and executes the plan at any later time. The sequence accepts the
 * plan if the position is still the same.
 */
#include "named.pml"

#define CPUS 2
#define READER 1
#define RING 3
#ifndef RECORDS
#define RECORDS 4
#endif
#define ALL 99

#define WRITE_POS 3     /* cells 0 .. 2: the data */
#define BACKED 4
#define CONSUMED 5
#define CELLS 6
#define BUF 4
#include "buffer.pml"

byte executed;          /* number of records that are committed or lost */
bit there[RING];        /* the sub-buffer has memory */
bit record_lost, touched_unbacked;

/* The threads of one CPU: only one of them executes a sequence at a time. */
proctype thread() {
	byte pos, backed, used, now, look;

	do
	:: executed >= RECORDS -> break
	:: else ->
		load(0, WRITE_POS, pos);
#ifndef NO_WRITER_FENCE
		full_fence(0);                                        /* (J) */
#endif
		load(0, BACKED, backed);
		load(0, CONSUMED, used);
		if
		:: pos >= used + RING -> goto next                    /* full: the thread tries again */
#ifdef FIRST_LAP_ONLY
		:: pos < used + RING && pos < RING && pos >= backed -> goto next
		:: pos < used + RING && !(pos < RING && pos >= backed)
#else
		:: pos < used + RING && pos >= backed -> goto next
		:: pos < used + RING && pos < backed
#endif
		fi;
		/* the sequence, at any later time */
		atomic {
			load(0, WRITE_POS, now);
			if
			:: now != pos || executed >= RECORDS -> goto next
			:: else
			fi;
			must_not(touched_unbacked, !there[pos % RING]);
			append(0, pos % RING, pos + 1, PLAIN);
			append(0, WRITE_POS, pos + 1, RELEASE);
			executed++
		};
next:
		atomic { pos = 0; backed = 0; used = 0; now = 0 }
	od
}

inline punch(k) {
	atomic {
		there[(k) % RING] = 0;
		mem[(k) % RING] = 0
	}
}

proctype reader() {
	byte pos, seen, keep, n, at;

	do
	:: pos == RECORDS -> break
	:: mem[WRITE_POS] != pos ->
		/* take one record, and release its sub-buffer */
		atomic {
			must_not(record_lost, mem[pos % RING] != pos + 1);
			pos++
		};
		store_release(READER, CONSUMED, pos);
		stored(READER)
	:: pos > 0 && pos < RECORDS && mem[BACKED] == ALL ->
		/* give back: the reader has taken all records, and keeps the sub-buffer that comes next */
		seen = mem[WRITE_POS];
		if
		:: seen == pos ->
#ifdef KEEP_NOTHING
			keep = pos;
#else
			keep = pos + 1;
#endif
			store(READER, BACKED, keep);
#ifndef NO_READER_FENCE
			full_fence(READER);                           /* (J) */
#endif
#ifndef NO_RECHECK
			seen = mem[WRITE_POS];
#endif
			if
			:: seen == pos ->
				at = pos;
				n = keep;
				do
				:: n == pos + RING -> break
				:: else -> punch(n); n++
				od
			:: else ->
				store_release(READER, BACKED, ALL)
			fi
		:: else
		fi;
		stored(READER);
		atomic { seen = 0; keep = 0; n = 0 }
	:: mem[BACKED] != ALL && mem[WRITE_POS] != at ->
		/* the ring has recorded again: allocate, then permit */
		atomic {
			n = 0;
			do
			:: n == RING -> break
			:: else -> there[n] = 1; n++
			od;
			n = 0
		};
		store_release(READER, BACKED, ALL);
		stored(READER)
	od
}

init {
	atomic {
		there[0] = 1;
		there[1] = 1;
		there[2] = 1;
		mem[BACKED] = ALL;
		run drain(0);
		run drain(READER);
		run thread();
		run thread();
		run reader()
	}
}
