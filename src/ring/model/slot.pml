/* SPDX-License-Identifier: MIT */
/*
 * slot.pml - the reader loads the writer's state at one position: write_pos, then the slot with that tag.
 *
 *   (A) commit, release <-> reader's load of write_pos, acquire
 *   (D) writer: tag, store-store barrier, time and count <-> reader: tag, time and count, load barrier, tag again
 *
 * Records use the two slots alternately. The second record after position P reuses the slot of P. A reader that is
 * still at P may see the stores of this second record.
 */
#include "named.pml"

#define CPUS 1
#define RECORDS 5

#define TAG0 0
#define TS0 2
#define COUNT0 4
#define WRITE_POS 6
#define CELLS 7
#include "buffer.pml"

byte restarts = 1;
bit torn_slot;

/* The state that belongs to position p. */
#define TS_OF(p) ((p) * 3)
#define COUNT_OF(p) (p)

proctype writer() {
	byte pos, other = 1;

	do
	:: pos == RECORDS -> break
	:: else ->
again:
#ifdef C_LDAR
		(buf[0].n == 0 || (buf[0].kind[0] != RELEASE && buf[0].kind[1] != RELEASE && buf[0].kind[2] != RELEASE &&
		 buf[0].kind[3] != RELEASE && buf[0].kind[4] != RELEASE));
#endif
#ifndef TAG_LAST
		store(0, TAG0 + other, pos + 1);                      /* (D) */
#endif
#ifndef NO_SLOT_BARRIER
		store_barrier(0);
#endif
		store(0, TS0 + other, TS_OF(pos + 1) + restarts);
		if
		:: restarts > 0 -> restarts = 0; goto again
		:: true -> atomic { restarts = 0; append(0, TS0 + other, TS_OF(pos + 1), PLAIN) }
		fi;
		store(0, COUNT0 + other, COUNT_OF(pos + 1));
#ifdef TAG_LAST
		store(0, TAG0 + other, pos + 1);
#endif
		atomic {
			pos++;
			other = 1 - other;
			append(0, WRITE_POS, pos, RELEASE)            /* (A) */
		}
	od
}

proctype reader() {
	byte pos, ts, count, tag, looks;
	bit which;

again:
	looks++;
	pos = mem[WRITE_POS];                                         /* (A) */
	if
	:: mem[TAG0] == pos -> which = 0
	:: mem[TAG0] != pos -> which = 1
	fi;
	if
	:: mem[TAG0 + which] != pos -> goto next
	:: mem[TAG0 + which] == pos
	fi;
#ifdef NO_LOAD_BARRIER
	/* Nothing orders the second load of the tag after the other loads. */
	tag = mem[TAG0 + which];
#endif
	ts = mem[TS0 + which];
	count = mem[COUNT0 + which];
#if defined(RECHECK_POS)
	if
	:: mem[WRITE_POS] != pos -> goto next
	:: mem[WRITE_POS] == pos
	fi;
#elif !defined(NO_SECOND_LOOK) && !defined(NO_LOAD_BARRIER)
	tag = mem[TAG0 + which];                                      /* (D) */
	if
	:: tag != pos -> goto next
	:: tag == pos
	fi;
#elif defined(NO_LOAD_BARRIER)
	if
	:: tag != pos -> goto next
	:: tag == pos
	fi;
#endif
	d_step { must_not(torn_slot, ts != TS_OF(pos) || count != COUNT_OF(pos)) };
next:
	if
	:: looks < 3 -> atomic { pos = 0; ts = 0; count = 0; tag = 0; which = 0 }; goto again
	:: else
	fi
}

init {
	atomic {
		mem[TAG0 + 1] = 255;
		run drain(0);
		run writer();
		run reader()
	}
}
