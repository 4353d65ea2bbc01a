/* SPDX-License-Identifier: MIT */
/*
 * testpoint.c - actions at named points of a test build (see testpoint.h). Empty in other builds.
 */
#include "base/testpoint.h"

#ifdef WMK_TESTPOINTS

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POINTS_MAX 16

enum action { ACTION_NONE, ACTION_KILL, ACTION_STOP, ACTION_DELAY, ACTION_SIGNAL };

static struct point {
	char name[64];
	enum action action;
	uint64_t after;
	long arg;                /* < 0: the action's default */
	_Atomic uint64_t hits;
} points[POINTS_MAX];
static unsigned n_points;
static _Atomic int state;        /* 0: environment not read, 1: being read, 2: `points` is complete */

static enum action action_parse(const char *s, size_t len)
{
	static const char *const names[] = { "", "kill", "stop", "delay", "signal" };

	for (int i = ACTION_KILL; i <= ACTION_SIGNAL; i++)
		if (strlen(names[i]) == len && memcmp(names[i], s, len) == 0)
			return (enum action)i;
	return ACTION_NONE;
}

/*
 * Parse one "name=action[:after[:arg]]" of `len` bytes. The function ignores an invalid item; a test that depends on
 * this item then fails.
 */
static void point_parse(const char *s, size_t len)
{
	const char *eq = memchr(s, '=', len);
	const char *end = s + len;
	struct point *p = &points[n_points];

	if (!eq || (size_t)(eq - s) >= sizeof(p->name) || n_points == POINTS_MAX)
		return;
	memcpy(p->name, s, (size_t)(eq - s));
	const char *colon = memchr(eq, ':', (size_t)(end - eq));
	p->action = action_parse(eq + 1, (size_t)((colon ? colon : end) - eq - 1));
	p->after = colon ? strtoull(colon + 1, NULL, 10) : 0;
	colon = colon ? memchr(colon + 1, ':', (size_t)(end - colon - 1)) : NULL;
	p->arg = colon ? strtol(colon + 1, NULL, 10) : -1;
	if (p->action != ACTION_NONE)
		n_points++;
}

static void environment_read(void)
{
	const char *s = getenv("WMK_TESTPOINT");

	while (s && *s) {
		size_t len = strcspn(s, ",");

		point_parse(s, len);
		s += len + (s[len] == ',');
	}
}

static void act(const struct point *p, uint64_t hit)
{
	switch (p->action) {
	case ACTION_KILL:
		if (hit == p->after)
			kill(getpid(), SIGKILL);
		break;
	case ACTION_STOP:
		if (hit == p->after)
			kill(getpid(), SIGSTOP);
		break;
	case ACTION_DELAY: {
		long us = p->arg < 0 ? 1000 : p->arg;
		struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

		nanosleep(&ts, NULL);
		break;
	}
	case ACTION_SIGNAL:
		syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), p->arg < 0 ? SIGUSR1 : (int)p->arg);
		break;
	case ACTION_NONE:
		break;
	}
}

void wmk_testpoint_hit(const char *name)
{
	int saved = errno, unread = 0;

	if (atomic_compare_exchange_strong(&state, &unread, 1)) {
		environment_read();
		atomic_store_explicit(&state, 2, memory_order_release);      /* (a) pairs with the acquire below */
	}
	/* (a) acquire: while one thread reads the environment, other threads pass without any action */
	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		for (unsigned i = 0; i < n_points; i++)
			if (strcmp(points[i].name, name) == 0) {
				uint64_t hit = atomic_fetch_add(&points[i].hits, 1);

				if (hit >= points[i].after)
					act(&points[i], hit);
			}
	errno = saved;
}

#else
typedef int wmk_testpoint_unused;    /* a translation unit holds at least one declaration */
#endif
