/* SPDX-License-Identifier: MIT */
/*
 * error.h - a chain of causes: one sentence for each layer that an error passed through.
 *
 *     if (fd < 0)
 *         return wmk_error(-errno, "cannot create trace directory %s", path);      innermost: starts a new chain
 *     ...
 *     if (err < 0)
 *         return wmk_error_add(err, "cannot open session %s", name);               outer layers add to it
 *
 * The chain is an array of 8 sentences of at most 320 bytes for each thread; of more, the outermost 8 are kept. A
 * caller that handles an error calls wmk_error_clear(). Functions return the -errno given, so that each is one
 * statement, and preserve errno. The system's words for the error need not be in a sentence: wmk_error_text() adds
 * them. Any thread; not async-signal-safe.
 */
#ifndef WMK_BASE_ERROR_H
#define WMK_BASE_ERROR_H

#include <stddef.h>

#define WMK_ERROR_DEPTH 8
#define WMK_ERROR_LEN 320

/* Start a new chain. Returns `err` (negative errno). */
int wmk_error(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* The same where the sentence says it all, and `err` is only its number: the system's words for it are not added. */
int wmk_error_said(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/* Add the sentence of an outer layer. Returns `err`. */
int wmk_error_add(int err, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
/*
 * As snprintf(), of words for people: no part of a character of UTF-8 is left where they are cut. Sentences of a chain
 * are made so.
 */
void wmk_error_format(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void wmk_error_clear(void);
/*
 * The calling thread's innermost error (negative errno), whether the system's words for it are shown or not. 0: no
 * chain.
 */
int wmk_error_number(void);
/* Sentences of the calling thread's chain: 0 is the outermost; NULL past the end. */
const char *wmk_error_get(unsigned index);
/*
 * All in one line, outermost first, joined by ": ", and at the end what the system says of the innermost error
 * (unless that is EINVAL or EPROTO, or stands there already). "" when there is no chain. Returns `buf`.
 */
const char *wmk_error_text(char *buf, size_t size);

/* For who works in another's place: the chain leaves the calling thread, NULL when there is none; ... */
struct wmk_error_chain *wmk_error_take(void);
/* ... and is another thread's from here on, instead of what that had. NULL: as wmk_error_clear(). */
void wmk_error_give(struct wmk_error_chain *chain);
/* ... or nobody's. NULL does nothing. */
void wmk_error_drop(struct wmk_error_chain *chain);

#endif
