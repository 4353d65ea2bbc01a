/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a fake session daemon for tests of the control library: a thread that decodes requests, logs them as JSON,
 * and sends the replies that the test has set, or misbehaves as the test requires.
 */
#ifndef WMK_CTL_T_FAKE_H
#define WMK_CTL_T_FAKE_H

#include <waymark/ctl.h>
#include <pthread.h>
#include <stdbool.h>

#include "wire/ctl.h"
#include "wire/wire.h"

#define FAKE_LOG_MAX 64

struct fake;
/* Answer a decoded request; false: close the connection. A NULL handler in struct fake means fake_answer(). */
typedef bool (*fake_handler)(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request);

struct fake {
	char dir[64];
	fake_handler handler;
	struct wmk_list sessions;        /* of struct wmk_ctl_session: existing sessions */
	struct wmk_list relays;          /* of struct wmk_ctl_relay: in replies to LIST_SESSIONS */
	struct wmk_ctl_outcome outcome;  /* reply to all commands */
	struct wmk_ctl_apps apps;
	struct wmk_ctl_kernel kernel;
	const char *version;
	uint16_t refuse;                 /* a request of this type is answered with an error ... */
	int refuse_errno;
	const char *refuse_words;        /* ... and this message */
	int listener, stop[2];
	pthread_t thread;
	pthread_mutex_t lock;
	char *log[FAKE_LOG_MAX];         /* "create {json}"; the first request of a connection is omitted */
	unsigned n_log;
};

/* Creates `dir`. `uid`: the peer's user as SO_PEERCRED reports it; -1: the user of the test. */
void fake_open(struct fake *fake, uid_t uid);
void fake_close(struct fake *fake);
/* Return the i-th request without line breaks and indentation; "" past the end. The caller frees it. */
char *fake_log(struct fake *fake, unsigned i);
void fake_log_clear(struct fake *fake);
/* Answer as a correct daemon does. */
bool fake_answer(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request);
/* Serve requests of `sock` until it is closed or the handler returns false. */
void fake_serve(struct fake *fake, int sock);
void fake_send(int sock, uint16_t type, uint32_t number, const struct wmk_object *is, const void *object);
void fake_send_bytes(int sock, const void *bytes, size_t len);
/* Return a socket that listens at <dir>/ctl.sock. */
int fake_listen(const char *dir, uid_t uid);

/* The library connected to a fake; the state of a test, made and freed by its setup and teardown. */
struct fake_rig {
	struct fake fake;
	struct waymark_ctl *ctl;
};

void fake_rig_connect(struct fake_rig *rig, int timeout_ms);
int fake_rig_open(void **state);
int fake_rig_close(void **state);
/* Assert that the library's latest error contains `what`. */
void fake_rig_says(const char *what);

#endif
