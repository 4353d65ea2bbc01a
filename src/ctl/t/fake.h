/* SPDX-License-Identifier: MIT */
/*
 * fake.h - a session daemon for tests of the control library: a thread that decodes what comes, keeps it as JSON, and
 * answers with what the test has put there, or misbehaves as the test says.
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
/* Answer a request, or end the connection (false). `request` is decoded. NULL in struct fake: fake_answer(). */
typedef bool (*fake_handler)(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request);

struct fake {
	char dir[64];
	fake_handler handler;
	struct wmk_list sessions;        /* of struct wmk_ctl_session: what there is */
	struct wmk_ctl_outcome outcome;  /* to all commands */
	struct wmk_ctl_apps apps;
	struct wmk_ctl_kernel kernel;
	const char *version;
	uint16_t refuse;                 /* a request of this type is answered by an error ... */
	int refuse_errno;
	const char *refuse_words;        /* ... with these words */
	int listener, stop[2];
	pthread_t thread;
	pthread_mutex_t lock;
	char *log[FAKE_LOG_MAX];         /* "create {json}", the greeting left out */
	unsigned n_log;
};

/* Makes dir. `uid`: who listens, as the kernel tells it; -1: who runs the test. */
void fake_open(struct fake *fake, uid_t uid);
void fake_close(struct fake *fake);
/* The i-th request so far, without line breaks and indentation; "" past the end. The caller frees it. */
char *fake_log(struct fake *fake, unsigned i);
void fake_log_clear(struct fake *fake);
/* What a well-behaved daemon says. */
bool fake_answer(struct fake *fake, int sock, const struct wmk_frame *frame, const void *request);
/* Serve what `sock` says until it closes, or handler says no. */
void fake_serve(struct fake *fake, int sock);
void fake_send(int sock, uint16_t type, uint32_t number, const struct wmk_object *is, const void *object);
void fake_send_bytes(int sock, const void *bytes, size_t len);
/* A listening <dir>/ctl.sock. */
int fake_listen(const char *dir, uid_t uid);

/* The library connected to a fake; state of a test, made and freed by its setup and teardown. */
struct fake_rig {
	struct fake fake;
	struct waymark_ctl *ctl;
};

void fake_rig_connect(struct fake_rig *rig, int timeout_ms);
int fake_rig_open(void **state);
int fake_rig_close(void **state);
/* The library's words of its latest error hold `what`. */
void fake_rig_says(const char *what);

#endif
