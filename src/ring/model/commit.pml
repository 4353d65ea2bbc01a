/* SPDX-License-Identifier: MIT */
/*
 * commit.pml - the restartable sequence: writers that compete on one CPU, and, with two CPUs, a writer that migrates.
 *
 * Every store of the sequence is a separate step. A step of another thread on the same CPU means that the running
 * thread was preempted. If that thread was in its sequence, the kernel restarts the sequence. Between any two stores, a
 * signal can restart a sequence, and its thread can be killed. Stores that were made remain. A CPU sees its own stores
 * in order and a migration is a full barrier, so this model needs no store buffer.
 *
 * The payload of thread 0 is one word long, the payload of thread 1 two words. The model is scaled down: times are full
 * numbers. A short header has the time modulo TS_MOD (27 bits in the ring), a long header the whole time. The decoder
 * uses only the content of the ring; the log has the true history.
 *
 * (A) is checked only as the last store. discard.pml checks its order as other CPUs see it.
 */
#include "named.pml"

#ifndef CPUS
#define CPUS 1
#endif
#ifndef RECORDS
#define RECORDS (2 - me)   /* of this thread */
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef SIGNALS
#define SIGNALS 0          /* restarts that no other thread causes */
#endif
#define THREADS 2
#define TRIES 2          /* then the record goes to a claim ring (64 in the code) */
#define TS_MOD 4
#ifndef SUB
#define SUB 5            /* words in a sub-buffer */
#endif
#ifndef SUBS
#define SUBS 2
#endif
#define CAP (SUB * SUBS)
#define NONE 255

/* A word in the ring: its type, and a value below 64. */
#define W_SHORT 64
#define W_LONG 128
#define W_TIME 0
#define W_PAYLOAD 192

/* The ring of each CPU. */
byte write_pos[CPUS];
byte tag[CPUS * 2], slot_ts[CPUS * 2], slot_records[CPUS * 2];
byte lost[CPUS];
byte data[CPUS * CAP];
byte sub_begin[CPUS * SUBS], sub_records[CPUS * SUBS], sub_end[CPUS * SUBS];

/* The true history: one entry for each commit. */
#define LOG 4
byte log_ts[CPUS * LOG], log_pos[CPUS * LOG], log_payload[CPUS * LOG], log_n[CPUS];
byte log_end[CPUS];
byte records_lost;

/* Scheduling. */
byte running[CPUS];
byte cpu_of[THREADS];
bit in_sequence[THREADS], aborted[THREADS];
byte now, steps = 1, leaps = 1, kills = KILLS, signals = SIGNALS, migrations = CPUS - 1, finished;

bit committed_record_overwritten, decoded_time_wrong, time_went_back, record_torn, records_miscounted, loss_miscounted;

/* This thread takes a step: another thread that had the CPU has been preempted. */
inline schedule() {
	if
	:: running[cpu_of[me]] != me ->
		if
		:: in_sequence[running[cpu_of[me]]] && cpu_of[running[cpu_of[me]]] == cpu_of[me] ->
			aborted[running[cpu_of[me]]] = 1;
			in_sequence[running[cpu_of[me]]] = 0
		:: else
		fi;
		running[cpu_of[me]] = me
	:: else
	fi
}

#define STEP(effect) atomic { schedule(); effect }

#ifdef NO_CPU_CHECK
#define MINE 1
#else
#define MINE (cpu_of[me] == cpu)
#endif

/* The events that can happen to a thread between two stores, except preemption. Stores that were made remain. */
inline interrupt() {
	in_sequence[me] = 0;
	if
	:: signals > 0 -> signals--; goto retry
	:: kills > 0 -> kills--; goto dead
	:: migrations > 0 -> migrations--; cpu_of[me] = 1 - cpu_of[me]; goto retry
	fi
}

/* A step inside the sequence: the sequence may have been restarted before it. */
#define SEQ(effect) \
	atomic { \
		schedule(); \
		if \
		:: aborted[me] -> aborted[me] = 0; goto retry \
		:: else -> \
			if \
			:: effect \
			:: signals + kills + migrations > 0 -> interrupt() \
			fi \
		fi \
	}

/* Reset unused locals: their old values must not create different states. */
inline forget() {
	cpu = 0; pos = 0; ts = 0; last = 0; records = 0; from = 0; start = 0; size = 0; next = 0; at = 0;
	long_header = 0; opens = 0; no_room = 0
}

inline read_clock() {
	if
	:: true
	:: steps > 0 -> steps--; now++
	:: leaps > 0 -> leaps--; now = now + TS_MOD + 1
	fi;
	ts = now
}

/* The slot that belongs to `pos`; this record fills the other one. */
inline find_slot() {
#ifdef ONE_SLOT
	from = 0
#else
	if
	:: tag[cpu * 2] == pos -> from = 0
	:: tag[cpu * 2] != pos && tag[cpu * 2 + 1] == pos -> from = 1
	:: else -> goto retry
	fi
#endif
}
#ifdef ONE_SLOT
#define OTHER 0
#else
#define OTHER (1 - from)
#endif

/* Compute the position of the record and the length of its header, from local values only. */
inline lay_out() {
#ifndef NO_CLAMP
	if
	:: ts < last -> ts = last
	:: else
	fi;
#endif
	long_header = (ts - last >= TS_MOD);
	size = 2 + me + long_header;
	start = pos;
	if
	:: pos % SUB == 0 -> opens = 1
	:: pos % SUB != 0 && pos % SUB + size > SUB -> opens = 1; start = (pos / SUB + 1) * SUB
	:: else
	fi;
	if        /* the decoder takes its time from the sub-buffer's header */
	:: opens -> long_header = 0; size = 2 + me
	:: else
	fi;
	next = start + size;
	no_room = (next > CAP || size > SUB)
}

/* The one store that makes the record part of the ring. */
inline commit() {
	write_pos[cpu] = next;
	in_sequence[me] = 0;
	must_not(committed_record_overwritten, pos != log_end[cpu]);
	must_not(time_went_back, log_n[cpu] > 0 && ts < log_ts[cpu * LOG + log_n[cpu] - 1]);
	log_ts[cpu * LOG + log_n[cpu]] = ts;
	log_pos[cpu * LOG + log_n[cpu]] = start;
	log_payload[cpu * LOG + log_n[cpu]] = W_PAYLOAD + me * 8 + n;
	log_n[cpu]++;
	log_end[cpu] = next
}

proctype writer(byte me) {
	byte n, tries, cpu, pos, ts, last, records, from, start, size, next, at;
	bit long_header, opens, no_room;

	do
	:: n == RECORDS -> break
	:: else ->
		tries = 0;
retry:
		atomic { forget(); tries++ };
		if
		:: tries > TRIES -> goto give_up
		:: else
		fi;

		/* The plan: no step here is protected. */
#ifdef CLOCK_FIRST
		STEP(read_clock());
#endif
		STEP(cpu = cpu_of[me]; pos = write_pos[cpu]);
		atomic {
			schedule();
			if        /* migrated before it has entered the sequence */
			:: migrations > 0 -> migrations--; cpu_of[me] = 1 - cpu_of[me]; schedule()
			:: true
			fi
		};
#ifndef CLOCK_FIRST
		STEP(read_clock());
#endif
		STEP(find_slot());
		STEP(last = slot_ts[cpu * 2 + from]; records = slot_records[cpu * 2 + from]; lay_out());
		if
		:: no_room ->
			/* (lost) a separate sequence counts the lost record: one load, one store. */
#ifdef LOST_OUTSIDE_SEQUENCE
			STEP(at = lost[cpu]);
			STEP(lost[cpu] = at + 1; records_lost++)
#else
			atomic {
				schedule();
				if
				:: cpu_of[me] != cpu -> goto retry
				:: else -> in_sequence[me] = 1; aborted[me] = 0; at = lost[cpu]
				fi
			};
			SEQ(lost[cpu] = at + 1; records_lost++; in_sequence[me] = 0)
#endif
		:: else ->
			/* The restartable sequence. */
			atomic {
				schedule();
				in_sequence[me] = 1;
				aborted[me] = 0;
				if
#ifndef NO_CPU_CHECK
				:: cpu_of[me] != cpu -> in_sequence[me] = 0; goto retry
#endif
#ifndef NO_POS_CHECK
				:: MINE && write_pos[cpu] != pos -> in_sequence[me] = 0; goto retry
#endif
				:: else
				fi
			};
			if
			:: opens ->
				if
				:: start > 0 -> SEQ(sub_end[cpu * SUBS + start / SUB - 1] = pos)
				:: else
				fi;
				SEQ(sub_begin[cpu * SUBS + start / SUB] = ts);
				SEQ(sub_records[cpu * SUBS + start / SUB] = records)
			:: else
			fi;
			at = start;
			if
			:: long_header ->
				SEQ(data[cpu * CAP + at] = W_LONG; at++);
				SEQ(data[cpu * CAP + at] = W_TIME + ts; at++)
			:: else ->
				SEQ(data[cpu * CAP + at] = W_SHORT + ts % TS_MOD; at++)
			fi;
			SEQ(data[cpu * CAP + at] = W_PAYLOAD + me * 8 + n; at++);
			if
			:: me == 1 -> SEQ(data[cpu * CAP + at] = W_PAYLOAD + me * 8 + n)
			:: else
			fi;
			SEQ(tag[cpu * 2 + OTHER] = next);
			SEQ(slot_ts[cpu * 2 + OTHER] = ts);
			SEQ(slot_records[cpu * 2 + OTHER] = records + 1);
			SEQ(commit())
		fi;
give_up:
		atomic { forget(); n++; tries = 0 }
	od;
dead:
	atomic { forget(); n = 0; tries = 0; finished++ }
}

/* Read one ring as the decoder does, and compare it with the log. */
inline decode(c) {
	k = 0;
	p = 0;
	do
	:: p >= write_pos[c] -> break
	:: else ->
		if
		:: p % SUB == 0 ->
			t = sub_begin[c * SUBS + p / SUB];
			end = (write_pos[c] > (p / SUB + 1) * SUB -> sub_end[c * SUBS + p / SUB] : write_pos[c]);
#ifndef TIMES_ONLY
			must_not(records_miscounted, sub_records[c * SUBS + p / SUB] != k)
#endif
		:: else
		fi;
		must_not(record_torn, k >= log_n[c] || log_pos[c * LOG + k] != p);
		if
		:: data[c * CAP + p] == W_LONG -> t = data[c * CAP + p + 1]; p = p + 2
		:: data[c * CAP + p] >= W_SHORT && data[c * CAP + p] < W_SHORT + TS_MOD ->
			t = t + (data[c * CAP + p] - W_SHORT + TS_MOD - t % TS_MOD) % TS_MOD;
			p++
		:: else -> must_not(record_torn, true)        /* never: */
		fi;
		must_not(record_torn, data[c * CAP + p] != log_payload[c * LOG + k]);
		must_not(decoded_time_wrong, t != log_ts[c * LOG + k]);
		p++;
		if
		:: log_payload[c * LOG + k] >= W_PAYLOAD + 8 -> must_not(record_torn, data[c * CAP + p] != log_payload[c * LOG + k]); p++
		:: else
		fi;
		k++;
		if
		:: p == end && p % SUB != 0 && p < write_pos[c] -> p = (p / SUB + 1) * SUB
		:: else
		fi
	od;
	must_not(record_torn, k != log_n[c]);
	/* a flush stores the counts of the last slot in the packet */
	if
	:: tag[c * 2] == write_pos[c] -> t = slot_records[c * 2]
	:: else -> t = slot_records[c * 2 + 1]
	fi;
#ifndef TIMES_ONLY
	must_not(records_miscounted, t != k)
#endif
}

init {
	byte c, k, p, t, end, total;

	atomic {
		for (c : 0 .. CPUS - 1) {
			tag[c * 2 + 1] = NONE
		}
		run writer(0);
		run writer(1)
	};
	finished == THREADS ->
	d_step {
		for (c : 0 .. CPUS - 1) {
			decode(c);
			total = total + lost[c]
		}
		c = 0;
		must_not(loss_miscounted, total != records_lost)
	}
}
