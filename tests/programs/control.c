/* SPDX-License-Identifier: MIT */
/*
 * control.c - commands through libwaymark-ctl, for cases about the daemons.
 *
 *     control WORD...      create=NAME:PATH  events=NAME:PATTERN  start=NAME  stop=NAME  destroy=NAME  version  list
 *                          apps  shutdown
 *
 * Connects to the daemon of $WAYMARK_RUNDIR and does not start one. Prints the last result as JSON on stdout. If a
 * command fails, prints the error and exits with status 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <waymark/ctl.h>

static struct waymark_ctl *ctl;
static struct waymark_ctl_result *result;

static int run(const char *word, const char *name, const char *rest)
{
	struct waymark_ctl_create_options create = { .size = sizeof(create), .name = name, .path = rest };
	struct waymark_ctl_rule rule = { .size = sizeof(rule), .pattern = rest };
	struct waymark_ctl_events_options events = {
		.size = sizeof(events), .session = name, .rules = &rule, .n_rules = 1
	};

	if (strcmp(word, "create") == 0)
		return waymark_ctl_create(ctl, &create, &result);
	if (strcmp(word, "events") == 0)
		return waymark_ctl_enable_event(ctl, &events, &result);
	if (strcmp(word, "start") == 0)
		return waymark_ctl_start(ctl, name, &result);
	if (strcmp(word, "stop") == 0)
		return waymark_ctl_stop(ctl, name, &result);
	if (strcmp(word, "destroy") == 0)
		return waymark_ctl_destroy(ctl, name, &result);
	if (strcmp(word, "version") == 0)
		return waymark_ctl_version(ctl, &result);
	if (strcmp(word, "list") == 0)
		return waymark_ctl_list_sessions(ctl, NULL, &result);
	if (strcmp(word, "apps") == 0)
		return waymark_ctl_list_apps(ctl, NULL, &result);
	return strcmp(word, "shutdown") == 0 ? waymark_ctl_shutdown(ctl) : -1;
}

int main(int argc, char **argv)
{
	struct waymark_ctl_connect_options connect = { .size = sizeof(connect), .start = WAYMARK_CTL_START_NEVER };
	char words[1024], *text = NULL;
	int err = waymark_ctl_connect(&connect, &ctl);

	for (int i = 1; i < argc && err == 0; i++) {
		char *name = strchr(argv[i], '='), *rest = name ? strchr(name, ':') : NULL;

		if (name)
			*name++ = '\0';
		if (rest)
			*rest++ = '\0';
		waymark_ctl_result_free(result);
		result = NULL;
		err = run(argv[i], name, rest);
	}
	if (err == 0 && result && waymark_ctl_result_json(result, &text) == 0)
		fputs(text, stdout);
	if (err)
		fprintf(stderr, "control: error %d: %s\n", -err, waymark_ctl_error_text(words, sizeof(words)));
	free(text);
	waymark_ctl_result_free(result);
	waymark_ctl_close(ctl);
	return err != 0;
}
