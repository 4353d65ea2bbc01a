/* SPDX-License-Identifier: MIT */
/*
 * spool_dir.h - the spool of a session that sends its trace to a relay: a trace directory (store/store.h). The sender
 * removes files from the spool when the relay has written their data to its disk.
 *
 *     <spool>/.relay                            URL of the relay, boot of the machine (store/spool.h)
 *             .ended                            exists if the session has ended
 *             ust/uid/<uid>/64-bit/             the open chunk of a trace
 *                 .uuid                         UUID of the trace: 16 bytes
 *                 .cleared                      names of streams that a clear has removed, one a line, in order
 *                 .cleared.sent                 offset in .cleared up to which the relay has removed the streams
 *                 app_0_7, app_0_8              files of limited size; the relay has app_0_0 to app_0_6
 *             archives/NAME/ust/uid/...         chunks that a rotation has closed; notes .rotating and .sent: below
 *
 * The consumer daemon writes the files, and the sender reads them. Because packets are kept in files, a crash of the
 * sender or of the relay loses no packet. A struct wmk_spool belongs to one thread, which has the rights of the owner
 * of the directory. Errors are -errno with a cause chain.
 */
#ifndef WMK_SENDER_SPOOL_DIR_H
#define WMK_SENDER_SPOOL_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/writer.h"

#define WMK_SPOOL_SUB 256u
#define WMK_SPOOL_NAME 256u

/* A directory of the spool, which is one chunk of a trace. */
struct wmk_spool_chunk {
	struct wmk_spool_chunk *next;      /* next chunk of the trace, in the order of their numbers */
	int dir;
	dev_t device;                      /* identity of the directory: a rotation changes its path */
	ino_t inode;
	uint64_t number;
	char name[WMK_SPOOL_NAME];         /* name of the closed chunk; "": the open chunk */
	bool complete;                     /* all traces of the closed chunk are in the archive */
	bool archived;                     /* the relay has closed the chunk; set by the sender */
	bool seen;
};

struct wmk_spool_trace {
	struct wmk_spool_trace *next;
	char sub[WMK_SPOOL_SUB];
	uint8_t uuid[16];
	struct wmk_spool_chunk *chunks;
	void *data;                        /* owned by the sender; NULL at first */
};

struct wmk_spool {
	int root;
	bool kernel;                       /* true: only ROOT/kernel; false: everything else */
	struct wmk_spool_trace *traces;
	bool failed;                       /* no memory for a trace */
};

int wmk_spool_open(const char *path, bool kernel, struct wmk_spool *spool);
/*
 * Find directories that are new, were moved, or were removed. A directory without a number is ignored, because the
 * consumer daemon is still creating it and will request another scan. A trace stays in the list after all its
 * directories were removed.
 */
int wmk_spool_scan(struct wmk_spool *spool);
/* Remove all directories from the list, because the user has removed the spool. */
void wmk_spool_forget(struct wmk_spool *spool);
void wmk_spool_close(struct wmk_spool *spool);

/* Call `one` for each stream that has files in the chunk, with the lowest file number of this stream. 0 or -errno. */
int wmk_spool_each_stream(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name, uint64_t first),
			  void *data);
/* Open a file of a stream; returns -ENOENT without a cause chain if the file does not exist. */
int wmk_spool_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number);
/* Read the header and the trailer of the packet at `offset`. 1: the packet is complete; 0: incomplete, or no packet. */
int wmk_spool_packet(int file, uint64_t offset, struct wmk_ctf_packet *packet);
/*
 * True if the file of a stream begins with a complete packet. If the disk is full, the newest file may have no packet
 * for a long time. Until then, the previous file must stay: a consumer daemon that continues the stream reads the last
 * packet there.
 */
bool wmk_spool_has_packet(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number);
/* Remove a file of a stream, and its index. */
void wmk_spool_remove_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number);
/*
 * Call `one` for each stream that the file .cleared names. After `one` has returned 0 for a stream, later calls skip
 * the stream, even in a later process. 0 or -errno.
 */
int wmk_spool_cleared(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name), void *data);
/* Call `one` for each entry of the directory `dir`, until `one` returns a value other than 0; `dir` stays open. */
int wmk_spool_each_entry(int dir, int (*one)(void *data, int at, const char *name), void *data);
/* Call `one` for each directory in the directory `at`, until `one` returns a value other than 0. */
int wmk_spool_each_directory(int at, int (*one)(void *data, const char *name, int dir), void *data);
/*
 * WMK_SPOOL_ROTATING and WMK_SPOOL_SENT are notes: files in the directory of a closed chunk of a trace. ROTATING: the
 * relay has acknowledged the whole chunk, and the sender is requesting the relay to close the chunk. SENT: the relay
 * has closed the chunk. The sender in the other consumer daemon also reads the note SENT.
 */
#define WMK_SPOOL_ROTATING ".rotating"
#define WMK_SPOOL_SENT ".sent"
/*
 * Return the number of the first chunk without the note ROTATING. The relay opens this chunk if it has no open chunk of
 * the trace, because the trace is new or the relay was killed while it closed a chunk.
 */
uint64_t wmk_spool_first_chunk(const struct wmk_spool_trace *trace);
/*
 * If the directory of the trace is ust/pid/NAME, store NAME in `name`. Returns false if the trace is not the trace of a
 * single process.
 */
bool wmk_spool_process(const struct wmk_spool_trace *trace, char name[WMK_SPOOL_SUB]);
void wmk_spool_note(const struct wmk_spool_chunk *chunk, const char *note);
bool wmk_spool_has_note(const struct wmk_spool_chunk *chunk, const char *note);
/*
 * A closed chunk can have traces of both consumer daemons. If a closed chunk contains traces of applications, the
 * sender of application traces closes the chunk at the relay. The sender of application traces first waits until the
 * sender of kernel channels has sent its part. SENDS: the sender of kernel channels has not sent its part yet. If a
 * closed chunk contains no traces of applications, the sender of kernel channels closes the chunk at the relay. CLOSES:
 * the other sender closes the chunk. DONE: the caller closes the chunk.
 */
enum wmk_spool_other { WMK_SPOOL_OTHER_DONE, WMK_SPOOL_OTHER_SENDS, WMK_SPOOL_OTHER_CLOSES };
enum wmk_spool_other wmk_spool_other(const struct wmk_spool *spool, const char *name);
/* Remove a closed chunk, with the directories of all its traces. */
void wmk_spool_remove_chunk(struct wmk_spool *spool, const char *name);
/*
 * Remove the files that belong to this sender. If the other sender has no files, also remove the spool directory at
 * `path`.
 */
void wmk_spool_remove(struct wmk_spool *spool, const char *path);

#endif
