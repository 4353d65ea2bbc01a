/* SPDX-License-Identifier: MIT */
/*
 * source_dump.c - the state dump of a kernel channel as a source of packets: places are those of kernel/dumper.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/internal.h"
#include "kernel/dumper.h"

struct dump_source {
	struct wmk_source source;
	struct wmk_kdumper *dumper;
};

static struct wmk_kdumper *dumper_of(struct wmk_source *source)
{
	return ((struct dump_source *)source)->dumper;
}

/* A flush is for when recording has stopped: then the rest of a dump is waited for. */
static int dump_next(struct wmk_source *source, int flush, struct wmk_packet *packet)
{
	struct wmk_kpacket from;
	int ret = wmk_kdumper_next(dumper_of(source), flush != 0, &from);

	if (ret <= 0)
		return ret;
	*packet = (struct wmk_packet){ .begin_ts = from.begin_ts, .end_ts = from.end_ts, .position = from.place, .end = from.end,
				       .records = from.records, .data = from.data, .len = from.len, .room = from.room };
	return 1;
}

static int dump_release(struct wmk_source *source, const struct wmk_packet *packet)
{
	(void)packet;
	wmk_kdumper_release(dumper_of(source));
	return 0;
}

static uint64_t dump_head(struct wmk_source *source)
{
	return wmk_kdumper_head(dumper_of(source));
}

/* Where it ends says the dump that is begun next. */
static int dump_resume(struct wmk_source *source, const struct wmk_ctf_packet *last, uint64_t *records, uint64_t *end)
{
	*records = wmk_kdumper_resume(dumper_of(source), last->ring_position);
	*end = 0;
	return 0;
}

/* A dump waits for room. */
static uint64_t dump_lost(struct wmk_source *source, uint64_t by_cause[WAYMARK_LOST_CAUSES])
{
	(void)source;
	if (by_cause)
		memset(by_cause, 0, WAYMARK_LOST_CAUSES * sizeof(*by_cause));
	return 0;
}

static int dump_clear(struct wmk_source *source, uint64_t *position, uint64_t *ts)
{
	wmk_kdumper_clear(dumper_of(source));
	*position = 0;
	*ts = 0;
	return 0;
}

static int dump_fd(struct wmk_source *source)
{
	return wmk_kdumper_fd(dumper_of(source));
}

static void dump_close(struct wmk_source *source)
{
	wmk_kdumper_close(dumper_of(source));
	free(source);
}

static const struct wmk_source_ops dump_ops = {
	.next = dump_next, .release = dump_release, .head = dump_head, .resume = dump_resume, .records_at = 1 + WMK_KDUMPER_RECORDS_AT,
	.lost = dump_lost, .clear = dump_clear, .fd = dump_fd, .close = dump_close,
};

int wmk_source_dump_open(struct wmk_kreader *reader, struct wmk_source **source)
{
	struct dump_source *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "no memory for a state dump");
	made->source.ops = &dump_ops;
	err = wmk_kreader_dumper(reader, &made->dumper);
	if (err < 0) {
		free(made);
		return err;
	}
	*source = &made->source;
	return 0;
}

int wmk_source_dump_begin(struct wmk_source *source, uint64_t number)
{
	return wmk_kdumper_begin(dumper_of(source), number);
}
