/* SPDX-License-Identifier: MIT */
/*
 * strace_source.c - merges the records of all CPUs' streams in the order of time (see strace.h).
 *
 * The source takes records up to a time shortly before it examines the streams. When the source takes a record, all
 * earlier records of other CPUs are therefore in their streams. So the source takes the record of a cause before it
 * takes the record of the effect. During the short delay, the kernel can finish the records that it is still writing.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "strace/strace.h"
#include "kernel/proc/namespaces.h"

#define WINDOW_NS 200000u
#define BYTES_ALL (512ull << 20)     /* limit for all streams together, unless the user sets a size */
#define BYTES_LEAST (1ull << 20)
#define BYTES_MOST (32ull << 20)

int wmk_strace_source_init(struct wmk_strace_source *source, const struct wmk_strace_source_ops *ops, unsigned n)
{
	*source = (struct wmk_strace_source){ .ops = ops, .n = n, .heads = calloc(n ? n : 1, sizeof(*source->heads)) };
	return source->heads ? 0 : wmk_error(-ENOMEM, "cannot read %u CPUs: no memory", n);
}

void wmk_strace_source_refill(struct wmk_strace_source *source, bool is_end)
{
	source->until = is_end ? UINT64_MAX : wmk_kspaces_monotonic() - WINDOW_NS;
	for (unsigned i = 0; i < source->n; i++)
		if (!source->heads[i].has_record)
			source->ops->fill(source, i);
}

const struct wmk_syscalls_record *wmk_strace_source_take(struct wmk_strace_source *source)
{
	struct wmk_strace_head *first = NULL;

	if (source->given) {
		source->given->has_record = false;
		source->ops->fill(source, (unsigned)(source->given - source->heads));
		source->given = NULL;
	}
	for (unsigned i = 0; i < source->n; i++)
		if (source->heads[i].has_record && (!first || source->heads[i].record.mono < first->record.mono))
			first = &source->heads[i];
	if (!first || first->record.mono > source->until)
		return NULL;
	source->given = first;
	return &first->record;
}

uint64_t wmk_strace_source_bytes(const struct wmk_strace_args *args)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	uint64_t bytes = BYTES_MOST;

	if (args->buffer)
		return args->buffer;
	while (bytes > BYTES_LEAST && bytes * (uint64_t)(n > 0 ? n : 1) > BYTES_ALL)
		bytes /= 2;
	return bytes;
}
