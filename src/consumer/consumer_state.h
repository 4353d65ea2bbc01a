/* SPDX-License-Identifier: MIT */
/*
 * consumer_state.h - shared by the files of src/consumer: a stream, a group of streams, and what one look at all of
 * them does.
 *
 *     consumer.c   what there is: sets, groups, streams; added and removed
 *     thread.c     the thread: when to look, when to sleep, how deep; commands
 *     drain.c       a look: packets from sources into the output
 *     counts.c     what became of the records
 *     cpu_hotplug.c       CPUs that come while a kernel channel records
 *     heartbeat.c      a second thread, where writers wait for room
 */
#ifndef WMK_CONSUMER_CONSUMER_STATE_H
#define WMK_CONSUMER_CONSUMER_STATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "consumer/consumer.h"
#include "kernel/proc/own_pids.h"
#include "store/store.h"

#define WMK_STREAM_NAME 160
#define WMK_CPU_HOTPLUG_MS 250            /* so often it is looked for CPUs that have come, where some may */

/* What came in together: a ring set, a kernel channel, or (from NULL) all sources that were added alone. */
struct wmk_group {
	const void *from;
	bool at_stop_only;
	bool keep, budget;         /* (struct wmk_consumer_set) */
	uint64_t start_ts;
	struct wmk_store_limits limits;
	struct wmk_cpu_hotplug *cpus;             /* of a kernel channel: those that may come */
	/* of a kernel channel: the state dump's, one of the streams'; NULL: none was wanted */
	struct wmk_source *dump;
	struct wmk_consumer_stats now;     /* counts that grow here; the rest is summed up from the streams */
	uint64_t writing_ns, behind_ns;
};

struct wmk_stream {
	char name[WMK_STREAM_NAME];
	struct wmk_group *group;
	struct wmk_source *source;         /* owned */
	struct wmk_output_stream *out;       /* NULL until there is something to write */
	uint32_t stream_id, cpu;
	uint64_t instance;
	uint64_t sequence;                 /* of the next packet in the trace */
	/* of the last packet taken; the time also of one that is only in the trace */
	uint64_t end_ts, end_pos;
	uint64_t packet_pos;                    /* position of the last packet taken */
	uint64_t taken;                    /* records released from the source */
	uint64_t written;                  /* of them, in the trace */
	uint64_t source_lost;              /* greatest count that the source has told */
	uint64_t causes[WAYMARK_LOST_CAUSES];
	uint64_t lost_written;                    /* lost count of the last packet in the trace */
	uint64_t cut, cut_written;           /* fields, up to now; as the last packet in the trace says */
	uint64_t bytes;                    /* when it was closed */
	uint64_t packets;                  /* taken in this look */
	bool dump;                         /* a state dump: written at once, though its group be written at stop only */
	bool stuck;                        /* the last packet that was offered to the output is not in the trace */
	bool failed;                         /* the source lies */
};

/* It is left alone until the stop. */
static inline bool wmk_stream_is_at_stop_only(const struct wmk_stream *stream)
{
	return stream->group->at_stop_only && !stream->dump;
}

struct wmk_consumer_work {
	void (*function)(void *arg);
	void *arg;
	struct wmk_consumer_work *next;
};

struct wmk_consumer {
	struct wmk_consumer_options options;
	/* Held during a look, and by who adds or removes streams. */
	pthread_mutex_t streams_lock;
	struct wmk_stream **streams;
	size_t n_streams;
	struct wmk_group **groups;
	size_t n_groups;
	struct waymark_ring_set **sets;    /* changed under `lock` too: the heart looks at them */
	size_t n_sets;
	struct wmk_consumer_stats gone;    /* of sets that were removed */
	bool ended;                        /* the last look has been taken */
	bool awaits_cpus;                  /* CPUs may come that have no stream yet */
	bool unbacked;                     /* memory was not to be had at the last look */
	uint64_t claims_ns;                /* when claims were last looked at */
	/* Below: commands and what is published, under `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;            /* a call has been carried out */
	pthread_t thread;
	struct wmk_kown_time thread_begun;     /* from before it was created: all its records are our own */
	bool running, stop;
	struct wmk_consumer_work *work, **work_end;
	/* atomic; changes when there is something for the thread: what it sleeps on ... */
	uint32_t word;
	_Atomic int wake;                  /* ... and, where it sleeps in poll(), an eventfd; -1: it does not */
	int stop_err;
	struct wmk_consumer_stats stats;
	/* The heart: a thread of its own, on `lock`. */
	pthread_t heartbeat;
	pthread_cond_t heartbeat_changed;
	/* beating: the consumer's thread is not in its deep sleep */
	bool has_heartbeat, heartbeat_on, heartbeat_stop;
	_Atomic uint64_t alive_ns;         /* when that thread last did something */
	/* The thread's own. */
	struct waymark_ring_set **watched; /* what it sleeps on: a copy of `sets` ... */
	unsigned n_watched;
	/* ... or these, `wake` first, then what is followed, then streams; n_polled 0: there are none */
	struct pollfd *polled;
	unsigned n_polled, n_followed;
	bool follow_woke;                  /* what is followed was readable, ... */
	/* ... and there was nothing to take: it is looked at by the timer, and not slept on */
	bool follows_in_vain;
	uint32_t interval_us, idle;
	bool stuck;                        /* writing waits for room */
	bool refused;                      /* one stream's does, or for whatever keeps it: it is tried again */
};

enum wmk_drain_mode { WMK_DRAIN_WHOLE = 0, WMK_DRAIN_FLUSH = 1, WMK_DRAIN_END = 2 };

/* What a look saw. */
struct wmk_drain_result {
	uint64_t packets;
	uint64_t most;             /* packets of the stream that had most */
	bool more;                 /* there is more to take at once */
	bool followed;             /* there was something to follow */
	int err;                   /* the output's, 0 if everything was written */
	bool full;                 /* and it ended the look */
};

/*
 * Look at all streams, or those of `group`: WHOLE takes complete packets, FLUSH also parts, END gives up what cannot be
 * written and ends the streams. What is for the stop only is left out of the first two unless it is asked for by
 * `settle`, which also writes the lost counts as they are. Under streams_lock.
 */
void wmk_consumer_drain(struct wmk_consumer *consumer, enum wmk_drain_mode mode, const struct wmk_group *group,
			bool settle, struct wmk_drain_result *result);
/*
 * Memory ahead of the writers, and a sign of life: at each look, and after each packet, since a slow disk can keep us
 * for long. Now and then rings whose claims nobody will give back are replaced. Memory that cannot be had shows in the
 * rings, as records lost for lack of it. Under streams_lock.
 */
void wmk_consumer_maintain(struct wmk_consumer *consumer);
/* heartbeat.c: started and stopped with the consumer's thread. 0 or -errno; under no lock. */
int wmk_consumer_heartbeat_start(struct wmk_consumer *consumer);
void wmk_consumer_heartbeat_stop(struct wmk_consumer *consumer);
/* The consumer's thread goes to its deep sleep, or comes back. Takes `lock`. */
void wmk_consumer_heartbeat_pause(struct wmk_consumer *consumer, bool pause);
uint64_t wmk_consumer_now_ns(void);
/*
 * The output did not take what it was given of the stream: told in the statistics, with the words of the cause chain,
 * which is cleared.
 */
void wmk_stream_write_failed(struct wmk_stream *stream, int err);
/* The source lies, or cannot be continued (`what`): its stream ends here, the others go on. Under streams_lock. */
void wmk_consumer_fail_stream(struct wmk_consumer *consumer, struct wmk_stream *stream, const char *what, int err);
/* What the source has lost by now, never less than it has said before; a source that lies is not asked any more. */
uint64_t wmk_stream_lost(struct wmk_stream *stream);
/* Records that were taken from the source but are in no packet. */
static inline uint64_t wmk_stream_unwritten(const struct wmk_stream *stream)
{
	return stream->taken - stream->written;
}
/* Sum up a group, as it is now. Under streams_lock. */
void wmk_consumer_sum(struct wmk_consumer *consumer, const struct wmk_group *group, struct wmk_consumer_stats *sum);
/* Sum up everything, copy it to consumer->stats. Under streams_lock. */
void wmk_consumer_publish(struct wmk_consumer *consumer);
/* What the trace has of a stream goes, and what its source holds: it begins anew. 0 or -errno. Under streams_lock. */
int wmk_consumer_restart_stream(struct wmk_consumer *consumer, struct wmk_stream *stream);
/* The group of a set or a kernel channel, or NULL. Under streams_lock. */
struct wmk_group *wmk_consumer_group(struct wmk_consumer *consumer, const void *from);
/* Throw away a group with its streams; their counts go to consumer->gone. Under streams_lock. */
void wmk_consumer_drop_group(struct wmk_consumer *consumer, struct wmk_group *group);
/* Join the thread, if it runs. */
void wmk_consumer_join(struct wmk_consumer *consumer);

/* A stream of the group's. The source is the consumer's from here on, whatever comes of it. Under streams_lock. */
int wmk_consumer_add_stream(struct wmk_consumer *consumer, struct wmk_group *group, struct wmk_source *source,
			    const char *name, uint32_t instance, uint32_t cpu, const struct wmk_consumer_set *how);

/* cpu_hotplug.c: of a kernel channel. */
int wmk_cpu_hotplug_open(struct wmk_kreader *reader, const struct wmk_consumer_set *how,
			 struct wmk_cpu_hotplug **cpus);
void wmk_cpu_hotplug_close(struct wmk_cpu_hotplug *cpus);
/* Streams for those that are there and have none. Under streams_lock. */
int wmk_consumer_add_online_cpus(struct wmk_consumer *consumer, struct wmk_group *group);
/*
 * The same for all groups, when CPUs came online since the last time; asked too soon after that, and not `now`, it is
 * left for later. What cannot be read is told in the statistics. True: some may come still, and must be looked for.
 * Under streams_lock.
 */
bool wmk_consumer_check_cpus(struct wmk_consumer *consumer, bool now);

int wmk_source_ring_open(struct waymark_ring_set *set, uint32_t ring, struct wmk_source **source);

#endif
