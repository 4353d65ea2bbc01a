/* SPDX-License-Identifier: MIT */
/*
 * wire.h - frames, descriptor passing, and the messages between an application and its session daemon.
 *
 * Each application has one stream socket (AF_UNIX) to each daemon. A frame consists of a header and a body; all fields
 * have a fixed width and are little-endian. A frame can carry at most one file descriptor (SCM_RIGHTS). Every length
 * and every count is checked before it is used.
 *
 *     application (libwaymark)                               session daemon (waymark-sessiond, waymark record)
 *     HELLO {abi, word size, pid, ppid, start, name}   ───►
 *                                                      ◄───  WELCOME {slot, generation, abi, flags}
 *                                                            or REFUSED {errno, text}
 *     RINGS {uuid} + fd of the ring set ...            ───►      (rings of an earlier daemon, see PERSIST)
 *     EVENT {event number, encoded class} ...          ───►      (any number; more later, when a library is loaded)
 *     EVENTS_END {batch}                               ───►
 *                                                      ◄───  CHANNEL {channel, field limit, flags, contexts}
 *                                                            + fd of the ring set
 *                                                      ◄───  ENABLE {channel, event number, event id} + filter ...
 *                                                      ◄───  DISABLE {channel, event number} ...
 *                                                      ◄───  CHANNEL_FLAGS {channel, flags}    replace those of CHANNEL
 *                                                      ◄───  CHANNEL_GONE {channel}
 *                                                      ◄───  DONE {batch}     all messages for the batch have been sent
 *     SYNCED {sync}                                    ───►  answer to SYNC {sync}: all messages before it are in effect
 *     EVENT_GONE {event number} ...                    ───►      (a library was unloaded)
 *     UNRECORDED {reason, errno, channel}              ───►      why records are missing (unrecorded.h)
 *                                                      ◄───  STATEDUMP      record the loaded objects again
 *
 * The application assigns `event number` (0, 1, ...). The daemon assigns the `event id`, which is the id in the trace,
 * separately for each channel. A message of an unknown type is answered with an ERROR message, and the connection stays
 * open. When the socket is closed, the daemon assumes that the application has ended. When the socket is closed, the
 * application disables all events that the daemon has enabled, unless the daemon has sent PERSIST.
 */
#ifndef WMK_WIRE_WIRE_H
#define WMK_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "schema/contexts.h"

#define WMK_WIRE_VERSION 1
#define WMK_FRAME_MAX (1u << 20)      /* bytes of a body */
#define WMK_WIRE_NAME_MAX 64          /* procname in HELLO, without the NUL */
#define WMK_WIRE_CONTEXTS_MAX 32
#define WMK_WIRE_FILTER_MAX 65536u    /* bytes */
#define WMK_WIRE_FDS 64               /* descriptors queued on one connection and direction */

enum wmk_msg {
	WMK_MSG_HELLO = 1, WMK_MSG_WELCOME, WMK_MSG_REFUSED, WMK_MSG_EVENT, WMK_MSG_EVENTS_END, WMK_MSG_CHANNEL,
	WMK_MSG_CHANNEL_GONE, WMK_MSG_ENABLE, WMK_MSG_DISABLE, WMK_MSG_DONE, WMK_MSG_SYNC, WMK_MSG_SYNCED,
	WMK_MSG_EVENT_GONE, WMK_MSG_ERROR, WMK_MSG_RINGS, WMK_MSG_STATEDUMP, WMK_MSG_MOVE,
	WMK_MSG_CHANNEL_FLAGS, WMK_MSG_UNRECORDED,
};

struct wmk_frame {             /* sent as this structure, 16 bytes */
	uint32_t length;           /* of the body */
	uint16_t type;             /* enum wmk_msg */
	uint16_t version;          /* WMK_WIRE_VERSION */
	uint32_t request;          /* echoed in ERROR */
	uint32_t flags;            /* WMK_FRAME_FD; all else 0 */
};

/*
 * `abi` of HELLO and WELCOME. WMK_WIRE_ABI is independent of the ABI between libwaymark and applications
 * (waymark/detail/abi.h).
 */
#define WMK_WIRE_ABI 1

#define WMK_FRAME_FD 1u        /* a descriptor travels with this frame */

struct wmk_hello {
	uint32_t abi, word_bits;
	/*
	 * Both process ids are pids in the PID namespace of the application. The daemon uses the pid from SO_PEERCRED
	 * instead of `pid`. `ppid` is the pid of the process that forked the application. The process `ppid` may
	 * already have ended.
	 */
	uint32_t pid, ppid;
	uint64_t start_time;       /* of the process, clock ticks since boot (/proc/self/stat field 22), 0 if unknown */
	/*
	 * `image` changes with each exec() of the process; 0 means unknown. If `image` has changed, the threads of the
	 * program that ran before exec() no longer exist.
	 */
	uint64_t image;
	/*
	 * The clock plug-in of the application (WAYMARK_CLOCK_PLUGIN); "" and zeros if there is no plug-in. If the
	 * clocks of the application and the session differ, the daemon refuses the application.
	 * Real time = offset_s + (offset + value) / freq.
	 */
	uint64_t clock_freq;       /* Hz */
	int64_t clock_offset_s;
	uint64_t clock_offset;     /* cycles, < clock_freq */
	char clock[32];
	char clock_uuid[37];
	char name[WMK_WIRE_NAME_MAX + 1];
};

/*
 * The names of the providers of the tracer's own events (loaded objects). Patterns of rules do not select events of the
 * tracer, because the session daemon enables these events only in the channel of the state dump.
 */
#define WMK_STATEDUMP_PROVIDER "lttng_ust_statedump"
#define WMK_LIBRARY_PROVIDER "lttng_ust_lib"

struct wmk_welcome {
	uint32_t abi;
	uint32_t slot, generation; /* identity for claim rings */
	uint32_t flags;            /* WMK_WELCOME_PERSIST; all else 0 */
};

/*
 * WMK_WELCOME_PERSIST: the channels of this daemon remain in effect after the connection is closed. The application
 * later offers the rings of its persistent channels (RINGS) to the next daemon at the same endpoint that sends PERSIST.
 * The next daemon confirms a channel with a CHANNEL message that has the same rings, and an event with an ENABLE
 * message that has the same id. The application removes each channel and event that the next daemon does not confirm
 * before the first DONE.
 */
#define WMK_WELCOME_PERSIST 1u

struct wmk_channel_msg {
	uint32_t channel;          /* number, unique on this connection */
	uint32_t field_limit;      /* bytes; longer strings and sequences are cut */
	uint32_t n_contexts;
	uint32_t flags;            /* WMK_CHANNEL_PRIVATE; all else 0 */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];   /* enum wmk_context, in the order of the stream's event context */
	/* the header of the ring set has ring geometry, mode, clock and blocking */
};

/*
 * WMK_CHANNEL_PRIVATE: the channel has rings for this process alone, or records this process alone. The child process
 * of a fork does not record into private rings. In the child process, fork() returns only after the daemon has answered
 * the registration of the child. Without WMK_CHANNEL_PRIVATE, a child process continues to record into the rings of the
 * channel.
 */
#define WMK_CHANNEL_PRIVATE 1u

struct wmk_channel_flags_msg { uint32_t channel, flags; };

struct wmk_rings_msg { uint8_t uuid[16]; };   /* as in the set's header; the frame has the set's descriptor */
/*
 * An ENABLE message may be followed by an encoded filter program. If the event is already enabled with this id, the
 * filter program replaces the filter of the event. An ENABLE message without a filter program removes the filter of the
 * event.
 */
struct wmk_enable_msg { uint32_t channel, event, id; };
struct wmk_disable_msg { uint32_t channel, event; };
/*
 * A MOVE message combines DISABLE in the channel `from` and ENABLE in `channel`, with the same filter, so that each
 * record is in exactly one of the two channels. A MOVE message has no effect if the event is not enabled in `from`.
 */
struct wmk_move_msg { uint32_t channel, event, id, from; };

/*
 * `reason` is a value of enum wmk_unrecorded; `err` is a positive errno, or 0; `channel` is UINT32_MAX for all
 * channels.
 */
struct wmk_unrecorded_msg { uint32_t reason, err, channel; };

#define WMK_WIRE_FDS_AT_ONCE 16u     /* descriptors in one sendmsg() */

/* ── frames ──────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_WIRE_KEEP 65536u  /* bytes: larger buffers are freed as soon as they are empty */

/* An output buffer that grows. Frames are appended to the buffer, and then sent without blocking. */
struct wmk_out {
	uint8_t *buf;
	size_t len, cap, sent;
	struct {
		size_t at;
		int fd;
	} fds[WMK_WIRE_FDS]; /* descriptor `fd` (owned) belongs to the frame at offset `at` */
	unsigned n_fds;
};

/*
 * Append a frame. If `fd` >= 0, a duplicate of the descriptor is sent with the frame. -ENOMEM, -EMSGSIZE, -EAGAIN
 * (WMK_WIRE_FDS are queued), -errno of dup().
 */
int wmk_out_frame(struct wmk_out *out, enum wmk_msg type, uint32_t request, const void *body, size_t length, int fd);
/* Like wmk_out_frame(), for a body in two parts and without a descriptor. */
int wmk_out_frame_parts(struct wmk_out *out, enum wmk_msg type, const void *a, size_t a_len, const void *b,
			size_t b_len);
/* Send as much as the socket accepts (MSG_NOSIGNAL | MSG_DONTWAIT). 1: all sent; 0: more to send; -errno. */
int wmk_out_send(struct wmk_out *out, int sock);
/* Free the buffer if it is empty, to save memory while a connection is idle. */
void wmk_out_idle(struct wmk_out *out);
void wmk_out_free(struct wmk_out *out);

/* An input buffer that grows up to the size of one frame. */
struct wmk_in {
	uint8_t *buf;
	size_t len, cap, next;
	int fds[WMK_WIRE_FDS];     /* received descriptors that are not yet assigned to frames, oldest first */
	unsigned n_fds;
	/*
	 * The receiver calls `close_fd` with the argument `sender_uid` to close descriptors that belong to no frame. If
	 * `close_fd` is NULL, the receiver calls close(), which can block if the sender has chosen a slow file.
	 */
	void (*close_fd)(int fd, unsigned sender_uid);
	unsigned sender_uid;
};

/*
 * Receive once (MSG_DONTWAIT). 1: received bytes; 0: end of file; -EAGAIN; -ENOBUFS: take the complete frames first;
 * -EMFILE: no room for the descriptors, the connection is unusable; -errno. The buffer grows with the number of
 * received bytes, regardless of the length in a header. All members of the structure must initially be zero, except
 * `close_fd` and `sender_uid`.
 */
int wmk_in_receive(struct wmk_in *in, int sock);
/*
 * Take the next complete frame. 1: *frame, *body (valid until the next receive) and *fd (-1, or owned by the caller)
 * are set; 0: incomplete; -EPROTO with a cause chain (too long, descriptor missing); -EPROTONOSUPPORT: another version
 * (*frame is set). After an error, the connection must not be used. The function closes descriptors that belong to no
 * frame.
 */
int wmk_in_frame(struct wmk_in *in, struct wmk_frame *frame, const void **body, int *fd);
/* Free the buffer if it is empty, to save memory while a connection is idle. */
void wmk_in_idle(struct wmk_in *in);
void wmk_in_free(struct wmk_in *in);

/* Return the number of bytes that are queued but not yet sent. */
static inline size_t wmk_out_queued(const struct wmk_out *out)
{
	return out->len - out->sent;
}

/* ── codecs: decode checks length, ranges and termination; -EPROTO with a cause chain ────────────────── */

int wmk_hello_decode(const void *body, size_t len, struct wmk_hello *hello);
int wmk_welcome_decode(const void *body, size_t len, struct wmk_welcome *welcome);
int wmk_channel_decode(const void *body, size_t len, struct wmk_channel_msg *channel);
int wmk_channel_flags_decode(const void *body, size_t len, struct wmk_channel_flags_msg *flags);
int wmk_rings_decode(const void *body, size_t len, struct wmk_rings_msg *rings);
/*
 * The function also returns the filter that follows, in `*filter_len` bytes (wmk_filter_encode()); 0 means no filter.
 */
int wmk_enable_decode(const void *body, size_t len, struct wmk_enable_msg *enable, const void **filter,
		      size_t *filter_len);
int wmk_disable_decode(const void *body, size_t len, struct wmk_disable_msg *disable);
int wmk_move_decode(const void *body, size_t len, struct wmk_move_msg *move);
int wmk_unrecorded_decode(const void *body, size_t len, struct wmk_unrecorded_msg *unrecorded);
int wmk_u32_decode(const void *body, size_t len,
		   uint32_t *value); /* EVENTS_END, DONE, SYNC, SYNCED, CHANNEL_GONE, EVENT_GONE */
int wmk_empty_decode(size_t len); /* STATEDUMP */
/* EVENT contains a number, followed by an encoded event class (wmk_event_decode). */
int wmk_event_msg_decode(const void *body, size_t len, uint32_t *number, const void **encoded, size_t *encoded_len);
/* REFUSED and ERROR contain a positive errno and a message, which is stored NUL-terminated in `text`. */
int wmk_error_msg_decode(const void *body, size_t len, int *err, char *text, size_t size);

/* Check and append a message. Structures are sent in their memory layout, which is little-endian. */
int wmk_out_hello(struct wmk_out *out, const struct wmk_hello *hello);
int wmk_out_u32(struct wmk_out *out, enum wmk_msg type, uint32_t value);
int wmk_out_event(struct wmk_out *out, uint32_t number, const void *encoded, size_t encoded_len);
int wmk_out_error(struct wmk_out *out, enum wmk_msg type, uint32_t request, int err, const char *text);

/* ── runtime directory ───────────────────────────────────────────────────────────────────────────────── */

/*
 * Store the path of the runtime directory of the user `uid` (docs/control.md). If `getenv_ok` is 0, the function
 * ignores WAYMARK_RUNDIR; set-id programs always ignore WAYMARK_RUNDIR. Returns the length, -ENAMETOOLONG with a cause
 * chain, or -EINVAL with a cause chain if WAYMARK_RUNDIR is not an absolute path. The directory need not exist.
 */
int wmk_rundir(uid_t uid, int getenv_ok, char *buf, size_t size);
/*
 * Like wmk_rundir(), but uses `wanted` instead of WAYMARK_RUNDIR (NULL: as if WAYMARK_RUNDIR were unset). Does not read
 * the environment.
 */
int wmk_rundir_of(uid_t uid, const char *wanted, char *buf, size_t size);
/*
 * Open a file of a runtime directory for reading, without blocking. The file must be trusted: it has the type `type`
 * (S_IFREG or S_IFIFO), is not a link, belongs to `owner` or root, and is not writable by other users. Returns a
 * descriptor, -ENAMETOOLONG, -EPERM if the file is not trusted, or -errno of open(2). The function calls only open(2),
 * fstat(2) and close(2).
 */
int wmk_rundir_file_open(const char *rundir, const char *name, mode_t type, uid_t owner);
bool wmk_rundir_file_is_trusted(const struct stat *st, mode_t type, uid_t owner);
#define WMK_APP_SOCKET "app.sock"

#endif
