/* SPDX-License-Identifier: MIT */
/*
 * regenerate.c - `waymark regenerate`.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/daemon.h"

/* By enum waymark_ctl_regenerate_what. */
#define WORDS "metadata statedump"

/* enum waymark_ctl_regenerate_what; -EINVAL with a cause chain. */
static int what_of(char **rest, int n_rest)
{
	if (n_rest != 1)
		return wmk_error(-EINVAL, "what? metadata or statedump");
	return wmk_cli_choice(WORDS, "\"@\" cannot be regenerated; there are: #", rest[0]);
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
	"metadata: writes the description of the trace anew, for one that was damaged or removed. statedump: lets "
	"every program record again which libraries it has loaded, and the kernel's state be recorded again, for a "
	"trace whose beginning was overwritten.",
	NULL
};

static const struct wmk_cli_option options[] = { WMK_CLI_OPTION_SESSION, WMK_CLI_OPTION_JSON };

const struct wmk_cli_command wmk_cli_regenerate = {
	.name = "regenerate",
	.arguments = "metadata | statedump",
	.choices = WORDS,
	.summary = "Write a trace's description, or the programs' state, once more",
	.details = details,
	WMK_CLI_OPTIONS(options),
	.args_size = sizeof(struct wmk_cli_common),
	.run = run,
};
