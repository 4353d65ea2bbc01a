/* SPDX-License-Identifier: MIT */
/*
 * session_clock.c - select the clock of a session (see session_clock.h).
 */
#include "session/model/session_clock.h"

#include "base/error.h"
#include "kernel/tracefs/instance.h"
#include "session/model/session_tracefs.h"
#include "wire/ctl.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define OFFSET_READINGS 5u

static const enum wmk_clock_kind kinds[WMK_CTL_CLOCKS] = {
	[WMK_CTL_CLOCK_COUNTER] = WMK_CLOCK_COUNTER,
	[WMK_CTL_CLOCK_MONOTONIC] = WMK_CLOCK_MONOTONIC,
	[WMK_CTL_CLOCK_PLUGIN] = WMK_CLOCK_PLUGIN,
};

/*
 * The function also returns true if this daemon cannot record the kernel, because a session then has only applications.
 */
static bool kernel_has_counter(struct wmk_tracing *tracing)
{
	struct wmk_tracefs *tracefs;

	if (!tracing->kernel_owner[0])
		return true;
	if (!wmk_tracefs_is_mounted())
		return geteuid() != 0 || wmk_kinstance_clock(WMK_CLOCK_COUNTER);
	if (wmk_kernel_tracefs(tracing, &tracefs) == 0)
		return wmk_kinstance_has_clock(tracefs, WMK_CLOCK_COUNTER);
	wmk_error_clear();
	return true;
}

enum wmk_clock_kind wmk_clock_default(struct wmk_tracing *tracing)
{
	const enum wmk_clock_kind preferred = tracing->clocks.preferred;

	return preferred == WMK_CLOCK_COUNTER && !kernel_has_counter(tracing) ? WMK_CLOCK_MONOTONIC : preferred;
}

int wmk_clock_of_choice(struct wmk_tracing *tracing, uint32_t chosen, enum wmk_clock_kind *kind)
{
	const struct wmk_clocks *clocks = &tracing->clocks;

	if (chosen >= WMK_CTL_CLOCKS)
		return wmk_error(-EINVAL, "unknown clock number %u", chosen);
	*kind = chosen == WMK_CTL_CLOCK_DEFAULT ? wmk_clock_default(tracing) : kinds[chosen];
	if (clocks->of[*kind].freq)
		return 0;
	if (clocks->plugin_now)
		return wmk_errorx(-ENOTSUP, "the clock '%s' is not available: this session daemon uses the clock "
				  "plug-in %.40s, and no other clock",
				  wmk_ctl_clocks[chosen], clocks->of[WMK_CLOCK_PLUGIN].name);
	if (*kind == WMK_CLOCK_PLUGIN)
		return wmk_errorx(-ENOTSUP, "the clock 'plugin' is not available: this session daemon was started "
				  "without a clock plug-in (WAYMARK_CLOCK_PLUGIN)");
	if (*kind == WMK_CLOCK_COUNTER)
		return wmk_errorx(-ENOTSUP, "the clock 'counter' is not available: the kernel of this machine does "
				  "not use the counter of the processor as its own clock; use --clock=monotonic");
	return wmk_errorx(-ENOTSUP, "the clock %s of the recording is unknown to this session daemon",
			  wmk_ctl_clocks[chosen]);
}

uint32_t wmk_clock_as_choice(enum wmk_clock_kind kind)
{
	return kind == WMK_CLOCK_COUNTER ? WMK_CTL_CLOCK_COUNTER :
	       kind == WMK_CLOCK_PLUGIN  ? WMK_CTL_CLOCK_PLUGIN :
					   WMK_CTL_CLOCK_MONOTONIC;
}

const struct wmk_clock *wmk_session_clock(const struct wmk_session *session)
{
	return &session->tracing->clocks.of[session->clock];
}

void wmk_session_clock_now(const struct wmk_session *session, struct wmk_clock *clock)
{
	uint64_t best = UINT64_MAX;

	*clock = *wmk_session_clock(session);
	/*
	 * Take the shortest of a few readings, because the thread was most likely not interrupted during the shortest
	 * reading.
	 */
	for (unsigned i = 0; session->clock != WMK_CLOCK_PLUGIN && i < OFFSET_READINGS; i++) {
		const uint64_t before = wmk_session_now(session);
		struct timespec real;

		clock_gettime(CLOCK_REALTIME, &real);
		const uint64_t took = wmk_session_now(session) - before;

		if (took >= best)
			continue;
		best = took;
		wmk_clock_set_offset(clock, before + took / 2,
				     (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec);
	}
}

uint64_t wmk_session_now(const struct wmk_session *session)
{
	return wmk_clocks_now(&session->tracing->clocks, session->clock);
}

struct wmk_clock wmk_session_chunk_clock(const struct wmk_session *session, const struct wmk_session_chunk *chunk)
{
	struct wmk_clock clock = *wmk_session_clock(session);

	if (chunk->number == 0)
		return clock;
	clock.offset_s = chunk->offset_s;
	clock.offset = chunk->offset;
	return clock;
}

void wmk_session_chunk_measure(struct wmk_session *session)
{
	struct wmk_clock clock;

	wmk_session_clock_now(session, &clock);
	session->chunk.offset_s = clock.offset_s;
	session->chunk.offset = clock.offset;
}
