/* SPDX-License-Identifier: MIT */
/*
 * consumerd.h - the messages between the session daemon and waymark-consumerd, and the objects in them.
 *
 *     session daemon (sessiond/consumer_link.h)     waymark-consumerd (consumer/server.h)
 *     HELLO {WMK_CONSUMERD_GREETING, pid}     ──►      any other first message closes the connection
 *                                             ◄──      HELLO {version, pid}: it is ready
 *     request, number, object [+ descriptor]  ──►
 *                                             ◄──      REPLY, same number, object; or ERROR {errno, text}
 *                                             ◄──      LIST_ITEM, same number, object + descriptor (LIST)
 *                                             ◄──      FULL {path}: max_size is reached
 *                                             ◄──      REPLACED: another session daemon has connected
 *
 * The socket is <rundir>/consumer.sock. LIST_ITEMs precede the REPLY to LIST. FULL is repeated on each new connection.
 * After REPLACED the connection ends. consumerd_requests.def lists the requests. They are answered when they are
 * done, in any order. An unknown type is answered with an error. Each side authenticates the other with SO_PEERCRED: it
 * must be the same user.
 *
 * Nothing here changes what it finds done: adding what is there (the same identity) and removing what is not there
 * succeed, so that a request can be repeated after a connection broke.
 */
#ifndef WMK_WIRE_CONSUMERD_H
#define WMK_WIRE_CONSUMERD_H

#include "wire/counts.h"
#include "wire/object.h"
#include "wire/wire.h"

#define WMK_CONSUMERD_SOCKET "consumer.sock"
#define WMK_CONSUMERD_KERNEL_SOCKET "consumer-kernel.sock"   /* of the one for kernel channels, a process of its own */
#define WMK_CONSUMERD_CHANNELS_MAX 4096u     /* in one trace */
#define WMK_CONSUMERD_PIDS 64u           /* processes that system calls may be narrowed to */
#define WMK_CONSUMERD_METADATA_MAX (1u << 20)    /* bytes of text in one message */
#define WMK_CONSUMERD_LEFT_MAX 16384u        /* traces of processes in one reply to LIST_LEFT */
#define WMK_CONSUMERD_EVENTS_MAX 16384u      /* of the kernel, in one channel */

enum wmk_consumerd_type {
	WMK_CONSUMERD_REPLY = 0x200,
	WMK_CONSUMERD_ERROR,
	WMK_CONSUMERD_HELLO,
	WMK_CONSUMERD_LIST_ITEM,
	WMK_CONSUMERD_REPLACED,
	WMK_CONSUMERD_FULL,
#define WMK_CONSUMERD_REQUEST(identifier, number, name, request, reply) WMK_CONSUMERD_##identifier = (number),
#include "wire/consumerd_requests.def"
};

/* In place of a version: random bytes of another process of this user are not a greeting. */
#define WMK_CONSUMERD_GREETING "waymark-sessiond"

struct wmk_consumerd_hello {
	const char *version;
	uint64_t pid;
};

/* What became of records, since the trace began or was cleared. */
struct wmk_consumerd_stats {
	struct wmk_counts counts;
	uint32_t sink_error;         /* the last one, a positive errno; 0: never failed */
	bool stuck;                  /* the last packet of a stream could not be written, and waits */
	const char *words;           /* what went wrong first, for people; "" if nothing did */
};

/* Of one channel: the rings that are there and those that were removed. */
struct wmk_consumerd_channel {
	const char *channel;
	struct wmk_consumerd_stats stats;
};
/* Counts, and the latest error; not how it is at this moment (stuck), nor words. */
void wmk_consumerd_stats_add(struct wmk_consumerd_stats *sum, const struct wmk_consumerd_stats *more);

/* What the consumer daemon expects at the trace's place (consumer/output.h). */
enum wmk_consumerd_mode {
	WMK_CONSUMERD_TRACE_AGAIN, WMK_CONSUMERD_TRACE_NEW, WMK_CONSUMERD_TRACE_UNSURE,
};

/*
 * One CTF trace: a directory with its own metadata. With max_size, the budget page (store/store.h) of all traces below
 * `path` comes as its descriptor; both consumer daemons of a session have the same.
 */
struct wmk_consumerd_trace {
	uint64_t trace;              /* its number, the session daemon's choice, not 0 */
	const char *path;            /* absolute */
	const char *sub;             /* beneath it, as in store/store.h */
	uint64_t uid, gid;           /* owner: with whose rights files are made */
	uint8_t uuid[16];            /* in every packet */
	uint64_t max_size;           /* bytes of all files below `path`, of all traces there together; 0: no limit */
	/* of struct wmk_consumerd_channel: counts of rings that were removed (LIST, and adding again) */
	struct wmk_list gone;
	uint32_t mode;               /* enum wmk_consumerd_mode */
	bool gated;                  /* packets wait until the metadata has been replaced */
};

/*
 * METADATA: a part of the metadata of a trace, in the order in which the parts were made. It is answered when it is
 * written; a disk that is full or does not answer delays that. Packets with records are written behind all metadata
 * that was received before. Parts may be repeated to the next consumer daemon, in order: see wmk_store_metadata_at().
 * Offsets need no number of the replacement that they follow, since parts before the last replacement are not
 * repeated. -ESTALE: the file is shorter than the session daemon assumes; the metadata must be replaced.
 */
struct wmk_consumerd_metadata {
	uint64_t trace;
	uint64_t offset;             /* of an appended part, in the file */
	bool replace;                /* a part of a replacement of the file */
	bool more;                   /* with replace: another part follows */
	const char *text;            /* WMK_CONSUMERD_METADATA_MAX bytes at most */
};

/*
 * An event of the kernel, its id in the trace, and which of its records are wanted (kernel/channel/channel_reader.h,
 * wmk_kreader_filter()).
 */
struct wmk_consumerd_event {
	const char *system, *name;   /* events/<system>/<name> of tracefs */
	uint32_t id;
	uint32_t filter_len;         /* bytes of `filter`; 0: all of them */
	struct wmk_list filter;      /* of uint64_t: an encoded program (filter/filter.h), in the order of its bytes */
	bool changing;
	uint32_t filter_room;        /* not told: elements that `filter` has had room for, where more than it has now */
};
/* The program's bytes; NULL: none. False: there are fewer than it says. */
bool wmk_consumerd_event_filter(const struct wmk_consumerd_event *event, const void **program, size_t *len);

/*
 * Rings of programs, or a kernel channel: then the descriptor is that of an instance of tracefs
 * (kernel/tracefs/instance.h). Of a kernel channel that is there already, those of `events` that it has not are added,
 * and the filters of those that it has are these.
 */
struct wmk_consumerd_rings {
	uint64_t trace;
	uint64_t rings;              /* its number, the session daemon's choice, unique within the trace, not 0 */
	const char *channel;         /* streams are named <channel>_<cpu>, <channel>_claim<k> */
	uint32_t stream_id;          /* stream class */
	bool at_stop_only;           /* overwrite mode: nothing is written before STOP or RINGS_REMOVE */
	bool resume;                 /* streams of these rings may be in the trace: go on where they end */
	bool clear;                  /* with resume: throw away what was recorded up to now, in the trace too */
	uint64_t tracefile_size;     /* bytes of a stream's file at most (whole packets, at least one); 0: no limit */
	/* files of a stream at most, then the oldest is replaced; 0: no limit. Only with tracefile_size */
	uint64_t tracefile_count;
	/* the clock's value when recording began: time of an empty packet in a stream without records */
	uint64_t start_ts;
	/* the ring set's own (waymark_ring_options.uuid); held against the set that comes with it */
	uint8_t uuid[16];
	bool kernel;
	uint64_t only_pid;           /* kernel: of this process alone; 0: of all */
	/* kernel: of uint64_t, numbers of wmk_ctf_context(), in the order in which records have them */
	struct wmk_list contexts;
	/*
	 * kernel: of struct wmk_consumerd_event; those of the state dump with the system "", of system calls by BPF
	 * with that of kernel/channel/syscall_reader.h
	 */
	struct wmk_list events;
	/*
	 * kernel: the system calls that BPF records from now on, as a set of bits (kernel/channel/syscall_reader.h),
	 * and the bytes of a CPU's ring. Empty:
	 * as it was. Of a channel that is there already, it takes the place of what was told before.
	 */
	struct wmk_list calls;       /* of uint64_t */
	uint64_t syscall_ring_bytes;
	bool syscalls_narrowed;         /* of the processes of syscall_pids alone; else of all processes */
	/* of uint64_t: WMK_CONSUMERD_PIDS of them, 0 where there are fewer; empty with an empty `calls` */
	struct wmk_list syscall_pids;
	/* kernel: the number of a state dump, begun when it is greater than that of the last one; 0: none */
	uint64_t statedump;
};
/* The set of `more`, if it has one, takes the place of that of `is`; copied into the arena once. -ENOMEM. */
int wmk_consumerd_syscalls_set(struct wmk_consumerd_rings *is, const struct wmk_consumerd_rings *more,
			    struct wmk_arena *arena);
/*
 * Those of `more` that are not in `events` yet (by system and name) are added, copied into the arena; of those that
 * are, the filter becomes that of `more`. 1: some were added; 0: none; -ENOMEM; -E2BIG: too many, or, and then nothing
 * is changed, more bytes than a later consumer can be told at once.
 */
int wmk_consumerd_events_add(struct wmk_list *events, const struct wmk_list *more, struct wmk_arena *arena);

/* Whom a request is about. */
struct wmk_consumerd_target {
	uint64_t trace;              /* 0: all (POKE, FLUSH) */
	uint64_t rings;              /* 0: all of the trace */
};

/* Reply to RINGS_REMOVE, TRACE_REMOVE, STOP, STATS. */
struct wmk_consumerd_report {
	struct wmk_list channels;    /* of struct wmk_consumerd_channel; of one rings: one */
};

/*
 * LIST_ITEM: a trace (rings.rings is 0) with the descriptor that it came with, if it had one; then each of its rings
 * with the descriptor of its set. Of a kernel channel without its system calls, and of its events with those of the
 * state dump alone.
 */
struct wmk_consumerd_list_item {
	struct wmk_consumerd_trace trace;
	struct wmk_consumerd_rings rings;
};

/*
 * FULL: packets with records are refused there, and stay in their rings. Told again when it has been cleared and is
 * full once more.
 */
struct wmk_consumerd_full { const char *path; };

/*
 * OUTPUT_CHECK, LIST_LEFT, REMOVE_LEFT: the directory of a session, whether a trace in it is open or not. The consumer
 * daemon accesses it with the rights of uid and gid.
 *
 *     OUTPUT_CHECK    an error if the path exists and is not an empty directory
 *     LIST_LEFT       traces of processes (--buffers-pid) in the directory
 *     REMOVE_LEFT     remove one of them; the session daemon has no such trace open
 */
struct wmk_consumerd_output {
	const char *path;            /* absolute */
	uint64_t uid, gid;
	const char *process;         /* REMOVE_LEFT: the name of its directory in `path`/ust/pid; else "" */
};

/* Reply to LIST_LEFT. */
struct wmk_consumerd_left {
	/* of const char *, names of directories in ust/pid; WMK_CONSUMERD_LEFT_MAX at most */
	struct wmk_list processes;
	bool more;                   /* the directory has more of them */
};

/* NULL: there is no such request. */
const struct wmk_request_type *wmk_consumerd_request_find(uint16_t type);
extern const struct wmk_object wmk_consumerd_hello_object, wmk_consumerd_trace_object, wmk_consumerd_rings_object,
	wmk_consumerd_metadata_object, wmk_consumerd_target_object, wmk_consumerd_report_object,
	wmk_consumerd_list_item_object, wmk_consumerd_full_object, wmk_consumerd_output_object,
	wmk_consumerd_left_object;

/* Queue an object; `fd` >= 0 is duplicated and travels with its last frame. 0 or -errno with a cause chain. */
int wmk_consumerd_send(struct wmk_out *out, uint16_t type, uint32_t request, const struct wmk_object *is,
		       const void *object, int fd);

/* What comes in, objects in several frames joined. Starts from zeros. */
struct wmk_consumerd_in {
	struct wmk_in frames;
	uint8_t *joined;
	size_t len, cap;
	bool given_out;                  /* `joined` was given out */
};
/*
 * The next whole message: as wmk_in_frame(), *len bytes at *body, valid until the next call. -EMSGSIZE: parts without
 * an end. Receive with wmk_in_receive(&in->frames, ...).
 */
int wmk_consumerd_in_next(struct wmk_consumerd_in *in, struct wmk_frame *frame, const void **body, size_t *len,
			  int *fd);
void wmk_consumerd_in_free(struct wmk_consumerd_in *in);

#endif
