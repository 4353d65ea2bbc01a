/* SPDX-License-Identifier: MIT */
/*
 * consumerd.h - the messages between the session daemon and waymark-consumerd, and the objects in them.
 *
 *     session daemon (sessiond/consumer_link.h)     waymark-consumerd (consumer/server.h)
 *     HELLO {WMK_CONSUMERD_GREETING, pid}     ──►      any other first message closes the connection
 *                                             ◄──      HELLO {version, pid}: ready
 *     request, number, object [+ descriptor]  ──►
 *                                             ◄──      REPLY, same number, object; or ERROR {errno, text}
 *                                             ◄──      LIST_ITEM, same number, object + descriptor (LIST)
 *                                             ◄──      FULL {path}: max_size is reached
 *                                             ◄──      REQUESTED {path}: a program requests a snapshot
 *                                             ◄──      RESTARTED {path}: the counter of a clock has restarted
 *                                             ◄──      CHUNK_DUE: the open chunk of a session is large enough
 *                                             ◄──      REPLACED: another session daemon has connected
 *
 * The path of the socket is <rundir>/consumer.sock. LIST_ITEM messages are sent before the REPLY to LIST. On each new
 * connection, the consumer daemon sends FULL, REQUESTED and RESTARTED again. After REPLACED the connection ends.
 * consumerd_requests.def lists the requests. The consumer daemon answers a request when it has completed the request,
 * so answers can be in any order. The consumer daemon answers a request of an unknown type with an error. Each side
 * authenticates the other side with SO_PEERCRED; both processes must run as the same user.
 *
 * Requests are idempotent: adding an object that already exists (with the same identity) succeeds. Removing an object
 * that does not exist also succeeds. The session daemon can therefore repeat a request after the connection was lost.
 */
#ifndef WMK_WIRE_CONSUMERD_H
#define WMK_WIRE_CONSUMERD_H

#include "wire/counts.h"
#include "wire/object.h"
#include "wire/relay_url.h"
#include "wire/wire.h"

#define WMK_CONSUMERD_SOCKET "consumer.sock"
#define WMK_CONSUMERD_KERNEL_SOCKET "consumer-kernel.sock"   /* of the consumer daemon for kernel channels */
#define WMK_CONSUMERD_CHANNELS_MAX 4096u     /* channels of one trace */
#define WMK_CONSUMERD_PIDS 64u           /* processes to which recording of system calls can be limited, at most */
#define WMK_CONSUMERD_METADATA_MAX (1u << 20)    /* bytes of text in one message */
#define WMK_CONSUMERD_LEFT_MAX 16384u        /* names of such traces in one reply to LIST_LEFT */
#define WMK_CONSUMERD_SENDERS_MAX 4096u      /* in one reply to SENDERS */
#define WMK_CONSUMERD_EVENTS_MAX 16384u      /* kernel events in one channel */

enum wmk_consumerd_type {
	WMK_CONSUMERD_REPLY = 0x200,
	WMK_CONSUMERD_ERROR,
	WMK_CONSUMERD_HELLO,
	WMK_CONSUMERD_LIST_ITEM,
	WMK_CONSUMERD_REPLACED,
	WMK_CONSUMERD_FULL,
	WMK_CONSUMERD_REQUESTED,
	WMK_CONSUMERD_RESTARTED,
	WMK_CONSUMERD_CHUNK_DUE,
#define WMK_CONSUMERD_REQUEST(identifier, number, name, request, reply) WMK_CONSUMERD_##identifier = (number),
#include "wire/consumerd_requests.def"
};

/*
 * The session daemon sends WMK_CONSUMERD_GREETING as the version in its HELLO. The greeting distinguishes a session
 * daemon from other processes of this user.
 */
#define WMK_CONSUMERD_GREETING "waymark-sessiond"

struct wmk_consumerd_hello {
	const char *version;
	uint64_t pid;
};

/* Statistics since the start of the trace, or since the last clear. */
struct wmk_consumerd_stats {
	struct wmk_counts counts;
	struct wmk_counts earlier;   /* the part of `counts` that is in closed chunks (docs/rotation.md) */
	uint32_t output_error;         /* the latest error of the output, a positive errno; 0: none */
	bool stuck;                  /* the last packet of a stream could not be written, and will be retried */
	const char *words;           /* text of the first error; "": none */
};

/* Statistics of one channel, which include rings that were removed. */
struct wmk_consumerd_channel {
	const char *channel;
	struct wmk_consumerd_stats stats;
};
/*
 * Add the counts of `more`. If `more` contains an error, copy this error to `sum`. The members `stuck` and `words` are
 * not changed.
 */
void wmk_consumerd_stats_add(struct wmk_consumerd_stats *sum, const struct wmk_consumerd_stats *more);

/*
 * The state in which the consumer daemon expects the trace directory; corresponds to enum wmk_output_mode
 * (consumer/output.h).
 */
enum wmk_consumerd_mode {
	WMK_CONSUMERD_TRACE_AGAIN, WMK_CONSUMERD_TRACE_NEW, WMK_CONSUMERD_TRACE_UNSURE,
};

/*
 * One CTF trace, which is a directory with metadata and streams. The message can carry a descriptor: the budget page
 * (store/store.h) that all traces below `path` share. Both consumer daemons of a session use the same budget page.
 */
struct wmk_consumerd_trace {
	uint64_t trace;              /* its number, assigned by the session daemon, not 0 */
	const char *path;            /* absolute */
	const char *sub;             /* path below `path`, as in store/store.h */
	uint64_t uid, gid;           /* owner; files are created with its rights */
	uint8_t uuid[16];            /* UUID of the trace, in every packet */
	/* maximum bytes of the files of all traces below `path` together; 0: no limit */
	uint64_t max_size;
	/* of struct wmk_consumerd_channel: counts of removed rings (in LIST, and when the trace is added again) */
	struct wmk_list gone;
	uint32_t mode;               /* enum wmk_consumerd_mode */
	bool gated;                  /* packets wait until the session daemon has replaced the metadata */
	bool unwritten;              /* nothing is written: snapshots of the session read the rings */
	/*
	 * The number of the open chunk (docs/rotation.md), and the name of the previous chunk in archives/ ("" if the
	 * open chunk is the first chunk). If the directory still contains the previous chunk, a ROTATE request
	 * continues the rotation of this chunk.
	 */
	uint64_t chunk;
	const char *closed;
	/* relay that receives the traces below `path` (wire/relay_url.h), and max_size limits the spool; "": none */
	const char *url;
};

/*
 * ROTATE: close the chunk that precedes `chunk`, name it `closed`, and open `chunk`. An earlier CUT request has read
 * the position in each ring at which the closed chunk ends. The consumer daemon replies after the chunk is closed. A
 * full or slow disk delays the reply. The request also succeeds if `chunk` is already open.
 */
struct wmk_consumerd_rotation {
	uint64_t trace, chunk;
	const char *closed;
};

/*
 * METADATA: one part of the metadata of a trace. The parts are sent in order. The consumer daemon replies after the
 * part is written. A full or slow disk delays the reply. Before the consumer daemon writes a packet with records, it
 * writes all metadata that it has received earlier. The session daemon can send the parts again, in order, to the next
 * consumer daemon (see wmk_store_metadata_at()). The session daemon does not repeat parts that precede the last
 * replacement, so there is only one part for each offset. -ESTALE: the file is shorter than the session daemon assumes,
 * and the session daemon must replace the metadata.
 */
struct wmk_consumerd_metadata {
	uint64_t trace;
	uint64_t offset;             /* of an appended part: the offset of the part in the file */
	bool replace;                /* this is a part of a replacement of the whole file */
	bool more;                   /* with replace: another part follows */
	/* the chunk of the text: the text waits until this chunk is open, and is dropped if this chunk was closed */
	uint64_t chunk;
	const char *text;            /* WMK_CONSUMERD_METADATA_MAX bytes at most */
};

/* A kernel event, with its id in the trace and its filter (kernel/channel/channel_reader.h, wmk_kreader_filter()). */
struct wmk_consumerd_event {
	const char *system, *name;   /* events/<system>/<name> of tracefs */
	uint32_t id;
	uint32_t filter_len;         /* bytes of `filter`; 0: no filter, all records */
	struct wmk_list filter;      /* of uint64_t: the bytes of an encoded program (filter/filter.h), in order */
	bool changing;
	/* not sent: number of allocated elements of `filter`, if greater than its length */
	uint32_t filter_room;
};
/*
 * Get the bytes of the filter program; NULL if the event has no filter. Returns false if the list `filter` is shorter
 * than filter_len.
 */
bool wmk_consumerd_event_filter(const struct wmk_consumerd_event *event, const void **program, size_t *len);

/*
 * Either a ring set of applications, or a kernel channel. The message carries a descriptor: that of the ring set, or
 * that of the channel's tracefs instance (kernel/tracefs/instance.h). If the kernel channel already exists, the
 * consumer daemon adds new events in `events`, and replaces the filters of existing events.
 */
struct wmk_consumerd_rings {
	uint64_t trace;
	uint64_t rings;              /* its number, assigned by the session daemon, unique in the trace, not 0 */
	const char *channel;         /* streams are named <channel>_<cpu>, <channel>_claim<k> */
	uint32_t stream_id;          /* stream class */
	bool at_stop_only;           /* overwrite mode: nothing is written before STOP or RINGS_REMOVE */
	bool resume;                 /* the trace may have streams of these rings: append to these streams */
	bool clear;                  /* with resume: discard all earlier records, in rings and trace */
	uint64_t tracefile_size;     /* maximum bytes of a stream's file (whole packets, at least one); 0: no limit */
	/*
	 * maximum number of files of a stream: a further file replaces the oldest one; 0: no limit. Only with
	 * tracefile_size
	 */
	uint64_t tracefile_count;
	uint64_t flush_ns;           /* flush interval; 0: whole sub-buffers only */
	/* value of the clock when recording began: the time of an empty packet in a stream that has no records */
	uint64_t start_ts;
	/* the `uuid` of waymark_ring_options; the received set must have the same */
	uint8_t uuid[16];
	bool kernel;
	uint64_t only_pid;           /* kernel: record only this process; 0: all processes */
	/* kernel: of uint64_t, numbers of wmk_ctf_context(), in the order of the record's context fields */
	struct wmk_list contexts;
	/*
	 * kernel: of struct wmk_consumerd_event. In events of the state dump, the member `system` is "". In events of
	 * system calls that BPF records, the member `system` is WMK_SYSCALLS_SYSTEM (kernel/channel/syscall_reader.h).
	 */
	struct wmk_list events;
	/*
	 * kernel: the set of system calls that BPF records from now on, as bits (kernel/channel/syscall_reader.h). A
	 * new set of system calls replaces the previous set. An empty list changes nothing.
	 */
	struct wmk_list calls;       /* of uint64_t */
	uint64_t syscall_ring_bytes; /* size of a CPU's ring for system calls */
	bool syscalls_narrowed;      /* record only the processes in syscall_pids; else all processes */
	/* of uint64_t: WMK_CONSUMERD_PIDS elements, of which unused ones are 0; empty if `calls` is empty */
	struct wmk_list syscall_pids;
	/* kernel: the number of a state dump, which starts if it is greater than the previous number; 0: none */
	uint64_t statedump;
	/*
	 * a snapshot: write a copy of what the ring set holds now, at most copy_max bytes of each ring (0: no limit).
	 * For a snapshot, the copied ring set belongs to another trace. The consumer daemon writes nothing into the
	 * copied ring set. If `resume` is also set, the consumer daemon writes a new copy, which replaces the copy of
	 * an earlier consumer daemon.
	 */
	bool copy;
	uint64_t copy_max;
	/* the memory of a ring is given back when the ring has had no record for this time; 0: never */
	uint64_t reclaim_ns;
};
/*
 * Replace the system calls in `is` by those in `more`, unless `more` contains no system calls. The function copies the
 * lists to the arena. -ENOMEM.
 */
int wmk_consumerd_syscalls_set(struct wmk_consumerd_rings *is, const struct wmk_consumerd_rings *more,
			    struct wmk_arena *arena);
/*
 * Add the events in `more` that `events` does not contain (by system and name), copied to the arena. If `events`
 * already contains an event of `more`, replace the filter of this event. 1: events were added; 0: none; -ENOMEM;
 * -E2BIG: too many events, or more bytes than one message to a later consumer daemon can have. Nothing changes after
 * -E2BIG.
 */
int wmk_consumerd_events_add(struct wmk_list *events, const struct wmk_list *more, struct wmk_arena *arena);

/* The target of a request. */
struct wmk_consumerd_target {
	uint64_t trace;              /* 0: all traces (only WAKE) */
	uint64_t rings;              /* 0: all rings of the trace */
};

/* RECLAIM: release the memory of rings that have had no record for idle_ns. */
struct wmk_consumerd_reclaim {
	uint64_t trace, rings;       /* rings 0: all rings of the trace */
	uint64_t idle_ns;
};

/* The reply to RINGS_REMOVE, TRACE_REMOVE, STOP and STATS. */
struct wmk_consumerd_report {
	struct wmk_list channels;    /* of struct wmk_consumerd_channel; for one ring set: one element */
};

/*
 * LIST_ITEM describes a trace (rings.rings is 0); the descriptor is the trace's budget page, if the trace has a budget
 * page. After the item of a trace, there is one item for each ring set of this trace, with the descriptor of the ring
 * set. The item of a kernel channel contains no system calls, and contains only the events of the state dump.
 */
struct wmk_consumerd_list_item {
	struct wmk_consumerd_trace trace;
	struct wmk_consumerd_rings rings;
};

/*
 * FULL reports that the output refuses packets with records. The records that were refused stay in their rings. FULL is
 * sent again if the trace was cleared and then becomes full again.
 *
 * REQUESTED uses the same object as FULL: a ring set of a trace in `path` contains a request for a snapshot
 * (ring/request.h).
 *
 * RESTARTED uses the same object as FULL: the clock counter of a trace in `path` has decreased. After RESTARTED, the
 * channels of the session need new ring sets, and the session needs a rotation. Ring sets that are added after
 * RESTARTED belong to the next chunk.
 */
struct wmk_consumerd_full { const char *path; };
/*
 * CHUNK_DUE has no object, and reports that the open chunk of a session has reached chunk_max of its budget page. The
 * session daemon then reads the budget pages of all sessions that have a schedule.
 */

/*
 * OUTPUT_CHECK, LIST_LEFT, REMOVE_LEFT, ARCHIVE_LEFT, ARCHIVE_END and OUTPUT_END are requests about the directory of a
 * session. Requests about the directory are permitted whether or not a trace in the directory is open. The consumer
 * daemon accesses the directory with the rights of uid and gid.
 *
 *     OUTPUT_CHECK    an error if the path exists and is not an empty directory
 *     LIST_LEFT       traces of processes (--buffers-pid) in the directory
 *     REMOVE_LEFT     remove one of these traces, which the session daemon does not have open
 *     ARCHIVE_LEFT    move one of these traces, which is not open, to a chunk that a rotation closes
 *     ARCHIVE_END     all traces of a chunk are closed: give it its final name
 *     OUTPUT_END      the session of this spool has ended: a later consumer daemon also sends the spool
 */
struct wmk_consumerd_output {
	const char *path;            /* absolute */
	uint64_t uid, gid;
	/* REMOVE_LEFT, ARCHIVE_LEFT: the name of the trace's directory in `path`/ust/pid; else "" */
	const char *process;
	const char *chunk;           /* ARCHIVE_LEFT, ARCHIVE_END: the name of the closed chunk; else "" */
	bool compress;               /* ARCHIVE_END: compress closed chunks afterwards, at idle priority */
	/*
	 * ARCHIVE_END: delete the oldest closed chunks until the rest is within these limits (store/retention.h); 0: no
	 * limit
	 */
	uint64_t retain_size, retain_us, retain_count;
};

/* Reply to LIST_LEFT. */
struct wmk_consumerd_left {
	/* of const char *, names of directories in ust/pid; WMK_CONSUMERD_LEFT_MAX at most */
	struct wmk_list processes;
	bool more;                   /* the directory has more names than the list */
};

/*
 * The state of a sender (sender/sender.h), which sends the spool of a session with a relay, or the spool of an ended
 * session.
 */
struct wmk_consumerd_sender {
	const char *path, *url;      /* of the spool, and of the relay */
	uint64_t uid;                /* owner of the spool */
	bool connected;
	uint64_t behind, spooled;    /* bytes, as in struct wmk_sender_state */
	const char *error;           /* the latest error; "": none since the latest acknowledgement */
};

/* Reply to SENDERS. */
struct wmk_consumerd_senders {
	struct wmk_list senders;     /* of struct wmk_consumerd_sender; WMK_CONSUMERD_SENDERS_MAX at most */
};

/* Returns NULL if no request has this type. */
const struct wmk_request_type *wmk_consumerd_request_find(uint16_t type);
extern const struct wmk_object wmk_consumerd_hello_object, wmk_consumerd_trace_object, wmk_consumerd_rings_object,
	wmk_consumerd_metadata_object, wmk_consumerd_target_object, wmk_consumerd_report_object,
	wmk_consumerd_list_item_object, wmk_consumerd_full_object, wmk_consumerd_output_object,
	wmk_consumerd_left_object, wmk_consumerd_rotation_object, wmk_consumerd_senders_object,
	wmk_consumerd_reclaim_object;

/*
 * Queue an object. If `fd` >= 0, a duplicate of the descriptor is sent with the last frame of the object. 0 or -errno
 * with a cause chain.
 */
int wmk_consumerd_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		       const void *object, int fd);

/* An input buffer that joins the frames of an object. Starts zeroed. */
struct wmk_consumerd_in {
	struct wmk_in frames;
	uint8_t *joined;
	size_t len, cap;
	bool given_out;                  /* `joined` was returned to the caller */
};
/*
 * Take the next complete message like wmk_in_frame(); the *len bytes at *body are valid until the next call. -EMSGSIZE:
 * the parts exceed WMK_OBJECT_MAX. Receive with wmk_in_receive(&in->frames, ...).
 */
int wmk_consumerd_in_next(struct wmk_consumerd_in *in, struct wmk_frame *frame, const void **body, size_t *len,
			  int *fd);
void wmk_consumerd_in_free(struct wmk_consumerd_in *in);

#endif
