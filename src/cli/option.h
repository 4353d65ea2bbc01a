/* SPDX-License-Identifier: MIT */
/*
 * option.h - rows of the table in which a command describes its options.
 *
 *     { 'o', "output", "DIR", "The trace's directory.", WMK_CLI_NAME(struct session_args, output, "a directory") },
 *
 * An option kind (WMK_CLI_...) stores the value in a member of the command's arguments; the compiler checks the type of
 * this member. An option without a suitable kind sets .store to its own function; .at is set only if the value is
 * stored in one member.
 */
#ifndef WMK_CLI_OPTION_H
#define WMK_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_cli_option;

/*
 * Store a value at the address `at`, which is option->at bytes after the start of the command's arguments. `value` is
 * NULL for an option without a value, otherwise it points into argv. Returns 0, or -errno with a cause chain.
 */
typedef int wmk_cli_store(const struct wmk_cli_option *option, void *at, const char *value);

struct wmk_cli_option {
	char letter;             /* 0: no short form */
	const char *name;        /* without the dashes */
	/*
	 * The name of the value in the help text. The name also selects how shells complete the value (complete.c).
	 * NULL: the option takes no value. A name in brackets means that the value is optional.
	 */
	const char *value;
	const char *help;        /* one or more sentences */
	wmk_cli_store *store;
	size_t at;
	size_t given;            /* offset of a bool that is set if the option is given; 0: none */
	const char *choices;     /* the allowed values, separated by spaces; also completed. NULL: any */
	const char *wrong;       /* the message for a value that the kind rejects */
	uint64_t min, max;       /* of numbers; see the kinds */
	bool choose_many;        /* takes several of `choices`, separated by commas */
	bool repeats;            /* may be given several times */
};

/* The offset of the member. The macro compiles only if the member has the given type. */
#define WMK_CLI_AT(ctype, type, member) \
	.at = offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, ctype: 0))

/* bool: set to true. */
#define WMK_CLI_FLAG(type, member) .store = wmk_cli_store_flag, WMK_CLI_AT(bool, type, member)
/* unsigned: incremented each time. */
#define WMK_CLI_COUNT(type, member) .store = wmk_cli_store_count, WMK_CLI_AT(unsigned, type, member)
/* uint8_t: set to `number`. */
#define WMK_CLI_CONSTANT(type, member, number) \
	.store = wmk_cli_store_constant, WMK_CLI_AT(uint8_t, type, member), .max = (number)
/* const char *: any text; NAME is a non-empty name of `what`, NOT_EMPTY any non-empty text. */
#define WMK_CLI_TEXT(type, member) .store = wmk_cli_store_text, WMK_CLI_AT(const char *, type, member)
#define WMK_CLI_NAME(type, member, what) WMK_CLI_NOT_EMPTY(type, member, "the name of " what " is missing")
#define WMK_CLI_NOT_EMPTY(type, member, words) WMK_CLI_TEXT(type, member), .wrong = (words)
/* uint64_t: a number; bytes, with k, M or G; bytes or a number, rounded up to a power of two with a message. */
#define WMK_CLI_NUMBER(type, member, most) \
	.store = wmk_cli_store_number, WMK_CLI_AT(uint64_t, type, member), .max = (most)
#define WMK_CLI_SIZE(type, member) .store = wmk_cli_store_size, WMK_CLI_AT(uint64_t, type, member)
#define WMK_CLI_POWER_OF_TWO(type, member, least, most) \
	.store = wmk_cli_store_power_of_two, WMK_CLI_AT(uint64_t, type, member), .min = (least), .max = (most)
/* int64_t: microseconds, or a number with the suffix us, ms, s, m or h; from .min to .max microseconds. */
#define WMK_CLI_MICROSECONDS(type, member, least, most) \
	.store = wmk_cli_store_microseconds, WMK_CLI_AT(int64_t, type, member), .min = (least), .max = (most)
/* double: seconds. */
#define WMK_CLI_SECONDS(type, member, most) \
	.store = wmk_cli_store_seconds, WMK_CLI_AT(double, type, member), .max = (most)
/*
 * CHOICE: the member is a uint32_t or an enumeration, and gets the index of the word in the list, plus .min. WORD,
 * const char *: the word. `words` is the error message for any other word (see wmk_cli_choice()).
 */
#define WMK_CLI_CHOICE(type, member, list, words) \
	.store = wmk_cli_store_choice, WMK_CLI_AT(uint32_t, type, member), .choices = (list), .wrong = (words)
#define WMK_CLI_WORD(type, member, list, words) \
	.store = wmk_cli_store_word, WMK_CLI_AT(const char *, type, member), .choices = (list), .wrong = (words)
/* struct wmk_cli_words: the words of a list with commas, appended. */
#define WMK_CLI_WORDS(type, member) .store = wmk_cli_store_words, WMK_CLI_AT(struct wmk_cli_words, type, member)
/* WMK_CLI_GIVEN follows one of the kinds above, and names a bool member. This member is set if the option is given. */
#define WMK_CLI_GIVEN(type, member) .given = offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, bool: 0))

wmk_cli_store wmk_cli_store_flag, wmk_cli_store_count, wmk_cli_store_constant, wmk_cli_store_text,
	wmk_cli_store_number, wmk_cli_store_size, wmk_cli_store_power_of_two, wmk_cli_store_microseconds,
	wmk_cli_store_seconds,
	wmk_cli_store_choice, wmk_cli_store_word, wmk_cli_store_words;

/*
 * Return the index of the value in the list, or -EINVAL with the message `wrong`. In the message, '@' is replaced by
 * the value. '~' stands for "; did you mean WORD?", or for nothing if no word is similar. '#' stands for the similar
 * words, or for all words if no word is similar.
 */
int wmk_cli_choice(const char *choices, const char *wrong, const char *value);

/* Parse a decimal number that is at most `max`. -EINVAL, -ERANGE with a cause chain. */
int wmk_cli_number(const char *text, uint64_t max, uint64_t *number);

/* Parse microseconds, or a number with the suffix us, ms, s, m or h. At most `max` microseconds. */
int wmk_cli_microseconds(const char *text, uint64_t max, uint64_t *us);

/* A list of words from options and arguments; the argument "a,b" adds two words. Initialize it with zeros. */
struct wmk_cli_words {
	char **items;
	unsigned n;
};
#define WMK_CLI_WORDS_MAX 4096u
/* -EINVAL (an empty word), -E2BIG, -ENOMEM, with a cause chain. */
int wmk_cli_words_add(struct wmk_cli_words *words, const char *list);
void wmk_cli_words_free(struct wmk_cli_words *words);

#endif
