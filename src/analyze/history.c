/* SPDX-License-Identifier: MIT */
/*
 * history.c - states of threads, and critical paths over these states (see history.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/history.h"
#include "base/array.h"
#include "base/error.h"

#define DEEP_MAX 256u                  /* nested waits that are followed */

/*
 * A state of a thread. States are numbered from 1, in the order in which they were recorded; number 0 means no state.
 */
struct past {
	const struct wmk_analyze_thread *thread;
	int64_t from, to;              /* ns; `to` INT64_MAX: the current state */
	uint64_t before;               /* number of the previous state of the thread */
	uint64_t waker;                /* BLOCKED: number of the state of the waker at the wake-up; 0: unknown */
	int64_t woken;                 /* BLOCKED: begin of the wake-up; INT64_MIN: none */
	uint8_t state, wait;
};

struct latest {
	uint64_t number;
};

struct wmk_history {
	struct wmk_threads *threads;
	unsigned slot;                 /* of wmk_analyze_thread.data: struct latest */
	uint64_t n;                    /* number of the latest state */
	int err;
	struct past past[WMK_HISTORY_STATES];
};

static uint64_t latest_of(const struct wmk_history *history, const struct wmk_analyze_thread *thread)
{
	const struct latest *latest = thread ? thread->data[history->slot] : NULL;

	return latest ? latest->number : 0;
}

/* NULL: none, or overwritten. */
static const struct past *past_of(const struct wmk_history *history, uint64_t number)
{
	if (!number || history->n - number >= WMK_HISTORY_STATES)
		return NULL;
	return &history->past[number % WMK_HISTORY_STATES];
}

static void finish(const struct wmk_history *history, struct past *past, unsigned state, int64_t now)
{
	const struct wmk_analyze_thread *thread = past->thread;

	past->to = now;
	past->state = (uint8_t)state;
	past->wait = thread->wait;
	if (state != WMK_BLOCKED || thread->state != WMK_RUNNABLE || thread->woken == INT64_MIN)
		return;
	past->woken = thread->woken;
	if (thread->waker >= 0 && thread->waker != thread->tid)
		past->waker = latest_of(history, wmk_threads_find(history->threads, thread->waker));
}

static void changed(void *data, struct wmk_analyze_thread *thread, unsigned state, int64_t now)
{
	struct wmk_history *history = data;
	struct latest *latest = wmk_threads_data(thread, history->slot, sizeof(*latest));

	if (!latest) {
		history->err = -ENOMEM;
		return;
	}
	if (past_of(history, latest->number))
		finish(history, &history->past[latest->number % WMK_HISTORY_STATES], state, now);
	history->past[++history->n % WMK_HISTORY_STATES] = (struct past){
		.thread = thread, .from = now, .to = INT64_MAX, .before = latest->number, .woken = INT64_MIN,
		.state = thread->state, .wait = WMK_WAIT_NONE,
	};
	latest->number = history->n;
}

int wmk_history_create(struct wmk_threads *threads, struct wmk_history **history)
{
	struct wmk_history *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for the states of threads");
	made->threads = threads;
	made->slot = wmk_threads_slot(threads);
	threads->changed = changed;
	threads->data = made;
	*history = made;
	return 0;
}

void wmk_history_free(struct wmk_history *history)
{
	free(history);
}

/* ── paths ───────────────────────────────────────────────────────────────────────────────────────────── */

/* A waiting thread that is saved while the function follows the path of the thread that woke it. */
struct wait_frame {
	const struct wmk_analyze_thread *thread;
	uint64_t before;               /* number of its state before the wait */
	int64_t low;                   /* the begin of the wait */
	uint32_t inside;               /* wmk_step.inside of its steps */
};

struct path_walk {
	const struct wmk_history *history;
	struct wmk_steps *steps;
	int64_t begin, now;            /* the path is known from `now` on */
	const struct wmk_analyze_thread *thread;
	uint64_t number;               /* number of its state at `now`, or of a later state */
	struct wait_frame frames[DEEP_MAX];
	unsigned n_frames;
	uint32_t inside;               /* wmk_step.inside of the next steps */
	int err;
};

/* The state just before `ns`. The search starts at the state `number`, and goes back in time. */
static const struct past *at(const struct wmk_history *history, uint64_t number, int64_t ns)
{
	const struct past *past = past_of(history, number);

	while (past && past->from >= ns)
		past = past_of(history, past->before);
	return past;
}

/* Add a state in front of the known part of the path. NULL: no memory. */
static struct wmk_step *put(struct path_walk *walk, unsigned state, unsigned wait, int64_t from)
{
	struct wmk_steps *steps = walk->steps;
	struct wmk_step *step = steps->n ? &steps->steps[steps->n - 1] : NULL;

	if (!step || step->thread != walk->thread || step->state != state || step->wait != wait ||
	    step->inside != walk->inside) {
		step = wmk_array_room(steps->steps, steps->n, &steps->cap, sizeof(*step));
		if (!step) {
			walk->err = wmk_error(-ENOMEM, "no memory for the %u steps of a path", steps->n);
			return NULL;
		}
		steps->steps = step;
		step += steps->n++;
		*step = (struct wmk_step){ .thread = walk->thread, .to = walk->now, .state = (uint8_t)state,
					   .wait = (uint8_t)wait, .inside = walk->inside };
	}
	step->from = from;
	walk->now = from;
	return step;
}

static int64_t low_of(const struct path_walk *walk)
{
	return walk->n_frames ? walk->frames[walk->n_frames - 1].low : walk->begin;
}

/* Return the state of the thread that ended this wait, or NULL if no thread ended the wait or the thread is unknown. */
static const struct past *waker_of(const struct path_walk *walk, const struct past *past)
{
	const struct past *waker;

	if (past->woken == INT64_MIN)
		return NULL;
	waker = at(walk->history, past->waker, past->woken);
	return waker && waker->state == WMK_RUNNING ? waker : NULL;
}

/* Returns false if a timer or a disk ended the wait: the interrupted thread is then not the cause. */
static bool is_of_thread(const struct past *past)
{
	return past->wait != WMK_WAIT_SLEEP && past->wait != WMK_WAIT_DISK;
}

/*
 * The thread was blocked. The path continues in the thread that woke the blocked thread, and returns to the blocked
 * thread where the wait started.
 */
static void pass_wait(struct path_walk *walk, const struct past *past)
{
	const struct past *waker = is_of_thread(past) ? waker_of(walk, past) : NULL;
	const int64_t low = low_of(walk), from = past->from > low ? past->from : low;
	const int64_t woken = past->woken == INT64_MIN ? walk->now : past->woken > from ? past->woken : from;
	struct wmk_step *step;

	if (past->woken != INT64_MIN) {
		/* (runnable since the begin of the wake-up, as in its latency) */
		step = put(walk, WMK_RUNNABLE, WMK_WAIT_NONE, woken < walk->now ? woken : walk->now);
		if (!step)
			return;
		step->wait = past->wait;
		step->waker = waker ? waker->thread : NULL;
	}
	if (walk->now <= from || !waker || walk->n_frames == DEEP_MAX) {
		if (walk->now > from)
			put(walk, WMK_BLOCKED, past->wait, from);
		walk->number = past->before;
		return;
	}
	if (past->from > low)
		walk->frames[walk->n_frames++] =
			(struct wait_frame){ .thread = walk->thread, .before = past->before, .low = past->from,
					     .inside = walk->inside };
	walk->inside = walk->steps->n - 1;
	walk->thread = waker->thread;
	walk->number = past->waker;
}

static void step_back(struct path_walk *walk)
{
	const int64_t low = low_of(walk);
	const struct past *past;

	if (walk->now <= low) {        /* (above the begin, so a frame exists) */
		const struct wait_frame *frame = &walk->frames[--walk->n_frames];

		walk->thread = frame->thread;
		walk->number = frame->before;
		walk->inside = frame->inside;
		return;
	}
	past = at(walk->history, walk->number, walk->now);
	if (!past || walk->steps->n >= WMK_STEPS_MAX) {
		put(walk, WMK_UNKNOWN, WMK_WAIT_NONE, low);
	} else if (past->state == WMK_BLOCKED) {
		pass_wait(walk, past);
	} else {
		put(walk, past->state == WMK_ABSENT ? WMK_UNKNOWN : past->state, WMK_WAIT_NONE,
		    past->from > low ? past->from : low);
		walk->number = past->before;
	}
}

int wmk_history_follow(const struct wmk_history *history, const struct wmk_analyze_thread *thread, int64_t begin,
		       int64_t end, struct wmk_steps *steps)
{
	struct path_walk walk = { .history = history, .steps = steps, .begin = begin, .now = end, .thread = thread,
			     .inside = UINT32_MAX, .number = latest_of(history, thread), .err = history->err };

	steps->n = 0;
	while (walk.now > begin && walk.err >= 0)
		step_back(&walk);
	return walk.err;
}
