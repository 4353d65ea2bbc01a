/* SPDX-License-Identifier: MIT */
/*
 * wire.h - frames, descriptor passing, and the messages between an application and its controller.
 *
 * One stream socket (AF_UNIX) per application and controller. A frame is a header and a body of fixed-width
 * little-endian fields; at most one file descriptor travels with a frame (SCM_RIGHTS). Every length and count is
 * bounded before use.
 *
 *     application (libwaymark)                               controller (waymark record, waymark-sessiond)
 *     HELLO {abi, word size, pid, ppid, start, name}   ───►
 *                                                      ◄───  WELCOME {slot, generation, abi, flags} or REFUSED {errno, words}
 *     RINGS {uuid} + fd of the ring set ...            ───►      (after PERSIST: what it holds of the controller before)
 *     EVENT {event number, encoded class} ...          ───►      (any number; more later, when a library is loaded)
 *     EVENTS_END {batch}                               ───►
 *                                                      ◄───  CHANNEL {channel, field limit, flags, contexts} + fd of the ring set
 *                                                      ◄───  ENABLE {channel, event number, event id} + filter ...
 *                                                      ◄───  DISABLE {channel, event number} ...
 *                                                      ◄───  CHANNEL_FLAGS {channel, flags}    other ones than CHANNEL told
 *                                                      ◄───  CHANNEL_GONE {channel}
 *                                                      ◄───  DONE {batch}     everything that batch needs has been sent
 *     SYNCED {sync}                                    ───►  answer to SYNC {sync}: all commands before it are in force
 *     EVENT_GONE {event number} ...                    ───►      (a library was unloaded)
 *     UNRECORDED {reason, errno, channel}              ───►      why records are missing (unrecorded.h)
 *                                                      ◄───  STATEDUMP      record the loaded objects again
 *
 * `event number` is the application's own (0, 1, ...); `event id` is the one in the trace, given by the controller
 * per channel. An unknown message type gets an ERROR reply, not a dropped connection. The closing of the socket is
 * the end of the application; to the application it is the end of what the controller enabled, unless that said
 * PERSIST.
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

struct wmk_frame {             /* as it travels, 16 bytes */
	uint32_t length;           /* of the body */
	uint16_t type;             /* enum wmk_msg */
	uint16_t version;          /* WMK_WIRE_VERSION */
	uint32_t request;          /* echoed in ERROR */
	uint32_t flags;            /* WMK_FRAME_FD; all else 0 */
};

#define WMK_WIRE_ABI 1        /* `abi` of HELLO and WELCOME; not that of waymark/detail/abi.h, which lies in programs */

#define WMK_FRAME_FD 1u        /* a descriptor travels with this frame */

struct wmk_hello {
	uint32_t abi, word_bits;
	/*
	 * As the application sees them; the controller's truth is SO_PEERCRED. `ppid` is who forked it, who may have
	 * ended since.
	 */
	uint32_t pid, ppid;
	uint64_t start_time;       /* of the process, clock ticks since boot (/proc/self/stat field 22), 0 if unknown */
	/*
	 * The same for all that runs in a process between one exec and the next, and another after it; 0 if unknown. A
	 * process that shows a new one has no threads of the old one any more.
	 */
	uint64_t image;
	/*
	 * A clock plug-in (WAYMARK_CLOCK_PLUGIN), if the application runs one: "" and zeros otherwise. The controller
	 * refuses an application whose clock is not the session's. Real time = offset_s + (offset + value) / freq.
	 */
	uint64_t clock_freq;       /* Hz */
	int64_t clock_offset_s;
	uint64_t clock_offset;     /* cycles, < clock_freq */
	char clock[32];
	char clock_uuid[37];
	char name[WMK_WIRE_NAME_MAX + 1];
};

/*
 * Provider of the tracer's own events (loaded objects): not the program's, enabled by a channel's flag, not by a
 * pattern.
 */
#define WMK_STATEDUMP_PROVIDER "lttng_ust_statedump"
#define WMK_LIBRARY_PROVIDER "lttng_ust_lib"

struct wmk_welcome {
	uint32_t abi;
	uint32_t slot, generation; /* identity for claim rings */
	uint32_t flags;            /* WMK_WELCOME_PERSIST; all else 0 */
};

/*
 * This controller may die and be replaced: its channels stay in force when the connection closes, and the next one to
 * say so at the same place gets the rings back (RINGS). What it has not confirmed (CHANNEL with the same rings, ENABLE
 * with the same id) by its first DONE is removed.
 */
#define WMK_WELCOME_PERSIST 1u

struct wmk_channel_msg {
	uint32_t channel;          /* number, unique on this connection */
	uint32_t field_limit;      /* bytes; longer strings and sequences are cut */
	uint32_t n_contexts;
	uint32_t flags;            /* WMK_CHANNEL_PRIVATE; all else 0 */
	uint8_t contexts[WMK_WIRE_CONTEXTS_MAX];   /* enum wmk_context, in the order of the stream's event context */
	/* ring geometry, mode, clock and blocking stand in the set's own header */
};

/*
 * It is for this process alone, its rings or what is recorded: the child of a fork records nothing into it, and waits
 * for the answer to its own registration before fork() returns there. Without this flag the child goes on recording
 * into the same rings.
 */
#define WMK_CHANNEL_PRIVATE 1u

struct wmk_channel_flags_msg { uint32_t channel, flags; };

struct wmk_rings_msg { uint8_t uuid[16]; };   /* as in the set's header; the set's descriptor travels along */
/*
 * The encoded program of a filter may follow. Where the event is enabled with this id already, its filter becomes this
 * one, or none.
 */
struct wmk_enable_msg { uint32_t channel, event, id; };
struct wmk_disable_msg { uint32_t channel, event; };
/*
 * DISABLE in `from` and ENABLE in `channel` at once, with the filter it has: each record is in one of them. Nothing,
 * where it is not enabled in `from`.
 */
struct wmk_move_msg { uint32_t channel, event, id, from; };

/* `reason`: enum wmk_unrecorded; `err`: a positive errno, or 0; `channel`: UINT32_MAX for all. */
struct wmk_unrecorded_msg { uint32_t reason, err, channel; };

#define WMK_WIRE_FDS_AT_ONCE 16u     /* that one piece is sent with */

/* ── frames ──────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_WIRE_KEEP 65536u  /* bytes: a buffer of either kind that is larger goes back as soon as it is empty */

/* Growing output: frames are appended, then sent without blocking. */
struct wmk_out {
	uint8_t *buf;
	size_t len, cap, sent;
	struct {
		size_t at;
		int fd;
	} fds[WMK_WIRE_FDS]; /* descriptor `fd` (owned) goes with the frame that begins at `at` */
	unsigned n_fds;
};

/*
 * Append a frame. `fd` >= 0 is dup'd and travels with it. -ENOMEM, -EMSGSIZE, -EAGAIN (WMK_WIRE_FDS are queued),
 * -errno of dup.
 */
int wmk_out_frame(struct wmk_out *out, enum wmk_msg type, uint32_t request, const void *body, size_t length, int fd);
/* The same for a body in two parts, without a descriptor. */
int wmk_out_frame_parts(struct wmk_out *out, enum wmk_msg type, const void *a, size_t a_len, const void *b,
			size_t b_len);
/* Send what the socket takes (MSG_NOSIGNAL | MSG_DONTWAIT). 1: all sent; 0: more to send; -errno. */
int wmk_out_send(struct wmk_out *out, int sock);
/* Likewise. */
void wmk_out_idle(struct wmk_out *out);
void wmk_out_free(struct wmk_out *out);

/* Growing input, bounded by one frame. */
struct wmk_in {
	uint8_t *buf;
	size_t len, cap, next;
	int fds[WMK_WIRE_FDS];     /* received, not yet taken by their frames, oldest first */
	unsigned n_fds;
	/* What is not taken, with `whose`; NULL: close(), which may take as long as who sent it likes. */
	void (*close_fd)(int fd, unsigned whose);
	unsigned whose;
};

/*
 * Read what is there, once (MSG_DONTWAIT). 1: some bytes came; 0: end of file; -EAGAIN; -ENOBUFS: take the frames
 * that are there first; -EMFILE: there is no room for the descriptors, nothing more can be taken; -errno. Memory grows
 * with what comes, not with what a header promises. Starts from a zeroed structure, but for `close_fd` and `whose`.
 */
int wmk_in_receive(struct wmk_in *in, int sock);
/*
 * Take the next whole frame: 1, and *frame, *body (valid until the next receive), *fd (-1 or now the caller's); 0:
 * not whole yet; -EPROTO with a cause chain (too long, descriptor missing); -EPROTONOSUPPORT: another version (the
 * header is whole in *frame). After an error nothing more can be taken. Descriptors that no frame announced are
 * closed.
 */
int wmk_in_frame(struct wmk_in *in, struct wmk_frame *frame, const void **body, int *fd);
/* Nothing more comes for a while: gives the buffer back if it is empty. */
void wmk_in_idle(struct wmk_in *in);
void wmk_in_free(struct wmk_in *in);

/* Bytes queued and not yet sent. */
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
/* ... and the filter behind it: `*filter_len` bytes (wmk_filter_encode()), 0: every record is wanted. */
int wmk_enable_decode(const void *body, size_t len, struct wmk_enable_msg *enable, const void **filter,
		      size_t *filter_len);
int wmk_disable_decode(const void *body, size_t len, struct wmk_disable_msg *disable);
int wmk_move_decode(const void *body, size_t len, struct wmk_move_msg *move);
int wmk_unrecorded_decode(const void *body, size_t len, struct wmk_unrecorded_msg *unrecorded);
int wmk_u32_decode(const void *body, size_t len,
		   uint32_t *value); /* EVENTS_END, DONE, SYNC, SYNCED, CHANNEL_GONE, EVENT_GONE */
int wmk_empty_decode(size_t len); /* STATEDUMP */
/* EVENT: number, then an encoded class (wmk_event_decode). */
int wmk_event_msg_decode(const void *body, size_t len, uint32_t *number, const void **encoded, size_t *encoded_len);
/* REFUSED, ERROR: an errno (positive) and words, NUL-terminated into `text`. */
int wmk_error_msg_decode(const void *body, size_t len, int *err, char *text, size_t size);

/* Encode is appending the structure itself, little-endian machine that we are: these check and append. */
int wmk_out_hello(struct wmk_out *out, const struct wmk_hello *hello);
int wmk_out_u32(struct wmk_out *out, enum wmk_msg type, uint32_t value);
int wmk_out_event(struct wmk_out *out, uint32_t number, const void *encoded, size_t encoded_len);
int wmk_out_error(struct wmk_out *out, enum wmk_msg type, uint32_t request, int err, const char *text);

/* ── where things are ────────────────────────────────────────────────────────────────────────────────── */

/*
 * Runtime directory of `uid` (control.md "Where things are"); `getenv_ok` 0: ignore WAYMARK_RUNDIR (which set-id
 * programs do anyway). Returns the length, or -ENAMETOOLONG, -EINVAL (WAYMARK_RUNDIR is not an absolute path) with a
 * cause chain. The directory need not exist.
 */
int wmk_rundir(uid_t uid, int getenv_ok, char *buf, size_t size);
/* The same with `wanted` for what WAYMARK_RUNDIR says, NULL: nothing. Does not look at the environment. */
int wmk_rundir_of(uid_t uid, const char *wanted, char *buf, size_t size);
/*
 * Opens a file of a runtime directory to read, without waiting. The file must be trusted: of this type (S_IFREG or
 * S_IFIFO), no link, owned by `owner` or root, and not writable by other users. Returns a descriptor, or -ENAMETOOLONG,
 * -EPERM (not trusted), -errno of open(2). Calls only open(2), fstat(2) and close(2).
 */
int wmk_rundir_file_open(const char *rundir, const char *name, mode_t type, uid_t owner);
bool wmk_rundir_file_is_trusted(const struct stat *st, mode_t type, uid_t owner);
#define WMK_APP_SOCKET "app.sock"

#endif
