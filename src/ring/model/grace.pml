/* SPDX-License-Identifier: MIT */
/*
 * grace.pml - no memory is reused while a recorder on the fast path uses it. A recorder has a generation, the guard,
 * which the sequence checks. A plan may be made from stale memory. A sequence must not write to memory that has been
 * reused.
 *
 * The reclaimer invalidates the guard, then calls membarrier(PRIVATE_EXPEDITED_RSEQ). membarrier() makes every CPU's
 * stores visible and restarts each running sequence of the process. The reclaimer then reuses the memory, and sets the
 * guard to a generation that was never used before.
 */
#include "named.pml"

#define RECORDERS 2
#define CPUS 1                  /* the reclaimer's store buffer; recorders need none in this model */
#define GUARD 0
#define CELLS 1
#define BUF 2
#include "buffer.pml"

#define LIVES 2
#define TRIES 3
#ifdef GENERATION_REUSED
#define GENERATION(life) 1
#else
#define GENERATION(life) (1 + (life))
#endif

byte life;                      /* number of the memory's current use */
bit in_sequence[RECORDERS], aborted[RECORDERS];
bit write_after_reuse;

#define SEQ(effect) \
	atomic { \
		if \
		:: aborted[me] -> aborted[me] = 0; goto retry \
		:: else -> effect \
		fi \
	}

proctype recorder(byte me) {
	byte guard, plan, tries;

retry:
	if
	:: tries == TRIES -> goto done
	:: else -> tries++
	fi;
	/* `plan` is the use of the memory that this record will be written to */
	atomic { guard = mem[GUARD]; plan = life };
	if
	:: guard == 0 -> goto done                     /* recording is disabled */
	:: else
	fi;
#ifdef GUARD_OUTSIDE
	if
	:: mem[GUARD] != guard -> goto retry
	:: mem[GUARD] == guard
	fi;
#endif
	atomic { in_sequence[me] = 1; aborted[me] = 0 };
#ifndef GUARD_OUTSIDE
	SEQ(
		if
		:: mem[GUARD] != guard -> in_sequence[me] = 0; goto retry
		:: else
		fi
	);
#endif
	SEQ(must_not(write_after_reuse, life != plan));       /* copy */
	SEQ(must_not(write_after_reuse, life != plan); in_sequence[me] = 0);     /* commit */
done:
	atomic { guard = 0; plan = 0; tries = 0 }
}

inline restart(who) {
	atomic {
		aborted[who] = aborted[who] || in_sequence[who];
		in_sequence[who] = 0
	}
}

proctype reclaimer() {
	byte lives;

	do
	:: lives == LIVES -> break
	:: else ->
		store(0, GUARD, 0);
#ifndef NO_MEMBARRIER
		full_fence(0);
		restart(0);
		restart(1);
#endif
		life++;
		store_release(0, GUARD, GENERATION(life));
		lives++
	od
}

init {
	atomic {
		mem[GUARD] = GENERATION(0);
		run drain(0);
		run recorder(0);
		run recorder(1);
		run reclaimer()
	}
}
