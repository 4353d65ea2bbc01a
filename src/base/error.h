/* SPDX-License-Identifier: MIT */
/*
 * error.h - a chain of causes: one message for each layer that an error passed through.
 *
 *     if (fd < 0)
 *         return wmk_error(-errno, "cannot create trace directory %s", path);      innermost: starts a new chain
 *     ...
 *     if (err < 0)
 *         return wmk_error_add(err, "cannot open session %s", name);               outer layers add to it
 *
 * Each thread has a chain of 8 messages of up to 320 bytes, the NUL included. If a chain gets more than 8 messages, the
 * 8 outermost messages are kept. Code that handles an error calls wmk_error_clear(). Functions return the -errno that
 * they receive, so that a caller reports and returns in one statement. All functions preserve errno. A message need not
 * contain the text of strerror: wmk_error_text() appends it. Any thread; not async-signal-safe.
 */
#ifndef WMK_BASE_ERROR_H
#define WMK_BASE_ERROR_H

#include <stddef.h>

#define WMK_ERROR_DEPTH 8
#define WMK_ERROR_LEN 320

/* Start a new chain with one message. Returns `err` (negative errno). */
int wmk_error(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Like wmk_error(), but wmk_error_text() does not append the text of strerror, because the message is complete. */
int wmk_errorx(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Add the message of an outer layer. Returns `err`. */
int wmk_error_add(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/*
 * Like snprintf(), but truncation never leaves part of a UTF-8 character. wmk_error(), wmk_errorx() and wmk_error_add()
 * format their messages with the same truncation.
 */
void wmk_error_format(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void wmk_error_clear(void);
/* Return the calling thread's innermost error (negative errno), even if its text is omitted. 0: no chain. */
int wmk_error_number(void);
/* Return a message of the calling thread's chain: 0 is the outermost; NULL past the end. */
const char *wmk_error_get(unsigned index);
/*
 * Join all messages in one line, outermost first, separated by ": ". Append the text of strerror for the innermost
 * error. The text is omitted if the error is EINVAL or EPROTO, or if the line already contains the text. "" if there is
 * no chain. Returns `buf`.
 */
const char *wmk_error_text(char *buf, size_t size);

/*
 * Move a chain of messages between threads, when one thread runs a work item for another thread. wmk_error_take()
 * removes the chain from the calling thread and returns it; NULL without a chain.
 */
struct wmk_error_chain *wmk_error_take(void);
/* Replace the calling thread's chain by `chain` and take ownership of it. NULL: as wmk_error_clear(). */
void wmk_error_give(struct wmk_error_chain *chain);
/* Free a chain that wmk_error_take() returned. NULL does nothing. */
void wmk_error_drop(struct wmk_error_chain *chain);

#endif
