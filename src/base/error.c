/* SPDX-License-Identifier: MIT */
/*
 * error.c - the per-thread chain of causes (see error.h).
 *
 * A thread without an error uses 8 bytes of initial-exec thread-local storage: one pointer. libwaymark is also loaded
 * by dlopen(3), where a whole chain would exceed the loader's reserve of static TLS. Lazily allocated thread-local
 * storage cannot be used, because the helper thread must not enter the loader's allocator. The first error allocates
 * the chain; if this allocation fails, the error has no message.
 */
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct wmk_error_chain {
	int number;              /* the innermost error, negative errno */
	bool is_complete;        /* the message is complete, so the text of strerror() is omitted */
	unsigned n;              /* messages added in total; the latest WMK_ERROR_DEPTH are kept */
	char text[WMK_ERROR_DEPTH][WMK_ERROR_LEN];
};

static __thread struct wmk_error_chain *chain __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool have_key;

static void make_key(void)
{
	have_key = pthread_key_create(&key, free) == 0;
}

/*
 * Make `fresh` the chain of this thread. If the destructor of `fresh` at thread exit cannot be registered, the function
 * frees `fresh`, and the thread has no chain.
 */
static void chain_set(struct wmk_error_chain *fresh)
{
	pthread_once(&once, make_key);
	if (fresh && (!have_key || pthread_setspecific(key, fresh) != 0)) {
		free(fresh);
		fresh = NULL;
	}
	chain = fresh;
}

static struct wmk_error_chain *chain_get(void)
{
	if (!chain)
		chain_set(calloc(1, sizeof(*chain)));
	return chain;
}

/*
 * Make a message valid UTF-8. Invalid bytes (a name in another encoding, a character that '%.40s' has truncated) become
 * '?'. An incomplete character at the end of a truncated message is removed.
 */
static void mend(char *text, size_t len)
{
	char *to = text;
	bool was_none = false;

	for (size_t i = 0, n; i < len; i += n ? n : 1) {
		n = wmk_utf8_length(text + i, len - i);
		if (n)
			memmove(to, text + i, n);
		else if (!was_none)
			*to = '?';
		to += n ? n : !was_none;
		was_none = !n;
	}
	*to = '\0';
}

static void put(char *buf, size_t size, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
static void put(char *buf, size_t size, const char *format, va_list args)
{
	const int n = vsnprintf(buf, size, format, args);

	if (size > 0)
		mend(buf, n < 0 ? 0 : (size_t)n < size ? (size_t)n : wmk_utf8_whole(buf, size - 1));
}

void wmk_error_format(char *buf, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(buf, size, format, args);
	va_end(args);
}

static void add(struct wmk_error_chain *c, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static void add(struct wmk_error_chain *c, const char *format, va_list args)
{
	put(c->text[c->n++ % WMK_ERROR_DEPTH], WMK_ERROR_LEN, format, args);
}

static void begin(int err, int system, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
static void begin(int err, int system, const char *format, va_list args)
{
	int saved = errno;       /* %m prints this value, and the function preserves errno */
	struct wmk_error_chain *c = chain_get();

	errno = saved;
	if (!c)
		return;
	c->n = 0;
	c->number = err;
	c->is_complete = !system;
	add(c, format, args);
	errno = saved;
}

int wmk_error(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin(err, 1, format, args);
	va_end(args);
	return err;
}

int wmk_errorx(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin(err, 0, format, args);
	va_end(args);
	return err;
}

int wmk_error_add(int err, const char *format, ...)
{
	int saved = errno;
	struct wmk_error_chain *c = chain_get();
	va_list args;

	errno = saved;
	if (!c)
		return err;
	if (c->n == 0) {
		c->number = err;
		c->is_complete = false;
	}
	va_start(args, format);
	add(c, format, args);
	va_end(args);
	errno = saved;
	return err;
}

void wmk_error_clear(void)
{
	if (chain)
		chain->n = 0;
}

struct wmk_error_chain *wmk_error_take(void)
{
	struct wmk_error_chain *taken = wmk_error_number() ? chain : NULL;

	if (taken) {
		pthread_setspecific(key, NULL);
		chain = NULL;
	}
	return taken;
}

void wmk_error_give(struct wmk_error_chain *given)
{
	if (!given) {
		wmk_error_clear();
		return;
	}
	free(chain);
	chain_set(given);
}

void wmk_error_drop(struct wmk_error_chain *dropped)
{
	free(dropped);
}

int wmk_error_number(void)
{
	return chain && chain->n ? chain->number : 0;
}

const char *wmk_error_get(unsigned index)
{
	unsigned have = !chain ? 0 : chain->n < WMK_ERROR_DEPTH ? chain->n : WMK_ERROR_DEPTH;

	return index < have ? chain->text[(chain->n - 1 - index) % WMK_ERROR_DEPTH] : NULL;
}

/*
 * Return the C library's text for the innermost error. Returns NULL if the text adds nothing: messages with EINVAL or
 * EPROTO already describe the error.
 */
static const char *system_words(void)
{
	if (!chain || chain->n == 0 || chain->is_complete || chain->number == 0 || chain->number == -EINVAL ||
	    chain->number == -EPROTO)
		return NULL;
	/* strerror_r() translates: it would read the environment and open message catalogues in an application. */
	return strerrordesc_np(-chain->number);
}

const char *wmk_error_text(char *buf, size_t size)
{
	const char *sentence, *last = system_words();
	size_t len = 0;

	if (size == 0)
		return buf;
	buf[0] = '\0';
	for (unsigned i = 0; (sentence = wmk_error_get(i)) != NULL && len < size; i++) {
		int n = snprintf(buf + len, size - len, "%s%s", i ? ": " : "", sentence);

		len += n > 0 ? (size_t)n : 0;
	}
	if (last && len < size && !strstr(buf, last))
		len += (size_t)snprintf(buf + len, size - len, ": %s", last);
	if (len >= size)
		buf[wmk_utf8_whole(buf, size - 1)] = '\0';
	return buf;
}
