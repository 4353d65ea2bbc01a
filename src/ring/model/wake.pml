/* SPDX-License-Identifier: MIT */
/*
 * wake.pml - a reader that sleeps on a futex, and two writers on CPUs of their own that enter sub-buffers.
 *
 *   (G) writer: commit, full fence, load of `waiting` <-> reader: store of `waiting`, full fence,
 *       load of every position
 *
 * BY_RECORD: the reader sleeps until the next record, but most writers must not execute a fence.
 *
 *   (I) writer: commit, load of `armed`, (G) if `armed` is set <-> reader: store of `armed`, membarrier (a full barrier
 *       on every CPU at some time during the call), load of every position
 *
 * In the ring, the reader's sleep is bounded, since a writer can be killed between commit and wake. In the model the
 * sleep is unbounded unless BOUNDED is defined, so that the model detects a lost wake.
 */
#include "named.pml"

#define WRITERS 2
#define CPUS 3
#define READER 2
#define ENTRIES 2       /* sub-buffers that each writer enters */
#define WAITING 2       /* cells 0, 1: the writers' positions */
#define ARMED 3
#define CELLS 4
#define BUF 3
#include "buffer.pml"

#ifndef KILLS
#define KILLS 0
#endif

bit asleep;
byte seen[WRITERS], kills = KILLS;
bit lost_wakeup;

proctype writer(byte me) {
	byte n, flag, look;

	do
	:: n == ENTRIES -> break
	:: else ->
		n++;
		store_release(me, me, n);
		if
		:: kills > 0 -> kills--; break
		:: true
		fi;
#ifdef BY_RECORD
		load(me, ARMED, flag);                                /* (I) */
		if
		:: flag == 0 -> goto next
		:: else
		fi;
#endif
#ifndef NO_WRITER_FENCE
		full_fence(me);                                       /* (G) */
#endif
		load(me, WAITING, flag);
		if
		:: flag != 0 ->
			/* an exchange: only one writer wakes */
			atomic { stored(me) -> flag = mem[WAITING]; mem[WAITING] = 0 };
			if
			:: flag != 0 -> asleep = 0
			:: else
			fi
		:: else
		fi;
next:
		flag = 0
	od
}

/* During the call, each CPU makes its earlier stores visible before it makes its later loads. */
inline membarrier() {
	stored(0);
	stored(1)
}

inline arm() {
#ifdef BY_RECORD
	store(READER, ARMED, 1);
	full_fence(READER);
#ifndef NO_MEMBARRIER
	membarrier()                                                  /* (I) */
#else
	skip
#endif
#else
	skip
#endif
}

inline moved() {
	any = any || seen[0] != mem[0];
	seen[0] = mem[0];
	any = any || seen[1] != mem[1];
	seen[1] = mem[1]
}

proctype reader() {
	bit any;

	do
	:: seen[0] == ENTRIES && seen[1] == ENTRIES -> break
	:: else ->
		any = 0;
#ifdef LOOK_FIRST
		moved();
		store(READER, WAITING, 1);
		full_fence(READER);
		arm();
#else
		store(READER, WAITING, 1);
#ifndef NO_READER_FENCE
		full_fence(READER);                                   /* (G) */
#endif
		arm();
		moved();
#endif
		if
		:: any == 0 ->
			/* The kernel compares the word and puts the thread to sleep in one step. */
			atomic {
				stored(READER) ->
				if
				:: mem[WAITING] == 1 -> asleep = 1
				:: else
				fi
			};
endasleep:
			if
			:: asleep == 0
#ifdef BOUNDED
			:: asleep == 1 -> asleep = 0
#endif
			fi;
			moved()
		:: else
		fi;
#ifdef BY_RECORD
		store(READER, ARMED, 0);
#endif
		store(READER, WAITING, 0)
#ifdef BOUNDED
		if        /* a writer that was killed enters no more sub-buffers */
		:: _nr_pr == 5 && seen[0] == mem[0] && seen[1] == mem[1] -> break
		:: else
		fi
#endif
	od
}

init {
	atomic {
		run drain(0);
		run drain(1);
		run drain(READER);
		run reader();
		run writer(0);
		run writer(1)
	};
	timeout ->
	d_step { must_not(lost_wakeup, asleep && (seen[0] != mem[0] || seen[1] != mem[1])) }
}
