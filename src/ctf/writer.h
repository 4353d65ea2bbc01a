/* SPDX-License-Identifier: MIT */
/*
 * writer.h - Common Trace Format 1.8 as bytes and as text: packet headers, index entries, TSDL metadata.
 *
 * Pure functions on memory: no file, no clock, no global state. The store puts what they make on disk, the consumer
 * calls both.
 *
 *     wmk_ctf_trace_text()    once: the trace, env, clock, common types      ─┐
 *     wmk_ctf_stream_text()   once per channel: header, context of events     ├─► metadata (src/store)
 *     wmk_ctf_event_text()    once per event class and channel               ─┘
 *     wmk_ctf_packet_encode() 96 bytes before each packet's records          ──► stream file
 *     wmk_ctf_index_packet()  72 bytes per packet                            ──► index/<stream>.idx (LTTng's format)
 *
 * On disk, one packet (all little-endian here: the machine's own order, declared in the metadata):
 *
 *     0   u32 magic | u8 uuid[16] | u32 stream_id | u64 stream_instance_id
 *     32  u64 timestamp_begin | u64 timestamp_end | u64 content_size | u64 packet_size     (sizes in bits)
 *     64  u64 packet_seq_num | u64 ring_position | u64 events_discarded
 *     88  u32 cpu_id | u32 fields_cut
 *     96  records
 *
 * Errors are -errno with a cause chain (base/error.h). Any thread; not async-signal-safe.
 */
#ifndef WMK_CTF_WRITER_H
#define WMK_CTF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "schema/contexts.h"
#include "schema/schema.h"

/* ── text ────────────────────────────────────────────────────────────────────────────────────────────── */

/* Growing text. Zero-initialise; wmk_ctf_text_free() when done. `text` is NUL-terminated whenever len > 0. */
struct wmk_ctf_text_buffer {
	char *text;
	size_t len, cap;
	int err;               /* sticky: -ENOMEM once an append has failed */
};

void wmk_ctf_text_free(struct wmk_ctf_text_buffer *text);

/* One environment entry besides those that the writer makes itself. `text` NULL: an integer. */
struct wmk_ctf_env {
	const char *name;      /* a TSDL identifier */
	const char *text;
	int64_t number;
};

/* Of the metadata: TSDL, or CTF 2's JSON. Packets and records are the same bytes. */
enum wmk_ctf_version { WMK_CTF_1_8, WMK_CTF_2 };

struct wmk_ctf_trace {
	uint32_t version;          /* enum wmk_ctf_version */
	uint8_t uuid[16];          /* the same as in every packet */
	const char *name;          /* trace_name: the session's or program's */
	const char *created;       /* trace_creation_datetime, ISO 8601 basic ("20261120T234500+0000"), or NULL */
	const char *domain;        /* "ust" or "kernel": what Trace Compass keys on */
	const char *hostname;      /* or NULL */
	const char *buffering;     /* tracer_buffering_scheme: "uid", "pid", or NULL */
	const char *buffering_id;  /* tracer_buffering_id: the uid or pid as text, or NULL */
	const struct wmk_clock *clock;
	const struct wmk_ctf_env *env;  /* n_env more entries */
	unsigned n_env;
};

/* Append the head of the metadata: signature, trace, env, clock, the types that the rest refers to. */
int wmk_ctf_trace_text(struct wmk_ctf_text_buffer *out, const struct wmk_ctf_trace *trace);

/*
 * Append a stream class: `id` is the channel's number. `contexts` are the fields that stand between header and
 * payload of each record, in this order (see wmk_ctf_context()).
 */
int wmk_ctf_stream_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t id,
			const struct wmk_field *const *contexts, unsigned n_contexts);

/*
 * Append an event class: `provider:name` (`name` where the provider is ""), id `event_id` in stream `stream_id`, log
 * level, fields. -EINVAL for a type that has no TSDL form (an integer of 7 bits, ...), -E2BIG for more than 64 levels
 * of nesting; then nothing has been appended.
 *
 * How each type shows in 1.8: BOOL is an enumeration false/true; an ENUM has the label "(other)" for every value
 * without one (a reader would warn); FLAGS are a number in base 16, with the names of the bits in a comment; SEQUENCE
 * and BLOB `x` are preceded by a field `_x_length` (made unique), OPTIONAL by `_x_present`; a POINTER or hex integer is
 * base
 * 16. An array or sequence whose elements are not scalars or strings has them in one-member structures.
 */
int wmk_ctf_event_text(struct wmk_ctf_text_buffer *out, uint32_t version, uint32_t stream_id, uint32_t event_id,
		       const struct wmk_event_class *event);

/*
 * Append a comment line; what would end the comment is replaced. For errors that belong to the trace (a ring that
 * lies). TSDL's: JSON has none.
 */
int wmk_ctf_comment_text(struct wmk_ctf_text_buffer *out, const char *words);

/* ── contexts ────────────────────────────────────────────────────────────────────────────────────────── */

/* A context that the user can ask for: by number (enum wmk_context) and by name. NULL: unknown. Static storage. */
struct wmk_ctf_context {
	unsigned number;
	unsigned domains;          /* enum wmk_context_domain, or-ed: whose records can have it */
	const char *help;          /* for people, one line */
	struct wmk_field field;    /* its name is the context's name */
};

const struct wmk_ctf_context *wmk_ctf_context(unsigned number);
const struct wmk_ctf_context *wmk_ctf_context_find(const char *name);
/* All of these domains, one after the other: the first behind `before` (NULL: the first); NULL at the end. */
const struct wmk_ctf_context *wmk_ctf_context_next(unsigned domains, const struct wmk_ctf_context *before);

#define WMK_CTF_UUID_TEXT 37u
/* "c0a80101-...": 32 hexadecimal digits in five groups. Returns `text`. */
const char *wmk_ctf_uuid_text(char text[WMK_CTF_UUID_TEXT], const uint8_t uuid[16]);

/* ── packets and index entries ───────────────────────────────────────────────────────────────────────── */

#define WMK_CTF_MAGIC 0xC1FC1FC1u
#define WMK_CTF_PACKET_ROOM 96u        /* bytes: what waymark_ring_options.header_room must be */
#define WMK_CTF_PACKET_LOST_AT 80u     /* where the lost count stands in it ... */
#define WMK_CTF_INDEX_LOST_AT 40u      /* ... and, big-endian, in an index entry */
#define WMK_CTF_CPU_NONE 0xffffffffu   /* cpu_id of a claim ring's stream */

struct wmk_ctf_packet {
	uint32_t stream_id;        /* the channel */
	uint64_t instance;         /* of the stream within the channel: the ring's number */
	uint64_t begin_ts, end_ts; /* clock values */
	uint64_t content;          /* bytes of records, header not counted */
	uint64_t sequence;         /* of packets in this stream, from 0, without gaps */
	uint64_t ring_position;    /* of the first record's first byte */
	uint64_t lost;             /* records lost since the stream's beginning */
	uint32_t cpu;
	uint32_t cut;              /* fields cut since the stream's beginning, modulo 2^32 */
	/* zero bytes behind the content, more than are needed for a multiple of 8; a multiple of 8, below 8192 */
	uint32_t pad;
};

#define WMK_CTF_PAD_MAX 8192u

/* Bytes that the packet takes in the file: header, content, up to 7 zero bytes, and `pad`. */
static inline uint64_t wmk_ctf_packet_size(const struct wmk_ctf_packet *packet)
{
	return ((WMK_CTF_PACKET_ROOM + packet->content + 7) & ~(uint64_t)7) + packet->pad;
}

/* Fill the header. `room` needs no alignment. */
void wmk_ctf_packet_encode(uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			   const struct wmk_ctf_packet *packet);
/*
 * The header of a packet in a file of ours that is to be continued: fills *packet. -EPROTO when it is not one of this
 * trace, or when its sizes contradict each other. For cutting off a torn tail.
 */
int wmk_ctf_packet_decode(const uint8_t room[WMK_CTF_PACKET_ROOM], const uint8_t uuid[16],
			  struct wmk_ctf_packet *packet);

#define WMK_CTF_RECORD_HEAD 13u        /* bytes of a record's header at most */
/*
 * The header of a record (docs/trace-format.md) of the event with this id at this time; `before`: that of the record
 * before it in the packet, or the packet's begin. Returns its bytes.
 */
unsigned wmk_ctf_record_encode(uint8_t head[WMK_CTF_RECORD_HEAD], uint32_t id, uint64_t time, uint64_t before);

/* magic 0xC1F1DCC1, major 1, minor 1, entry size; big-endian, as LTTng defines it */
#define WMK_CTF_INDEX_HEAD 16u
#define WMK_CTF_INDEX_ENTRY 72u

void wmk_ctf_index_head(uint8_t head[WMK_CTF_INDEX_HEAD]);

/* Where a packet is in the stream file, and what it says of itself. */
struct wmk_ctf_index_entry {
	uint64_t offset;           /* bytes */
	uint64_t size, content;    /* bits, header counted */
	uint64_t begin_ts, end_ts; /* clock values */
	uint64_t lost;             /* records lost since the stream's beginning */
	uint64_t stream_id;        /* of the stream class */
	uint64_t instance, sequence; /* UINT64_MAX: it does not say */
};

void wmk_ctf_index_encode(uint8_t bytes[WMK_CTF_INDEX_ENTRY], const struct wmk_ctf_index_entry *entry);
/* That of a packet of ours. `offset`: of the packet in the stream file, bytes. */
void wmk_ctf_index_packet(uint8_t bytes[WMK_CTF_INDEX_ENTRY], uint64_t offset, const struct wmk_ctf_packet *packet);

#endif
