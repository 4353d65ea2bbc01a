/* SPDX-License-Identifier: MIT */
/* core_pattern.c - see core_pattern.h. */
#include "cli/core_pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WORD_MAX 4096

const char *wmk_core_value(const struct wmk_core_values *values, char letter)
{
	const char *at = letter ? strchr(WMK_CORE_LETTERS, letter) : NULL;

	return at ? values->of[at - WMK_CORE_LETTERS] : NULL;
}

/* %f is the last part of %E, in which the kernel has replaced '/' by '!'. */
static const char *base_of(const char *exe)
{
	const char *last = exe ? strrchr(exe, '!') : NULL;

	return last ? last + 1 : exe;
}

static int append(char *buf, size_t size, size_t *len, const char *text, bool file)
{
	for (; *text; text++) {
		if (*len + 1 >= size)
			return wmk_error(-ENAMETOOLONG, "the expanded core pattern has more than %zu bytes", size - 1);
		buf[(*len)++] = file && *text == '/' ? '!' : *text;
	}
	return 0;
}

int wmk_core_expand(const char *word, const struct wmk_core_values *values, bool file, char *buf, size_t size)
{
	size_t len = 0;
	int err = 0;

	for (; *word && err == 0; word++) {
		const char one[2] = { *word, '\0' };

		if (*word != '%') {
			err = append(buf, size, &len, one, false);
			continue;
		}
		if (!*++word)
			break;           /* the kernel drops a '%' at the end */
		const char *value = *word == '%' ? "%"
				  : *word == 'f' ? base_of(wmk_core_value(values, 'E'))
						 : wmk_core_value(values, *word);

		err = append(buf, size, &len, value ? value : "", file);
	}
	buf[len] = '\0';
	return err;
}

int wmk_core_words(const char *pattern, const struct wmk_core_values *values, char *argv[WMK_CORE_ARGUMENTS_MAX + 1])
{
	unsigned n = 0;
	int err = 0;

	memset(argv, 0, (WMK_CORE_ARGUMENTS_MAX + 1) * sizeof(*argv));
	while (err == 0) {
		char word[WORD_MAX], expanded[WORD_MAX];
		size_t len;

		pattern += strspn(pattern, " \t\n");
		len = strcspn(pattern, " \t\n");
		if (!len)
			break;
		if (n == WMK_CORE_ARGUMENTS_MAX || len >= sizeof(word)) {
			err = wmk_error(-EINVAL, "the core pattern has more than %d words", WMK_CORE_ARGUMENTS_MAX);
			break;
		}
		memcpy(word, pattern, len);
		word[len] = '\0';
		pattern += len;
		err = wmk_core_expand(word, values, false, expanded, sizeof(expanded));
		if (err == 0 && !(argv[n++] = strdup(expanded)))
			err = wmk_error(-ENOMEM, "no memory");
	}
	if (err == 0 && (!n || argv[0][0] != '/'))
		err = wmk_error(-EINVAL, "the core handler \"%.80s\" is not an absolute path", n ? argv[0] : "");
	if (err < 0)
		wmk_core_words_free(argv);
	return err;
}

void wmk_core_words_free(char *argv[WMK_CORE_ARGUMENTS_MAX + 1])
{
	for (unsigned i = 0; argv[i]; i++)
		free(argv[i]);
	argv[0] = NULL;
}
