/* SPDX-License-Identifier: MIT */
/*
 * trace_sender.c - sends one trace of a spool (see trace_sender.h).
 */
#include "sender/trace_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "sender/relay_gap.h"
#include "sender/relay_link.h"
#include "sender/trace_clock.h"
#include "store/followed.h"

#define KERNEL_SUB "kernel"
#define METADATA_PART (1u << 20)
#define FILE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)

/* A stream of the chunk that the sender is sending. */
struct sent_stream {
	char name[WMK_SPOOL_NAME];
	uint32_t number;           /* number of the stream at the relay */
	uint64_t file, offset;     /* number of the file, and offset in it, of the next packet */
	uint64_t oldest;           /* number of the oldest file of the stream in the spool */
	struct wmk_ctf_packet last;        /* the last packet that the relay has or that was sent */
	bool found;                /* `last` is a packet */
	uint64_t last_at;          /* offset of `last` in the current file; UINT64_MAX: not in it */
};

/* Data that was sent, but was not acknowledged yet. After the relay has acknowledged `frame`, old files are removed. */
struct unacknowledged {
	uint32_t frame;
	uint64_t bytes;
	uint32_t stream;           /* the files of this stream before `file` are then removed */
	uint64_t file;
};

struct wmk_trace_sender {
	const struct wmk_trace_sender_options *options;
	struct wmk_spool_trace *trace;
	struct wmk_relay_link *link;
	uint64_t chunk;            /* the number of the chunk that the relay has open */
	struct sent_stream *streams;
	size_t n_streams;
	uint64_t metadata_len;     /* bytes of the metadata that were sent */
	ino_t metadata_inode;      /* 0: not known */
	struct wmk_trace_clock clock;
	uint64_t low_water;
	int live;                  /* the file .live, locked while a live reader reads at the relay; -1 */
	struct unacknowledged *waiting;
	size_t n_waiting, room;
	uint64_t behind;
	uint64_t progress_ns;      /* time of the last acknowledgement, or of the oldest data in `waiting` */
};

/* ── acknowledgements ────────────────────────────────────────────────────────────────────────────────── */

static int wait_for(struct wmk_trace_sender *sender, uint64_t bytes, uint32_t stream, uint64_t file)
{
	if (sender->n_waiting == sender->room) {
		const size_t room = sender->room ? sender->room * 2 : 64;
		struct unacknowledged *grown = realloc(sender->waiting, room * sizeof(*grown));

		if (!grown)
			return wmk_error(-ENOMEM, "no memory for the sender");
		sender->waiting = grown;
		sender->room = room;
	}
	if (!sender->n_waiting)
		sender->progress_ns = wmk_clock_monotonic();
	sender->waiting[sender->n_waiting++] =
		(struct unacknowledged){ wmk_relay_link_sent(sender->link), bytes, stream, file };
	sender->behind += bytes;
	return 0;
}

static struct wmk_spool_chunk *chunk_of(const struct wmk_trace_sender *sender)
{
	struct wmk_spool_chunk *chunk = sender->trace->chunks;

	while (chunk && chunk->number != sender->chunk)
		chunk = chunk->next;
	return chunk;
}

static bool remove_before(struct wmk_trace_sender *sender, const struct unacknowledged *done)
{
	struct sent_stream *stream = done->stream < sender->n_streams ? &sender->streams[done->stream] : NULL;
	const struct wmk_spool_chunk *chunk = chunk_of(sender);
	bool removed = false;

	for (; stream && chunk && stream->oldest < done->file; stream->oldest++, removed = true)
		wmk_spool_remove_file(chunk, stream->name, stream->oldest);
	return removed;
}

static void forget_waiting(struct wmk_trace_sender *sender)
{
	sender->n_waiting = 0;
	sender->behind = 0;
}

/* While a live reader at the relay follows the trace, lock .live as a local live reader does (store/followed.h). */
static void follow(struct wmk_trace_sender *sender)
{
	const bool wanted = sender->link && wmk_relay_link_is_followed(sender->link);
	const struct wmk_spool_chunk *chunk = wanted ? chunk_of(sender) : NULL;

	if (!chunk && sender->live >= 0) {
		close(sender->live);
		sender->live = -1;
	}
	if (!chunk || sender->live >= 0)
		return;
	/* If the lock cannot be taken, the consumer daemon flushes less often. */
	sender->live = wmk_store_follow(chunk->dir);
}

int wmk_trace_sender_disconnect(struct wmk_trace_sender *sender, int err)
{
	wmk_relay_link_close(sender->link);
	sender->link = NULL;
	free(sender->streams);
	sender->streams = NULL;
	sender->n_streams = 0;
	sender->clock = (struct wmk_trace_clock){ 0 };
	forget_waiting(sender);
	follow(sender);
	return err;
}

int wmk_trace_sender_receive(struct wmk_trace_sender *sender)
{
	size_t n = 0;
	bool removed = false;

	if (!sender->link)
		return 0;
	int err = wmk_relay_link_receive(sender->link);

	/* Process the acknowledgements even if the relay has closed the connection. Numbers of frames wrap. */
	while (n < sender->n_waiting &&
	       (int32_t)(wmk_relay_link_acknowledged(sender->link) - sender->waiting[n].frame) >= 0) {
		sender->behind -= sender->waiting[n].bytes;
		removed |= remove_before(sender, &sender->waiting[n++]);
	}
	sender->n_waiting -= n;
	if (n)
		sender->progress_ns = wmk_clock_monotonic();
	memmove(sender->waiting, sender->waiting + n, sender->n_waiting * sizeof(*sender->waiting));
	follow(sender);
	return err < 0 ? wmk_trace_sender_disconnect(sender, err) : removed;
}

/* ── metadata, clock ─────────────────────────────────────────────────────────────────────────────────── */

static int send_metadata_part(struct wmk_trace_sender *sender, int fd, uint64_t offset, uint64_t len, bool replace)
{
	char *text = malloc((size_t)len + 1);
	struct wmk_relay_metadata part = { .offset = offset, .replace = replace, .text = text };
	int err = 0;

	if (!text)
		return wmk_error(-ENOMEM, "no memory for metadata");
	if (pread(fd, text, (size_t)len, (off_t)offset) != (ssize_t)len)
		err = wmk_error(-EIO, "cannot read the metadata in the spool");
	text[len] = '\0';
	if (err == 0 && replace)
		wmk_relay_link_set_epoch(sender->link, wmk_relay_link_epoch(sender->link) + 1);
	if (err == 0)
		err = wmk_relay_link_data(sender->link, WMK_RELAY_METADATA, &part);
	free(text);
	return err < 0 ? err : wait_for(sender, len, UINT32_MAX, 0);
}

/* Send new bytes of the metadata file. If the file was replaced since the previous pass, send the whole new file. */
static int send_metadata(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk)
{
	struct stat st;
	bool replace;
	int fd, err = 0;

	if (fstatat(chunk->dir, "metadata", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	replace = sender->metadata_len && st.st_ino != sender->metadata_inode;
	if (!replace && (uint64_t)st.st_size <= sender->metadata_len)
		return 0;
	fd = openat(chunk->dir, "metadata", FILE_FLAGS);
	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (replace)
		sender->metadata_len = 0;
	while (err == 0 && sender->metadata_len < (uint64_t)st.st_size) {
		const uint64_t left = (uint64_t)st.st_size - sender->metadata_len;
		const uint64_t len = left < METADATA_PART ? left : METADATA_PART;

		err = send_metadata_part(sender, fd, sender->metadata_len, len, replace);
		sender->metadata_len += len;
		replace = false;
	}
	sender->metadata_inode = st.st_ino;
	close(fd);
	return err;
}

static int send_clock(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk)
{
	const long sent = wmk_trace_clock_send(&sender->clock, sender->link, chunk->dir, sender->options->exchange);

	return sent > 0 ? wait_for(sender, (uint64_t)sent, UINT32_MAX, 0) : (int)sent;
}

/* Read the low-water time. Do this before reading the streams, because then their files have all earlier records. */
static uint64_t read_low_water(const struct wmk_trace_sender *sender)
{
	uint64_t ts = 0;

	wmk_store_followed_to(sender->live, &ts);
	return ts;
}

static int send_low_water(struct wmk_trace_sender *sender, uint64_t ts)
{
	const struct wmk_relay_low_water is = { ts };

	if (ts <= sender->low_water)
		return 0;
	sender->low_water = ts;
	return wmk_relay_link_data(sender->link, WMK_RELAY_LOW_WATER, &is);
}

/* ── packets ─────────────────────────────────────────────────────────────────────────────────────────── */

static struct sent_stream *stream_find(struct wmk_trace_sender *sender, const char *name)
{
	for (size_t i = 0; i < sender->n_streams; i++)
		if (strcmp(sender->streams[i].name, name) == 0)
			return &sender->streams[i];
	return NULL;
}

/* Open the stream at the relay, or find it there. The reply describes the last packet of the stream on the relay. */
static int stream_ask(struct wmk_trace_sender *sender, struct sent_stream *stream)
{
	const struct wmk_relay_stream is = { .stream = stream->number, .name = stream->name, .create = true,
					     .chunk = "" };
	struct wmk_relay_stream_reply reply;
	int err = wmk_relay_link_request(sender->link, WMK_RELAY_STREAM, &is, &reply);

	if (err < 0)
		return err;
	stream->found = reply.found;
	stream->last = reply.last;
	stream->last_at = UINT64_MAX;
	return 0;
}

static int stream_add(void *data, const char *name, uint64_t first)
{
	struct wmk_trace_sender *sender = data;
	struct sent_stream *grown;

	if (stream_find(sender, name))
		return 0;
	grown = realloc(sender->streams, (sender->n_streams + 1) * sizeof(*grown));
	if (!grown)
		return wmk_error(-ENOMEM, "no memory for a stream");
	sender->streams = grown;
	grown[sender->n_streams] = (struct sent_stream){ .number = (uint32_t)sender->n_streams, .file = first,
							 .oldest = first };
	snprintf(grown[sender->n_streams].name, sizeof(grown->name), "%s", name);
	sender->n_streams++;
	return stream_ask(sender, &grown[sender->n_streams - 1]);
}

/* True if the relay has the packet. */
static bool is_known(const struct wmk_trace_sender *sender, const struct sent_stream *stream,
		     const struct wmk_ctf_packet *packet)
{
	const struct wmk_ctf_packet *last = &stream->last;

	if (!stream->found)
		return false;
	if (strcmp(sender->trace->sub, KERNEL_SUB) == 0 || packet->content == 0)
		return packet->sequence <= last->sequence;
	return packet->ring_position + packet->content <= last->ring_position + last->content;
}

static int skip_gap(struct wmk_trace_sender *sender, const struct sent_stream *stream,
		    const struct wmk_ctf_packet *next)
{
	const struct wmk_relay_stream is = { .stream = stream->number, .name = stream->name, .create = true,
					     .chunk = "" };

	return wmk_relay_gap_in_stream(sender->link, &is, stream->found, next);
}

static int send_packet(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk,
		       struct sent_stream *stream, int file, const struct wmk_ctf_packet *packet)
{
	int err = 0;

	if (!is_known(sender, stream, packet)) {
		/* The metadata of a packet's records was written before the packet, so send the metadata first. */
		err = send_metadata(sender, chunk);
		if (err == 0 && packet->sequence > (stream->found ? stream->last.sequence + 1 : 0))
			err = skip_gap(sender, stream, packet);
		if (err == 0)
			err = wmk_relay_link_packet(sender->link, stream->number, packet, file,
						    stream->offset + WMK_CTF_PACKET_ROOM);
		if (err == 0)
			err = wait_for(sender, wmk_ctf_packet_size(packet), stream->number, stream->file);
		stream->last = *packet;
		stream->found = true;
		sender->clock.is_idle = false;
	}
	if (packet->sequence == stream->last.sequence)
		stream->last_at = stream->offset;
	stream->offset += wmk_ctf_packet_size(packet);
	return err;
}

/*
 * If the disk is full at the end of a stream, the consumer daemon changes the lost count in the last packet. If the
 * last packet was already sent, send the new lost count.
 */
static int send_amended(struct wmk_trace_sender *sender, struct sent_stream *stream, int file)
{
	struct wmk_ctf_packet packet;
	struct wmk_relay_amend is = { .stream = stream->number };
	int err;

	if (stream->last_at == UINT64_MAX || wmk_spool_packet(file, stream->last_at, &packet) != 1 ||
	    packet.sequence != stream->last.sequence || packet.lost == stream->last.lost)
		return 0;
	is.lost = stream->last.lost = packet.lost;
	err = wmk_relay_link_data(sender->link, WMK_RELAY_AMEND, &is);
	return err < 0 ? err : wait_for(sender, 0, UINT32_MAX, 0);
}

/* Send the rest of one file. 1: the file is complete, and the next file has a packet; 0: otherwise; -errno. */
static int send_file(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk, struct sent_stream *stream)
{
	/* The next file exists only if this file is complete. So look for the next file before reading this one. */
	const bool follows = wmk_spool_has_packet(chunk, stream->name, stream->file + 1);
	int file = wmk_spool_file(chunk, stream->name, stream->file), err = 0, found;
	struct wmk_ctf_packet packet;

	while (file >= 0 && err == 0 && (found = wmk_spool_packet(file, stream->offset, &packet)) == 1) {
		err = send_packet(sender, chunk, stream, file, &packet);
		if (err == 0 && wmk_trace_sender_receive(sender) < 0)
			err = wmk_error_number();
		if (!sender->link)
			break;
	}
	if (file >= 0 && err == 0 && sender->link && sender->options->ending)
		err = send_amended(sender, stream, file);
	if (file >= 0)
		close(file);
	if (err == 0 && follows) {
		sender->options->progress(sender->options->data);
		stream->file++;
		stream->offset = 0;
		stream->last_at = UINT64_MAX;
		/* All earlier files were sent. The next acknowledgement removes them. */
		err = wait_for(sender, 0, stream->number, stream->file);
		return err < 0 ? err : 1;
	}
	return err;
}

static int send_chunk(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk)
{
	const uint64_t water = read_low_water(sender);
	int err = wmk_spool_each_stream(chunk, stream_add, sender), sent;

	if (err == 0)
		err = send_metadata(sender, chunk);
	if (err == 0)
		err = send_clock(sender, chunk);
	for (size_t i = 0; i < sender->n_streams && err == 0; i++) {
		do
			sent = send_file(sender, chunk, &sender->streams[i]);
		while (sent == 1 && sender->link);
		err = sent < 0 ? sent : sender->link ? 0 : wmk_error_number();
	}
	if (err == 0 && water)
		err = send_low_water(sender, water);
	return err;
}

/* ── clear ───────────────────────────────────────────────────────────────────────────────────────────── */

/* A clear command has removed the stream, so remove the stream at the relay, and begin again with file 0. */
static int stream_cleared(void *data, const char *name)
{
	struct wmk_trace_sender *sender = data;
	const struct wmk_relay_stream is = { .name = name, .chunk = "" };
	struct sent_stream *stream = stream_find(sender, name);
	int err;

	wmk_relay_link_set_epoch(sender->link, wmk_relay_link_epoch(sender->link) + 1);
	err = wmk_relay_link_request(sender->link, WMK_RELAY_STREAM_REMOVE, &is, NULL);
	if (err == -ENOENT) {
		wmk_error_clear();
		err = 0;
	}
	if (err < 0 || !stream)
		return err;
	for (size_t i = 0; i < sender->n_waiting; i++)
		if (sender->waiting[i].stream == stream->number)
			sender->waiting[i].stream = UINT32_MAX;
	stream->file = stream->oldest = stream->offset = 0;
	return stream_ask(sender, stream);
}

/* ── connection and chunks ───────────────────────────────────────────────────────────────────────────── */

static int trace_ask(struct wmk_trace_sender *sender)
{
	const struct wmk_spool_trace *trace = sender->trace;
	struct wmk_relay_trace is = {
		.session = sender->options->session, .sub = trace->sub, .mode = WMK_RELAY_UNSURE,
		.chunk = wmk_spool_first_chunk(trace), .byte_positions = strcmp(trace->sub, KERNEL_SUB) != 0,
	};
	struct wmk_relay_trace_reply reply;
	int err;

	memcpy(is.uuid, trace->uuid, sizeof(is.uuid));
	err = wmk_relay_link_request(sender->link, WMK_RELAY_TRACE, &is, &reply);
	if (err < 0)
		return err;
	wmk_relay_link_set_epoch(sender->link, reply.epoch);
	if (reply.chunk < trace->chunks->number) {
		err = wmk_relay_gap_in_chunks(sender->link, sender->options->session, reply.chunk,
					      trace->chunks->number);
		reply.chunk = trace->chunks->number;
		reply.metadata = 0;
	}
	/* The relay was killed after it had closed the chunks with the note ROTATING, and before it sent the reply. */
	for (const struct wmk_spool_chunk *chunk = trace->chunks; chunk; chunk = chunk->next)
		if (chunk->number < reply.chunk && wmk_spool_has_note(chunk, WMK_SPOOL_ROTATING))
			wmk_spool_note(chunk, WMK_SPOOL_SENT);
	if (reply.chunk != sender->chunk)
		sender->metadata_inode = 0;
	sender->chunk = reply.chunk;
	sender->metadata_len = reply.metadata;
	return err;
}

static int connect_relay(struct wmk_trace_sender *sender)
{
	int err = wmk_relay_link_open(&sender->options->url, sender->options->host, sender->options->stop,
				      &sender->link);

	return err < 0 ? err : trace_ask(sender);
}

/* Request the relay to move the trace of an ended process to the closed chunk. */
static int archive(struct wmk_trace_sender *sender, const char *process, const char *chunk)
{
	const struct wmk_relay_output is = { .session = sender->options->session, .name = process, .chunk = chunk };
	int err = wmk_relay_link_request(sender->link, WMK_RELAY_CLOSE, NULL, NULL);

	return err < 0 ? err : wmk_relay_link_request(sender->link, WMK_RELAY_ARCHIVE_PROCESS, &is, NULL);
}

/* Close the chunk at the relay. The relay replies when the whole chunk is on its disk. */
static int rotate(struct wmk_trace_sender *sender, const struct wmk_spool_chunk *chunk)
{
	char process[WMK_SPOOL_SUB];
	const struct wmk_relay_rotation is = { .name = chunk->name,
					       .chunk = chunk->next ? chunk->next->number : chunk->number + 1 };
	int err;

	/* First wait for all acknowledgements, because a chunk with the note ROTATING must never be sent again. */
	err = wmk_relay_link_settle(sender->link);
	if (err < 0)
		return err;
	wmk_relay_link_set_epoch(sender->link, wmk_relay_link_epoch(sender->link) + 1);
	wmk_spool_note(chunk, WMK_SPOOL_ROTATING);
	err = !chunk->next && wmk_spool_process(sender->trace, process)
		      ? archive(sender, process, chunk->name)
		      : wmk_relay_link_request(sender->link, WMK_RELAY_ROTATE, &is, NULL);
	if (err < 0)
		return err;
	wmk_spool_note(chunk, WMK_SPOOL_SENT);
	free(sender->streams);
	sender->streams = NULL;
	sender->n_streams = 0;
	sender->metadata_len = 0;
	sender->clock = (struct wmk_trace_clock){ 0 };
	sender->metadata_inode = 0;
	sender->chunk = is.chunk;
	forget_waiting(sender);
	return 0;
}

static int pass(struct wmk_trace_sender *sender)
{
	struct wmk_spool_chunk *chunk;
	int err = sender->link ? 0 : connect_relay(sender);

	while (err == 0 && (chunk = chunk_of(sender))) {
		err = wmk_spool_cleared(chunk, stream_cleared, sender);
		if (err == 0)
			err = send_chunk(sender, chunk);
		/*
		 * While the closed chunk is incomplete, the trace may still begin another chunk after it. Once the
		 * closed chunk is complete, this chunk is the last chunk of the trace.
		 */
		if (err < 0 || !chunk->name[0] || (!chunk->next && !chunk->complete))
			break;
		err = rotate(sender, chunk);
	}
	return err;
}

int wmk_trace_sender_pass(struct wmk_trace_sender *sender)
{
	int err = sender->trace->chunks ? pass(sender) : 0;

	return err < 0 ? wmk_trace_sender_disconnect(sender, err) : 0;
}

bool wmk_trace_sender_is_done(const struct wmk_trace_sender *sender)
{
	return !sender->trace->chunks || (sender->link && !sender->n_waiting);
}

bool wmk_trace_sender_has_rotated(const struct wmk_trace_sender *sender, uint64_t chunk)
{
	return sender->chunk > chunk;
}

int wmk_trace_sender_finish(struct wmk_trace_sender *sender)
{
	int err = sender->link ? wmk_relay_link_request(sender->link, WMK_RELAY_CLOSE, NULL, NULL) : 0;

	return wmk_trace_sender_disconnect(sender, err < 0 ? err : 0);
}

int wmk_trace_sender_output(struct wmk_trace_sender *sender, uint16_t type, const char *name, const char *chunk)
{
	const struct wmk_relay_output is = { .session = sender->options->session, .name = name, .chunk = chunk };
	int err = sender->link ? wmk_relay_link_request(sender->link, type, &is, NULL)
			       : wmk_error(-ENOTCONN, "the relay is not connected");

	return err < 0 ? wmk_trace_sender_disconnect(sender, err) : 0;
}

struct wmk_trace_sender *wmk_trace_sender_new(const struct wmk_trace_sender_options *options,
					      struct wmk_spool_trace *trace)
{
	struct wmk_trace_sender *sender = calloc(1, sizeof(*sender));

	if (!sender) {
		wmk_error(-ENOMEM, "no memory for the sender of a trace");
		return NULL;
	}
	sender->options = options;
	sender->trace = trace;
	sender->live = -1;
	return sender;
}

void wmk_trace_sender_free(struct wmk_trace_sender *sender)
{
	if (!sender)
		return;
	wmk_trace_sender_disconnect(sender, 0);
	free(sender->waiting);
	free(sender);
}

int wmk_trace_sender_socket(const struct wmk_trace_sender *sender)
{
	return sender->link ? wmk_relay_link_socket(sender->link) : -1;
}

uint64_t wmk_trace_sender_waits_ns(const struct wmk_trace_sender *sender)
{
	return sender->n_waiting ? wmk_clock_monotonic() - sender->progress_ns : 0;
}

uint64_t wmk_trace_sender_behind(const struct wmk_trace_sender *sender)
{
	return sender->behind;
}
