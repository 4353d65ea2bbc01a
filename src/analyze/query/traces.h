/* SPDX-License-Identifier: MIT */
/*
 * traces.h - the traces of a query, and the reports about them. A query may read its traces several times; each message
 * about damage or loss is reported once.
 */
#ifndef WMK_ANALYZE_QUERY_TRACES_H
#define WMK_ANALYZE_QUERY_TRACES_H

#include "read/hosts.h"
#include "read/merge.h"
#include "read/repeats.h"

struct wmk_query_reports {
	/*
	 * Reports damage in a trace. The cause chain of the calling thread describes the damage, and is cleared
	 * afterwards.
	 */
	void (*damage)(void *data, int err);
	/* Reports input that is read although the specification forbids it. The cause chain describes the input. */
	void (*warning)(void *data, int err);
	/* Reports losses during recording, in a line without '\n'. */
	void (*lost)(void *data, const char *words);
	void *data;
};

/* One trace. */
struct wmk_query_trace {
	struct wmk_read_trace *trace;
	uint32_t first_stream;     /* the number of the trace's first stream file; files are counted over all traces */
	char *name;                /* name of the trace, valid UTF-8 */
	char *process;             /* process name in the environment, valid UTF-8; NULL: unknown */
	bool has_pid;
	int64_t pid;               /* process in the environment */
};

struct wmk_query_traces {
	struct wmk_query_reports reports;
	struct wmk_query_trace *all;
	uint32_t n, cap;
	struct wmk_read_hosts *hosts;      /* NULL: the traces are not on the clock of a relay */
	struct wmk_query_stream {
		char *name;            /* NULL: not read yet */
		/* the losses before this packet and before all earlier packets have been counted */
		uint64_t counted;
	} *streams;                /* streams by number */
	uint32_t n_streams;
	int64_t from, to;          /* ns, steady time: the selected part */
	/* Steady time of a record is between its real time minus `most_steps` and its real time minus `least_steps`. */
	int64_t least_steps, most_steps;
	uint64_t damages;          /* number of different messages about damage */
	struct wmk_read_repeats repeats;
	void *reported;            /* messages about damage: a tree of strings */
	uint64_t lost, lost_packets;
	bool is_loss_unknown;      /* a stream has lost an unknown number of records */
};

/*
 * Open all traces at and below the paths. `begin` and `end` select a part, see read/parse_time.h; NULL: no limit.
 * -ENOENT: no trace. -EINVAL: no trace can be read, or a time is invalid. After an error, *traces can only be closed.
 */
int wmk_query_traces_open(const char *const *paths, unsigned n_paths, const char *begin, const char *end,
			  struct wmk_query_traces *traces);
void wmk_query_traces_close(struct wmk_query_traces *traces);

/* Open the streams of all traces at their beginning. `from` and `to` (ns, real time) limit the selected part. */
int wmk_query_traces_merge(struct wmk_query_traces *traces, int64_t from, int64_t to, struct wmk_read_merge **merge);
/* The trace of the stream, and the number of the stream. */
const struct wmk_query_trace *wmk_query_traces_of(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
						  uint32_t *number);
/* The name of a stream, which lives as long as the traces. "" if no memory is left. */
const char *wmk_query_traces_stream_name(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
					 uint32_t number);
/*
 * Report damage of a stream (NULL: of the trace). The calling thread's cause chain describes the damage, and is
 * cleared.
 */
void wmk_query_traces_damage(void *traces, const struct wmk_read_stream *stream, int err);
/* After WMK_READ_PACKET: count the losses before the packet of stream `number`. */
void wmk_query_traces_losses(struct wmk_query_traces *traces, const struct wmk_read_stream *stream, uint32_t number);
/* After the last row: report the number of repeated messages, and the losses. */
void wmk_query_traces_end(struct wmk_query_traces *traces);

#endif
