/* SPDX-License-Identifier: MIT */
/*
 * list_kernel.c - `waymark list --kernel`: list the kernel events and the missing features of this kernel.
 */
#include <stdio.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/list.h"
#include "cli/show.h"

#define NAME_COLUMN 36
#define ORIGIN_COLUMN 44

static bool is_call(const struct waymark_ctl_event_info *event)
{
	return strcmp(event->provider, "syscall") == 0;
}

/*
 * Print the name of an event in the form that enable-event accepts. In enable-event, a system call has one name, but a
 * trace has two events for each system call: entry and exit.
 */
static const char *name_of(const struct waymark_ctl_event_info *event, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", is_call(event) ? "syscall:" : "", event->name);
	return buf;
}

/* events/irq/softirq_entry: irq:softirq_entry. */
static const char *origin_of(const struct waymark_ctl_event_info *event, char *buf, size_t size)
{
	const char *name = event->file ? strrchr(event->file, '/') : NULL;

	if (is_call(event))
		snprintf(buf, size, "system call");
	else
		snprintf(buf, size, "%s:%s", event->provider, name ? name + 1 : event->name);
	return buf;
}

static void show_event(const struct waymark_ctl_event_info *event, bool fields)
{
	char name[300], origin[600];

	printf("  %-*s  %-*s%s\n", NAME_COLUMN, wmk_cli_clean(name_of(event, name, sizeof(name))),
	       event->enabled ? ORIGIN_COLUMN : 0, wmk_cli_clean(origin_of(event, origin, sizeof(origin))),
	       event->enabled ? "  enabled" : "");
	if (fields)
		wmk_show_fields(event);
}

static void show(const struct waymark_ctl_result *result, bool fields)
{
	const struct waymark_ctl_event_info *const *events;
	const char *const *lacks, *clock = waymark_ctl_result_kernel_clock(result);
	unsigned n = waymark_ctl_result_events(result, &events), n_lacks = waymark_ctl_result_lacks(result, &lacks);

	printf("The kernel (%u event%s%s%s):\n", n, wmk_cli_plural(n),
	       clock && *clock ? ", timestamps from its clock " : "", clock ? clock : "");
	for (unsigned i = 0; i < n; i++)
		show_event(events[i], fields);
	puts(n_lacks ? "Features that this kernel lacks:" : "This kernel has all features that Waymark uses.");
	for (unsigned i = 0; i < n_lacks; i++)
		printf("  - %s\n", wmk_cli_clean(lacks[i]));
}

static struct waymark_ctl_kernel_options options_of(const struct wmk_list_args *args)
{
	return (struct waymark_ctl_kernel_options){
		.size = sizeof(struct waymark_ctl_kernel_options),
		.patterns = (const char *const *)args->patterns.items,
		.n_patterns = args->patterns.n,
		.fields = args->fields,
	};
}

int wmk_list_kernel(const struct wmk_list_args *args)
{
	struct waymark_ctl_kernel_options options = options_of(args);
	struct wmk_daemon daemon;
	int err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_ANY);

	options.lacks = true;
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_list_kernel(daemon.ctl, &options, &daemon.result));
	if (err == 0 && !args->common.json)
		show(daemon.result, args->fields);
	return wmk_daemon_close(&daemon, &args->common, err);
}

int wmk_list_kernel_names(struct wmk_daemon *daemon, const struct wmk_list_args *args)
{
	const struct waymark_ctl_kernel_options options = options_of(args);
	const struct waymark_ctl_event_info *const *events;
	char name[300];
	int err = wmk_daemon_did(daemon, waymark_ctl_list_kernel(daemon->ctl, &options, &daemon->result));
	unsigned n = err < 0 ? 0 : waymark_ctl_result_events(daemon->result, &events);

	for (unsigned i = 0; i < n; i++)
		puts(wmk_cli_clean(name_of(events[i], name, sizeof(name))));
	return err;
}
