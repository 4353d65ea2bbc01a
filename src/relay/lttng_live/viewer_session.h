/* SPDX-License-Identifier: MIT */
/*
 * viewer_session.h - a session as one viewer of the LTTng-live protocol sees it: traces and streams, which appear while
 * the viewer reads, and the position of the viewer in each stream.
 *
 *     files of the session ──wmk_viewer_session_scan()──► traces, streams ──announce──► the viewer
 *                                                             └─ next packet, its bytes, metadata ──► the viewer
 *
 * babeltrace2 merges streams by time, and fails if a new stream has an earlier record than those already merged. The
 * viewer therefore gets a packet only if the packet ends at or before the low-water time of all traces
 * (store/followed.h). All records before this low-water time are in files, and the next scan finds these files. A
 * stream is announced only after it has a packet, because the metadata for the stream is complete at that time.
 * One thread.
 */
#ifndef WMK_RELAY_VIEWER_SESSION_H
#define WMK_RELAY_VIEWER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/index.h"

struct viewer_trace;

struct viewer_stream {
	struct viewer_stream *next;
	struct viewer_trace *trace;
	uint64_t id;
	char *name;
	int data;
	uint64_t number;           /* of the file: `clear` replaces the file of this name by another file */
	struct wmk_read_index index;
	uint64_t class_id;         /* stream_id in its packets */
	uint64_t n_given;          /* packets that were given, or skipped when the viewer attached */
	/*
	 * The latest time of this stream that the viewer has received: the end of a packet, or a low-water time. The
	 * next packet has no records before the time `given`, although its header may contain an earlier begin time.
	 */
	uint64_t given;
	/* the last packet that was given, with its begin as it was given */
	struct wmk_read_index_entry last;
	bool is_removed;           /* the file gets no more data */
	bool is_announced, is_hung_up;
};

struct viewer_trace {
	struct viewer_trace *next;
	uint64_t id;               /* ctf_trace_id of the protocol */
	uint64_t metadata_id;      /* id of the metadata stream */
	char *path;                /* path in the session */
	uint64_t device, number;   /* of the directory: a rotation replaces the directory of this path by another one */
	int directory, metadata;
	int live;                  /* `.live`, locked, so that the writer flushes soon and publishes a low-water time */
	uint64_t n_metadata;       /* bytes of metadata that the viewer has */
	uint64_t water;            /* 0: unknown */
	uint64_t since;            /* monotonic: when the trace was found */
	uint64_t written;          /* monotonic: when a writer was last seen */
	uint64_t ended;            /* monotonic: when the trace became complete */
	/* the last scan has found the trace at its path; false: a rotation has moved the trace */
	bool is_found;
	bool is_complete;          /* the trace gets no more data */
	bool is_announced;
	struct viewer_stream *streams;
};

struct viewer_session {
	int directory;             /* the directory HOST/SESSION */
	struct viewer_trace *traces;
	uint64_t next_id;
	uint64_t water;            /* packets up to this time can be given; UINT64_MAX: all */
	uint64_t floor;            /* streams that the current scan finds have no record before this time */
	uint64_t latest;           /* the latest time that the viewer has of any stream */
	uint64_t scanned;          /* time of the last scan; monotonic */
	bool is_from_now;          /* skip the packets that exist at the first scan */
	/* the lines of the clock's offset in the first metadata of the viewer; NULL: none yet */
	char *clock_offset;
};

/* `directory` is open for reading. The session takes ownership of the descriptor `directory`. */
void wmk_viewer_session_init(struct viewer_session *session, int directory, bool is_from_now);
void wmk_viewer_session_close(struct viewer_session *session);
/* Find new traces, new streams, and traces that have ended. Does nothing if the last scan was less than 20 ms ago. */
void wmk_viewer_session_scan(struct viewer_session *session);
/* Return true if a stream has a packet but was not announced to the viewer. */
bool wmk_viewer_session_has_new(const struct viewer_session *session);
/* Return true if at least one trace was found, and all traces have ended. */
bool wmk_viewer_session_is_over(const struct viewer_session *session);
/* NULL: no such stream. */
struct viewer_stream *wmk_viewer_session_stream(const struct viewer_session *session, uint64_t id);
struct viewer_trace *wmk_viewer_session_metadata(const struct viewer_session *session, uint64_t id);

/*
 * Return the metadata that the viewer has not received, in complete declarations, as one TSDL packet (CTF 1.8.3,
 * section 7.1). The packet is allocated with malloc(). 1; 0: no new metadata; -errno.
 */
int wmk_viewer_metadata_packet(struct viewer_session *session, struct viewer_trace *trace, uint8_t **packet,
			       size_t *size);
/* Return true if a call of wmk_viewer_metadata_packet() would return 1. */
bool wmk_viewer_metadata_has_grown(struct viewer_trace *trace);

#endif
