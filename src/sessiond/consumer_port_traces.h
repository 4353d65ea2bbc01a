/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_traces.h - shared by consumer_port.c (traces and rings, given to the consumer daemon),
 * consumer_port_adopted.c (what the consumer held before), consumer_port_budget.c (budget pages), and
 * consumer_port_counts.c (what it reports).
 */
#ifndef WMK_SESSIOND_CONSUMER_PORT_TRACES_H
#define WMK_SESSIOND_CONSUMER_PORT_TRACES_H

#include <pthread.h>
#include <stdatomic.h>

#include "sessiond/consumer_port.h"

#define WMK_CONSUMER_PORT_START_MS 10000    /* a consumer daemon is started, and tells what it holds */

/* One consumer daemon. */
struct wmk_consumer_port_side {
	struct wmk_consumer_port *outlet;
	struct wmk_consumer_link *link;  /* NULL: not made yet */
	bool kernel;                     /* of kernel channels */
	bool listed;                     /* the consumer was asked what it holds */
	struct port_adopted *held;               /* what an earlier daemon left with the consumer */
	unsigned n_held;
	bool held_any;                   /* when it was asked */
};

struct port_budget;

struct wmk_consumer_port {
	struct wmk_consumer_port_options options;       /* strings are copies */
	char *rundir, *program;
	pthread_mutex_t lock;            /* of links being made, of what consumers held, and of budgets */
	struct port_budget *budgets;
	struct wmk_consumer_port_side sides[2]; /* rings of programs; kernel channels */
	atomic_uint_fast64_t numbers;    /* of traces and rings, never twice; above all that was adopted */
	bool leaving;                    /* set when one thread is left */
};

#define OUT_USERS 150u

struct port_trace {
	struct wmk_consumer_port *outlet;
	struct wmk_consumer_port_side *side; /* which consumer has it */
	uint64_t number;
	struct port_budget *budget;    /* of the session's max_size; NULL: none */
	char sub[192];
	bool has_comments;    /* the metadata is TSDL */
	pthread_mutex_t lock; /* of what follows */
	struct port_rings *rings;
	bool used;   /* it had some */
	bool silent; /* the end of some was not answered in time (no lock: only the thread that ends them uses it) */
};

struct port_rings {
	struct port_rings *next;
	struct port_trace *trace;
	uint64_t number;
	bool stopped;                 /* the consumer has it no more */
	bool users_many;              /* more than fit into users; as that, under the trace's lock */
	char users[OUT_USERS];        /* the user and applications that can write there, as far as they were named */
	atomic_bool named;            /* the trace says which of its streams ended early */
	struct wmk_counts counts; /* as they were reported last */
};

/* Does it run, as far as can be told without starting it? */
bool wmk_port_side_has_consumer(const struct wmk_consumer_port_side *side);
/* The consumer's, made if need be; NULL with a cause chain. */
struct wmk_consumer_link *wmk_consumer_port_link(struct wmk_consumer_port_side *side);

#define WMK_SUB_PID "ust/pid/"        /* where traces of processes are */

/* ── consumer_port_counts.c ── */
/* As wmk_consumer_port_ops. */
void wmk_port_rings_user(void *rings, uid_t uid, const char *name, pid_t pid);
/* The counts are as in the report; what ended early is named in the metadata. */
void wmk_port_counts_keep(struct port_rings *rings, const struct wmk_consumerd_report *report);
/* -EPROTO, with the users and the reason: a stream ended early, which `stop` and `destroy` report. */
int wmk_port_rings_corrupt(struct port_rings *rings, const struct wmk_consumerd_report *report);

/* ── consumer_port_budget.c ── */
/* The page of the session with this path, until the trace leaves. NULL with a cause chain. */
struct port_budget *wmk_port_budget_join(struct wmk_consumer_port *outlet, const char *path);
/* NULL: nothing to do. */
void wmk_port_budget_leave(struct wmk_consumer_port *outlet, struct port_budget *budget);
/* Its descriptor; -1 of NULL. */
int wmk_port_budget_fd(const struct port_budget *budget);

/* ── consumer_port_adopted.c ── */
/* The budget page with which a consumer daemon held a trace below this path: a duplicate, or -1. Locked. */
int wmk_adopted_budget(const struct wmk_consumer_port *outlet, const char *path);
/*
 * Before the consumer is given anything: rings that it reads already must not be given to it as others. Locked; without
 * an answer no link is left.
 */
void wmk_adopted_ask(struct wmk_consumer_port_side *side);
void wmk_adopted_drop(struct wmk_consumer_port_side *side);
/* The number that the consumer has the trace by; 0: it does not. `opened`: it is ours from now on. */
uint64_t wmk_adopted_trace(struct wmk_consumer_port_side *side, const struct wmk_trace_info *info, bool opened);
/* The same of rings, which are ours from now on. */
uint64_t wmk_adopted_rings(struct wmk_consumer_port_side *side, uint64_t trace, uint32_t stream_id);

#endif
