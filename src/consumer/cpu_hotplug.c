/* SPDX-License-Identifier: MIT */
/*
 * cpu_hotplug.c - add a stream for each CPU that comes online while a kernel channel records. The stream of a CPU that
 * goes offline stays, because the kernel keeps the buffer of the CPU and the records in the buffer.
 *
 * The kernel allocates the buffer of a CPU when the CPU comes online for the first time. The allocation does not wake
 * readers of other buffers, so the consumer's thread reads the list of online CPUs periodically, until every possible
 * CPU has a stream. On most machines, every possible CPU is online and has a stream from the start, so the list is not
 * read again.
 */
#include "consumer/cpu_hotplug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "consumer/streams.h"
#include "kernel/channel/channel_reader.h"

#define ONLINE "/sys/devices/system/cpu/online"
#define ONLINE_BYTES 4096u
#define PERIOD_NS (WMK_CPU_HOTPLUG_MS * UINT64_C(1000000))

struct wmk_cpu_hotplug {
	struct wmk_kreader *reader;
	struct wmk_consumer_set how;
	char channel[WMK_STREAM_NAME];
	unsigned n, missing;
	bool *has_stream;                  /* an array of n elements */
	/* descriptor of ONLINE; -1: it cannot be read, so each check tries all CPUs */
	int fd;
	char online[ONLINE_BYTES];         /* content of ONLINE when streams were last opened; "": some failed */
	uint64_t checked_ns;
	bool failed;                       /* the last check failed, and has been counted */
};

static void hotplug_close(struct wmk_cpu_hotplug *cpus)
{
	if (cpus->fd >= 0)
		close(cpus->fd);
	free(cpus->has_stream);
	free(cpus);
}

int wmk_cpu_hotplug_open(struct wmk_group *group, struct wmk_kreader *reader, const struct wmk_consumer_set *how)
{
	struct wmk_cpu_hotplug *cpus = calloc(1, sizeof(*cpus));
	const unsigned n = wmk_kreader_cpus(reader);

	if (cpus)
		cpus->has_stream = calloc(n, sizeof(*cpus->has_stream));
	if (!cpus || !cpus->has_stream) {
		free(cpus);
		return wmk_error(-ENOMEM, "no memory for the streams of %u CPUs", n);
	}
	cpus->reader = reader;
	cpus->how = *how;
	cpus->how.limits = NULL;           /* the group has a copy */
	snprintf(cpus->channel, sizeof(cpus->channel), "%s", how->channel);
	cpus->how.channel = cpus->channel;
	cpus->n = cpus->missing = n;
	cpus->fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	group->cpus = cpus;
	group->close_cpus = hotplug_close;
	return 0;
}

/* Return true if the list of online CPUs has changed since the last call. */
static bool online_changed(struct wmk_cpu_hotplug *cpus)
{
	char text[ONLINE_BYTES];
	const ssize_t n = cpus->fd < 0 ? -1 : pread(cpus->fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return true;
	text[n] = '\0';
	if (strcmp(text, cpus->online) == 0)
		return false;
	memcpy(cpus->online, text, (size_t)n + 1);
	return true;
}

static int add_cpu(struct wmk_consumer *consumer, struct wmk_group *group, unsigned cpu)
{
	struct wmk_cpu_hotplug *cpus = group->cpus;
	struct wmk_source *source;
	char name[WMK_STREAM_NAME];
	int err = wmk_kstream_open(cpus->reader, cpu, &source);

	if (err == -ENODEV || err == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (snprintf(name, sizeof(name), "%s_%u", cpus->channel, cpu) >= (int)sizeof(name)) {
		source->ops->close(source);
		return wmk_error(-EINVAL, "channel %.60s: its name is too long", cpus->channel);
	}
	err = wmk_streams_add(consumer, group, source, name, cpu, cpu, &cpus->how);
	if (err < 0)
		return err;
	cpus->has_stream[cpu] = true;
	cpus->missing--;
	return 0;
}

int wmk_consumer_add_online_cpus(struct wmk_consumer *consumer, struct wmk_group *group)
{
	struct wmk_cpu_hotplug *cpus = group->cpus;
	int first = 0;

	/* read the list before streams are opened: a CPU that comes online meanwhile is a change in the next check */
	online_changed(cpus);
	cpus->checked_ns = wmk_clock_monotonic();
	for (unsigned cpu = 0; cpu < cpus->n; cpu++) {
		int err = cpus->has_stream[cpu] ? 0 : add_cpu(consumer, group, cpu);

		if (err < 0 && first == 0)
			first = err;
	}
	/*
	 * a stream that could not be opened is retried in the next check, even if the list of online CPUs does not
	 * change
	 */
	if (first < 0)
		cpus->online[0] = '\0';
	/* old records are cleared: streams that are added later contain only new records */
	cpus->how.clear = 0;
	return first;
}

/* Consecutive failed checks count as one error. */
static void add_and_report(struct wmk_consumer *consumer, struct wmk_group *group)
{
	struct wmk_cpu_hotplug *cpus = group->cpus;
	const bool failed = wmk_consumer_add_online_cpus(consumer, group) < 0;

	if (failed) {
		group->now.counts.errors += !cpus->failed;
		if (!group->now.words[0])
			wmk_error_text(group->now.words, sizeof(group->now.words));
		wmk_error_clear();
	}
	cpus->failed = failed;
}

bool wmk_consumer_check_cpus(struct wmk_consumer *consumer, bool now)
{
	const uint64_t ns = wmk_clock_monotonic();
	bool more = false;

	for (size_t i = 0; i < consumer->n_groups; i++) {
		struct wmk_group *group = consumer->groups[i];
		struct wmk_cpu_hotplug *cpus = group->cpus;

		if (!cpus || cpus->missing == 0)
			continue;
		if (now || ns - cpus->checked_ns >= PERIOD_NS) {
			cpus->checked_ns = ns;
			if (online_changed(cpus))
				add_and_report(consumer, group);
		}
		more |= cpus->missing != 0;
	}
	return more;
}
