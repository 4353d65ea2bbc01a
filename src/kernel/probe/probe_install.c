/* SPDX-License-Identifier: MIT */
/*
 * probe_install.c - create the events of a probe in the kernel, remove them (see probe.h), and explain refusals.
 *
 * dynamic_events is always opened for appending: opening it with O_TRUNC would remove the events of all processes.
 */
#include "kernel/probe/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "kernel/tracefs/tracefs.h"

#define FILE_NAME "dynamic_events"
#define NUMBER_MAX 100u        /* the largest number that is tried to make a name unique */

static bool is_user(const struct wmk_probe *probe)
{
	return probe->kind == WMK_PROBE_USER || probe->kind == WMK_PROBE_USER_RETURN;
}

static int check_kernel(int tracefs, const struct wmk_probe *probe)
{
	if (!wmk_tracefs_has(tracefs, "events"))
		return wmk_errorx(-EACCES, "the files of tracefs are not accessible: probes need root");
	if (!is_user(probe) && !wmk_tracefs_has(tracefs, "kprobe_events"))
		return wmk_errorx(-EOPNOTSUPP, "this kernel has no kprobes (CONFIG_KPROBE_EVENTS is off)");
	if (is_user(probe) && !wmk_tracefs_has(tracefs, "uprobe_events"))
		return wmk_errorx(-EOPNOTSUPP, "this kernel has no uprobes (CONFIG_UPROBE_EVENTS is off)");
	if (!wmk_tracefs_has(tracefs, FILE_NAME))
		return wmk_errorx(-EOPNOTSUPP, "this kernel has no dynamic events (they need Linux 5.0 and "
					       "CONFIG_DYNAMIC_EVENTS)");
	return 0;
}

/* ── unique names ────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the name of the event in a line ("p:GROUP/NAME PLACE", "r8:GROUP/NAME ..."), NUL-terminated in place. NULL:
 * the event belongs to another group.
 */
static char *name_of_line(char *line, const char *group)
{
	char *name = strchr(line, ':');
	const size_t len = strlen(group);

	if (!name || name > line + strcspn(line, " ") || strncmp(name + 1, group, len) != 0 || name[1 + len] != '/')
		return NULL;
	name += 2 + len;
	name[strcspn(name, " ")] = '\0';
	return name;
}

/*
 * Call `one` once for each place of each event of a group. The first result of `one` other than 0 ends the loop and is
 * returned.
 */
static int each_name(int tracefs, const char *group, int (*one)(void *data, const char *name), void *data)
{
	char *text, *next;
	size_t len;
	int stop = wmk_tracefs_read(tracefs, FILE_NAME, &text, &len);

	if (stop < 0)
		return stop;
	for (char *line = text; line < text + len && stop == 0; line = next) {
		char *name;

		next = line + strcspn(line, "\n");
		*next++ = '\0';
		name = name_of_line(line, group);
		if (name && name[0])
			stop = one(data, name);
	}
	free(text);
	return stop;
}

static int is_name(void *data, const char *name)
{
	return strcmp(data, name) == 0;
}

static int make_unique(int tracefs, const struct wmk_probe *probe, struct wmk_probe_event *event)
{
	char wanted[WMK_PROBE_NAME_MAX];

	memcpy(wanted, event->name, sizeof(wanted));
	for (unsigned number = 2; number <= NUMBER_MAX; number++) {
		const int taken = each_name(tracefs, probe->group, is_name, event->name);

		if (taken <= 0)
			return taken;
		if (probe->is_named)
			break;
		snprintf(event->name, sizeof(event->name), "%.58s_%u", wanted, number);
	}
	return wmk_errorx(-EEXIST, "an event %s exists already: give the probe another name", wanted);
}

/* ── refusals of the kernel ──────────────────────────────────────────────────────────────────────────── */

/*
 * The kernel's list of functions that cannot be probed, because kprobes itself needs these functions: lines
 * "0xBEGIN-0xEND\tNAME".
 */
static bool is_forbidden(const char *symbol, size_t len)
{
	FILE *in = fopen("/sys/kernel/debug/kprobes/blacklist", "re");
	char line[1024];
	bool found = false;

	while (in && !found && fgets(line, sizeof(line), in)) {
		const char *name = strchr(line, '\t');

		found = name && strncmp(name + 1, symbol, len) == 0 && strchr(" \t\n+", name[1 + len]);
	}
	if (in)
		fclose(in);
	return found;
}

static int refused_probe(int err, const char *place)
{
	const char *colon = strchr(place, ':');
	const size_t blank = strcspn(place, " ");
	const char *symbol = colon && colon < place + blank ? colon + 1 : place;
	const int len = (int)strcspn(symbol, " +");

	if (is_forbidden(symbol, (size_t)len))
		return wmk_errorx(err,
				  "%.*s is on the kernel's list of functions that must not be probed "
				  "(kprobes/blacklist in debugfs)",
				  len, symbol);
	return wmk_errorx(
		err, "%.*s cannot be probed at this place: the kernel forbids it, or no instruction begins there", len,
		symbol);
}

static int in_words(int err, const char *message, const char *place)
{
	static const struct {
		const char *message, *meaning;
	} reasons[] = {
		{ "not unique",
		  "several functions have that name: give MODULE:SYMBOL, or the address of one (/proc/kallsyms)" },
		{ "not an instruction boundary", "no instruction begins at that offset" },
		{ "Failed to find the given file",
		  "the kernel cannot find the file: it searches in the mount namespace of this process" },
		{ "Unknown type is specified",
		  "this kernel does not support one of the types (symstr needs Linux 6.0, char needs 6.2)" },
		{ "Invalid $-va",
		  "this kernel does not support one of the $ values at this place (arguments at a function's "
		  "return need Linux 6.9)" },
		{ "Invalid probed address or symbol",
		  "the kernel has no such symbol, or the address cannot be probed" },
	};

	if (err == -EPERM || err == -EACCES)
		return wmk_errorx(err, "permission denied: probes need root, and a kernel that is not locked down "
				       "(/sys/kernel/security/lockdown)");
	if (strstr(message, "Failed to register probe event"))
		return refused_probe(err, place);
	for (size_t i = 0; i < WMK_ARRAY_LEN(reasons); i++)
		if (strstr(message, reasons[i].message))
			return wmk_errorx(err, "%s", reasons[i].meaning);
	if (err == -ENOSPC || err == -ENOMEM || err == -EBUSY)
		return wmk_error(err, "the kernel has no memory for the probe");
	return message[0] ? wmk_errorx(err, "the kernel reports: %s", message)
		       : wmk_error(err, "the kernel gives no reason");
}

static int refused(int tracefs, int err, const struct wmk_probe_event *event, const char *place)
{
	char message[WMK_ERROR_LEN] = "";

	wmk_tracefs_last_error(tracefs, message, sizeof(message));
	in_words(err, message, place);
	return wmk_error_add(err, "the kernel refuses the probe %s at %.*s", event->name, (int)strcspn(place, " "),
			     place);
}

/* ── install and remove ──────────────────────────────────────────────────────────────────────────────── */

static int remove_name(int tracefs, const char *group, const char *name)
{
	char line[2 * WMK_PROBE_NAME_MAX + 8];
	int err;

	snprintf(line, sizeof(line), "-:%s/%s", group, name);
	err = wmk_tracefs_write(tracefs, FILE_NAME, line, true);
	if (err == -ENOENT) {
		wmk_error_clear();
		return 0;
	}
	if (err == -EBUSY)
		return wmk_errorx(err, "cannot remove the event %s/%s: it is still being recorded", group,
				  name);
	return err < 0 ? wmk_error_add(err, "cannot remove the event %s/%s", group, name) : 0;
}

static int install_event(int tracefs, const struct wmk_probe *probe, struct wmk_probe_event *event)
{
	char line[WMK_PROBE_LINE_MAX];
	int err = make_unique(tracefs, probe, event);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < event->n_places; i++) {
		err = wmk_tracefs_write(tracefs, FILE_NAME, wmk_probe_line(probe, event, i, line), true);
		if (err < 0)
			return refused(tracefs, err, event, event->places[i]);
		event->is_installed = true;
	}
	return 0;
}

int wmk_probe_install(int tracefs, struct wmk_probe *probe)
{
	int err = check_kernel(tracefs, probe);

	for (uint32_t i = 0; i < probe->n_events && err == 0; i++)
		err = install_event(tracefs, probe, &probe->events[i]);
	if (err < 0) {
		struct wmk_error_chain *cause = wmk_error_take();

		wmk_probe_remove(tracefs, probe);
		wmk_error_give(cause);
	}
	return err;
}

int wmk_probe_remove(int tracefs, struct wmk_probe *probe)
{
	int first = 0;

	for (uint32_t i = 0; i < probe->n_events; i++) {
		struct wmk_probe_event *event = &probe->events[i];
		const int err = event->is_installed ? remove_name(tracefs, probe->group, event->name) : 0;

		if (err == 0)
			event->is_installed = false;
		else if (first == 0)
			first = err;
	}
	return first;
}

struct removal {
	int tracefs, first;
	const char *group;
};

static int remove_one(void *data, const char *name)
{
	struct removal *removal = data;
	const int err = remove_name(removal->tracefs, removal->group, name);

	if (err < 0 && removal->first == 0)
		removal->first = err;
	return 0;
}

int wmk_probe_remove_group(int tracefs, const char *group)
{
	struct removal removal = { tracefs, 0, group };
	const int err = each_name(tracefs, group, remove_one, &removal);

	return err < 0 ? err : removal.first;
}
