/* SPDX-License-Identifier: MIT */
/*
 * claim.pml - claim rings: which process holds one, which processes have ended, and which daemon frees a claim.
 *
 *   (H) unclaim, and freeing for ended processes: release <-> the next claim: acquire (compare-and-swap)
 *
 * Processes 0 and 1 have an identity each. Process 2 starts after process 0 has ended, and gets the slot of
 * process 0, with the next generation. Process 3 has no identity (anonymous). The daemon learns the end of a process
 * from a pidfd, some time later. Each process claims a ring, writes one record at the position that it finds, commits,
 * and releases the ring. A process may be killed between any two steps. Ring 1 replaces ring 0 when ring 0 is retired.
 */
#include "named.pml"

#define CPUS 4
#define RINGS 2
#define POS0 0          /* cells: the rings' positions */
#define CELLS 2
#define BUF 1           /* each process has one late store: its commit */
#include "buffer.pml"

#define FREE 0
#define RETIRED 1
#define ANONYMOUS 2
#if defined(BY_PID)
#define WHO_2 8         /* the pid of process 0 is used again */
#elif defined(INHERITED)
#define WHO_2 8         /* a child of process 0 that still uses its parent's identity */
#else
#define WHO_2 9         /* slot 0, generation 1 */
#endif
#define WHO(t) who[t]
byte who[4];            /* slot and generation: 8 + 2 * slot + generation */

byte claim[RINGS], rings = 1;
bit dead[4];
byte inside[RINGS], position[RINGS];   /* the true state, to check against */
byte deaths = 1, finished;
bit two_writers_in_a_ring, record_overwritten, claim_leaked;

#define MAY_DIE if :: deaths > 0 -> deaths--; goto dies :: true fi

inline try_to_claim(r) {
	if
	:: r < rings && claim[r] == FREE -> claim[r] = WHO(me); mine = r; got = 1
	:: else
	fi
}

proctype writer(byte me) {
	byte mine, pos;
	bit got;

#ifdef INHERITED
	true;
#else
	(me != 2 || dead[0]);          /* process 2 starts later */
#endif
#ifdef WEAK_ACQUIRE
	/* Nothing orders the load of the position after the claim: the load may come first. */
	pos = mem[POS0];
#endif
	atomic {
		try_to_claim(0);                                      /* (H) */
		if
		:: !got -> try_to_claim(1)
		:: else
		fi;
		if
		:: got ->
			inside[mine]++;
			must_not(two_writers_in_a_ring, inside[mine] > 1)
		:: else -> goto done                                  /* lost, and counted */
		fi
	};
	MAY_DIE;
#ifndef WEAK_ACQUIRE
	pos = mem[POS0 + mine];
#endif
	atomic {
		append(me, POS0 + mine, pos + 1, RELEASE);
		must_not(record_overwritten, pos != position[mine]);
		position[mine]++
	};
	MAY_DIE;
	atomic {
#ifndef WEAK_UNCLAIM
		stored(me) ->                                         /* (H) */
#endif
		inside[mine]--;
		if        /* compare-and-swap: a retired ring stays retired */
		:: claim[mine] == WHO(me) -> claim[mine] = FREE
		:: else
		fi;
		goto done
	};
dies:
	true;
	/*
	 * The kernel takes the process off the CPU, and its stores become visible. The pidfd reports the end only then.
	 */
	atomic { stored(me) -> inside[mine]--; dead[me] = 1; goto gone };
done:
	dead[me] = 1;                  /* the process ends later */
gone:
	atomic { finished++; mine = 0; pos = 0; got = 0 }
}

inline free_claims(whose) {
	r = 0;
	do
	:: r == RINGS -> break
	:: else ->
		atomic {
			if
			:: claim[r] == whose -> claim[r] = FREE         /* (H) */
			:: else
			fi;
			r++
		}
	od;
	r = 0
}

proctype daemon() {
	byte r;
	bit told[3];
#ifdef FREE_ALIVE
	bit hasty;
#endif

	do
	:: dead[0] && !told[0] -> told[0] = 1; free_claims(WHO(0))
	:: dead[1] && !told[1] -> told[1] = 1; free_claims(WHO(1))
	:: dead[2] && !told[2] -> told[2] = 1; free_claims(WHO(2))
#ifdef FREE_ALIVE
	:: !dead[1] && !hasty -> hasty = 1; free_claims(WHO(1))
#endif
	:: rings == 1 ->               /* the anonymous process may be alive, but made no progress */
		atomic {
			if
			:: claim[0] == ANONYMOUS ->
#ifdef FREE_ANONYMOUS
				claim[0] = FREE;
#else
				claim[0] = RETIRED;
#endif
				rings = 2
			:: else
			fi
		}
	:: finished == 4 && told[0] && told[1] && told[2] -> break
	od;
	true;
	d_step {
		/* all processes have ended: a ring that is still claimed now is never freed */
		must_not(claim_leaked, (claim[0] != FREE && claim[0] != RETIRED && claim[0] != ANONYMOUS) ||
			 (claim[1] != FREE && claim[1] != ANONYMOUS));
		must_not(record_overwritten, mem[POS0] != position[0] || mem[POS0 + 1] != position[1])
	}
}

init {
	atomic {
		who[0] = 8;
		who[1] = 10;
		who[2] = WHO_2;
		who[3] = ANONYMOUS;
		run drain(0);
		run drain(1);
		run drain(2);
		run drain(3);
		run daemon();
		run writer(0);
		run writer(1);
		run writer(2);
		run writer(3)
	}
}
