/* SPDX-License-Identifier: MIT */
/*
 * relay.h - the messages between a sender (consumer/output.h) and the relay, and the objects in them. docs/relay.md
 * describes the life of a stream.
 *
 *     sender                                       waymark-relayd
 *                                           ◄──    HELLO {greeting, version, host}, or ERROR {errno, text}
 *     HELLO {greeting, version, host}       ──►    the sender's HOST: a directory below the relay's root
 *     request, number, object               ──►    relay_requests.def
 *                                           ◄──    REPLY, same number, object; or ERROR, same number {errno, text}
 *     data, number, epoch                   ──►    PACKET, METADATA, AMEND, CLOCK_POINT, LOW_WATER
 *                                           ◄──    ACK, number: data up to this number is on the disk
 *                                           ◄──    ERROR, number {errno, text}: the relay then closes the connection
 *                                           ◄──    FOLLOWED {bool}: a live reader reads the trace
 *
 *     viewer: HELLO without a host, then VIEW_LIST and VIEW_READ
 *     clock of the relay: HELLO, then CLOCK, on a connection of its own (sender/clock_exchange.h)
 *
 * Each connection transfers at most one trace. The sender numbers its frames consecutively from 1. The relay processes
 * the frames in the order of their numbers. If a data frame causes an error, the relay acknowledges the data that is on
 * the disk, sends the error, and closes the connection. The sender connects again later, and continues at the position
 * that the relay reports.
 *
 * Numbers are little-endian. Each length in a message is checked before memory is allocated.
 */
#ifndef WMK_WIRE_RELAY_H
#define WMK_WIRE_RELAY_H

#include "base/clock_point.h"
#include "ctf/writer.h"
#include "wire/object.h"

#define WMK_RELAY_VERSION 1u
#define WMK_RELAY_PORT 5850u
#define WMK_RELAY_GREETING "waymark-relayd"          /* of the relay */
#define WMK_RELAY_SENDER "waymark-sender"            /* greeting of all clients of the relay */

/* Bounds of lengths, in bytes. */
#define WMK_RELAY_HOST_MAX 64u
#define WMK_RELAY_NAME_MAX 255u                      /* a session, a chunk, a process, a stream, a trace's path */
#define WMK_RELAY_MESSAGE_MAX 1024u
#define WMK_RELAY_METADATA_MAX (8u << 20)            /* text of one METADATA */
#define WMK_RELAY_JOURNAL_MAX (4u << 20)
#define WMK_RELAY_CONTENT_MAX (1u << 30)             /* records of one packet: the largest sub-buffer */
#define WMK_RELAY_BODY_MAX (16u << 20)               /* body of any frame other than PACKET */
/* Bounds of numbers. */
#define WMK_RELAY_STREAMS_MAX 4096u                  /* streams of one trace */
#define WMK_RELAY_PROCESSES_MAX 16384u               /* names in one reply to PROCESSES */
#define WMK_RELAY_HOSTS_MAX 1024u                    /* hosts in one reply to STATUS */
#define WMK_RELAY_TRACES_MAX 1024u                   /* traces of one host in one reply to STATUS */
#define WMK_RELAY_VIEW_FILES_MAX 65536u              /* files and directories of a viewed session */
#define WMK_RELAY_VIEW_BYTES_MAX (512u << 10)        /* bytes in one reply to VIEW_READ */
#define WMK_RELAY_VIEW_PATH_MAX 1023u                /* path of a file below its session */

enum wmk_relay_type {
	WMK_RELAY_REPLY = 0x400,
	WMK_RELAY_ERROR,
	WMK_RELAY_HELLO,
	WMK_RELAY_ACK,
	WMK_RELAY_FOLLOWED,
	/* data */
	WMK_RELAY_PACKET = 0x410,
	WMK_RELAY_METADATA,
	WMK_RELAY_AMEND,
	WMK_RELAY_CLOCK_POINT,
	WMK_RELAY_LOW_WATER,
#define WMK_RELAY_REQUEST(identifier, number, name, request, reply) WMK_RELAY_##identifier = (number),
#include "wire/relay_requests.def"
};

/* ── frames ──────────────────────────────────────────────────────────────────────────────────────────── */

#define WMK_RELAY_HEAD 16u

struct wmk_relay_frame {
	uint32_t length;             /* bytes of the body */
	uint16_t type;               /* enum wmk_relay_type */
	uint16_t version;            /* WMK_RELAY_VERSION */
	uint32_t number;             /* of the sender's frame; in frames of the relay: of the answered frame, or 0 */
	/*
	 * The epoch of the trace. STREAM_REMOVE, ROTATE, and METADATA with `replace` set the epoch of the trace to the
	 * `epoch` of the frame, after all earlier data is on the disk. The relay drops and acknowledges data of an
	 * earlier epoch, but refuses data of a later epoch (-ESTALE).
	 */
	uint32_t epoch;
};

void wmk_relay_frame_encode(uint8_t head[WMK_RELAY_HEAD], const struct wmk_relay_frame *frame);
/*
 * 0; -EPROTONOSUPPORT: another version (*frame is set); -EPROTO: unknown type, or longer than the type permits. Errors
 * have a cause chain.
 */
int wmk_relay_frame_decode(const uint8_t head[WMK_RELAY_HEAD], struct wmk_relay_frame *frame);

/*
 * Encode a frame with the body `object` into new memory from malloc() at *bytes. Sets frame->length. Returns the number
 * of bytes, including the header, or -errno with a cause chain.
 */
long wmk_relay_message_encode(struct wmk_relay_frame *frame, const struct wmk_object *is, const void *object,
			      uint8_t **bytes);

/* ── objects ─────────────────────────────────────────────────────────────────────────────────────────── */

/* HELLO of both sides. If the greeting of the peer differs, a sender closes the connection. */
struct wmk_relay_hello {
	const char *greeting, *version;
	const char *host;            /* of the sender: its HOST; of the relay: the name of its machine */
};

struct wmk_relay_error {
	uint32_t err;                /* a positive errno */
	const char *text;            /* a sentence, such as "the quota of host \"web1\" is used up: ..." */
};

/*
 * Requests about the directory of a session (HOST/SESSION), which correspond to functions of struct wmk_output_ops.
 * CHECK: absent or empty. PROCESSES returns the names of the per-process traces. REMOVE_PROCESS, ARCHIVE_PROCESS:
 * `name`, `chunk`. ARCHIVE_END: `chunk`. Requests about the directory do not need an open trace.
 */
struct wmk_relay_output {
	const char *session;
	const char *name;            /* of a process's trace; else "" */
	const char *chunk;           /* of a closed chunk; else "" */
};
struct wmk_relay_names { struct wmk_list names; /* of const char * */ };

/* The values of enum wmk_relay_mode have the same meaning as those of enum wmk_output_mode (consumer/output.h). */
enum wmk_relay_mode { WMK_RELAY_AGAIN, WMK_RELAY_NEW, WMK_RELAY_UNSURE };

/*
 * TRACE: open the trace HOST/SESSION/`sub` for this connection. If another connection has the trace open, the relay
 * closes that connection first, because its sender has crashed or its network has failed.
 */
struct wmk_relay_trace {
	const char *session;
	const char *sub;             /* where the trace is within the session, as in store/store.h */
	uint8_t uuid[16];            /* of the trace; each chunk has its own UUID (wmk_ctf_chunk_uuid()) */
	uint32_t mode;               /* enum wmk_relay_mode */
	uint64_t chunk;              /* the open chunk: a new directory belongs to it */
	/*
	 * true: `ring_position` of a packet is a position in bytes, and its records occupy [ring_position,
	 * ring_position + content). false (kernel channels): it is a count, and identifies the packet.
	 */
	bool byte_positions;
};
struct wmk_relay_trace_reply {
	uint32_t epoch;              /* that the relay has; 0: a new trace, or the relay lost its disk */
	uint64_t chunk;              /* the number of the chunk that is open */
	uint64_t metadata;           /* bytes of the metadata that the relay has */
};

/*
 * STREAM: open a stream, and assign it a number that PACKET and AMEND use; the number must be less than
 * WMK_RELAY_STREAMS_MAX. The reply has the last packet that the relay has. -ENOENT: the stream does not exist, and
 * `create` is false.
 *
 * STREAM_REMOVE: remove the files of the stream, because of a clear command. Raises the epoch. CHUNK_LAST: get the last
 * packet of the stream in the closed chunk `chunk`, which precedes the open chunk.
 */
struct wmk_relay_stream {
	uint32_t stream;             /* STREAM: its number */
	const char *name;
	uint64_t tracefile_size, tracefile_count;    /* 0: no limit; as in struct wmk_store_limits */
	bool create;
	/*
	 * The sender no longer has the packets with lower numbers: the relay acknowledged these packets, but later lost
	 * its disk. The relay counts a gap, and continues the stream with the given packet number. 0: no gap.
	 */
	uint64_t continue_at;
	const char *chunk;           /* CHUNK_LAST: the name of the closed chunk; else "" */
};
struct wmk_relay_stream_reply {
	bool found;                  /* false: the stream has no packet, and `last` is zero */
	struct wmk_ctf_packet last;
};

/*
 * ROTATE: close the open chunk under the name `name`, and open the chunk `chunk`. Closes all streams. Raises the epoch.
 * Idempotent.
 */
struct wmk_relay_rotation {
	const char *name;
	uint64_t chunk;
};

struct wmk_relay_text { const char *text; };

/*
 * PACKET: the frame contains this object, encoded in WMK_RELAY_PACKET_HEAD bytes, followed by packet.content bytes of
 * records. `pad` is not sent. A packet is identified by its trace, its chunk, its stream and its range of positions. If
 * the relay already has all records of a packet, it drops and acknowledges the packet, even if the sequence number is
 * new. A packet without records is identified by its sequence number. -EEXIST: the relay has only a part of the
 * records. -ESTALE: a packet is missing before this one.
 */
struct wmk_relay_packet {
	uint32_t stream;             /* the number from STREAM */
	struct wmk_ctf_packet packet;
};
#define WMK_RELAY_PACKET_HEAD 72u
void wmk_relay_packet_encode(uint8_t bytes[WMK_RELAY_PACKET_HEAD], const struct wmk_relay_packet *packet);
/*
 * 0 or -EPROTO with a cause chain. The member `content` is checked against `length`, which is the length of the frame's
 * body.
 */
int wmk_relay_packet_decode(const uint8_t bytes[WMK_RELAY_PACKET_HEAD], size_t length,
			    struct wmk_relay_packet *packet);

/*
 * METADATA: append the text at `offset`, like wmk_store_metadata_at(), or replace the whole text and raise the epoch.
 * -ESTALE: the relay's metadata is shorter than the offset; the sender replaces it.
 */
struct wmk_relay_metadata {
	uint64_t offset;
	bool replace;
	const char *text;
};

/* AMEND: set the final lost count of the last packet of a stream. */
struct wmk_relay_amend {
	uint32_t stream;
	uint64_t lost;
};

/*
 * CLOCK_POINT: a sync point of the trace clock. If the point has the times of the relay, `relay` is the UUID in struct
 * wmk_relay_times; otherwise `relay` is "". The relay ignores a point that has the UUID of another relay.
 */
struct wmk_relay_clock {
	const char *uuid;            /* of the clock; "": none */
	const char *relay;
	struct wmk_clock_point point;
};

/* CLOCK: the reply contains the relay's times at which the request arrived and the reply was sent. */
struct wmk_relay_times {
	const char *uuid;            /* of the clocks: the boot UUID of the relay's machine */
	uint64_t received_ns, sent_ns;       /* CLOCK_MONOTONIC of the machine */
	uint64_t real_ns;            /* real time at `sent_ns`, ns since 1970 */
};

struct wmk_relay_low_water { uint64_t ts; };
struct wmk_relay_followed { bool followed; };

/* Reply to STATUS. */
struct wmk_relay_status_trace {
	const char *session, *sub;
	bool connected;
	uint64_t packets, bytes;     /* received since the relay opened the trace */
	uint64_t dropped;            /* packets that the relay had already */
	uint64_t gaps;               /* times that the relay had less than it acknowledged */
	uint64_t idle_ms;            /* since the last frame */
	uint64_t epoch, chunk;
	const char *error;           /* the latest error; "": none */
};
struct wmk_relay_status_host {
	const char *host;
	uint32_t connections;
	uint64_t bytes, max_bytes;   /* on the disk; the quota, 0: none */
	uint32_t max_connections;
	uint64_t max_rate;           /* bytes per second that the relay receives; 0: no limit */
	const char *error;           /* the latest refusal; "": none */
	struct wmk_list traces;      /* of struct wmk_relay_status_trace: the open ones */
};
struct wmk_relay_status {
	const char *version, *root;  /* of the relay; the directory of all hosts */
	uint64_t uptime_ms;
	uint32_t connections;
	struct wmk_list hosts;       /* of struct wmk_relay_status_host */
};

/*
 * VIEW_LIST: list the files of HOST/SESSION, for a viewer that copies these files. If `session` is empty, the files of
 * all sessions of the host are listed. If `host` is empty, the files of all hosts that the viewer may view are listed,
 * and each path begins with the host. The reply lists each directory before its content, and the state of a trace
 * before the files of this trace. All records before the low-water time are therefore within the listed file sizes. If
 * no writer has the trace open, the listed sizes are final. The first entry of the list is the session directory
 * itself, with the path "". If `follow` is true, writers treat this connection as a live reader from now on. With
 * `follow`, each further VIEW_LIST also makes the connection a live reader of new traces.
 */
struct wmk_relay_view {
	const char *host, *session;
	bool follow;
};
struct wmk_relay_view_file {
	const char *path;            /* below the session */
	uint64_t number;             /* identity of the file, which stays if a rotation moves it */
	bool is_directory;
	bool is_written;             /* of a directory: a writer has its trace open */
	/* of a directory: the content of `.live` (store/followed.h); both 0: none */
	uint64_t water, water_inverted;
	uint64_t size;               /* of a file; of a stream that is being written: its whole packets */
};
struct wmk_relay_view_files { struct wmk_list files; /* of struct wmk_relay_view_file */ };
/* VIEW_READ: read a part of a file. -ESTALE: the path leads to another file now. */
struct wmk_relay_view_part {
	const char *host, *session, *path;
	uint64_t number;
	uint64_t offset;
	uint64_t length;             /* at most WMK_RELAY_VIEW_BYTES_MAX */
};
/* If the reply has fewer bytes than requested, the file ends there. */
struct wmk_relay_view_bytes {
	uint64_t length;
	struct wmk_list words;       /* of uint64_t: the bytes in order; the last word is filled with zeros */
};

extern const struct wmk_object wmk_relay_view_object, wmk_relay_view_files_object, wmk_relay_view_part_object,
	wmk_relay_view_bytes_object;
extern const struct wmk_object wmk_relay_hello_object, wmk_relay_error_object, wmk_relay_output_object,
	wmk_relay_names_object, wmk_relay_trace_object, wmk_relay_trace_reply_object, wmk_relay_stream_object,
	wmk_relay_stream_reply_object, wmk_relay_rotation_object, wmk_relay_text_object, wmk_relay_packet_object,
	wmk_relay_metadata_object, wmk_relay_amend_object, wmk_relay_clock_object, wmk_relay_times_object,
	wmk_relay_low_water_object,
	wmk_relay_followed_object, wmk_relay_status_object;

/* Returns NULL if no request has this type. */
const struct wmk_request_type *wmk_relay_request_find(uint16_t type);
/*
 * Return the object of a data frame, for all types except PACKET. Returns NULL if `type` is PACKET, or is not the type
 * of a data frame.
 */
const struct wmk_object *wmk_relay_data_object(uint16_t type);

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Check a name that will be one component of a path in the relay's tree. The name must have 1 to `max` bytes, no '/',
 * no control characters, and no '.' at the beginning. 0 or -EINVAL with a cause chain, which calls the name `what`.
 */
int wmk_relay_name_check(const char *what, const char *name, size_t max);
/*
 * Check each component of the relative path `sub` by the rules of wmk_relay_name_check(). "archives" is not allowed as
 * the first component.
 */
int wmk_relay_sub_check(const char *sub);

#endif
