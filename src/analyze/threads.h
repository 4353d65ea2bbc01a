/* SPDX-License-Identifier: MIT */
/*
 * threads.h - the state of all threads and CPUs over time, from records in the order of time.
 *
 *                     sched_switch to it
 *        RUNNABLE ──────────────────────────► RUNNING ──── sched_switch from it, state S, D, T ...───► BLOCKED
 *          ▲ ▲  ◄── sched_switch, state R ────────┘                                                      │
 *          │ └────────────────────────────── sched_wakeup ───────────────────────────────────────────────┘
 *        sched_wakeup_new                         exit ──► ABSENT
 *
 * For each thread, the times of the states add up to the length of the trace. A thread is UNKNOWN before its first
 * record. A thread is ABSENT before its creation and after its end; results count this time as UNKNOWN. While records
 * of a CPU are lost, the states of threads are known only for threads that run on other CPUs. Every other thread is
 * UNKNOWN from the start of the loss until its next record after the loss.
 *
 * Memory use: one structure for each thread. One thread.
 */
#ifndef WMK_ANALYZE_THREADS_H
#define WMK_ANALYZE_THREADS_H

#include "analyze/events.h"
#include "analyze/losses.h"
#include "read/hash_table.h"

enum wmk_thread_state { WMK_UNKNOWN, WMK_ABSENT, WMK_RUNNING, WMK_RUNNABLE, WMK_BLOCKED, WMK_THREAD_STATES };

/*
 * The reason why a thread is blocked: the system call in which the thread blocked, or else its state in sched_switch.
 */
enum wmk_wait {
	WMK_WAIT_FUTEX, WMK_WAIT_SLEEP, WMK_WAIT_POLL, WMK_WAIT_NETWORK, WMK_WAIT_DISK, WMK_WAIT_READ, WMK_WAIT_CHILD,
	WMK_WAIT_SYSCALL,              /* another system call */
	WMK_WAIT_UNINTERRUPTIBLE, WMK_WAIT_INTERRUPTIBLE, WMK_WAIT_STOPPED,
	WMK_WAITS,
};
extern const char *const wmk_wait_names[WMK_WAITS];

/* A system call that a thread has entered. */
struct wmk_analyze_call {
	const struct wmk_class *class; /* of the entry; NULL: no call, or unknown */
	int64_t since, cpu, fd;        /* fd -1: none */
	uint64_t epoch;                /* number of losses of system calls before it; see wmk_threads_is_in() */
	uint32_t path;                 /* of the analysis `syscalls` */
};

#define WMK_THREAD_DATA 4u             /* users of `data` at the same time */

struct wmk_analyze_thread {
	struct wmk_analyze_thread *next;       /* all threads, in the order of their first record */
	struct wmk_analyze_thread *doubt_next, **doubt_at; /* threads that become UNKNOWN when a loss begins */
	int64_t tid, pid;              /* pid 0: unknown */
	char name[32];
	uint8_t state;                 /* enum wmk_thread_state, since the time `since` ... */
	int64_t since;                 /* ... in ns */
	uint8_t wait;                  /* BLOCKED: enum wmk_wait */
	int64_t cpu;                   /* CPU on which the thread ran last; -1: unknown */
	bool has_ended;
	struct wmk_analyze_call call, left;    /* present call; `call` before the latest entry or exit */
	int64_t woken;                 /* ns: begin of the present wake-up; INT64_MIN: none */
	int64_t waker;                 /* the thread that woke this thread; -1: unknown */
	uint64_t ns[WMK_THREAD_STATES];        /* time in each state, up to `since` */
	uint64_t waits[WMK_WAITS];     /* parts of ns[WMK_BLOCKED] */
	uint64_t switches, migrations, wakeups;
	void *data[WMK_THREAD_DATA];   /* of modules; see wmk_threads_slot() */
};

struct wmk_analyze_cpu {
	bool is_known;                 /* a sched_switch was recorded after the latest loss */
	struct wmk_analyze_thread *running;    /* NULL: idle or unknown */
	int64_t doubt_until;           /* ns: the end of the latest loss of this CPU */
	int64_t since;                 /* ns */
	uint64_t busy, idle, unknown;  /* ns up to `since` */
	uint64_t switches;
};

struct wmk_threads {
	struct wmk_read_table table;   /* the current thread of each number */
	struct wmk_analyze_thread *first, **last;
	struct wmk_analyze_thread *doubted;    /* RUNNABLE and BLOCKED threads */
	struct wmk_analyze_cpu *cpus;
	uint32_t n_cpus;
	uint32_t n_threads;
	bool has_wakeup;               /* sched_wakeup is recorded, so sched_waking does not make a thread RUNNABLE */
	bool has_begun;
	int64_t begin;                 /* ns: the first record of the trace */
	int64_t doubt_until;           /* ns: the end of the loss that has not ended yet */
	uint64_t epoch;                /* number of losses of system calls */
	unsigned n_slots;
	/*
	 * Called after each change of a thread's state, while thread->since is still the time of the previous change.
	 * `state` is the previous state, which began at thread->since. thread->state is the new state. May be NULL.
	 */
	void (*changed)(void *data, struct wmk_analyze_thread *thread, unsigned state, int64_t now);
	void *data;
};

/* Thread states are derived from these events. */
#define WMK_THREADS_EVENTS (WMK_EV(SWITCH) | WMK_EV(WAKING) | WMK_EV(WAKEUP) | WMK_EV(WAKEUP_NEW) | WMK_EV(FORK) | \
			    WMK_EV(EXIT) | WMK_EV(EXEC) | WMK_EV(PROCESS_STATE) | WMK_EV(SYSCALL_ENTRY) | \
			    WMK_EV(SYSCALL_EXIT))
/* A loss makes thread states unknown only if the stream can contain one of these events. */
#define WMK_THREADS_LOSS (WMK_EV(SWITCH) | WMK_EV(WAKING) | WMK_EV(WAKEUP))

void wmk_threads_begin(struct wmk_threads *threads);
/* Reserve the element thread->data[slot] for a module. wmk_threads_free() frees the data by free(). */
unsigned wmk_threads_slot(struct wmk_threads *threads);
/*
 * Get thread->data[slot]. The first call for a thread allocates `size` bytes of zeros. NULL with a cause chain: no
 * memory.
 */
void *wmk_threads_data(struct wmk_analyze_thread *thread, unsigned slot, size_t size);
/* The thread has entered this system call, and no system calls were lost since then. */
bool wmk_threads_is_in(const struct wmk_threads *threads, const struct wmk_analyze_call *call);
/*
 * Call this function after the exit record `exit` was applied. Returns true if thread->left is the entry of the system
 * call that `exit` ends.
 */
bool wmk_threads_is_paired(const struct wmk_threads *threads, const struct wmk_analyze_thread *thread,
			   const struct wmk_record *exit);
/*
 * For use in changed(): true if a woken thread begins to run, and the time of its wake-up (thread->woken) is known.
 * `state`: the previous state of the thread.
 */
static inline bool wmk_threads_has_latency(const struct wmk_analyze_thread *thread, unsigned state)
{
	return state == WMK_RUNNABLE && thread->state == WMK_RUNNING && thread->woken != INT64_MIN;
}
/* Return the process of a thread, or the thread itself if the process is unknown. */
int64_t wmk_threads_process(const struct wmk_analyze_thread *thread);
/* Set the time of the first record of the trace. */
void wmk_threads_origin(struct wmk_threads *threads, int64_t ns);
/* Apply a record. -ENOMEM with a cause chain. */
int wmk_threads_record(struct wmk_threads *threads, const struct wmk_record *record);
/* Apply a loss. Losses and records are applied together in the order of time. */
void wmk_threads_lost(struct wmk_threads *threads, const struct wmk_loss *loss);
/*
 * Add the time up to `ns` to the states of all threads; `ns` is the time of the last record of the trace or interval.
 */
void wmk_threads_end(struct wmk_threads *threads, int64_t ns);
/* Call this after wmk_threads_end(): set all times and counts to 0, and keep the states. */
void wmk_threads_clear(struct wmk_threads *threads);
/* Find the current thread with the number `tid`, or return NULL. */
struct wmk_analyze_thread *wmk_threads_find(const struct wmk_threads *threads, int64_t tid);
/*
 * Find or create the thread that the context `tid` of a record names. The function also sets the process and the name
 * of the found thread from the contexts. If the record lacks this context, find the thread as wmk_threads_of() does.
 * *thread NULL: unknown. -ENOMEM with a cause chain.
 */
int wmk_threads_note(struct wmk_threads *threads, const struct wmk_record *record,
		     struct wmk_analyze_thread **thread);
/*
 * Return the thread that the context of the record names, or else the thread that runs on the CPU of the record. NULL:
 * unknown, or no thread.
 */
struct wmk_analyze_thread *wmk_threads_of(struct wmk_threads *threads, const struct wmk_record *record);
/* The state of a CPU. NULL: the CPU number is invalid, or no memory. Valid until the next call. */
struct wmk_analyze_cpu *wmk_threads_cpu(struct wmk_threads *threads, int64_t cpu);
void wmk_threads_free(struct wmk_threads *threads);

/*
 * Return the reason why a thread blocks. `syscall`: the system call in which the thread blocks, or NULL if no system
 * call is known. `prev_state`: as in sched_switch. (waits.c)
 */
unsigned wmk_wait_of(const struct wmk_class *syscall, int64_t prev_state);

#endif
