/* SPDX-License-Identifier: MIT */
/* channel_options.c - check the options of a channel and fill in defaults. */
#include "session/model/channel_options.h"

#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SUBBUF_DEFAULT (1u << 20)
#define N_SUBBUFS_DEFAULT 8u
#define SUBBUF_MIN 4096u
#define SUBBUF_MAX (1u << 30)
#define N_SUBBUFS_MAX (1u << 20)
#define POLL_MIN_US 1000u
#define POLL_MAX_US 60000000u
#define RECLAIM_MIN_US 1000u
#define RECLAIM_MAX_US 1000000000000000u

static int kernel_check(const struct wmk_ctl_channel *is)
{
	if (is->settings.buffers == WMK_BUFFERS_PID)
		return wmk_errorx(-EINVAL,
				  "kernel channels have one buffer per CPU, and none per process");
	if (is->settings.blocking_us)
		return wmk_errorx(-EINVAL, "kernel channels cannot block: a blocking timeout is not available");
	return 0;
}

static int memory_check(const struct wmk_ctl_channel_settings *s, bool kernel)
{
	if (s->allocation > WMK_PER_CHANNEL || s->preallocation > WMK_PREALLOCATE_ON_DEMAND)
		return wmk_error(-EINVAL, "invalid allocation of buffers");
	if (kernel && (s->allocation || s->preallocation || s->poll_us))
		return wmk_errorx(-EINVAL, "options of buffer allocation and wake-up are not available for kernel "
					   "channels: the kernel allocates one buffer per CPU at once and wakes the "
					   "reader");
	if (s->poll_us && (s->poll_us < POLL_MIN_US || s->poll_us > POLL_MAX_US))
		return wmk_error(-EINVAL, "invalid read timer: %u to %u microseconds are allowed", POLL_MIN_US,
				 POLL_MAX_US);
	if (s->poll_us && (s->blocking_us || s->allocation == WMK_PER_CHANNEL))
		return wmk_errorx(-EINVAL, "--wake=timer excludes %s, which needs system calls in the application",
				  s->blocking_us ? "a blocking timeout" : "--buffer-allocation=per-channel");
	if (s->poll_us && s->preallocation == WMK_PREALLOCATE_ON_DEMAND)
		return wmk_errorx(-EINVAL, "--wake=timer needs preallocated buffers: it excludes "
					   "--buffer-preallocation=on-demand");
	return 0;
}

const char *wmk_channel_keeps_memory(const struct wmk_ctl_channel *is)
{
	if (is->domain.kind == WMK_DOMAIN_KERNEL)
		return "the kernel allocates the buffers of kernel channels";
	if (is->settings.mode == WMK_MODE_OVERWRITE)
		return "in overwrite mode, buffers hold records that are not written yet";
	if (is->settings.poll_us)
		return "--wake=timer needs preallocated buffers";
	if (is->settings.blocking_us)
		return "with a blocking timeout, applications wait for space, but not for memory";
	return NULL;
}

static int reclaim_check(const struct wmk_ctl_channel *is)
{
	const uint64_t us = is->settings.reclaim_us;
	const char *why = us ? wmk_channel_keeps_memory(is) : NULL;

	if (why)
		return wmk_errorx(-EINVAL, "--auto-reclaim-memory is not available: %s", why);
	if (us && (us < RECLAIM_MIN_US || us > RECLAIM_MAX_US))
		return wmk_error(-EINVAL, "invalid idle time of buffers: 1 ms to 31 years are allowed");
	return 0;
}

static uint64_t round_up(uint64_t value)
{
	uint64_t up = 1;

	while (up < value)
		up <<= 1;
	return up;
}

uint32_t wmk_channel_buffers(const struct wmk_ctl_channel *is)
{
	return is->domain.kind == WMK_DOMAIN_PID && !is->domain.follow ? WMK_BUFFERS_PID : is->settings.buffers;
}

int wmk_channel_options_check(struct wmk_ctl_channel *is)
{
	bool overwrite = is->settings.mode == WMK_MODE_OVERWRITE;

	if (is->settings.mode > WMK_MODE_OVERWRITE || is->settings.buffers > WMK_BUFFERS_PID ||
	    is->domain.kind > WMK_DOMAIN_KERNEL)
		return wmk_error(-EINVAL, "invalid mode, buffers or domain");
	if (is->domain.kind == WMK_DOMAIN_KERNEL) {
		int refused = kernel_check(is);

		if (refused < 0)
			return refused;
	}
	int err = memory_check(&is->settings, is->domain.kind == WMK_DOMAIN_KERNEL);

	if (err == 0)
		err = reclaim_check(is);
	if (err < 0)
		return err;
	if (is->settings.subbuf_size > SUBBUF_MAX || is->settings.n_subbufs > N_SUBBUFS_MAX)
		return wmk_error(-EINVAL, "sub-buffers have at most %u bytes, and a ring has at most %u of them",
				 SUBBUF_MAX, N_SUBBUFS_MAX);
	is->settings.subbuf_size = is->settings.subbuf_size ? round_up(is->settings.subbuf_size) : SUBBUF_DEFAULT;
	is->settings.n_subbufs = is->settings.n_subbufs ? round_up(is->settings.n_subbufs) : N_SUBBUFS_DEFAULT;
	if (is->settings.subbuf_size < SUBBUF_MIN)
		is->settings.subbuf_size = SUBBUF_MIN;
	if (is->settings.n_subbufs < (overwrite ? 4u : 2u))
		is->settings.n_subbufs = overwrite ? 4 : 2;
	if (is->settings.blocking_us < -1 || (overwrite && is->settings.blocking_us != 0))
		return wmk_error(-EINVAL,
				 overwrite ? "a channel in overwrite mode cannot block: no blocking timeout is allowed"
					   : "invalid blocking timeout: give microseconds, 0 (do not block) or -1 "
					     "(no limit)");
	if (is->settings.flush_us < -1 || (overwrite && is->settings.flush_us > 0))
		return wmk_error(
			-EINVAL,
			overwrite ? "a channel in overwrite mode is written at stop: no flush interval is allowed"
				  : "invalid flush interval: give microseconds, 0 (1 s) or -1 (whole sub-buffers "
				    "only)");
	if (is->settings.flush_us == 0)
		is->settings.flush_us = overwrite ? -1 : WMK_CTL_FLUSH_DEFAULT_US;
	is->settings.field_limit = is->settings.field_limit ? is->settings.field_limit : WMK_CTL_FIELD_LIMIT_MAX;
	if (is->settings.field_limit < WMK_CTL_FIELD_LIMIT_MIN || is->settings.field_limit > WMK_CTL_FIELD_LIMIT_MAX)
		return wmk_error(-EINVAL, "invalid field limit: %u to %u bytes are allowed", WMK_CTL_FIELD_LIMIT_MIN,
				 WMK_CTL_FIELD_LIMIT_MAX);
	if (is->settings.tracefile_count && !is->settings.tracefile_size)
		return wmk_error(-EINVAL,
				 "--tracefile-count needs --tracefile-size: no size of trace files is given");
	if (is->settings.tracefile_size && is->settings.tracefile_size < is->settings.subbuf_size)
		return wmk_error(-EINVAL, "--tracefile-size is too small: a trace file holds at least one sub-buffer");
	if (is->domain.kind == WMK_DOMAIN_EXEC && (!is->domain.exec || !*is->domain.exec))
		return wmk_error(-EINVAL, "the domain of an executable needs the name or path of the executable");
	if (is->domain.kind == WMK_DOMAIN_EXEC && !wmk_utf8_is(is->domain.exec))
		return wmk_error(-EINVAL, "the name or path of the executable is not valid UTF-8: select the process "
					  "instead (--pid)");
	if (is->domain.kind == WMK_DOMAIN_KERNEL && is->domain.follow && !is->domain.pid)
		return wmk_error(-EINVAL,
				 "following children in the kernel domain needs a process: give --pid");
	if (is->domain.kind == WMK_DOMAIN_KERNEL && is->domain.pid > INT32_MAX)
		return wmk_error(-EINVAL, "there is no process %" PRIu64, is->domain.pid);
	if (is->domain.kind == WMK_DOMAIN_PID && (is->domain.pid == 0 || is->domain.pid > INT32_MAX))
		return wmk_error(-EINVAL, "the domain of a process needs a pid from 1 to 2147483647");
	is->settings.buffers = wmk_channel_buffers(is);
	if (is->settings.poll_us)
		is->settings.preallocation = WMK_PREALLOCATE_ALL;
	return 0;
}

bool wmk_domain_same(const struct wmk_ctl_domain *a, const struct wmk_ctl_domain *b)
{
	if (a->kind != b->kind || (a->kind != WMK_DOMAIN_USER && a->follow != b->follow))
		return false;
	if (a->kind == WMK_DOMAIN_PID || a->kind == WMK_DOMAIN_KERNEL)
		return a->pid == b->pid && (!a->start_time || !b->start_time || a->start_time == b->start_time);
	return a->kind != WMK_DOMAIN_EXEC || strcmp(a->exec, b->exec) == 0;
}
