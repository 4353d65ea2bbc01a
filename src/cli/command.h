/* SPDX-License-Identifier: MIT */
/*
 * command.h - the table of commands of `waymark`, and what every command may use.
 *
 *     commands[] (table.c)──┬─► dispatch: waymark NAME OPTIONS ARGUMENTS ──► wmk_cli_parse() ──► run()
 *                           ├─► waymark help [NAME], usage errors             (help.c)
 *                           ├─► man pages: waymark help --man [NAME]          (manual.c)
 *                           └─► completion: waymark help --completion         (manual.c)
 *
 * A command is one file that defines one `struct wmk_cli_command`. It prints for people unless it was asked for JSON; its exit status is
 * 0, WMK_CLI_FAILED or WMK_CLI_USAGE. One thread.
 */
#ifndef WMK_CLI_COMMAND_H
#define WMK_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define WMK_CLI_FAILED 1
#define WMK_CLI_USAGE 2

struct wmk_cli_option {
	char letter;             /* 0: has none */
	const char *name;        /* without the dashes */
	const char *value;       /* what the value is called in help; NULL: the option takes none */
	const char *help;        /* one or more sentences */
	/* Store it in the command's arguments. `value` is NULL for an option without one. 0 or -errno with a cause chain. */
	int (*set)(void *args, const char *value);
	bool repeats;            /* may be given several times */
};

struct wmk_cli_command {
	const char *name;
	const char *arguments;   /* what follows the options, for the synopsis */
	const char *summary;     /* one line */
	const char *const *details;   /* paragraphs, NULL at the end */
	const struct wmk_cli_option *options;
	unsigned n_options;
	size_t args_size;        /* bytes of the zeroed structure that the options fill */
	bool takes_command;      /* options end at the first argument that is none; `--` before it may be left out */
	int (*run)(void *args, char **rest, int n_rest);
};

extern const struct wmk_cli_command *const wmk_cli_commands[];
extern const unsigned wmk_cli_n_commands;

extern const struct wmk_cli_command wmk_cli_record, wmk_cli_help, wmk_cli_version;

const struct wmk_cli_command *wmk_cli_find(const char *name);

/* ── options (options.c) ─────────────────────────────────────────────────────────────────────────────── */

/*
 * Fill `args` from argv (without the command's name). Arguments that are no options are gathered, in order, at *rest .. *n_rest, within
 * argv, which ends in a NULL before and after. 0; 1: help was asked for (-h, --help); -EINVAL with a cause chain.
 */
int wmk_cli_parse(const struct wmk_cli_command *command, char **argv, int argc, void *args, char ***rest, int *n_rest);

/* ── text (text.c) ───────────────────────────────────────────────────────────────────────────────────── */

/* "512", "64k", "4M", "1G". -EINVAL, -ERANGE with a cause chain. */
int wmk_cli_size(const char *text, uint64_t *size);
/* The shortest exact spelling: 4194304 is "4M". */
const char *wmk_cli_size_text(uint64_t size, char *buf, size_t buf_size);
/* For people, three digits or so: "1.5 MB" (powers of ten). */
const char *wmk_cli_bytes_text(uint64_t bytes, char *buf, size_t buf_size);
/* A string as JSON, with quotes; bytes that are no UTF-8 become U+FFFD. */
void wmk_cli_json_string(FILE *out, const char *text);

enum wmk_cli_color { WMK_CLI_PLAIN, WMK_CLI_BOLD, WMK_CLI_RED, WMK_CLI_YELLOW };
/* The escape sequence for `color`, or "" when `out` is no terminal, or NO_COLOR is set, or TERM is dumb. */
const char *wmk_cli_color(FILE *out, enum wmk_cli_color color);
/* "waymark: error: ..." with the cause chain, on standard error. */
void wmk_cli_print_error(void);
/* "waymark: ..." on standard error. */
void wmk_cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void wmk_cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ── help (help.c, manual.c) ─────────────────────────────────────────────────────────────────────────── */

/* "waymark record [-e PATTERN]... -- COMMAND [ARGUMENT...]" */
void wmk_cli_synopsis(FILE *out, const struct wmk_cli_command *command);
void wmk_cli_overview(FILE *out);
void wmk_cli_describe(FILE *out, const struct wmk_cli_command *command);
/* A man page in roff: of `command`, or of the whole program when NULL. */
void wmk_cli_man(FILE *out, const struct wmk_cli_command *command);
void wmk_cli_completion(FILE *out);
/* Paragraph, folded at 78 columns, each line indented. */
void wmk_cli_fold(FILE *out, const char *text, unsigned indent);

#endif
