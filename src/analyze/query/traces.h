/* SPDX-License-Identifier: MIT */
/*
 * traces.h - the traces of a query, and the reports about them. A query may read its traces several times, but reports
 * each message about damage or loss once.
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
	/*
	 * Reports input that the reader accepts although the specification forbids the input. The cause chain describes
	 * the input.
	 */
	void (*warning)(void *data, int err);
	/* Reports records that were lost during recording, as one line without '\n'. */
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
	/*
	 * The steady time of a record is at least its real time minus `most_steps`, and at most its real time minus
	 * `least_steps`.
	 */
	int64_t least_steps, most_steps;
	uint64_t damages;          /* number of different messages about damage */
	struct wmk_read_repeats repeats;
	void *reported;            /* messages about damage: a tree of strings */
	uint64_t lost, lost_packets;
	bool is_loss_unknown;      /* a stream has lost an unknown number of records */
};

/*
 * Open all traces at and below the paths. `begin` and `end` select a part of the traces, in the forms of
 * read/parse_time.h; NULL means no limit. -ENOENT: no trace. -EINVAL: no trace can be read, or a time is invalid. After
 * an error, the only valid call for *traces is wmk_query_traces_close().
 */
int wmk_query_traces_open(const char *const *paths, unsigned n_paths, const char *begin, const char *end,
			  struct wmk_query_traces *traces);
void wmk_query_traces_close(struct wmk_query_traces *traces);

/* Open the streams of all traces, each at its beginning. `from` and `to` (ns, real time) limit the selected part. */
int wmk_query_traces_merge(struct wmk_query_traces *traces, int64_t from, int64_t to, struct wmk_read_merge **merge);
/* Return the trace that contains the stream, and set *number to the stream's number. */
const struct wmk_query_trace *wmk_query_traces_of(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
						  uint32_t *number);
/* Return the name of a stream. The name is valid as long as the traces are open. "" if no memory is left. */
const char *wmk_query_traces_stream_name(struct wmk_query_traces *traces, const struct wmk_read_stream *stream,
					 uint32_t number);
/*
 * Report damage in a stream (NULL: in the trace itself). The cause chain of the calling thread describes the damage;
 * the function clears the chain.
 */
void wmk_query_traces_damage(void *traces, const struct wmk_read_stream *stream, int err);
/* Call this after WMK_READ_PACKET, to count the losses before the current packet of the stream with this number. */
void wmk_query_traces_losses(struct wmk_query_traces *traces, const struct wmk_read_stream *stream, uint32_t number);
/* Call this after the last row, to report the number of repeated messages, and the losses. */
void wmk_query_traces_end(struct wmk_query_traces *traces);

#endif
