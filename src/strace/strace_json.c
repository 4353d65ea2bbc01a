/* SPDX-License-Identifier: MIT */
/*
 * strace_json.c - `waymark strace --json` prints an object for each system call, signal and thread exit, one object per
 * line.
 *
 *     {"time":NS,"pid":1,"tid":1,"call":"openat","args":[{"name":"dfd","text":"AT_FDCWD","raw":4294967196},...],
 *      "result":3,"duration":NS}
 *     {...,"result":-1,"error":"ENOENT"}    {...,"result":null}: it has not returned
 *     {"time":NS,"pid":1,"tid":1,"signal":"SIGCHLD","text":"{si_signo=...}"}
 *     {"time":NS,"pid":1,"tid":1,"exit":"exited with 0"}
 *
 * Times are nanoseconds since 1970. The member `text` is the text that strace would print. The member `text` contains
 * only ASCII characters, because other bytes are escaped.
 */
#include <stdio.h>
#include <unistd.h>

#include "strace/strace.h"

#define OBJECT_MOST (64u << 10)  /* limit for the text of one argument */

static void put_string(struct wmk_kline *out, const char *text, size_t n)
{
	wmk_kline_char(out, '"');
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '"' || text[i] == '\\')
			wmk_kline_char(out, '\\');
		wmk_kline_char(out, text[i]);
	}
	wmk_kline_char(out, '"');
}

static void put_text(struct wmk_kline *out, const char *name, const char *text)
{
	wmk_kline_put(out, ",\"");
	wmk_kline_put(out, name);
	wmk_kline_put(out, "\":");
	put_string(out, text, strlen(text));
}

static void begin(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	struct wmk_kline *out = &lines->out;

	/* (the rest of the buffer has room for any object) */
	if (out->len > out->room / 4)
		wmk_strace_lines_idle(lines);
	wmk_kline_put(out, "{\"time\":");
	wmk_kline_signed(out, (int64_t)record->mono + lines->wall);
	wmk_kline_put(out, ",\"pid\":");
	wmk_kline_unsigned(out, record->pid);
	wmk_kline_put(out, ",\"tid\":");
	wmk_kline_unsigned(out, record->tid);
}

static void put_args(struct wmk_kline *out, const struct wmk_kprint *print, const struct wmk_syscalls_record *entry,
		     const struct wmk_syscalls_record *exit)
{
	char room[OBJECT_MOST];
	bool any = false;

	wmk_kline_put(out, ",\"args\":[");
	for (unsigned i = 0; i < print->n_args; i++) {
		struct wmk_kline text = { .text = room, .room = sizeof(room) };

		if (!wmk_kprint_arg(print, i, entry, exit, &text))
			continue;
		wmk_kline_put(out, any ? ",{" : "{");
		any = true;
		if (i < print->call.n_args && print->call.is_known) {
			wmk_kline_put(out, "\"name\":\"");
			wmk_kline_put(out, print->call.args[i].name);
			wmk_kline_put(out, "\",");
		}
		wmk_kline_put(out, "\"text\":");
		put_string(out, room, text.len);
		wmk_kline_put(out, ",\"raw\":");
		wmk_kline_unsigned(out, i < entry->n_values ? entry->values[i] : 0);
		wmk_kline_char(out, '}');
	}
	wmk_kline_char(out, ']');
}

void wmk_strace_json_call(struct wmk_strace_lines *lines, const struct wmk_strace_thread *thread,
			  const struct wmk_syscalls_record *exit)
{
	const struct wmk_syscalls_record *entry = &thread->entry;
	const struct wmk_kprint *print = &lines->prints->calls[entry->abi][entry->number];
	struct wmk_kline *out = &lines->out;
	char room[24];
	const char *error;

	begin(lines, entry);
	wmk_kline_put(out, ",\"call\":\"");
	wmk_kprint_name(print, entry, out);
	wmk_kline_char(out, '"');
	if (entry->abi == WMK_KABI_COMPAT)
		wmk_kline_put(out, ",\"bits\":32");
	put_args(out, print, entry, exit);
	wmk_kline_put(out, ",\"result\":");
	if (!exit) {
		wmk_kline_put(out, "null}\n");
		return;
	}
	error = wmk_kprint_errno(wmk_kprint_value(exit), room);
	if (error) {
		wmk_kline_put(out, "-1");
		put_text(out, "error", error);
	} else {
		wmk_kline_signed(out, wmk_kprint_value(exit));
	}
	wmk_kline_put(out, ",\"duration\":");
	wmk_kline_unsigned(out, exit->mono - entry->mono);
	wmk_kline_put(out, "}\n");
}

void wmk_strace_json_other(struct wmk_strace_lines *lines, const struct wmk_syscalls_record *record)
{
	char room[1024], name[24];
	struct wmk_kline text = { .text = room, .room = sizeof(room) - 1 };

	begin(lines, record);
	if (record->is_signal) {
		wmk_kprint_siginfo(record->values, record->n_values, &text);
		put_text(&lines->out, "signal", wmk_ksignal_name((uint32_t)record->values[0], name));
	} else {
		wmk_kprint_end(record, &text);
	}
	room[text.len] = '\0';
	put_text(&lines->out, record->is_signal ? "text" : "exit", room);
	wmk_kline_put(&lines->out, "}\n");
}
