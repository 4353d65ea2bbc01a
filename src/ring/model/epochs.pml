/* SPDX-License-Identifier: MIT */
/*
 * epochs.pml - no memory is reused while a recorder on the slow path (sub-buffer entry, claim rings) uses it.
 * membarrier does not restart such a recorder.
 *
 *   (E) recorder: increments the counter, full; load of the guard
 *           <-> reclaimer: store of the guard, full; loads of the counters
 *       recorder: decrements the counter, release
 *           <-> reclaimer's load of the counter, acquire
 *
 * There are two counters; the phase selects the one in use. The reclaimer does not wait for new recorders, since
 * it changes the phase. The reclaimer changes the phase twice: a recorder may read the phase before a turn and
 * increment the counter after the turn.
 */
#include "named.pml"

#define RECORDERS 2
#define CPUS 2                  /* 1: the reclaimer's store buffer, 0: recorder 0's */
#define RECLAIMER 1
#define GUARD 0
#define CELLS 1
#define BUF 2
#include "buffer.pml"

#define LIVES 2
#define ROUNDS 2                /* of each recorder */

byte life, phase, counter[2];
bit newcomer[RECORDERS];        /* read the phase after the turn that the reclaimer waits for */
bit counted[RECORDERS], counted_in[RECORDERS];
bit reuse_under_recorder, waits_for_newcomer;

proctype recorder(byte me) {
	byte guard, plan, rounds;
	bit mine;

	do
	:: rounds == ROUNDS -> break
	:: else ->
#ifdef GUARD_FIRST
		atomic { guard = mem[GUARD]; plan = life };
#endif
#ifdef ONE_COUNTER
		atomic { mine = 0; newcomer[me] = 1 };
#else
		atomic { mine = phase % 2; newcomer[me] = 1 };
#endif
		atomic { counter[mine]++; counted[me] = 1; counted_in[me] = mine };     /* (E) */
#ifndef GUARD_FIRST
		atomic { guard = mem[GUARD]; plan = life };
#endif
		if
		:: guard != 0 ->
			/* enters a sub-buffer, claims a ring, ... */
			d_step { must_not(reuse_under_recorder, life != plan) };
			d_step { must_not(reuse_under_recorder, life != plan) }
		:: guard == 0
		fi;
		atomic { counter[mine]--; counted[me] = 0; newcomer[me] = 0; guard = 0; plan = 0; mine = 0; counted_in[me] = 0; rounds++ }
	od
}

inline turn() {
	atomic {
		/* (E) a locked instruction */
#ifndef NO_FULL_TURN
		stored(RECLAIMER);
#endif
		old = phase % 2;
		phase = 1 - phase % 2;
		newcomer[0] = 0;
		newcomer[1] = 0
	};
	do
	:: d_step {
		/* The reclaimer must not wait for a recorder that came after the turn. */
		must_not(waits_for_newcomer, (counted[0] && newcomer[0] && counted_in[0] == old) ||
			 (counted[1] && newcomer[1] && counted_in[1] == old))
	   };
	   if
	   :: counter[old] == 0 -> break                                  /* (E) */
	   :: counter[old] != 0
	   fi
	od;
	old = 0
}

proctype reclaimer() {
	byte lives;
	bit old;

	do
	:: lives == LIVES -> break
	:: else ->
		store(RECLAIMER, GUARD, 0);
		turn();
#ifndef ONE_TURN
		turn();
#endif
		life++;
		store_release(RECLAIMER, GUARD, 1 + life);
		lives++
	od
}

init {
	atomic {
		mem[GUARD] = 1;
		run drain(RECLAIMER);
		run recorder(0);
		run recorder(1);
		run reclaimer()
	}
}
