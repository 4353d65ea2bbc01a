/* SPDX-License-Identifier: MIT */
/*
 * event.c - `waymark enable-event`, `waymark disable-event`.
 */
#include <errno.h>
#include <stdlib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/daemon.h"
#include "cli/child.h"
#include "cli/event.h"
#include "cli/levels.h"

/* ── options ─────────────────────────────────────────────────────────────────────────────────────────── */

static int one_condition(const struct wmk_event_args *args)
{
	return args->level_op == WAYMARK_CTL_ANY_LEVEL ? 0
						       : wmk_error(-EINVAL, "two log level conditions given: give one");
}

static int set_loglevel(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_event_args *args = at;
	int range = one_condition(args);

	(void)option;
	if (range == 0)
		range = wmk_cli_level_range(value, &args->level, &args->level_to);
	if (range >= 0)
		args->level_op = range ? WAYMARK_CTL_BETWEEN : WAYMARK_CTL_AT_LEAST;
	return range < 0 ? range : 0;
}

static int set_loglevel_only(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_event_args *args = at;
	int err = one_condition(args);

	(void)option;
	if (err == 0)
		err = wmk_cli_level(value, &args->level);
	args->level_to = args->level;
	args->level_op = WAYMARK_CTL_EXACTLY;
	return err;
}

/* ── probes ──────────────────────────────────────────────────────────────────────────────────────────── */

/* option->max: enum waymark_ctl_probe. */
static int set_place(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_event_args *args = at;

	if (args->probe)
		return wmk_error(-EINVAL, "two probes given: give one per event");
	if (!*value)
		return wmk_error(-EINVAL, "the location of the probe is empty");
	args->probe = (uint32_t)option->max;
	args->place = strdup(value);
	return args->place ? 0 : wmk_error(-ENOMEM, "no memory");
}

/*
 * "[elf:]PATH:REST", "sdt:PATH:REST". The client makes the path absolute, because the daemon has another working
 * directory and another $PATH. A name without '/' is searched in $PATH. A relative path that contains '/' is relative
 * to the working directory of the command.
 */
static int set_program_place(const struct wmk_cli_option *option, void *at, const char *value)
{
	struct wmk_event_args *args = at;
	const size_t head = strncmp(value, "elf:", 4) == 0 || strncmp(value, "sdt:", 4) == 0 ? 4 : 0;
	const size_t len = strcspn(value + head, ":");
	char name[PATH_MAX], found[PATH_MAX], path[PATH_MAX];
	int err;

	if (!value[head + len] || len == 0 || len >= sizeof(name))
		return wmk_error(-EINVAL,
				 "invalid probe location \"%.60s\": give PATH:SYMBOL, elf:PATH:SYMBOL or "
				 "sdt:PATH:PROVIDER:NAME",
				 value);
	snprintf(name, sizeof(name), "%.*s", (int)len, value + head);
	err = wmk_child_find(name, found, sizeof(found));
	if (err < 0 && strchr(name, '/')) {       /* the file of a library may have no permission to execute */
		wmk_error_clear();
		snprintf(found, sizeof(found), "%s", name);
		err = 0;
	}
	if (err < 0)
		return err;
	if (!realpath(found, path))
		return wmk_error(-errno, "cannot find the program or library %.240s", found);
	err = set_place(option, args, "-");
	if (err < 0)
		return err;
	free(args->place);
	if (asprintf(&args->place, "%.*s%s%s", (int)head, value, path, value + head + len) < 0) {
		args->place = NULL;
		return wmk_error(-ENOMEM, "no memory");
	}
	return 0;
}

static int check_probe(const struct wmk_event_args *args)
{
	if (!args->probe)
		return 0;
	if (!args->common.kernel)
		return wmk_error(-EINVAL, "probes need the kernel domain: add --kernel");
	if (args->all || args->syscall || args->patterns.n != 1)
		return wmk_error(-EINVAL, "a probe creates one event: give exactly one name");
	return 0;
}

/* With --syscall, the names are names of system calls: "openat" becomes "syscall:openat". */
static int words_are_calls(struct wmk_cli_words *words)
{
	for (unsigned i = 0; i < words->n; i++) {
		char *call;

		if (strncmp(words->items[i], "syscall:", 8) == 0)
			continue;
		if (asprintf(&call, "syscall:%s", words->items[i]) < 0)
			return wmk_error(-ENOMEM, "no memory");
		free(words->items[i]);
		words->items[i] = call;
	}
	return 0;
}

int wmk_event_arguments(struct wmk_event_args *args, char **rest, int n_rest)
{
	int err = wmk_cli_check_domain(&args->common);

	for (int i = 0; i < n_rest && err == 0; i++)
		err = wmk_cli_words_add(&args->patterns, rest[i]);
	if (err == 0 && args->syscall && !args->common.kernel)
		err = wmk_error(-EINVAL, "--syscall needs the kernel domain: add --kernel");
	if (err == 0 && args->syscall)
		err = words_are_calls(&args->patterns);
	if (err == 0)
		err = check_probe(args);
	if (err < 0)
		return err;
	for (unsigned i = 0; i < args->patterns.n; i++)
		if (args->patterns.items[i][0] == '!')
			return wmk_error(-EINVAL,
					 "use --exclude to exclude events, not '!': %.240s",
					 args->patterns.items[i]);
	if (args->all && n_rest)
		return wmk_error(-EINVAL, "--all and names of events exclude each other");
	if (!args->all && !n_rest)
		return wmk_error(-EINVAL,
				 "no events given: give names (provider:name, with * for any text), or --all");
	return 0;
}

/* Convert the array of words to the pointer type of the functions in ctl.h. */
static const char *const *strings(const struct wmk_cli_words *words)
{
	return (const char *const *)words->items;
}

static void done(void *data)
{
	struct wmk_event_args *args = data;

	wmk_cli_words_free(&args->patterns);
	wmk_cli_words_free(&args->exclude);
	free(args->place);
}

/* ── enable-event ────────────────────────────────────────────────────────────────────────────────────── */

static bool is_rule(const struct waymark_ctl_rule_info *is, const struct waymark_ctl_rule *rule)
{
	if (is->probe != rule->probe || strcmp(is->place, rule->place ? rule->place : "") != 0)
		return false;
	if (strcmp(is->pattern, rule->pattern) != 0 || strcmp(is->filter, rule->filter ? rule->filter : "") != 0 ||
	    is->level_op != rule->level_op || is->n_exclusions != rule->n_exclusions ||
	    (rule->level_op != WAYMARK_CTL_ANY_LEVEL && is->level != rule->level) ||
	    (rule->level_op == WAYMARK_CTL_BETWEEN && is->level_to != rule->level_to))
		return false;
	for (unsigned i = 0; i < rule->n_exclusions; i++)
		if (strcmp(is->exclusions[i], rule->exclusions[i]) != 0)
			return false;
	return true;
}

/* Find the enabled rule in the channels of the session, and set *channel to the name of its channel. */
static const struct waymark_ctl_rule_info *find(const struct wmk_daemon *daemon, const struct waymark_ctl_rule *rule,
						const char **channel)
{
	const struct waymark_ctl_session_info *session = wmk_daemon_session(daemon);

	for (unsigned i = 0; session && i < session->n_channels; i++) {
		*channel = session->channels[i]->name;
		if (daemon->channel && strcmp(*channel, daemon->channel) != 0)
			continue;
		for (unsigned k = 0; k < session->channels[i]->n_rules; k++)
			if (is_rule(session->channels[i]->rules[k], rule))
				return session->channels[i]->rules[k];
	}
	return NULL;
}

static void print_enabled(const struct wmk_daemon *daemon, const struct waymark_ctl_rule *rule)
{
	const char *channel;
	const struct waymark_ctl_rule_info *is = find(daemon, rule, &channel);

	if (is)
		printf("Session %s, channel %s: %s enabled, %llu event%s so far\n", daemon->session, channel,
		       wmk_cli_clean(is->pattern), (unsigned long long)is->matched, wmk_cli_plural(is->matched));
}

static int enable(struct wmk_daemon *daemon, const struct wmk_event_args *args)
{
	const char *everything = args->syscall ? "syscall:*" : "*";
	struct waymark_ctl_domain domain = wmk_daemon_domain(&args->common);
	unsigned n = args->all ? 1 : args->patterns.n;
	struct waymark_ctl_rule *rules = calloc(n, sizeof(*rules));
	struct waymark_ctl_events_options options = {
		.size = sizeof(options),
		.session = daemon->session,
		.channel = args->common.channel,
		.domain = &domain,
		.rules = rules,
		.n_rules = n,
	};
	int err;

	if (!rules)
		return wmk_error(-ENOMEM, "no memory");
	for (unsigned i = 0; i < n; i++)
		rules[i] = (struct waymark_ctl_rule){
			.size = sizeof(rules[i]),
			.pattern = args->all ? everything : args->patterns.items[i],
			.exclusions = strings(&args->exclude),
			.n_exclusions = args->exclude.n,
			.level_op = args->level_op,
			.level = args->level,
			.level_to = args->level_to,
			.filter = args->filter,
			.probe = args->probe,
			.place = args->place,
		};
	err = wmk_daemon_did(daemon, waymark_ctl_enable_event(daemon->ctl, &options, &daemon->result));
	for (unsigned i = 0; i < n && err == 0 && !args->common.json; i++)
		print_enabled(daemon, &rules[i]);
	free(rules);
	return err;
}

static int run_enable(void *data, char **rest, int n_rest)
{
	struct wmk_event_args *args = data;
	struct wmk_daemon daemon;
	int err = wmk_event_arguments(args, rest, n_rest);

	if (err < 0)
		return err;
	err = wmk_daemon_open(&daemon, &args->common, WMK_DAEMON_SESSION);
	if (err == 0)
		err = enable(&daemon, args);
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const enable_details[] = {
	"An application's event is recorded if its provider:name matches a pattern and no exclusion, and its level "
	"meets the condition. In patterns, * matches any text, ? any character, [a-z] one of a set; a pattern without "
	"':' is also compared with the provider alone. Applications do not need to run yet: an application that "
	"starts later records the event from its start. When the command returns, every application that has "
	"confirmed records the event at its next occurrence. The command names applications that have not confirmed.",
	"If several rules of a channel match an event, a record is written if at least one of them selects it. A rule "
	"with a filter selects the records that match the filter; a rule without a filter selects all records.",
	"With --kernel, the events are those of the kernel, on the whole machine or, with --pid, in one process. A "
	"name is the name in traces, as in lttng-modules (irq_softirq_entry), the kernel's name (softirq_entry), or "
	"subsystem:name (irq:softirq_entry, 'sched:*'). syscall:NAME is a system call: its entry and its exit. With "
	"--syscall, NAME alone is a system call. The event must exist: `waymark list --kernel` prints the events and "
	"the missing features of this kernel. Kernel events have no log levels. The contexts pid, tid and procname "
	"identify the thread of a record; `waymark add-context --kernel` adds them.",
	"A probe creates an event with the given name. The fields of its records follow the location, in parentheses, "
	"each as [NAME=]VALUE[:TYPE]. A value is a parameter of the kernel function by its name, $arg1, $retval, %di "
	"(a register), +8(VALUE), @SYMBOL or $comm; for an SDT probe arg1, arg2, by default all of them. Types are u8 "
	"to u64, s8 to s64, x8 to x64 (hexadecimal), string, symbol, TYPE[N]. A disabled probe costs nothing. The "
	"probe is removed together with its session.",
	"Levels are emerg (0), alert, crit, err, warning, notice, info, debug_system, debug_program, debug_process, "
	"debug_module, debug_unit, debug_function, debug_line, debug (14). `waymark list --userspace` lists the events "
	"of running applications.",
	NULL
};

static const struct wmk_cli_option enable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The channel. The default is the only channel of the session, or channel0, which is "
			       "created if needed."),
	{ 'a', "all", NULL,
	  "All events; with --kernel, all kernel events (many); with --kernel --syscall, all system calls.",
	  WMK_CLI_FLAG(struct wmk_event_args, all) },
	{ 0, "syscall", NULL, "With --kernel: names are those of system calls; both entry and exit are recorded.",
	  WMK_CLI_FLAG(struct wmk_event_args, syscall) },
	{ 0, "probe", "PLACE",
	  "With --kernel: create the event at SYMBOL, SYMBOL+OFFSET or ADDRESS of the kernel, with the fields in "
	  "parentheses: 'do_sys_openat2(dfd, filename:string)'.",
	  .store = set_place, .max = WAYMARK_CTL_PROBE },
	{ 0, "probe-return", "PLACE", "Like --probe, but at the return of the function.", .store = set_place,
	  .max = WAYMARK_CTL_PROBE_RETURN },
	{ 0, "function", "PLACE", "Like --probe, but at both entry and return: creates EVENT_entry and EVENT_exit.",
	  .store = set_place, .max = WAYMARK_CTL_FUNCTION },
	{ 0, "userspace-probe", "PLACE",
	  "With --kernel: create the event in a program or library, at PATH:SYMBOL, elf:PATH:SYMBOL or "
	  "sdt:PATH:PROVIDER:NAME (an SDT probe with its arguments).",
	  .store = set_program_place, .max = WAYMARK_CTL_USER_PROBE },
	{ 0, "userspace-probe-return", "PLACE", "Like --userspace-probe, but at the return of the function.",
	  .store = set_program_place, .max = WAYMARK_CTL_USER_PROBE_RETURN },
	{ 'x', "exclude", "PATTERN",
	  "Exclude these events. Several patterns are separated by commas or given in several options.",
	  WMK_CLI_WORDS(struct wmk_event_args, exclude), .repeats = true },
	{ 0, "loglevel", "LEVEL",
	  "Only events of this level or more severe; with LEVEL..LEVEL, of these levels and those between them.",
	  .store = set_loglevel },
	{ 'f', "filter", "EXPR",
	  "Only records for which EXPR, a C-like expression over their fields, is true: 'amount > 100 && name == "
	  "\"bo*\"'. Events that lack a field of EXPR are not recorded. The application evaluates EXPR before it "
	  "records (kernel events: the kernel and the consumer daemon). waymark-filter(7) describes the language.",
	  WMK_CLI_NOT_EMPTY(struct wmk_event_args, filter, "the filter is empty") },
	{ 0, "loglevel-only", "LEVEL", "Only events of exactly this level.", .store = set_loglevel_only },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_enable_event = {
	.name = "enable-event",
	.arguments = "EVENT[,EVENT]...",
	.summary = "Create event rules: select events to record",
	.details = enable_details,
	WMK_CLI_OPTIONS(enable_options),
	.args_size = sizeof(struct wmk_event_args),
	.run = run_enable,
	.done = done,
};

/* ── disable-event ───────────────────────────────────────────────────────────────────────────────────── */

static int run_disable(void *data, char **rest, int n_rest)
{
	struct wmk_event_args *args = data;
	struct wmk_daemon daemon;
	int err = wmk_event_arguments(args, rest, n_rest);

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
			.patterns = strings(&args->patterns),
			.n_patterns = args->patterns.n,
		};

		err = wmk_daemon_did(&daemon, waymark_ctl_disable_event(daemon.ctl, &options, &daemon.result));
	}
	if (err == 0 && args->all && !args->common.json)
		printf("Session %s: all events disabled\n", daemon.session);
	for (unsigned i = 0; i < args->patterns.n && err == 0 && !args->common.json; i++)
		printf("Session %s: %s disabled\n", daemon.session, wmk_cli_clean(args->patterns.items[i]));
	return wmk_daemon_close(&daemon, &args->common, err);
}

static const char *const disable_details[] = {
	"Removes rules that `waymark enable-event` created. Give each pattern as it was enabled. All rules of the "
	"pattern are removed, with any exclusions and levels. To exclude some events or records of a pattern, disable "
	"it, then enable it again with --exclude or --filter. (Enabling it a second time adds a rule and restricts "
	"nothing.)",
	NULL
};

static const struct wmk_cli_option disable_options[] = {
	WMK_CLI_OPTIONS_DOMAIN,
	WMK_CLI_OPTION_SESSION,
	WMK_CLI_OPTION_CHANNEL("The channel. The default is the only channel of the session."),
	{ 'a', "all-events", NULL, "All patterns of the channel.", WMK_CLI_FLAG(struct wmk_event_args, all) },
	{ 0, "syscall", NULL, "With --kernel: names are those of system calls, as they were enabled.",
	  WMK_CLI_FLAG(struct wmk_event_args, syscall) },
	WMK_CLI_OPTION_JSON,
};

const struct wmk_cli_command wmk_cli_disable_event = {
	.name = "disable-event",
	.arguments = "EVENT[,EVENT]...",
	.summary = "Disable event rules",
	.details = disable_details,
	WMK_CLI_OPTIONS(disable_options),
	.args_size = sizeof(struct wmk_event_args),
	.run = run_disable,
	.done = done,
};
