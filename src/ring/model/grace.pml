/* SPDX-License-Identifier: MIT */
/*
 * grace.pml - nothing is reused under a recorder on the fast path. A recorder has a generation, the guard, which the sequence checks;
 * a proposal may read stale memory, a sequence may not write to what is somebody else's now.
 *
 * Reclaimer: guard = dead; membarrier(PRIVATE_EXPEDITED_RSEQ), which makes every CPU's stores visible and restarts each
 * sequence of the process that is running; then the memory has its next life, and the guard a generation never used before.
 */
#include "named.pml"

#define RECORDERS 2
#define CPUS 1                  /* the reclaimer's store buffer; a recorder's are its own affair */
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

byte life;                      /* whose memory it is */
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
	atomic { guard = mem[GUARD]; plan = life };   /* what the chain leads to; `plan` is where this record will go */
	if
	:: guard == 0 -> goto done                     /* not enabled */
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
