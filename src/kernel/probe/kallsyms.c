/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.c - search the kernel's symbols (see kallsyms.h). A line is "ADDRESS LETTER NAME", followed by "\t[MODULE]"
 * for a symbol of a module.
 */
#include "kernel/probe/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/event/near_names.h"

#define FILE_MAX (64u << 20)
#define NAMES_MAX (1u << 20)

struct line {
	char *name, *module;
	bool is_function;
};

/* Split a line in place. */
static bool split(char *text, struct line *line)
{
	char *letter = strchr(text, ' '), *end;

	if (!letter || !letter[1] || letter[2] != ' ' || !letter[3])
		return false;
	line->is_function = strchr("tTwWi", letter[1]) != NULL;
	line->name = letter + 3;
	line->module = line->name + strcspn(line->name, "\t ");
	if (line->module[0]) {
		*line->module++ = '\0';
		line->module += line->module[0] == '[';
		end = strchr(line->module, ']');
		if (end)
			*end = '\0';
	}
	return true;
}

/* Read the whole file; the file's size is unknown. NULL: the file cannot be read. */
static char *read_all(const char *file, size_t *size)
{
	FILE *in = fopen(file, "re");
	size_t room = 1u << 20, len = 0, n;
	char *text = in ? malloc(room) : NULL;

	while (text && (n = fread(text + len, 1, room - len - 1, in)) > 0) {
		len += n;
		if (room - len > 1)
			continue;
		char *more = room < FILE_MAX ? realloc(text, room * 2) : NULL;

		if (!more)
			break;
		text = more;
		room *= 2;
	}
	if (in)
		fclose(in);
	if (text)
		text[len] = '\0';
	*size = len;
	return text;
}

/* A search and its results. */
struct search {
	const char *module, *symbol;
	struct wmk_kallsyms_found *found;
	struct wmk_names_near near;
	bool has_module, is_data;
};

static void look_at(struct search *search, const struct line *line)
{
	if (search->module[0] && strcmp(line->module, search->module) != 0)
		return;
	search->has_module = true;
	if (strcmp(line->name, search->symbol) != 0) {
		if (line->is_function && search->found->n == 0 && strncmp(line->name, "__pfx_", 6) != 0)
			wmk_names_near_offer(&search->near, line->name);
	} else if (!line->is_function) {
		search->is_data = true;
	} else if (search->found->n++ == 0) {
		snprintf(search->found->module, sizeof(search->found->module), "%s", line->module);
	}
}

static int not_found(const struct search *search)
{
	char words[128];

	if (search->is_data)
		return wmk_errorx(-EINVAL, "%s is data of the kernel, not a function", search->symbol);
	if (!search->has_module)
		return wmk_errorx(-ENOENT, "module %s is not loaded", search->module);
	wmk_nearest_text(&search->near.best, words, sizeof(words));
	if (words[0])
		wmk_errorx(-ENOENT, "did you mean %s?", words);
	else
		wmk_errorx(-ENOENT, "/proc/kallsyms lists all functions; inlined ones cannot be probed");
	return wmk_error_add(-ENOENT, "%s%s has no function %s", search->module[0] ? "the module " : "this kernel",
			     search->module, search->symbol);
}

static int find(char *text, size_t size, struct search *search)
{
	char *next;

	wmk_names_near_init(&search->near, search->symbol, NAMES_MAX);
	for (char *at = text; at < text + size; at = next) {
		struct line line;
		const size_t len = strcspn(at, "\n");

		next = at + len + 1;
		at[len] = '\0';
		if (split(at, &line))
			look_at(search, &line);
	}
	return search->found->n ? 0 : not_found(search);
}

int wmk_kallsyms_find(const char *file, const char *module, const char *symbol, struct wmk_kallsyms_found *found)
{
	struct search search = { .module = module, .symbol = symbol, .found = found };
	size_t size;
	char *text = read_all(file ? file : "/proc/kallsyms", &size);
	int err = 0;

	memset(found, 0, sizeof(*found));
	if (text && size)
		err = find(text, size, &search);
	free(text);
	return err;
}
