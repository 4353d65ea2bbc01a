/* SPDX-License-Identifier: MIT */
/*
 * command.h - the table of commands of `waymark`, and what every command may use.
 *
 *     commands[] (table.c)──┬─► dispatch: waymark NAME OPTIONS ARGUMENTS ──► wmk_cli_parse() ──► run()
 *                           ├─► waymark help [NAME], usage errors             (help.c)
 *                           ├─► man pages: waymark help --man [NAME]          (manual.c)
 *                           └─► completion: waymark help --completion SHELL   (complete.c)
 *
 * A command, or a small family, is one file that defines its `struct wmk_cli_command`. It prints for people unless it
 * was asked for JSON; its exit status is 0, WMK_CLI_FAILED or WMK_CLI_USAGE. One thread.
 */
#ifndef WMK_CLI_COMMAND_H
#define WMK_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/option.h"

#define WMK_CLI_FAILED 1
#define WMK_CLI_USAGE 2

struct wmk_cli_command {
	const char *name;
	const char *arguments;   /* what follows the options, for the synopsis */
	const char *choices;     /* the arguments are words of this list, with spaces between; NULL: any */
	const char *summary;     /* one line */
	const char *const *details;   /* paragraphs, NULL at the end */
	const struct wmk_cli_option *options;
	unsigned n_options;
	size_t args_size;        /* bytes of the zeroed structure that the options fill */
	bool takes_command;      /* options end at the first argument that is none; `--` before it may be left out */
	/* The exit status; -errno with a cause chain: it was called wrongly, the usage is printed too. */
	int (*run)(void *args, char **rest, int n_rest);
	/* frees what the options allocated; NULL: nothing. Called whether run() was or not */
	void (*done)(void *args);
};

/* The two members, of an array. */
#define WMK_CLI_OPTIONS(table) .options = (table), .n_options = sizeof(table) / sizeof((table)[0])

/* A command line that shows a use of a command. */
struct wmk_cli_example {
	const char *command;     /* its name in the table */
	const char *purpose;     /* a sentence that ends in a colon */
	const char *line;
};

/* The examples of a command stand side by side: their number, and the first one at *first. (examples.c) */
unsigned wmk_cli_examples(const struct wmk_cli_command *command, const struct wmk_cli_example **first);

/* NULL at the end. (table.c) */
extern const struct wmk_cli_command *const wmk_cli_commands[];

extern const struct wmk_cli_command wmk_cli_record, wmk_cli_create, wmk_cli_destroy, wmk_cli_start, wmk_cli_stop,
	wmk_cli_list, wmk_cli_status, wmk_cli_set_session_command, wmk_cli_enable_channel, wmk_cli_disable_channel,
	wmk_cli_enable_event, wmk_cli_disable_event, wmk_cli_add_context, wmk_cli_track, wmk_cli_untrack, wmk_cli_save,
	wmk_cli_load, wmk_cli_clear, wmk_cli_regenerate, wmk_cli_recover, wmk_cli_calibrate, wmk_cli_view,
	wmk_cli_convert, wmk_cli_strace, wmk_cli_help, wmk_cli_version;

/* All commands, a line each. */
void wmk_cli_overview(FILE *out);
const struct wmk_cli_command *wmk_cli_find(const char *name);
/* As wmk_cli_find(), without a cause chain when there is none. */
const struct wmk_cli_command *wmk_cli_look_up(const char *name);

/* Can the shells complete values of this option? */
bool wmk_cli_is_completed(const struct wmk_cli_option *option);

/* A sentence for a command's name of another tool: what does that work here. NULL: not a known name. (other_tools.c) */
const char *wmk_cli_other_tool(const char *name);

/* ── options (options.c) ─────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill `args` from argv (without the command's name). Arguments that are no options are gathered, in order, at *rest ..
 * *n_rest, within argv, which ends in a NULL before and after. 0; 1: help was asked for (-h, --help); -EINVAL with a
 * cause chain.
 */
int wmk_cli_parse(const struct wmk_cli_command *command, char **argv, int argc, void *args, char ***rest, int *n_rest);

/*
 * What most commands are told. The arguments of a command that uses one of the options below begin with it. Strings are
 * the command line's own.
 */
struct wmk_cli_common {
	bool json;
	const char *session;     /* NULL: the current one */
	const char *channel;     /* NULL: the only one there is */
	bool userspace, kernel;
	uint64_t pid;            /* 0: not narrowed to a process */
	const char *exec;        /* NULL: not narrowed to a program */
	bool follow;
};

/* For the tables of options. */
#define WMK_CLI_OPTION_JSON \
	{ 0, "json", NULL, "Print JSON, for programs. Warnings still go to standard error.", \
	  WMK_CLI_FLAG(struct wmk_cli_common, json) }
#define WMK_CLI_OPTION_SESSION_NAMED(help) \
	{ 's', "session", "SESSION", help, WMK_CLI_NAME(struct wmk_cli_common, session, "a session") }
#define WMK_CLI_OPTION_SESSION \
	WMK_CLI_OPTION_SESSION_NAMED("The session. Without it, the current one (`waymark status` shows which).")
#define WMK_CLI_OPTION_CHANNEL(help) \
	{ 'c', "channel", "CHANNEL", help, WMK_CLI_NAME(struct wmk_cli_common, channel, "a channel") }
#define WMK_CLI_OPTION_USERSPACE(help) { 'u', "userspace", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, userspace) }
#define WMK_CLI_OPTION_KERNEL(help) { 'k', "kernel", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, kernel) }
#define WMK_CLI_OPTION_PID(help) \
	{ 0, "pid", "PID", help, .store = wmk_cli_store_pid, WMK_CLI_AT(uint64_t, struct wmk_cli_common, pid) }
#define WMK_CLI_OPTION_FOLLOW(help) { 0, "follow", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, follow) }
#define WMK_CLI_OPTIONS_DOMAIN \
	WMK_CLI_OPTION_USERSPACE("The user domain: programs. It is meant where none is named."), \
	WMK_CLI_OPTION_KERNEL("The kernel domain: the kernel's own events. For root, and by root's session daemon for " \
			      "members of the group 'tracing'."), \
	WMK_CLI_OPTION_PID("Narrow it to this process, its threads; of programs or of the kernel. Ends with the process; " \
			   "another one that gets its number is not meant."), \
	{ 0, "exec", "NAME", "Narrow it to the programs of this name, or path if it holds a '/'.", \
	  WMK_CLI_NAME(struct wmk_cli_common, exec, "a program") }, \
	WMK_CLI_OPTION_FOLLOW("With --pid or --exec: also the processes that these start, and so on.")

wmk_cli_store wmk_cli_store_pid;
/* Do the domain's options go together? -EINVAL with a cause chain. */
int wmk_cli_check_domain(const struct wmk_cli_common *common);
/* The one argument that may stand for -s: rest[0]. -EINVAL: more than one, or both. */
int wmk_cli_session_argument(struct wmk_cli_common *common, char **rest, int n_rest);

/* ── what failed ─────────────────────────────────────────────────────────────────────────────────────── */

/* Read the options of argv (without the command's name) and run the command; the exit status. (options.c) */
int wmk_cli_run(const struct wmk_cli_command *command, char **argv, int argc);
/* Print the cause chain; return the exit status. */
int wmk_cli_failed(void);

/* ── text (printing.c) ───────────────────────────────────────────────────────────────────────────────────── */

/* --subbuf-size and --num-subbuf, of the members `size` and `n`. */
#define WMK_CLI_SUBBUF_MIN 4096u
#define WMK_CLI_SUBBUF_SIZE(type, size) WMK_CLI_POWER_OF_TWO(type, size, WMK_CLI_SUBBUF_MIN, 1u << 30)
#define WMK_CLI_NUM_SUBBUF(type, n) WMK_CLI_POWER_OF_TWO(type, n, 0, 1u << 20)
/* The shortest exact spelling: 4194304 is "4M". */
const char *wmk_cli_size_text(uint64_t size, char *buf, size_t buf_size);
/* For people, three digits or so: "1.5 MB" (powers of ten). */
const char *wmk_cli_bytes_text(uint64_t bytes, char *buf, size_t buf_size);
/* For a terminal: control characters replaced by '?', cut to 500 bytes. Valid until the eighth next call. */
const char *wmk_cli_clean(const char *text);
/* A string as JSON, with quotes; bytes that are no UTF-8 become U+FFFD. */
void wmk_cli_json_string(FILE *out, const char *text);

/*
 * Members and elements of JSON, with commas between. `name` is NULL in arrays and for the outermost. Starts from { .out
 * = file }.
 */
struct wmk_cli_json {
	FILE *out;
	bool comma;              /* something stands before */
};
void wmk_cli_json_open(struct wmk_cli_json *json, const char *name, char bracket);      /* '{' or '[' */
void wmk_cli_json_close(struct wmk_cli_json *json, char bracket);                       /* '}' or ']' */
void wmk_cli_json_text(struct wmk_cli_json *json, const char *name, const char *text);  /* NULL: null */
void wmk_cli_json_u64(struct wmk_cli_json *json, const char *name, uint64_t number);
void wmk_cli_json_i64(struct wmk_cli_json *json, const char *name, int64_t number);
void wmk_cli_json_double(struct wmk_cli_json *json, const char *name, double number);
void wmk_cli_json_bool(struct wmk_cli_json *json, const char *name, bool yes);

enum wmk_cli_color { WMK_CLI_PLAIN, WMK_CLI_BOLD, WMK_CLI_RED, WMK_CLI_YELLOW };
/* The escape sequence for `color`, or "" when `out` is no terminal, or NO_COLOR is set, or TERM is dumb. */
const char *wmk_cli_color(FILE *out, enum wmk_cli_color color);
/* "waymark: error: ..." with the cause chain, on standard error. */
void wmk_cli_print_error(void);
/* "waymark: ..." on standard error. */
void wmk_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void wmk_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ── help (help.c, manual.c, complete.c) ────────────────────────────────────────────────────────────────────── */

/* "waymark record [-e PATTERN]... -- COMMAND [ARGUMENT...]" */
void wmk_cli_synopsis(FILE *out, const struct wmk_cli_command *command);
/* "usage: ", the synopsis on as many lines as it needs, and a newline. */
void wmk_cli_usage(FILE *out, const struct wmk_cli_command *command);
/* What stands behind the option's name: "", " VALUE", "[=VALUE]". */
const char *wmk_cli_value_text(const struct wmk_cli_option *option, char *buf, size_t size);
void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command);
/* A man page in roff: of a command, of the whole program. */
void wmk_cli_man(FILE *out, const struct wmk_cli_command *command);
void wmk_cli_man_of_program(FILE *out, const struct wmk_cli_command *const *commands);
/* What makes a shell ("bash", "zsh") complete. -EINVAL with a cause chain: another shell. */
int wmk_cli_completion(FILE *out, const struct wmk_cli_command *const *commands, const char *shell);
/* Paragraph, folded at 78 columns, each line indented. */
void wmk_cli_fold(FILE *out, const char *text, unsigned indent);

#endif
