/* SPDX-License-Identifier: MIT */
/*
 * context.c - `waymark add-context`.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/context.h"
#include "cli/daemon.h"
#include "ctf/writer.h"

/* Returns -EINVAL. The cause chain contains similar names, or the command that lists all names. */
static int check_context(const char *name)
{
	const struct wmk_ctf_context *context;
	struct wmk_nearest near;
	char names[120];

	if (wmk_ctf_context_find(name))
		return 0;
	wmk_nearest_init(&near, name);
	for (context = NULL; (context = wmk_ctf_context_next(WMK_CONTEXT_USER | WMK_CONTEXT_KERNEL, context));)
		wmk_nearest_offer(&near, context->field.name);
	if (near.n)
		return wmk_error(-EINVAL, "unknown context \"%.40s\"; did you mean: %s?", name,
				 wmk_nearest_text(&near, names, sizeof(names)));
	return wmk_error(-EINVAL, "unknown context \"%.40s\"; `waymark add-context --list` lists the contexts",
			 name);
}

static int add_types(struct wmk_cli_words *types, const char *list)
{
	unsigned before = types->n;
	int err = wmk_cli_words_add(types, list);

	for (unsigned i = before; i < types->n && err == 0; i++)
		err = check_context(types->items[i]);
	return err;
}

static int set_type(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	return add_types(at, value);
}

static int list_contexts(bool kernel, bool for_programs)
{
	const unsigned domains = kernel ? WMK_CONTEXT_KERNEL : WMK_CONTEXT_USER;
	struct wmk_cli_json json = { .out = stdout };

	if (for_programs)
		wmk_cli_json_open(&json, NULL, '[');
	for (const struct wmk_ctf_context *context = NULL; (context = wmk_ctf_context_next(domains, context));) {
		if (!for_programs) {
			printf("%-15s %s\n", context->field.name, context->help);
			continue;
		}
		wmk_cli_json_open(&json, NULL, '{');
		wmk_cli_json_text(&json, "name", context->field.name);
		wmk_cli_json_text(&json, "description", context->help);
		wmk_cli_json_close(&json, '}');
	}
	if (for_programs) {
		wmk_cli_json_close(&json, ']');
		fputc('\n', stdout);
	}
	return 0;
}

static int run(void *data, char **rest, int n_rest)
{
	struct wmk_context_args *args = data;
	struct wmk_daemon daemon;
	int err = wmk_cli_check_domain(&args->common);

	/* "-t vpid procname" is two contexts, as in LTTng. */
	for (int i = 0; i < n_rest && err == 0; i++)
		err = add_types(&args->types, rest[i]);
	if (err == 0 && args->list)
		return list_contexts(args->common.kernel, args->common.json);
	if (err == 0 && !args->types.n)
		err = wmk_error(-EINVAL, "no context given; `waymark add-context --list` lists the contexts");
	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0) {
		struct waymark_ctl_domain domain = wmk_daemon_domain(&args->common);
		struct waymark_ctl_events_options options = {
			.size = sizeof(options),
			.session = daemon.session,
			.channel = args->common.channel,
			.domain = &domain,
			.contexts = (const char *const *)args->types.items,
			.n_contexts = args->types.n,
		};

		err = wmk_daemon_did(&daemon, waymark_ctl_add_context(daemon.ctl, &options, &daemon.result));
	}
	for (unsigned i = 0; i < args->types.n && err == 0 && !args->common.json; i++)
		printf("Session %s: records have the context %s\n", daemon.session, args->types.items[i]);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static void done(void *data)
{
	wmk_cli_words_free(&((struct wmk_context_args *)data)->types);
}

static const char *const details[] = {
	"A context is a field that is added to each record of a channel, for example the thread that recorded it. It "
	"costs an application some nanoseconds for each record (`waymark calibrate`), and space in the trace. A "
	"channel that has recorded continues in new streams with new rings. No record is lost or duplicated, and "
	"earlier records do not change.",
	"Kernel records (--kernel) have other contexts; --kernel --list prints them. pid, tid and procname identify "
	"the thread of a record. They cost the kernel nothing: the consumer daemon computes them.",
	NULL
};

static const struct wmk_cli_option options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The channel. The default is the only channel of the session, or channel0, which is "
			       "created if needed."),
	{ 't', "type", "CONTEXT", "The context. Several are separated by commas or given in several options.",
	  .store = set_type, WMK_CLI_AT(struct wmk_cli_words, struct wmk_context_args, types), .repeats = true },
	{ 'l', "list", NULL, "List the contexts with a description; with --kernel, those of kernel records.",
	  WMK_CLI_FLAG(struct wmk_context_args, list) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_add_context = {
	.name = "add-context",
	.arguments = "[CONTEXT]...",
	.summary = "Add context fields to the records of a channel",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_context_args),
	.run = run,
	.done = done,
};
