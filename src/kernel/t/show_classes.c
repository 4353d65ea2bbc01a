/* SPDX-License-Identifier: MIT */
/*
 * show_classes.c - for tests/cases/t_kernel_names.py: print the event classes for a file of formats. The file is like
 * t/lttng_events.txt: without the common fields, and with `system:` before each format.
 *
 *     sched sched_switch sched_switch prev_comm:text prev_tid:number ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/t/read_file.h"

static const char *kind_of(const struct wmk_type *type)
{
	static const char *const kinds[] = {
		[WMK_TYPE_INT] = "number",   [WMK_TYPE_STRING] = "string", [WMK_TYPE_ENUM] = "enum",
		[WMK_TYPE_FLAGS] = "number", [WMK_TYPE_ARRAY] = "array",   [WMK_TYPE_SEQUENCE] = "sequence",
		[WMK_TYPE_BLOB] = "sequence"
	};

	return type->is_text ? "text" : kinds[type->kind];
}

static void show(char *text)
{
	char *system = text + strlen("system: "), *rest = strchr(system, '\n'), *whole, *format_line, message[1024];
	struct wmk_kformat *format;
	struct wmk_kevent *event;

	*rest++ = '\0';
	format_line = strstr(rest, "format:\n") + strlen("format:\n");
	if (asprintf(&whole, "%.*s%s%s", (int)(format_line - rest), rest, COMMON, format_line) < 0)
		abort();
	if (wmk_kformat_parse(system, whole, strlen(whole), &format) < 0 || wmk_kevent_make(format, &event) < 0) {
		fprintf(stderr, "%s\n", wmk_error_text(message, sizeof(message)));
		exit(1);
	}
	printf("%s %s %s", system, event->kernel_name, event->class->name);
	for (unsigned i = 0; i < event->class->n_fields; i++)
		printf(" %s:%s", event->class->fields[i].name, kind_of(&event->class->fields[i].type));
	printf("\n");
	wmk_kevent_free(event);
	free(format);
	free(whole);
}

int main(int argc, char **argv)
{
	char *text = argc == 2 ? read_file(argv[1]) : NULL, *next;

	if (!text || strncmp(text, "system: ", 8) != 0) {
		fprintf(stderr, "usage: show-kernel-classes FILE\n");
		return 2;
	}
	for (char *at = text; at; at = next) {
		next = strstr(at + 1, "\nsystem: ");
		if (next)
			*next++ = '\0';
		show(at);
	}
	free(text);
	return 0;
}
