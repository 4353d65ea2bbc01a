/* SPDX-License-Identifier: MIT */
/*
 * fuzz_probe.c - any text as a probe; the first byte selects its kind. An accepted probe is within the limits, has
 * unique field names, and is equal when parsed again; a refused one has a message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/probe/probe_grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, 0, size) != NULL;
}

static void check_arg(const struct wmk_probe_text *text, uint32_t index)
{
	const struct wmk_probe_arg *arg = &text->args[index];

	must(arg->name[0] && ends(arg->name, sizeof(arg->name)) && ends(arg->type, sizeof(arg->type)) &&
	     ends(arg->text, sizeof(arg->text)));
	must(arg->n_derefs <= WMK_PROBE_DEREFS_MAX && arg->count <= 64 && arg->column > 0);
	must(strspn(arg->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(arg->name));
	for (uint32_t i = 0; i < index; i++)
		must(strcmp(arg->name, text->args[i].name) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_probe_text *text = malloc(sizeof(*text)), *again = malloc(sizeof(*again));
	char *typed = size ? malloc(size) : NULL, words[256];

	must(text && again);
	if (typed) {
		const enum wmk_probe_kind kind = data[0] % 5;

		memcpy(typed, data + 1, size - 1);
		typed[size - 1] = '\0';
		if (wmk_probe_text_read(kind, typed, text) == 0) {
			must(ends(text->path, sizeof(text->path)) && ends(text->scope, sizeof(text->scope)) &&
			     ends(text->symbol, sizeof(text->symbol)));
			must(text->n_args <= WMK_PROBE_ARGS_MAX &&
			     (text->place == WMK_PROBE_IN_KERNEL) == !text->path[0]);
			must(!strpbrk(text->path, " \t\n#"));
			for (uint32_t i = 0; i < text->n_args; i++)
				check_arg(text, i);
			must(wmk_probe_text_read(kind, typed, again) == 0 && memcmp(text, again, sizeof(*text)) == 0);
		} else {
			must(wmk_error_text(words, sizeof(words))[0] != 0);
		}
		wmk_error_clear();
	}
	free(typed);
	free(again);
	free(text);
	return 0;
}
