/* SPDX-License-Identifier: MIT */
/*
 * option_kinds.c - see option.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "base/size.h"
#include "cli/command.h"

int wmk_cli_store_flag(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	(void)value;
	*(bool *)at = true;
	return 0;
}

int wmk_cli_store_count(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	(void)value;
	++*(unsigned *)at;
	return 0;
}

int wmk_cli_store_constant(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)value;
	*(uint8_t *)at = (uint8_t)option->max;
	return 0;
}

int wmk_cli_store_text(const struct wmk_cli_option *option, void *at, const char *value)
{
	if (!*value && option->wrong)
		return wmk_error(-EINVAL, "%s", option->wrong);
	*(const char **)at = value;
	return 0;
}

int wmk_cli_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return wmk_error(-EINVAL, "\"%.40s\" is not a number", text);
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (*end)
		return wmk_error(-EINVAL, "\"%.40s\" is not a number", text);
	if (errno || *number > max)
		return wmk_error(-ERANGE, "%.40s is too large: at most %" PRIu64, text, max);
	return 0;
}

int wmk_cli_store_number(const struct wmk_cli_option *option, void *at, const char *value)
{
	return wmk_cli_number(value, option->max, at);
}

int wmk_cli_store_size(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	return wmk_size_parse(value, at);
}

int wmk_cli_store_power_of_two(const struct wmk_cli_option *option, void *at, const char *value)
{
	char from[32], to[32];
	uint64_t size, power = 1;
	int err = wmk_size_parse(value, &size);

	if (err < 0)
		return err;
	if (size == 0 || size > option->max)
		return wmk_error(-EINVAL, "%.40s is out of range 1 to %s", value,
				 wmk_cli_size_text(option->max, to, sizeof(to)));
	while (power < size)
		power *= 2;
	if (power != size)
		wmk_cli_note("--%s %s: rounded up to %s, a power of two", option->name,
			     wmk_cli_size_text(size, from, sizeof(from)), wmk_cli_size_text(power, to, sizeof(to)));
	if (power < option->min) {
		power = option->min;
		wmk_cli_note("--%s %s: raised to %s, the minimum", option->name, value,
			     wmk_cli_size_text(power, to, sizeof(to)));
	}
	*(uint64_t *)at = power;
	return 0;
}

int wmk_cli_microseconds(const char *text, uint64_t max, uint64_t *us)
{
	static const struct {
		const char *suffix;
		uint64_t us;
	} units[] = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", 3600000000 } };
	const size_t digits = strspn(text, "0123456789");
	uint64_t unit = text[digits] ? 0 : 1;
	char number[24];

	for (unsigned i = 0; i < WMK_ARRAY_LEN(units); i++)
		if (strcmp(text + digits, units[i].suffix) == 0)
			unit = units[i].us;
	if (!digits || !unit)
		return wmk_error(-EINVAL,
				 "\"%.40s\" is not a time: give microseconds, or a number with us, ms, s, m or h",
				 text);
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	errno = 0;
	*us = strtoull(number, NULL, 10);
	if (errno || digits >= sizeof(number) || *us > max / unit)
		return wmk_error(-ERANGE, "%.40s is too long: at most %" PRIu64 " microseconds", text, max);
	*us *= unit;
	return 0;
}

int wmk_cli_store_microseconds(const struct wmk_cli_option *option, void *at, const char *value)
{
	uint64_t us;
	int err = wmk_cli_microseconds(value, option->max, &us);

	if (err == 0 && us < option->min)
		err = wmk_error(-ERANGE, "%.40s is too short: at least %" PRIu64 " microseconds", value, option->min);
	if (err == 0)
		*(int64_t *)at = (int64_t)us;
	return err;
}

int wmk_cli_store_seconds(const struct wmk_cli_option *option, void *at, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= 0 && seconds <= (double)option->max))
		return wmk_error(-EINVAL, "\"%.40s\" is not a number of seconds from 0 to %" PRIu64, value,
				 option->max);
	*(double *)at = seconds;
	return 0;
}

/* Return the words of the list as one text, separated by commas. */
static void list_words(const char *choices, char *text, size_t size)
{
	size_t len = 0;

	for (; *choices && len + 3 < size; choices++) {
		if (*choices == ' ')
			text[len++] = ',';
		text[len++] = *choices;
	}
	text[len] = '\0';
}

static int wrong_choice(const struct wmk_nearest *near, const char *choices, const char *wrong)
{
	char text[256] = "", names[80], all[160];

	wmk_nearest_text(near, names, sizeof(names));
	list_words(choices, all, sizeof(all));
	for (size_t len = 0; *wrong; wrong++, len = strlen(text)) {
		if (*wrong == '@')
			snprintf(text + len, sizeof(text) - len, "%.40s", near->word);
		else if (*wrong == '~')
			snprintf(text + len, sizeof(text) - len, "%s%s%s", near->n ? "; did you mean " : "", names,
				 near->n ? "?" : "");
		else if (*wrong == '#')
			snprintf(text + len, sizeof(text) - len, "%s", near->n ? names : all);
		else
			snprintf(text + len, sizeof(text) - len, "%c", *wrong);
	}
	return wmk_error(-EINVAL, "%s", text);
}

int wmk_cli_choice(const char *choices, const char *wrong, const char *value)
{
	char all[160], *rest = NULL;
	struct wmk_nearest near;
	int which = 0;

	wmk_nearest_init(&near, value);
	snprintf(all, sizeof(all), "%s", choices);
	for (char *word = strtok_r(all, " ", &rest); word; word = strtok_r(NULL, " ", &rest), which++) {
		if (strcmp(word, value) == 0)
			return which;
		wmk_nearest_offer(&near, word);
	}
	return wrong_choice(&near, choices, wrong);
}

int wmk_cli_store_choice(const struct wmk_cli_option *option, void *at, const char *value)
{
	const int which = wmk_cli_choice(option->choices, option->wrong, value);

	if (which < 0)
		return which;
	*(uint32_t *)at = (uint32_t)option->min + (uint32_t)which;
	return 0;
}

int wmk_cli_store_word(const struct wmk_cli_option *option, void *at, const char *value)
{
	const int which = wmk_cli_choice(option->choices, option->wrong, value);

	if (which < 0)
		return which;
	*(const char **)at = value;
	return 0;
}

int wmk_cli_store_words(const struct wmk_cli_option *option, void *at, const char *value)
{
	(void)option;
	return value ? wmk_cli_words_add(at, value) : 0;
}

int wmk_cli_words_add(struct wmk_cli_words *words, const char *list)
{
	for (;;) {
		size_t len = strcspn(list, ",");
		char **more;

		if (!len)
			return wmk_error(-EINVAL, "empty word in a list");
		if (words->n == WMK_CLI_WORDS_MAX)
			return wmk_error(-E2BIG, "too many words in a list: the maximum is %u", WMK_CLI_WORDS_MAX);
		more = realloc(words->items, (words->n + 1) * sizeof(*more));
		if (!more)
			return wmk_error(-ENOMEM, "no memory");
		words->items = more;
		words->items[words->n] = strndup(list, len);
		if (!words->items[words->n])
			return wmk_error(-ENOMEM, "no memory");
		words->n++;
		list += len;
		if (!*list++)
			return 0;
	}
}

void wmk_cli_words_free(struct wmk_cli_words *words)
{
	for (unsigned i = 0; i < words->n; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct wmk_cli_words){ NULL, 0 };
}
