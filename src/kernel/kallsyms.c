/* SPDX-License-Identifier: MIT */
/*
 * kallsyms.c - the kernel's names of functions (see kallsyms.h). "ADDRESS LETTER NAME" and, for one of a module, "\t[MODULE]".
 */
#include "kernel/kallsyms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/names_near.h"

#define FILE_MAX (64u << 20)
#define NAMES_MAX (1u << 20)

struct line {
	char *name, *module;
	bool is_function;
};

/* Takes a line apart in place. */
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

/* All of it, as it is of no known size. NULL: it cannot be read. */
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

static int find(char *text, size_t size, const char *module, const char *symbol, struct wmk_kallsyms_found *found)
{
	struct wmk_names_near near;
	char words[128], *next;
	bool is_data = false;

	wmk_names_near_init(&near, symbol, NAMES_MAX);
	for (char *at = text; at < text + size; at = next) {
		struct line line;
		const size_t len = strcspn(at, "\n");

		next = at + len + 1;
		at[len] = '\0';
		if (!split(at, &line))
			continue;
		if (strcmp(line.name, symbol) == 0 && (!module[0] || strcmp(line.module, module) == 0)) {
			is_data = is_data || !line.is_function;
			if (line.is_function && found->n++ == 0)
				snprintf(found->module, sizeof(found->module), "%s", line.module);
		} else if (line.is_function && found->n == 0 && strncmp(line.name, "__pfx_", 6) != 0) {
			wmk_names_near_offer(&near, line.name);
		}
	}
	if (found->n)
		return 0;
	if (is_data)
		return wmk_error_said(-EINVAL, "%s is data of the kernel, no function", symbol);
	wmk_nearest_text(&near.best, words, sizeof(words));
	if (words[0])
		wmk_error_said(-ENOENT, "did you mean %s?", words);
	else
		wmk_error_said(-ENOENT, "/proc/kallsyms lists those that there are; inlined ones are not");
	return wmk_error_add(-ENOENT, "%s%s has no function %s", module[0] ? "the module " : "this kernel", module, symbol);
}

int wmk_kallsyms_find(const char *file, const char *module, const char *symbol, struct wmk_kallsyms_found *found)
{
	size_t size;
	char *text = read_all(file ? file : "/proc/kallsyms", &size);
	int err = 0;

	memset(found, 0, sizeof(*found));
	if (text && size)
		err = find(text, size, module, symbol, found);
	free(text);
	return err;
}
