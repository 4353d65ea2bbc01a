/* SPDX-License-Identifier: MIT */
/*
 * complete.c - print shell completion scripts from the table of commands.
 *
 * The name of an option's value selects how the shell completes this value (kinds[]). `waymark list --names` prints the
 * names of sessions, channels, events, contexts and levels, without starting a daemon. With -k, the printed events are
 * kernel events, otherwise events of applications. Names come from other programs, so the scripts use the names only as
 * words and never evaluate them.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"

/*
 * The member `names` is the argument of `waymark list --names`. If `names` is NULL, the shell completes the value with
 * its own function, which `shell` names.
 */
static const struct kind {
	const char *value, *names, *shell;
} kinds[] = {
	{ "SESSION", "sessions", "" },  { "CHANNEL", "channels", "" },   { "EVENT", "events", "" },
	{ "PATTERN", "events", "" },    { "CONTEXT", "contexts", "" },   { "LEVEL", "levels", "" },
	{ "DIR", NULL, "directories" }, { "FILE", NULL, "files" },       { "COMMAND", NULL, "commands" },
	{ "NAME", NULL, "programs" },   { "PROGRAM", NULL, "programs" },
};

/*
 * Return the completion kind of an option's value. The first word in capitals selects the kind, for example EVENT in
 * "[EVENT[,EVENT]...]". NULL: unknown.
 */
static const struct kind *kind_of(const char *value)
{
	size_t len;

	while (value && *value && !isupper((unsigned char)*value))
		value++;
	for (len = 0; value && isupper((unsigned char)value[len]); len++)
		;
	for (unsigned i = 0; i < WMK_ARRAY_LEN(kinds) && len; i++)
		if (strlen(kinds[i].value) == len && strncmp(kinds[i].value, value, len) == 0)
			return &kinds[i];
	return NULL;
}

/* ── bash ────────────────────────────────────────────────────────────────────────────────────────────── */

static const char bash_head[] =
	"# bash completion for waymark, made by `waymark help --completion bash`\n"
	"\n# Candidates for the last word of a list with commas: the output of `waymark list --names`.\n"
	"_waymark_names() {\n"
	"\tlocal name what=$1 kernel= tail=${cur##*,}\n"
	"\tlocal head=${cur%\"$tail\"}\n"
	"\t# Kernel events after -k or --kernel, except for -e and --event, which take events of applications.\n"
	"\t[[ \" ${words[*]:0:last} $prev \" == *' '@(-k|--kernel)' '* && $prev != -e && $prev != --event ]] && "
	"kernel=1\n\t[[ $kernel && $command == list ]] && what=events\n\tif [[ $what == events ]]; then\n"
	"\t\tsession=(-u)\n"
	"\t\t[[ $kernel ]] && session=(-k)\n"
	"\tfi\n"
	"\twhile IFS= read -r name; do\n"
	"\t\tif [[ $name == \"$tail\"* ]]; then\n"
	"\t\t\tprintf -v name %q \"$name\"\n"
	"\t\t\tCOMPREPLY+=(\"$head$name\")\n"
	"\t\tfi\n"
	"\tdone < <(\"$waymark\" -n list --names \"$what\" \"${session[@]}\" 2>/dev/null)\n"
	"}\n"
	"\n"
	"_waymark() {\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} cur prev command= options= what= i=1 k cut waymark tail head\n"
	"\tlocal -a words session=()\n"
	"\tCOMPREPLY=()\n\t# Split the line again: bash also splits words at ':' and '='.\n"
	"\tread -ra words <<<\"$line\"\n"
	"\t[[ $line == *[[:space:]] ]] && words+=('')\n"
	"\tlocal last=$((${#words[@]} - 1))\n"
	"\twaymark=${words[0]/#\\~/$HOME} cur=${words[last]} prev=${words[last - 1]}\n"
	"\twhile ((i < last)); do\n"
	"\t\tcase ${words[i]} in\n"
	"\t\t-n | --no-sessiond | --host=*) ((i += 1)) ;;\n"
	"\t\t--host) ((i += 2)) ;;\n"
	"\t\t*) break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t((i < last)) && command=${words[i]}\n"
	"\tfor ((k = i + 1; k < last - 1; k++)); do\n"
	"\t\t[[ ${words[k]} == -s || ${words[k]} == --session ]] && session=(\"${words[k + 1]}\")\n"
	"\tdone\n"
	"\t[[ $cur == --*=* ]] && prev=${cur%%=*} cur=${cur#*=}\n"
	"\tlocal commands='";

static const char bash_tail[] =
	"\tesac\n"
	"\tcase $what in\n"
	"\t'') ;;\n"
	"\tfiles) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames 2>/dev/null ;;\n"
	"\tdirectories) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); compopt -o filenames 2>/dev/null ;;\n"
	"\tprograms) mapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\") ;;\n"
	"\tcommands) options=$commands ;;\n\t# A word, or the last word of a list with commas.\n"
	"\tone:*) options=${what#one:} ;;\n"
	"\tlist:*)\n"
	"\t\ttail=${cur##*,}\n"
	"\t\thead=${cur%\"$tail\"}\n"
	"\t\tCOMPREPLY=($(compgen -P \"$head\" -W \"${what#list:}\" -- \"$tail\"))\n"
	"\t\t;;\n"
	"\t*) _waymark_names \"$what\" ;;\n"
	"\tesac\n"
	"\tCOMPREPLY+=($(compgen -W \"$options\" -- \"$cur\"))\n\t# bash replaces only the text after the last ':'.\n"
	"\tif [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
	"\t\tcut=${cur%\"${cur##*:}\"}\n"
	"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$cut\"}\")\n"
	"\tfi\n"
	"}\n"
	"complete -o default -F _waymark waymark\n";

/*
 * Print the value of `what=` in the script: the choices of the option, or, without choices, the kind of names that
 * complete its value.
 */
static void bash_what(FILE *out, const char *choices, bool choose_many, const char *value)
{
	const struct kind *kind = kind_of(value);

	if (choices)
		fprintf(out, "'%s:%s'", choose_many ? "list" : "one", choices);
	else if (kind)
		fputs(kind->names ? kind->names : kind->shell, out);
}

static void bash_command(FILE *out, const struct wmk_cli_command *command)
{
	fprintf(out, "\t%s)\n\t\tcase $prev in\n", command->name);
	for (unsigned i = 0; i < command->n_options; i++) {
		const struct wmk_cli_option *option = &command->options[i];

		if (!option->value)
			continue;
		fputs("\t\t", out);
		if (option->letter)
			fprintf(out, "-%c | ", option->letter);
		fprintf(out, "--%s) what=", option->name);
		bash_what(out, option->choices, option->choose_many, option->value);
		fputs(" ;;\n", out);
	}
	fputs("\t\t*)\n\t\t\tif [[ $cur == -* ]]; then\n\t\t\t\toptions='--help", out);
	for (unsigned i = 0; i < command->n_options; i++)
		fprintf(out, " --%s", command->options[i].name);
	fputs("'\n\t\t\telse\n\t\t\t\twhat=", out);
	if (!command->takes_command)
		bash_what(out, command->choices, false, command->arguments);
	fputs("\n\t\t\tfi\n\t\t\t;;\n\t\tesac\n", out);
	if (command->takes_command)
		fputs("\t\tfor ((k = i + 1; k < last; k++)); do\n"
		      "\t\t\t[[ ${words[k]} == -- ]] && what=programs options=\n"
		      "\t\tdone\n", out);
	fputs("\t\t;;\n", out);
}

static void bash(FILE *out, const struct wmk_cli_command *const *commands)
{
	fputs(bash_head, out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++)
		fprintf(out, "%s%s", c > commands ? " " : "", (*c)->name);
	fputs("'\n\tcase $command in\n\t'') what=commands ;;\n", out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++)
		bash_command(out, *c);
	fputs(bash_tail, out);
}

/* ── zsh ─────────────────────────────────────────────────────────────────────────────────────────────── */

static const char zsh_head[] =
	"#compdef waymark\n"
	"# zsh completion for waymark, made by `waymark help --completion zsh`\n"
	"\n# Candidates for the last word of a list with commas: the output of `waymark list --names`.\n"
	"_waymark_names() {\n"
	"\tlocal -a names session\n"
	"\tlocal s=${opt_args[-s]:-${opt_args[--session]}}\n"
	"\t[[ -n $s ]] && session=(\"$s\")\n"
	"\t# Kernel events after -k or --kernel, except for -e and --event, which take events of applications.\n"
	"\tlocal what=$argv[-1] domain=-u\n"
	"\t[[ $words[CURRENT-1] != (-e|--event) ]] && (( ${words[1,CURRENT-1][(I)(-k|--kernel)]} )) && domain=-k\n"
	"\t[[ $domain == -k && $words[1] == list ]] && what=events\n"
	"\t[[ $what == events ]] && session=($domain)\n"
	"\tnames=(${(f)\"$(${_waymark_command:-waymark} -n list --names $what $session 2>/dev/null)\"})\n"
	"\tcompset -P '*,'\n"
	"\tcompadd \"${@[1,-2]}\" -a names\n"
	"}\n"
	"\n";

/* Print the first sentence, quoted for the '[...]' part of an _arguments specification. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text && !(text[0] == '.' && (text[1] == ' ' || !text[1])); text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

/*
 * Print a comma-separated list for zsh: `_values -s , name word...`. In this zsh list, a colon separates a word from
 * its description, so a colon within a word is quoted.
 */
static void zsh_list(FILE *out, const char *words)
{
	fputs("_values -s , value ", out);
	for (; *words; words++)
		fprintf(out, *words == ':' ? "\\\\%c" : "%c", *words);
}

static void zsh_action(FILE *out, const char *choices, bool choose_many, const char *value)
{
	const struct kind *kind = kind_of(value);
	const char *action = !kind                                     ? " "
			     : kind->names                             ? NULL
			     : strcmp(kind->shell, "directories") == 0 ? "_files -/"
			     : strcmp(kind->shell, "files") == 0       ? "_files"
			     : strcmp(kind->shell, "programs") == 0    ? "_command_names -e"
								       : "_waymark_commands";

	fprintf(out, ":%s:", kind ? kind->value : "value");
	if (choices && choose_many)
		zsh_list(out, choices);
	else if (choices)
		fprintf(out, "(%s)", choices);
	else if (action)
		fputs(action, out);
	else
		fprintf(out, "_waymark_names %s", kind->names);
}

static void zsh_option(FILE *out, const struct wmk_cli_option *option)
{
	const char *equals = !option->value ? "" : option->value[0] == '[' ? "=-" : "=";

	if (option->letter && !option->repeats)
		fprintf(out, " \\\n\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter,
			option->value ? "+" : "", option->name, equals);
	else if (option->letter)
		fprintf(out, " \\\n\t\t\t'*'{-%c%s,--%s%s}'[", option->letter, option->value ? "+" : "", option->name,
			equals);
	else
		fprintf(out, " \\\n\t\t\t'%s--%s%s[", option->repeats ? "*" : "", option->name, equals);
	zsh_text(out, option->help);
	fputc(']', out);
	if (option->value && option->value[0] == '[')
		fputc(':', out);
	if (option->value)
		zsh_action(out, option->choices, option->choose_many, option->value);
	fputc('\'', out);
}

static void zsh(FILE *out, const struct wmk_cli_command *const *commands)
{
	fputs(zsh_head, out);
	fputs("_waymark_commands() {\n\tlocal -a commands=(", out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++) {
		fprintf(out, "\n\t\t'%s:", (*c)->name);
		zsh_text(out, (*c)->summary);
		fputc('\'', out);
	}
	fputs("\n\t)\n\t_describe command commands\n}\n\n_waymark() {\n"
	      "\tlocal curcontext=$curcontext state line _waymark_command=$words[1]\n"
	      "\tlocal -A opt_args\n"
	      "\t_arguments -C '(-n --no-sessiond)'{-n,--no-sessiond}'[do not start the session daemon]' \\\n"
	      "\t\t'--host=[run the command on another machine]:host:_hosts' \\\n"
	      "\t\t'1:command:_waymark_commands' '*::argument:->argument' && return\n"
	      "\tcase $words[1] in\n", out);
	for (const struct wmk_cli_command *const *c = commands; *c; c++) {
		const struct wmk_cli_command *command = *c;

		fprintf(out, "\t%s)\n\t\t_arguments -s -S '(- *)'{-h,--help}'[print help]'", command->name);
		for (unsigned k = 0; k < command->n_options; k++)
			zsh_option(out, &command->options[k]);
		if (command->takes_command) {
			fputs(" \\\n\t\t\t'*::program:_normal'", out);
		} else if (command->choices || kind_of(command->arguments)) {
			fputs(" \\\n\t\t\t'*", out);
			zsh_action(out, command->choices, false, command->arguments);
			fputc('\'', out);
		}
		fputs("\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n\n_waymark \"$@\"\n", out);
}

bool wmk_cli_is_completed(const struct wmk_cli_option *option)
{
	return option->choices || kind_of(option->value);
}

int wmk_cli_completion(FILE *out, const struct wmk_cli_command *const *commands, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		bash(out, commands);
	else if (strcmp(shell, "zsh") == 0)
		zsh(out, commands);
	else
		return wmk_error(-EINVAL, "no completion for the shell \"%.40s\": bash and zsh are supported",
				 shell);
	return 0;
}
