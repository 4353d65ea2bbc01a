/* SPDX-License-Identifier: MIT */
/*
 * spool_dir.h - the spool of a session that sends its trace to a relay: a directory as any other trace
 * (store/store.h). The sender removes from it what the relay has on its disk.
 *
 *     <spool>/.relay, .ended                    URL of the relay; the session has ended (store/spool.h)
 *             ust/uid/<uid>/64-bit/             the open chunk of a trace
 *                 .uuid                         UUID of the trace: 16 bytes
 *                 .cleared                      names of streams that a clear has removed, one a line, in order
 *                 .cleared.sent             bytes of .cleared that the relay has carried out
 *                 app_0_7, app_0_8              files of limited size; the relay has app_0_0 to app_0_6
 *             archives/NAME/ust/uid/...         chunks that a rotation has closed; .sent: the relay has closed it
 *
 * The consumer daemon writes the directory, and the sender reads it, so a crash of either loses nothing. An object
 * belongs to one thread, which has the rights of the owner of the directory. Errors are -errno with a cause chain.
 */
#ifndef WMK_SENDER_SPOOL_DIR_H
#define WMK_SENDER_SPOOL_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/writer.h"

#define WMK_SPOOL_SUB 256u
#define WMK_SPOOL_NAME 256u

/* A directory of the spool: one chunk of a trace. */
struct wmk_spool_chunk {
	struct wmk_spool_chunk *next;      /* of the trace, in the order of their numbers */
	int dir;
	dev_t device;                      /* identity of the directory, which a rotation moves */
	ino_t inode;
	uint64_t number;
	char name[WMK_SPOOL_NAME];         /* of the closed chunk; "": open */
	bool complete;                     /* all traces of the closed chunk are in the archive */
	bool archived;                     /* the relay has closed the chunk; set by the sender */
	bool seen;
};

struct wmk_spool_trace {
	struct wmk_spool_trace *next;
	char sub[WMK_SPOOL_SUB];
	uint8_t uuid[16];
	struct wmk_spool_chunk *chunks;
	void *data;                        /* of the sender; NULL at first */
};

struct wmk_spool {
	int root;
	bool kernel;                       /* true: only ROOT/kernel; false: everything else */
	struct wmk_spool_trace *traces;
	bool failed;                       /* no memory for a trace */
};

int wmk_spool_open(const char *path, bool kernel, struct wmk_spool *spool);
/* Find new, moved and removed directories. Traces stay in the list, also if all their directories were removed. */
int wmk_spool_look(struct wmk_spool *spool);
/* Drop all directories from the list: they were removed. */
void wmk_spool_forget(struct wmk_spool *spool);
void wmk_spool_close(struct wmk_spool *spool);

/* Call `one` for each stream of a chunk that has a file, with the lowest number of its files. 0 or -errno. */
int wmk_spool_each_stream(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name, uint64_t first),
			  void *data);
/* The file of a stream: -ENOENT without a cause chain if it does not exist. */
int wmk_spool_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number);
/*
 * Read the head and the end of the packet at `offset`. 1: the packet is whole; 0: it is not, or no packet begins there.
 */
int wmk_spool_packet(int file, uint64_t offset, struct wmk_ctf_packet *packet);
/* Remove a file of a stream, and its index. */
void wmk_spool_remove_file(const struct wmk_spool_chunk *chunk, const char *name, uint64_t number);
/*
 * Call `one` for the removed streams of .cleared for which it has not returned 0 yet, also in an earlier process. 0 or
 * -errno.
 */
int wmk_spool_cleared(const struct wmk_spool_chunk *chunk, int (*one)(void *data, const char *name), void *data);
/* Call `one` for each directory in the directory `at`, until it returns a value other than 0. */
int wmk_spool_each_directory(int at, int (*one)(void *data, const char *name, int dir), void *data);
/*
 * Notes in the directory of a closed chunk of a trace. ROTATING: the relay was requested to close it, so it has all of
 * it. SENT: it has closed it; the sender of the other side reads this note.
 */
#define WMK_SPOOL_ROTATING ".rotating"
#define WMK_SPOOL_SENT ".sent"
/*
 * The chunk that a new trace at the relay begins with. If the relay was killed while it closed a chunk, the trace may
 * have no open chunk there.
 */
uint64_t wmk_spool_first_chunk(const struct wmk_spool_trace *trace);
/* Store the name of the process of the trace. False: not the trace of a process. */
bool wmk_spool_process(const struct wmk_spool_trace *trace, char name[WMK_SPOOL_SUB]);
void wmk_spool_note(const struct wmk_spool_chunk *chunk, const char *note);
bool wmk_spool_has_note(const struct wmk_spool_chunk *chunk, const char *note);
/*
 * A closed chunk can have traces of both consumer daemons. The sender of applications closes it at the relay, when the
 * other sender has sent its part; or the sender of kernel channels, if there are no applications.
 */
enum wmk_spool_other { WMK_SPOOL_OTHER_DONE, WMK_SPOOL_OTHER_SENDS, WMK_SPOOL_OTHER_CLOSES };
enum wmk_spool_other wmk_spool_other(const struct wmk_spool *spool, const char *name);
/* Remove a closed chunk of all traces. */
void wmk_spool_remove_chunk(struct wmk_spool *spool, const char *name);
/* Remove all files of the sender's part, and the directory if it is then empty. `path`: of the spool. */
void wmk_spool_remove(struct wmk_spool *spool, const char *path);

#endif
