/* SPDX-License-Identifier: MIT */
/*
 * thread_id.c - identify the thread of a record (see thread_id.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "read/value_format.h"
#include "read/record_scope.h"
#include "read/thread_id.h"

static bool is_one(const char *name, const char *one, const char *other)
{
	return name && (!strcmp(name, one) || !strcmp(name, other));
}

/* Get the CPU from the packet, and all other members from the record. */
static void take(struct wmk_read_thread_id *who, const struct wmk_ctf_item *item, bool is_packet)
{
	const char *name = item->op->name;
	const bool is_number = item->op->code == WMK_CTF_INT,
		   is_text = item->op->code == WMK_CTF_STRING || item->op->code == WMK_CTF_TEXT;

	if (is_packet) {
		if (is_number && (item->op->roles & WMK_ROLE_BIT(WMK_ROLE_CPU) || is_one(name, "cpu_id", "cpu_id"))) {
			/* (a stream without a CPU has all bits set) */
			who->has_cpu = item->value.u != WMK_READ_NO_CPU;
			who->cpu = who->has_cpu ? item->value.i : WMK_READ_NOWHERE;
		}
	} else if (is_number && is_one(name, "vpid", "pid")) {
		who->pid = item->value.i;
		who->has_pid = true;
	} else if (is_number && is_one(name, "vtid", "tid")) {
		who->tid = item->value.i;
		who->has_tid = true;
	} else if (is_text && is_one(name, "procname", "comm")) {
		wmk_print_narrow(who->name, sizeof(who->name), item->text, item->len, item->op->type->encoding);
	}
}

static int walk(struct wmk_read_thread_id *who, struct wmk_read_stream *stream, unsigned part)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(stream, part);
	struct wmk_ctf_walk *walk = &stream->record.walk;
	struct wmk_ctf_item item;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter_passing(walk, program);
	while (wmk_ctf_next(walk, &item))
		if (!item.is_end)
			take(who, &item, part == WMK_READ_OF_PACKET);
	return walk->err;
}

int wmk_read_thread_id_of_record(struct wmk_read_thread_id *who, struct wmk_read_stream *stream)
{
	int err;

	who->has_pid = who->has_tid = false;
	who->name[0] = '\0';
	err = walk(who, stream, WMK_READ_COMMON);
	if (err >= 0)
		err = walk(who, stream, WMK_READ_CONTEXT);
	if (who->has_pid && !who->has_tid)
		who->tid = who->pid;
	if (who->has_tid && !who->has_pid)
		who->pid = who->tid;
	who->has_pid = who->has_tid = who->has_pid || who->has_tid;
	return err;
}

int wmk_read_thread_id_of_packet(struct wmk_read_thread_id *who, struct wmk_read_stream *stream)
{
	*who = (struct wmk_read_thread_id){ .cpu = WMK_READ_NOWHERE };
	return walk(who, stream, WMK_READ_OF_PACKET);
}

size_t wmk_read_cpu_track_name(const struct wmk_read_thread_id *who, char *buf, size_t size)
{
	return (size_t)(who->has_cpu ? snprintf(buf, size, "CPU %" PRId64, who->cpu) : snprintf(buf, size, "no CPU"));
}

size_t wmk_read_provider_len(const char *event_name)
{
	const char *colon = strchr(event_name, ':');

	return colon ? (size_t)(colon - event_name) : 0;
}
