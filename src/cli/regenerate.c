/* SPDX-License-Identifier: MIT */
/*
 * regenerate.c - `waymark regenerate`.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/daemon.h"

/* The words of the command are in the order of enum waymark_ctl_regenerate_what. */
#define WORDS "metadata statedump"

/* Returns enum waymark_ctl_regenerate_what, or -EINVAL with a cause chain. */
static int what_of(char **rest, int n_rest)
{
	if (n_rest != 1)
		return wmk_error(-EINVAL, "give one argument: metadata or statedump");
	return wmk_cli_choice(WORDS, "cannot regenerate \"@\"; the arguments are: #", rest[0]);
}

static int run(void *data, char **rest, int n_rest)
{
	const struct wmk_cli_common *args = data;
	struct wmk_daemon daemon;
	int what = what_of(rest, n_rest), err;

	if (what < 0)
		return what;
	err = wmk_daemon_open(&daemon, args, WMK_DAEMON_SESSION);
	if (err == 0)
		err = wmk_daemon_did(&daemon, waymark_ctl_regenerate(daemon.ctl, daemon.session, (uint32_t)what,
								     &daemon.result));
	if (err == 0 && !args->json)
		printf("Session %s: %s regenerated\n", daemon.session, rest[0]);
	return wmk_daemon_close(&daemon, args, err);
}

static const char *const details[] = {
	"metadata: writes the metadata of the trace again, if it was damaged or removed. statedump: records the state "
	"dump again, the loaded libraries of every application and the state of the kernel, for a trace that has lost "
	"its beginning.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_SESSION, WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_regenerate = {
	.name = "regenerate",
	.arguments = "metadata | statedump",
	.choices = WORDS,
	.summary = "Write the metadata, or record the state dump, again",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run,
};
