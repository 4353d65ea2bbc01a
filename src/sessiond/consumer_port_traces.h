/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_traces.h - private to consumer_port.c (traces and rings at the consumer daemon),
 * consumer_port_adopted.c (what the consumer held before), consumer_port_budget.c (budget pages),
 * consumer_port_counts.c (reports), and consumer_port_output.c (the directory of a session).
 */
#ifndef WMK_SESSIOND_CONSUMER_PORT_TRACES_H
#define WMK_SESSIOND_CONSUMER_PORT_TRACES_H

#include <pthread.h>
#include <stdatomic.h>

#include "sessiond/consumer_port.h"

#define WMK_CONSUMER_PORT_START_MS 10000    /* for a consumer daemon to start and list what it holds */

/* One consumer daemon. */
struct wmk_consumer_port_side {
	struct wmk_consumer_port *port;
	struct wmk_consumer_link *link;  /* NULL: not open yet */
	bool kernel;                     /* the consumer of kernel channels */
	bool listed;                     /* the list of the consumer was received */
	struct port_adopted *held;               /* the list of the consumer */
	unsigned n_held;
	bool held_any;                   /* the list was not empty when it was received */
};

struct port_budget;

struct wmk_consumer_port {
	struct wmk_consumer_port_options options;       /* strings are copies */
	char *rundir, *program;
	pthread_mutex_t lock;            /* protects opening of links, the lists, and budgets */
	struct port_budget *budgets;
	struct wmk_consumer_port_side sides[2]; /* rings of applications; kernel channels */
	atomic_uint_fast64_t numbers;    /* latest number of a trace or ring set; above all adopted ones */
	bool leaving;                    /* set when one thread is left */
};

#define OUT_USERS 150u

struct port_trace {
	struct wmk_consumer_port *port;
	struct wmk_consumer_port_side *side; /* the consumer that has the trace */
	uint64_t number;
	struct port_budget *budget;    /* of the session; NULL: nothing is written */
	char sub[192];
	bool has_comments;    /* the metadata format has comments (TSDL) */
	pthread_mutex_t lock; /* protects the fields below */
	struct port_rings *rings;
	bool used;   /* the trace has had rings */
	bool silent; /* an end of rings timed out (used only by the thread that ends them, without the lock) */
};

struct port_rings {
	struct port_rings *next;
	struct port_trace *trace;
	uint64_t number;
	bool stopped;                 /* the consumer has released the rings */
	bool users_many;              /* `users` is full; under the lock of the trace, as `users` is */
	char users[OUT_USERS];        /* the user and the known applications that can write to the rings */
	atomic_bool named;            /* the metadata has a comment about streams that ended early */
	struct wmk_counts counts, earlier; /* of the latest report */
};

/* True if the consumer runs. The function starts no consumer. */
bool wmk_port_side_has_consumer(const struct wmk_consumer_port_side *side);
/* Return the link, and open it if necessary; NULL with a cause chain. */
struct wmk_consumer_link *wmk_consumer_port_link(struct wmk_consumer_port_side *side);

#define WMK_SUB_PID "ust/pid/"        /* prefix of `sub` for traces of processes */

#define WMK_PORT_WRITE_MS 60000    /* to write all committed records to the disk */
/* to query counts or connections: after a timeout, the port uses the latest known counts */
#define WMK_PORT_QUERY_MS 1000

/* ── consumer_port_output.c ── */
/* Return `err`, or 0 for a timeout, because the link performs the request later. */
int wmk_port_in_time(int err);
/* For wmk_consumer_port_ops. */
int wmk_port_output_check(void *data, const struct wmk_trace_info *session);
int wmk_port_relays(void *data, struct wmk_list *relays, struct wmk_arena *arena);
int wmk_port_each_left(void *data, const struct wmk_trace_info *session, int (*one)(void *one_data, const char *sub),
		       void *one_data);
int wmk_port_forget_left(void *data, const struct wmk_trace_info *info);
int wmk_port_archive_left(void *data, const struct wmk_trace_info *info);
int wmk_port_archive_end(void *data, const struct wmk_trace_info *session);
int wmk_port_output_end(void *data, const struct wmk_trace_info *session);
bool wmk_port_chunk_is_due(void *data, const char *path, uint64_t chunk_max);
void wmk_port_chunk_end(void *data, const char *path);
int wmk_port_trace_cut(void *trace);
int wmk_port_trace_rotate(void *trace, const char *closed, uint64_t chunk, bool wait);
int wmk_port_metadata_before(void *trace, const char *text, size_t len);

/* ── consumer_port_counts.c ── */
/* For wmk_consumer_port_ops. */
void wmk_port_rings_user(void *rings, uid_t uid, const char *name, pid_t pid);
/* Store the counts of the report, and add comments about streams that ended early to the metadata. */
void wmk_port_counts_keep(struct port_rings *rings, const struct wmk_consumerd_report *report);
/*
 * -EPROTO with the users and the reason, if a stream ended early because of a corrupt ring; `stop` and `destroy` report
 * it.
 */
int wmk_port_rings_corrupt(struct port_rings *rings, const struct wmk_consumerd_report *report);

/* ── consumer_port_budget.c ── */
/*
 * Get the budget page of the session with this path; the page stays valid until the trace calls
 * wmk_port_budget_leave(). The first trace of a page sets the page's chunk_max. NULL with a cause chain.
 */
struct port_budget *wmk_port_budget_join(struct wmk_consumer_port *port, const struct wmk_trace_info *info);
/* `budget` may be NULL. */
void wmk_port_budget_leave(struct wmk_consumer_port *port, struct port_budget *budget);
/* Its descriptor; -1 for NULL. */
int wmk_port_budget_fd(const struct port_budget *budget);

/* ── consumer_port_adopted.c ── */
/*
 * Duplicate the descriptor of the budget page that a consumer daemon held for a trace with this path; -1 if there is
 * none. Locked.
 */
int wmk_adopted_budget(const struct wmk_consumer_port *port, const char *path);
/*
 * Request the list from the consumer daemon before adding any rings, because rings that the consumer daemon already
 * reads must not be added again. Locked. If the consumer daemon does not answer, the link is closed.
 */
void wmk_adopted_ask(struct wmk_consumer_port_side *side);
void wmk_adopted_drop(struct wmk_consumer_port_side *side);
/*
 * Return the number of the trace in the list, or 0 if the list does not contain the trace. If `opened` is true, the
 * entry is marked as used by this daemon.
 */
uint64_t wmk_adopted_trace(struct wmk_consumer_port_side *side, const struct wmk_trace_info *info, bool opened);
/* Return the number of the rings in the list, or 0 if the list does not contain the rings. Marks the rings as used. */
uint64_t wmk_adopted_rings(struct wmk_consumer_port_side *side, uint64_t trace, uint32_t stream_id);

#endif
