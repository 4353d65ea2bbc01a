/* SPDX-License-Identifier: MIT */
/*
 * command.h - the table of commands of `waymark`, and functions that all commands share.
 *
 *     commands[] (table.c)──┬─► dispatch: waymark NAME OPTIONS ARGUMENTS ──► wmk_cli_parse() ──► run()
 *                           ├─► waymark help [NAME], usage errors             (help.c)
 *                           ├─► man pages: waymark help --man [NAME]          (manual.c)
 *                           └─► completion: waymark help --completion SHELL   (complete.c)
 *
 * A source file defines the `struct wmk_cli_command` of one command or of several related commands. A command prints
 * text for people, or JSON if --json is given. The exit status of a command is 0, WMK_CLI_FAILED, WMK_CLI_USAGE, or the
 * exit status of the program that the command runs. All functions run in one thread.
 */
#ifndef WMK_CLI_COMMAND_H
#define WMK_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "cli/option.h"

#define WMK_CLI_FAILED 1
#define WMK_CLI_USAGE 2

struct wmk_cli_command {
	const char *name;
	const char *arguments;   /* the arguments after the options, for the synopsis */
	const char *choices;     /* the values that an argument can have, separated by spaces; NULL: any */
	const char *summary;     /* one line */
	const char *const *details;   /* paragraphs, NULL at the end */
	const struct wmk_cli_option *options;
	unsigned n_options;
	size_t args_size;        /* bytes of the zeroed structure that the options fill */
	bool takes_command;      /* the first argument that is not an option ends the options, even without `--` */
	/*
	 * Returns the exit status. For wrong usage, the function returns -errno with a cause chain, and the caller also
	 * prints the usage.
	 */
	int (*run)(void *args, char **rest, int n_rest);
	/*
	 * Frees what the options have allocated; NULL means that nothing needs to be freed. done() is called even if
	 * run() was not called.
	 */
	void (*done)(void *args);
};

/* Sets .options and .n_options of a command from an array. */
#define WMK_CLI_OPTIONS(table) .options = (table), .n_options = WMK_ARRAY_LEN(table)

/* A command line that shows one way to use a command. */
struct wmk_cli_example {
	const char *command;     /* name of the command in the table */
	const char *purpose;     /* a sentence that ends in a colon */
	const char *line;
};

/*
 * Return the number of examples of a command, and set *first to the first example. The examples of a command are
 * adjacent. (examples.c)
 */
unsigned wmk_cli_examples(const struct wmk_cli_command *command, const struct wmk_cli_example **first);

/* Ends with NULL. (table.c) */
extern const struct wmk_cli_command *const wmk_cli_commands[];

extern const struct wmk_cli_command wmk_cli_record, wmk_cli_create, wmk_cli_destroy, wmk_cli_start, wmk_cli_stop,
	wmk_cli_list, wmk_cli_status, wmk_cli_set_session_command, wmk_cli_enable_channel, wmk_cli_disable_channel,
	wmk_cli_enable_event, wmk_cli_disable_event, wmk_cli_add_context, wmk_cli_track, wmk_cli_untrack, wmk_cli_save,
	wmk_cli_load, wmk_cli_clear, wmk_cli_reclaim, wmk_cli_rotate, wmk_cli_enable_rotation, wmk_cli_disable_rotation,
	wmk_cli_regenerate, wmk_cli_recover, wmk_cli_calibrate,
	wmk_cli_view, wmk_cli_analyze, wmk_cli_convert, wmk_cli_compress, wmk_cli_snapshot, wmk_cli_core_hook,
	wmk_cli_query, wmk_cli_report, wmk_cli_top, wmk_cli_relay, wmk_cli_strace, wmk_cli_help, wmk_cli_version;

/* Print one line for each command. */
void wmk_cli_overview(FILE *out);
/* Find a command by its name. NULL with a cause chain: the command is unknown. */
const struct wmk_cli_command *wmk_cli_find(const char *name);
/* Like wmk_cli_find(), but without a cause chain. */
const struct wmk_cli_command *wmk_cli_look_up(const char *name);

/* True if shells can complete the values of this option. */
bool wmk_cli_is_completed(const struct wmk_cli_option *option);

/*
 * Return advice if `name` is a command of another tracer. Returns advice: the Waymark command to use instead. NULL:
 * unknown name. (other_tools.c)
 */
const char *wmk_cli_other_tool(const char *name);

/* ── options (options.c) ─────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill `args` from argv, which does not include the command's name. Arguments that are not options are moved to the
 * front of argv, in their order, and are returned in *rest and *n_rest. argv ends with NULL before and after. Returns
 * 0; 1 if -h or --help was found; or -EINVAL with a cause chain.
 */
int wmk_cli_parse(const struct wmk_cli_command *command, char **argv, int argc, void *args, char ***rest, int *n_rest);

/*
 * Values of the options below. The arguments of each command that uses one of these options begin with this structure.
 * Strings point into argv.
 */
struct wmk_cli_common {
	bool json;
	const char *session;     /* NULL: the current session */
	const char *channel;     /* NULL: the only channel of the session */
	bool userspace, kernel;
	uint64_t pid;            /* 0: any process */
	const char *exec;        /* NULL: any program */
	bool follow;
};

/* Rows for tables of options. */
#define WMK_CLI_OPTION_JSON \
	{ 0, "json", NULL, "Print JSON instead of text. Warnings still go to standard error.", \
	  WMK_CLI_FLAG(struct wmk_cli_common, json) }
#define WMK_CLI_OPTION_SESSION_NAMED(help) \
	{ 's', "session", "SESSION", help, WMK_CLI_NAME(struct wmk_cli_common, session, "a session") }
#define WMK_CLI_OPTION_SESSION \
	WMK_CLI_OPTION_SESSION_NAMED("The session. The default is the current session; `waymark status` prints it.")
#define WMK_CLI_OPTION_GLOB(type, help) \
	{ 0, "glob", "GLOB", help, WMK_CLI_NAME(type, glob, "a pattern") }
#define WMK_CLI_OPTION_CHANNEL(help) \
	{ 'c', "channel", "CHANNEL", help, WMK_CLI_NAME(struct wmk_cli_common, channel, "a channel") }
#define WMK_CLI_OPTION_USERSPACE(help) { 'u', "userspace", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, userspace) }
#define WMK_CLI_OPTION_KERNEL(help) { 'k', "kernel", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, kernel) }
#define WMK_CLI_OPTION_PID(help) \
	{ 0, "pid", "PID", help, .store = wmk_cli_store_pid, WMK_CLI_AT(uint64_t, struct wmk_cli_common, pid) }
#define WMK_CLI_OPTION_FOLLOW(help) { 0, "follow", NULL, help, WMK_CLI_FLAG(struct wmk_cli_common, follow) }
#define WMK_CLI_OPTIONS_DOMAIN \
	WMK_CLI_OPTION_USERSPACE("Use the user domain: applications. This is the default."), \
	WMK_CLI_OPTION_KERNEL("Use the kernel domain: events of the kernel. Requires root, or root's session daemon " \
			      "and membership in the group 'tracing'."), \
	WMK_CLI_OPTION_PID("Only events of this process and its threads, in either domain. The restriction ends with " \
			   "the process; a later process with the same number is not recorded."), \
	{ 0, "exec", "NAME", "Only applications with this program name, or with this path if NAME contains a '/'.", \
	  WMK_CLI_NAME(struct wmk_cli_common, exec, "a program") }, \
	WMK_CLI_OPTION_FOLLOW("With --pid or --exec: also the descendants of these processes.")

wmk_cli_store wmk_cli_store_pid;
/* Check that the domain options are compatible. -EINVAL with a cause chain. */
int wmk_cli_check_domain(const struct wmk_cli_common *common);
/*
 * Take the name of the session from the only argument, as an alternative to the option -s. -EINVAL: more than one
 * argument, or both given.
 */
int wmk_cli_session_argument(struct wmk_cli_common *common, char **rest, int n_rest);

/* ── run and fail ────────────────────────────────────────────────────────────────────────────────────── */

/* Parse argv (without the command's name), run the command, and return the exit status. (options.c) */
int wmk_cli_run(const struct wmk_cli_command *command, char **argv, int argc);
/* Print the cause chain and return WMK_CLI_FAILED. */
int wmk_cli_failed(void);

/* ── text (printing.c) ───────────────────────────────────────────────────────────────────────────────────── */

/* The option kinds of --subbuf-size and --num-subbuf, for the members `size` and `n`. */
#define WMK_CLI_SUBBUF_MIN 4096u
#define WMK_CLI_BUFFERS_DEFAULT ((uint64_t)8 << 20)   /* bytes of all sub-buffers of a CPU */
#define WMK_CLI_SUBBUF_SIZE(type, size) WMK_CLI_POWER_OF_TWO(type, size, WMK_CLI_SUBBUF_MIN, 1u << 30)
#define WMK_CLI_NUM_SUBBUF(type, n) WMK_CLI_POWER_OF_TWO(type, n, 0, 1u << 20)
/* Format a size as the shortest exact text, for example "4M" for 4194304. */
const char *wmk_cli_size_text(uint64_t size, char *buf, size_t buf_size);
/*
 * Print the options for larger buffers: twice the present buffer memory per CPU, and at least the default memory. The
 * buffers must hold what a CPU records between two drain passes. If the present buffer is very small, twice its size is
 * often not enough.
 */
const char *wmk_cli_larger_buffers(uint64_t subbuf_size, uint64_t n_subbufs, char *buf, size_t buf_size);
/* Format a size with about three digits, in powers of ten, for example "1.5 MB". */
const char *wmk_cli_bytes_text(uint64_t bytes, char *buf, size_t buf_size);
/*
 * Make text safe for a terminal: '?' replaces ASCII control characters and invalid UTF-8, and the text is cut at 500
 * bytes. The result stays valid during the next seven calls.
 */
const char *wmk_cli_clean(const char *text);
/* "" for 1, else "s". */
static inline const char *wmk_cli_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}
/* Return a JSON string with quotes, in which U+FFFD replaces bytes that are not UTF-8. */
void wmk_cli_json_string(FILE *out, const char *text);

/*
 * A JSON writer, which inserts the commas. `name` is NULL for array elements and for the outermost value. Initialize it
 * with
 * { .out = file }.
 */
struct wmk_cli_json {
	FILE *out;
	bool comma;              /* the next value needs a comma before it */
};
void wmk_cli_json_open(struct wmk_cli_json *json, const char *name, char bracket);      /* '{' or '[' */
void wmk_cli_json_close(struct wmk_cli_json *json, char bracket);                       /* '}' or ']' */
void wmk_cli_json_text(struct wmk_cli_json *json, const char *name, const char *text);  /* NULL: null */
void wmk_cli_json_u64(struct wmk_cli_json *json, const char *name, uint64_t number);
void wmk_cli_json_i64(struct wmk_cli_json *json, const char *name, int64_t number);
void wmk_cli_json_double(struct wmk_cli_json *json, const char *name, double number);
void wmk_cli_json_bool(struct wmk_cli_json *json, const char *name, bool yes);

enum wmk_cli_color { WMK_CLI_PLAIN, WMK_CLI_BOLD, WMK_CLI_RED, WMK_CLI_YELLOW };
/* Return the escape sequence for `color`, or "" if `out` is not a terminal, NO_COLOR is set, or TERM is "dumb". */
const char *wmk_cli_color(FILE *out, enum wmk_cli_color color);
/* Print "waymark: error: ..." with the cause chain on standard error. */
void wmk_cli_print_error(void);
/* Print "waymark: ..." on standard error. */
void wmk_cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void wmk_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ── help (help.c, manual.c, complete.c) ────────────────────────────────────────────────────────────────────── */

/* "waymark record [-e PATTERN]... -- COMMAND [ARGUMENT...]" */
void wmk_cli_synopsis(FILE *out, const struct wmk_cli_command *command);
/* "usage: " and the synopsis, folded into lines, with a newline at the end. */
void wmk_cli_usage(FILE *out, const struct wmk_cli_command *command);
/* The text after an option's name, one of "", " VALUE" and "[=VALUE]". */
const char *wmk_cli_value_text(const struct wmk_cli_option *option, char *buf, size_t size);
/* Print the help of a command. */
void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command);
/* Print the man page of a command or of the whole program, in roff format. */
void wmk_cli_man(FILE *out, const struct wmk_cli_command *command);
void wmk_cli_man_of_program(FILE *out, const struct wmk_cli_command *const *commands);
/* Print the completion script of a shell ("bash", "zsh"). -EINVAL with a cause chain: another shell. */
int wmk_cli_completion(FILE *out, const struct wmk_cli_command *const *commands, const char *shell);
/* Print a paragraph that is folded at 78 columns, with each line indented. */
void wmk_cli_fold(FILE *out, const char *text, unsigned indent);

#endif
