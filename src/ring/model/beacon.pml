/* SPDX-License-Identifier: MIT */
/*
 * beacon.pml - the promise that a ring gets no more records older than T. The reader moves to the CPU, which restarts
 * the sequence that ran there. It stores floor_ts, then reads write_pos. A sequence checks its time against floor_ts.
 *
 * All steps happen on one CPU, or a migration orders them: the model needs no store buffers.
 */
#include "named.pml"

#define WRITERS 2
#define READER 2
#define RECORDS (2 - me)   /* of this thread */
#define ALL_RECORDS 3
#define TRIES 2

byte now, write_pos, floor_ts;
byte ts_at[ALL_RECORDS];
byte beacon, beacon_pos = 255;       /* valid once the promise was given */
byte running;
bit in_sequence[WRITERS + 1], aborted[WRITERS + 1];
bit record_before_beacon;

/* This thread runs on the CPU now: the thread that ran there was preempted. */
inline schedule(who) {
	if
	:: running != who ->
		aborted[running] = aborted[running] || in_sequence[running];
		in_sequence[running] = 0;
		running = who
	:: else
	fi
}

#define CLOCK now = now + (now < 12)

#define STEP(effect) atomic { schedule(me); effect }
#define SEQ(effect) \
	atomic { \
		schedule(me); \
		if \
		:: aborted[me] -> aborted[me] = 0; goto retry \
		:: else -> effect \
		fi \
	}

proctype writer(byte me) {
	byte n, tries, pos, ts;

	do
	:: n == RECORDS -> break
	:: else ->
retry:
		if
		:: tries == TRIES -> goto give_up
		:: else -> tries++
		fi;
		STEP(pos = write_pos);
		STEP(CLOCK; ts = now);
		atomic {
			schedule(me);
			in_sequence[me] = 1;
			aborted[me] = 0;
			if
			:: write_pos != pos -> in_sequence[me] = 0; goto retry
			:: else
			fi
		};
#ifndef NO_FLOOR_CHECK
		SEQ(
			if
			:: ts < floor_ts -> in_sequence[me] = 0; goto retry
			:: else
			fi
		);
#endif
		SEQ(
			ts_at[pos] = ts;
			write_pos = pos + 1;
			in_sequence[me] = 0;
			must_not(record_before_beacon, beacon_pos != 255 && ts < beacon)
		);
give_up:
		atomic { n++; tries = 0; pos = 0; ts = 0 }
	od
}

#ifdef NO_MOVE
#define ON_CPU(effect) atomic { effect }
#else
#define ON_CPU(effect) atomic { schedule(READER); effect }
#endif

proctype reader() {
	byte floor, at, i;

#ifdef POSITION_FIRST
	ON_CPU(at = write_pos);
#endif
	ON_CPU(CLOCK; floor = now);
	ON_CPU(floor_ts = floor);
#ifndef POSITION_FIRST
	ON_CPU(at = write_pos);
#endif
	/* From here on, the promise holds for all records after `at`. */
	d_step {
		beacon = floor;
		beacon_pos = at;
		for (i : 0 .. ALL_RECORDS - 1) {
			must_not(record_before_beacon, i >= at && i < write_pos && ts_at[i] < floor)
		}
		i = 0
	}
}

init {
	atomic {
		run writer(0);
		run writer(1);
		run reader()
	}
}
