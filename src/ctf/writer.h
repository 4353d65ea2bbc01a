/* SPDX-License-Identifier: MIT */
/*
 * writer.h - write Common Trace Format 1.8 or 2: packet headers, index entries, metadata as TSDL or JSON.
 *
 * The functions of writer.h work only on memory, without files, clocks or global state. src/store writes the results of
 * these functions to the disk. src/consumer calls writer.h and src/store.
 *
 *     wmk_ctf_trace_text()    once: the trace, env, clock, common types      ─┐
 *     wmk_ctf_stream_text()   once per channel: header, context of events     ├─► metadata (src/store)
 *     wmk_ctf_event_text()    once per event class and channel               ─┘
 *     wmk_ctf_packet_encode() 88 bytes before each packet's records          ─┬► stream file
 *     wmk_ctf_packet_end()    padding and trailer after them                 ─┘
 *     wmk_ctf_index_packet()  72 bytes per packet                            ──► index/<stream>.idx (LTTng's format)
 *
 * Layout of a packet on disk, in the machine's byte order, which the metadata declares:
 *
 *     0   u32 magic | u8 uuid[16] | u32 stream_id | u64 stream_instance_id
 *     32  u64 timestamp_begin | u64 timestamp_end | u64 content_size | u64 packet_size     (sizes in bits)
 *     64  u64 packet_seq_num | u32 cpu_id | 4 bytes unused | u64 events_discarded
 *     88  records
 *         zeros
 *     end-16  u64 ring_position | u32 fields_cut | u32 mark
 *
 * The trailer follows the bytes that content_size covers, so other readers ignore the trailer. The metadata does not
 * declare the trailer.
 *
 * Errors are -errno with a cause chain (base/error.h). Any thread; not async-signal-safe.
 */
#ifndef WMK_CTF_WRITER_H
#define WMK_CTF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "schema/contexts.h"
#include "schema/schema.h"

/* ── text ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Growing text. Starts zeroed; free with wmk_ctf_text_free(). `text` is NUL-terminated if len > 0. */
struct wmk_ctf_text_buffer {
	char *text;
	size_t len, cap;
	int err;               /* sticky: -ENOMEM once an append has failed */
};

void wmk_ctf_text_free(struct wmk_ctf_text_buffer *text);
/* Append the text of another buffer. */
int wmk_ctf_text_add(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_text_buffer *more);

/* An environment entry that the caller adds to the entries of the writer. `text` NULL: an integer. */
struct wmk_ctf_env {
	const char *name;      /* a TSDL identifier */
	const char *text;
	int64_t number;
};

/* The version of the metadata: 1.8 (TSDL) or 2 (JSON). Packets and records have the same bytes in CTF 1.8 and CTF 2. */
enum wmk_ctf_version { WMK_CTF_1_8, WMK_CTF_2 };

struct wmk_ctf_trace {
	uint32_t version;          /* enum wmk_ctf_version */
	uint8_t uuid[16];          /* the same as in every packet */
	const char *name;          /* trace_name: name of the session or application */
	const char *created;       /* trace_creation_datetime, ISO 8601 basic ("20261120T234500+0000"), or NULL */
	const char *domain;        /* "ust" or "kernel", which Trace Compass uses to detect the kind of trace */
	const char *hostname;      /* or NULL */
	const char *buffering;     /* tracer_buffering_scheme: "uid", "pid", or NULL */
	const char *buffering_id;  /* tracer_buffering_id: the uid or pid as text, or NULL */
	const struct wmk_clock *clock;
	const struct wmk_ctf_env *env;  /* `n_env` more entries */
	unsigned n_env;
};

/* Append the first part of the metadata: signature, trace, env, clock, and the types to which other parts refer. */
int wmk_ctf_trace_text(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace);

/*
 * Append a stream class; `id` is the channel's number. `contexts` contains the fields between the header and the
 * payload of each record, in this order (see wmk_ctf_context()).
 */
int wmk_ctf_stream_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t id,
			const struct wmk_field *const *contexts, unsigned n_contexts);

/*
 * Append an event class with the name `provider:name` (`name` if the provider is ""), the id `event_id` in stream
 * `stream_id`, a log level and fields. -EINVAL for a type that has no TSDL form (an integer of 7 bits, ...), -E2BIG for
 * more than 64 levels of nesting; on an error nothing is appended.
 *
 * In CTF 1.8, a BOOL is an enumeration with the labels "false" and "true". An ENUM has the label "(other)" for every
 * value without a label, because readers would warn about such values. FLAGS are written as a number in base 16; a
 * comment lists the names of the bits. A field `_x_length` precedes a SEQUENCE or BLOB `x`, and a field `_x_present`
 * precedes an OPTIONAL `x`; these names are made unique. Pointers and hexadecimal integers have base 16. An element
 * that is an array, sequence, blob or optional field is wrapped in a structure with one member.
 */
int wmk_ctf_event_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t stream_id, uint32_t event_id,
		       const struct wmk_event_class *event);

/*
 * Append a comment line to TSDL (JSON has no comments); the function replaces characters that would end the comment.
 * Waymark writes errors of a trace, such as a corrupt ring, as comments.
 */
int wmk_ctf_comment_text(struct wmk_ctf_text_buffer *out, const char *words);

/* ── contexts ────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * A context field that a user can add by its number (enum wmk_context) or by its name. NULL: unknown. Static storage.
 */
struct wmk_ctf_context {
	unsigned number;
	unsigned domains;          /* enum wmk_context_domain, or-ed: domains that have this context */
	const char *help;          /* description, one line */
	struct wmk_field field;    /* type of the field; the field has the name of the context */
};

const struct wmk_ctf_context *wmk_ctf_context(unsigned number);
const struct wmk_ctf_context *wmk_ctf_context_find(const char *name);
/*
 * Return the first context field of these domains after `before` (NULL: the first context field), or NULL at the end.
 */
const struct wmk_ctf_context *wmk_ctf_context_next(unsigned domains, const struct wmk_ctf_context *before);

#define WMK_CTF_UUID_TEXT 37u
/* "c0a80101-...": 32 hexadecimal digits in five groups. Returns `text`. */
const char *wmk_ctf_uuid_text(char text[WMK_CTF_UUID_TEXT], const uint8_t uuid[16]);

/*
 * Compute the UUID of chunk `number` of a trace from the trace's UUID. The UUID of chunk 0 is the trace's UUID. Each
 * chunk has its own clock offset, so readers must not treat two chunks as one trace.
 */
void wmk_ctf_chunk_uuid(uint8_t uuid[16], const uint8_t trace_uuid[16], uint64_t number);

/* ── packets and index entries ───────────────────────────────────────────────────────────────────────── */

#define WMK_CTF_MAGIC 0xC1FC1FC1u
#define WMK_CTF_PACKET_ROOM 88u        /* bytes: the value of waymark_ring_options.header_room */
#define WMK_CTF_TRAILER 16u            /* bytes at the end of a packet */
#define WMK_CTF_PACKET_UUID_AT 4u      /* offset of the UUID in a packet */
#define WMK_CTF_PACKET_LOST_AT 80u     /* offset of the lost count in a packet ... */
#define WMK_CTF_INDEX_LOST_AT 40u      /* ... and, big-endian, in an index entry */
#define WMK_CTF_CPU_NONE 0xffffffffu   /* cpu_id of a claim ring's stream */

struct wmk_ctf_packet {
	uint32_t stream_id;        /* number of the channel */
	uint64_t instance;         /* of the stream within the channel: number of the ring */
	uint64_t begin_ts, end_ts; /* clock values */
	uint64_t content;          /* bytes of records, without the header */
	uint64_t sequence;         /* number of the packet in the stream, from 0, without gaps */
	uint64_t ring_position;    /* position of the first record */
	uint64_t lost;             /* records lost since the begin of the stream */
	uint32_t cpu;
	uint32_t cut;              /* fields cut since the begin of the stream, modulo 2^32 */
	/*
	 * padding beyond the next multiple of 8, in bytes: zeros between content and trailer; a multiple of 8, below
	 * 8192
	 */
	uint32_t pad;
};

#define WMK_CTF_PAD_MAX 8192u

/* Return the size of the packet in the file, in bytes: header, content, up to 7 zero bytes, `pad`, and the trailer. */
static inline uint64_t wmk_ctf_packet_size(const struct wmk_ctf_packet *packet)
{
	return ((WMK_CTF_PACKET_ROOM + packet->content + 7) & ~(uint64_t)7) + packet->pad + WMK_CTF_TRAILER;
}

/* Encode the header. `room` needs no alignment. */
void wmk_ctf_packet_encode(uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			   const struct wmk_ctf_packet *packet);
#define WMK_CTF_END_MAX (7u + WMK_CTF_PAD_MAX + WMK_CTF_TRAILER)
/* Encode the bytes after the content: zero bytes and the trailer. Returns their number. */
size_t wmk_ctf_packet_end(uint8_t end[WMK_CTF_END_MAX], const struct wmk_ctf_packet *packet);
/*
 * Decode the header of a packet in a stream file of Waymark, so that a writer can remove an incomplete packet at the
 * end and append to the file. `ring_position` and `cut` become 0. -EPROTO: not a packet of this trace, or its sizes
 * contradict each other. A packet that an earlier version of Waymark wrote also causes -EPROTO: the packet has no
 * trailer, so its sizes contradict each other.
 */
int wmk_ctf_packet_decode(const uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			  struct wmk_ctf_packet *packet);
/*
 * Decode the last bytes of a packet: set `ring_position` and `cut`. Returns false and leaves `packet` unchanged if the
 * bytes are not a trailer. The mark distinguishes a trailer from padding, which consists of zero bytes.
 */
bool wmk_ctf_trailer_decode(const uint8_t trailer[WMK_CTF_TRAILER], struct wmk_ctf_packet *packet);

#define WMK_CTF_RECORD_HEAD 13u        /* maximum size of a record's header, in bytes */
/*
 * Encode the header of a record (docs/trace-format.md) with this event id and time. `before` is the time of the
 * previous record of the packet, or the start time of the packet. Returns the number of bytes.
 */
unsigned wmk_ctf_record_encode(uint8_t head[WMK_CTF_RECORD_HEAD], uint32_t id, uint64_t time, uint64_t before);

/* magic 0xC1F1DCC1, major 1, minor 1, entry size; big-endian, as LTTng defines it */
#define WMK_CTF_INDEX_HEAD 16u
#define WMK_CTF_INDEX_ENTRY 72u

void wmk_ctf_index_head(uint8_t head[WMK_CTF_INDEX_HEAD]);

/* The position of a packet in the stream file, and values of the packet's header. */
struct wmk_ctf_index_entry {
	uint64_t offset;           /* bytes */
	uint64_t size, content;    /* bits, with the header */
	uint64_t begin_ts, end_ts; /* clock values */
	uint64_t lost;             /* records lost since the begin of the stream */
	uint64_t stream_id;        /* of the stream class */
	uint64_t instance, sequence; /* UINT64_MAX: not in the packet */
};

void wmk_ctf_index_encode(uint8_t bytes[WMK_CTF_INDEX_ENTRY], const struct wmk_ctf_index_entry *entry);
/*
 * Encode the index entry of a packet that Waymark wrote. `offset` is the position of the packet in the stream file, in
 * bytes.
 */
void wmk_ctf_index_packet(uint8_t bytes[WMK_CTF_INDEX_ENTRY], uint64_t offset, const struct wmk_ctf_packet *packet);

#endif
