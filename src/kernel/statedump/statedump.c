/* SPDX-License-Identifier: MIT */
/*
 * statedump.c - run the parts of the kernel state dump in order (see statedump.h).
 */
#include "kernel/statedump/statedump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/statedump/statedump_record.h"

/* Return whether `proc` belongs to the PID namespace of this process. */
static bool has_our_numbers(int proc)
{
	char link[16], own[16];
	const ssize_t len = readlinkat(proc, "self", link, sizeof(link));
	const int own_len = snprintf(own, sizeof(own), "%d", (int)getpid());

	return len == own_len && memcmp(link, own, (size_t)len) == 0;
}

static int begin(struct wmk_kdump *dump)
{
	const char *proc = dump->options->proc ? dump->options->proc : "/proc",
		   *sys = dump->options->sys ? dump->options->sys : "/sys";
	int self;

	dump->proc = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dump->proc < 0)
		return wmk_error(-errno, "cannot open %s for the list of processes", proc);
	dump->sys = open(sys, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dump->sys = dump->sys < 0 ? -errno : dump->sys;
	dump->may_compare = !dump->options->proc && has_our_numbers(dump->proc);
	/* "self" is a link to a directory, in the trees of tests as well. */
	self = openat(dump->proc, "self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (self >= 0) {
		wmk_kns_read(self, WMK_KNS_USER, &dump->own_user_ns);
		close(self);
	}
	return 0;
}

static const struct {
	unsigned parts;
	int (*dump)(struct wmk_kdump *dump);
} steps[] = {
	/*
	 * Processes come before interrupts, because the dump of processes includes the threads that handle interrupts.
	 */
	{ WMK_KSTATEDUMP_PROCESSES | WMK_KSTATEDUMP_NAMESPACES | WMK_KSTATEDUMP_FILES | WMK_KSTATEDUMP_MAPS,
	  wmk_kdump_processes },
	{ WMK_KSTATEDUMP_INTERRUPTS, wmk_kdump_interrupts },
	{ WMK_KSTATEDUMP_NETWORK, wmk_kdump_network },
	{ WMK_KSTATEDUMP_BLOCK, wmk_kdump_block },
	{ WMK_KSTATEDUMP_CPUS, wmk_kdump_cpus },
};

static int dump_all(struct wmk_kdump *dump)
{
	int err = wmk_kdump_emit(dump, WMK_KSTATEDUMP_START);

	for (size_t i = 0; err == 0 && i < WMK_ARRAY_LEN(steps); i++)
		if (wmk_kdump_wants(dump, steps[i].parts))
			err = steps[i].dump(dump);
	return err ? err : wmk_kdump_emit(dump, WMK_KSTATEDUMP_END);
}

int wmk_kstatedump(const struct wmk_kstatedump_options *options,
		   int (*record)(void *data, unsigned event, uint64_t ts, const void *payload, size_t len), void *data)
{
	struct wmk_kdump *dump = calloc(1, sizeof(*dump));
	int err;

	if (!dump)
		return wmk_error(-ENOMEM, "no memory for a state dump");
	dump->options = options;
	dump->record = record;
	dump->data = data;
	err = begin(dump);
	if (err == 0) {
		err = dump_all(dump);
		if (err < 0 && !dump->was_refused)
			wmk_error(err, "the state dump is incomplete");
		close(dump->proc);
		if (dump->sys >= 0)
			close(dump->sys);
	}
	if (options->counts)
		*options->counts = dump->counts;
	free(dump);
	return err;
}
