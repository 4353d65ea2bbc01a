/* SPDX-License-Identifier: MIT */
/*
 * consumer_state.h - the state of a consumer: streams, groups of streams, the thread.
 *
 *     commands.c              flush, settle, clear, remove, counts
 *     ├── consumer.c          ring sets and kernel channels: added
 *     │   ├── source_ring.c       a ring as a source
 *     │   └── source_copy.c       a copy of a ring as a source
 *     └── thread.c            when to drain, how long to sleep
 *         ├── heartbeat.c         a second thread, where writers wait for room
 *         ├── flush_timer.c       parts of sub-buffers, at the flush interval
 *         ├── reclaim_timer.c     memory of idle rings
 *         ├── clock_sync.c        sync points of the clock
 *         └── cpu_hotplug.c       CPUs that come online while a kernel channel records
 *             ├── streams.c           groups of streams
 *             │   └── chunk_journal.c     the cuts of a rotation that an earlier consumer has begun
 *             ├── rotation.c          close a chunk of the trace and begin the next one
 *             └── drain.c             packets from sources into the output
 *                     └── stream_counts.c     counts of records
 */
#ifndef WMK_CONSUMER_CONSUMER_STATE_H
#define WMK_CONSUMER_CONSUMER_STATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock_point.h"
#include "consumer/chunk_journal.h"
#include "consumer/consumer.h"
#include "kernel/proc/own_pids.h"
#include "ring/set.h"
#include "store/store.h"

#define WMK_STREAM_NAME 160

/*
 * A group of streams that were added together: the streams of a ring set, the streams of a kernel channel, or (`from`
 * NULL) all single sources.
 */
struct wmk_group {
	const void *from;
	bool at_stop_only;
	bool keep, budget;         /* (struct wmk_consumer_set) */
	uint64_t flush_ns;         /* flush interval; 0: whole sub-buffers only */
	uint64_t reclaim_ns;       /* idle time after which the memory of a ring is given back; 0: never */
	uint64_t start_ts;
	/* of a kernel channel: the time at which its streams end; settled: they have no record since the last stop */
	uint64_t stop_ts;
	bool settled;
	struct wmk_store_limits limits;
	struct wmk_cpu_hotplug *cpus;      /* of a kernel channel: its CPUs that may come online */
	void (*close_cpus)(struct wmk_cpu_hotplug *cpus);
	/* of a kernel channel: source of the state dump, owned by its stream; NULL: no dump was requested */
	struct wmk_source *dump;
	char channel[WMK_STREAM_NAME];     /* "": single sources */
	struct wmk_consumer_stats now;     /* counts of the group; all others are summed from the streams */
	/* counts of closed chunks (docs/rotation.md), and of those streams that have ended in the chunk being closed */
	struct wmk_counts earlier, ended;
	uint64_t writing_ns, behind_ns;
	/* of a ring set, while the clock is restarted: its records before the restart was measured */
	uint64_t in_order;
	/* the ring set was added after the restart: its records belong to the next chunk (clock_restart.h) */
	bool is_next;
};

#define WMK_DUMP_INSTANCE UINT32_MAX     /* stream instance of a state dump; other instances are CPU numbers */

struct wmk_stream {
	char name[WMK_STREAM_NAME];
	struct wmk_group *group;
	struct wmk_source *source;         /* owned */
	struct wmk_output_stream *out;     /* NULL until there is something to write */
	uint32_t stream_id, cpu;
	uint64_t instance;
	uint64_t sequence;                 /* sequence number of the next packet in the trace */
	/* end of the last packet taken; end_ts may also be the end of a packet that is written but not released */
	uint64_t end_ts, end_pos;
	uint64_t packet_pos;               /* position of the last packet taken */
	uint64_t taken;                    /* number of records released from the source */
	uint64_t written;                  /* number of released records that are in the trace */
	uint64_t source_lost;              /* greatest lost count that the source has reported */
	uint64_t causes[WAYMARK_LOST_CAUSES];
	uint64_t lost_written;             /* lost count of the last packet in the trace */
	uint64_t cut, cut_written;         /* cut fields: so far; as of the last packet in the trace */
	uint64_t bytes;                    /* bytes of the file when it was closed */
	uint64_t packets;                  /* number of packets taken in this drain pass */
	/* earliest possible time of a record in the unread part of the source; 0: all parts were read */
	uint64_t unread_ns;
	/* of a source of the kernel: the source had no record at unread_ns, and has not woken the thread since */
	bool flushed;
	/* position of the source, and when it was first seen; reclaimed: its memory was given back at this position */
	uint64_t idle_pos, idle_ns;
	bool reclaimed;
	/* of a rotation: the end of the chunk (has_cut); the source already counts from this cut (chunk_begun) */
	struct wmk_ring_cut chunk_cut;
	bool has_cut, chunk_begun;
	bool chunk_ended;                  /* its final counts are in the chunk, and in its group */
	/* the stream is a state dump: written at once, even if its group is written only at stop */
	bool dump;
	bool stuck;                        /* the output refused the last packet */
	bool has_pending;                  /* a packet with records stays in the source, to be written later */
	bool failed;                       /* the source is corrupt, or the stream cannot be continued */
};

/* True if the stream is drained only at stop. */
static inline bool wmk_stream_is_at_stop_only(const struct wmk_stream *stream)
{
	return stream->group->at_stop_only && !stream->dump;
}

struct wmk_consumer_work {
	void (*function)(void *arg);
	void *arg;
	struct wmk_consumer_work *next;
};

/*
 * Sync points of the trace's clock (clock_sync.h). Only the consumer's thread uses the members of this structure,
 * except `kind`.
 */
struct wmk_consumer_clock {
	/* enum wmk_clock_kind; -1: there are no sources yet, or the clock cannot be read */
	_Atomic int kind;
	struct wmk_clocks clocks;
	struct wmk_clock_head head;        /* of the file .clock */
	/* a point is due: records were written since the last point, or there is no point yet */
	bool is_due;
	/* points are due without packets, because rings hold records until the stop */
	bool is_always_due;
	uint64_t written_ns;               /* monotonic time of the last point; 0: none */
	struct wmk_clock_point last;       /* the latest point */
	/* monotonic time of the report that the counter has gone back, until the next chunk begins; else 0 */
	uint64_t restarted_ns;
};

struct wmk_consumer {
	struct wmk_consumer_options options;
	/* `streams_lock` is held during a drain pass, and while streams are added or removed. */
	pthread_mutex_t streams_lock;
	struct wmk_stream **streams;
	size_t n_streams;
	struct wmk_group **groups;
	size_t n_groups;
	struct waymark_ring_set **sets;    /* changed under `lock` too: the heartbeat reads them */
	size_t n_sets;
	struct wmk_consumer_stats gone;    /* statistics of removed sets */
	/*
	 * A rotation (rotation.c). cut_ns: when the sources were cut, or 0. rotating: a rotation is not finished.
	 * journaled: its journal is on the disk.
	 */
	uint64_t cut_ns;
	bool rotating, journaled;
	struct wmk_chunk_journal journal;  /* the journal of an earlier consumer */
	struct wmk_chunk_journal begins;   /* where the open chunk begins in sources with records_at */
	char closed[256];                  /* the name of the chunk before the open one; "": none */
	bool ended;                        /* the last drain pass is over */
	bool awaits_cpus;                  /* CPUs without a stream may come online */
	bool unbacked;                     /* memory was not available in the last pass */
	uint64_t claims_ns;                /* when claims were last checked */
	uint64_t pass_ns;                  /* end of the last drain pass */
	uint64_t flush_at;                 /* when the next part has to be written (flush_timer.h) */
	uint64_t reclaim_at;               /* when the memory of a ring can be given back (reclaim_timer.h) */
	bool flushes;                      /* at least one channel has a flush interval */
	uint64_t flush_least_ns;           /* the shortest interval of all streams with a flush interval */
	/* `is_followed`: a live reader follows the trace (flush_timer.c). */
	bool is_followed, is_busy;         /* is_busy: its parts are large, so they are written less often */
	/* floor of the sources, in the clock of the trace, and when it was raised; 0: none */
	uint64_t floor, floor_ns;
	struct wmk_consumer_clock clock;
	/* `lock` protects the commands and the published statistics. */
	pthread_mutex_t lock;
	pthread_cond_t changed;            /* a command has been carried out */
	pthread_t thread;
	/* time before its creation: kernel records of the thread belong to the tracer itself */
	struct wmk_kown_time thread_begun;
	bool running, stop;
	struct wmk_consumer_work *work, **work_end;
	uint32_t word;                     /* atomic; a futex that changes when the thread has something to do */
	/* an eventfd with the same purpose, if the thread sleeps in poll(); else -1 */
	_Atomic int wake;
	int stop_err;
	struct wmk_consumer_stats stats;
	/* The heartbeat runs in a separate thread, which uses `lock`. */
	pthread_t heartbeat;
	pthread_cond_t heartbeat_changed;
	/* heartbeat_on: the consumer's thread is not in its deep sleep */
	bool has_heartbeat, heartbeat_on, heartbeat_stop;
	_Atomic uint64_t alive_ns;         /* time of the last progress of the consumer's thread */
	/* Only the consumer's thread uses the following members. */
	struct waymark_ring_set **watched; /* sets that it sleeps on: a copy of `sets` */
	unsigned n_watched;
	/* the shortest interval of the sets with writers that do not wake a reader; 0: no such set */
	uint32_t poll_us;
	/*
	 * descriptors that it sleeps on: first `wake`, then n_followed of follow_fd(), then those of streams; n_polled
	 * 0: none
	 */
	struct pollfd *polled;
	unsigned n_polled, n_followed;
	bool follow_woke;                  /* a descriptor of follow_fd() was readable */
	/*
	 * a descriptor of follow_fd() was readable, but follow() had nothing to do. The next sleep ignores the
	 * descriptors of follow_fd(), and lasts at most WMK_CONSUMER_DEEP_US.
	 */
	bool follows_in_vain;
	bool source_woke;                  /* a source of the kernel may have a new record */
	bool fruitless;                    /* an armed source has woken the thread, and no packet was taken since */
	uint32_t interval_us, idle;
	bool stuck;                        /* the disk is full */
	bool refused;                      /* a packet was not written, and will be retried */
};

#endif
