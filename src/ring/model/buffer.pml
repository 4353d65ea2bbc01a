/* SPDX-License-Identifier: MIT */
/*
 * buffer.pml - memory whose stores become visible late. Spin itself has no such memory. Each CPU has a store buffer.
 * The process drain() of a CPU moves entries of this buffer to memory at any time. The model defines CPUS and CELLS.
 *
 * The default is x86-64: first in, first out. -DARM selects aarch64: an entry may overtake other
 * entries, except a barrier or an entry for the same address. A release store leaves the buffer only after all earlier
 * entries. Later entries may overtake a release store. Loads are never early or late: a model that allows such loads
 * contains them explicitly.
 */
#ifndef BUF
#define BUF 5
#endif

#define PLAIN 0
#define RELEASE 1
#define BARRIER 2

typedef buffer {
	byte addr[BUF];
	byte val[BUF];
	byte kind[BUF];
	byte n
};

byte mem[CELLS];
buffer buf[CPUS];

#define stored(c) (buf[c].n == 0)

inline append(c, a, v, k) {
	buf[c].n < BUF ->
	buf[c].addr[buf[c].n] = a;
	buf[c].val[buf[c].n] = v;
	buf[c].kind[buf[c].n] = k;
	buf[c].n++
}

#define store(c, a, v) atomic { append(c, a, v, PLAIN) }
#define store_release(c, a, v) atomic { append(c, a, v, RELEASE) }
#ifdef ARM
/* dmb ishst */
#define store_barrier(c) atomic { append(c, 255, 0, BARRIER) }
#else
#define store_barrier(c) skip
#endif
/* mfence, dmb ish, or a locked instruction */
#define full_fence(c) stored(c)

/* A load sees this CPU's own stores first. */
inline load(c, a, into) {
	d_step {
		into = mem[a];
		for (look : 0 .. BUF - 1) {
			if
			:: look < buf[c].n && buf[c].addr[look] == a && buf[c].kind[look] != BARRIER -> into = buf[c].val[look]
			:: else
			fi
		}
		look = 0
	}
}

proctype drain(byte c) {
	byte i, j;
	bit stuck;

end:
	do
	:: atomic {
		buf[c].n > 0 ->
		i = 0;
		stuck = 0;
#ifdef ARM
		do
		:: i + 1 < buf[c].n -> i++
		:: true -> break
		od;
		j = 0;
		do
		:: j == i -> break
		:: else ->
			stuck = stuck || buf[c].kind[i] != PLAIN || buf[c].kind[j] == BARRIER || buf[c].addr[j] == buf[c].addr[i];
			j++
		od;
#endif
		if
		:: stuck                                       /* this entry cannot leave the buffer yet */
		:: else ->
			if
			:: buf[c].kind[i] != BARRIER -> mem[buf[c].addr[i]] = buf[c].val[i]
			:: else
			fi;
			do
			:: i + 1 < buf[c].n ->
				buf[c].addr[i] = buf[c].addr[i + 1];  /* never: if BUF is 1 */
				buf[c].val[i] = buf[c].val[i + 1];    /* never: likewise */
				buf[c].kind[i] = buf[c].kind[i + 1];  /* never: likewise */
				i++                                   /* never: likewise */
			:: else -> break
			od;
			buf[c].addr[i] = 0;
			buf[c].val[i] = 0;
			buf[c].kind[i] = 0;
			buf[c].n--
		fi;
		i = 0;
		j = 0;
		stuck = 0
	}
	od
}
