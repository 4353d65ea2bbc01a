/* SPDX-License-Identifier: MIT */
/*
 * option.h - how a command describes its options: rows of a table.
 *
 *     { 'o', "output", "DIR", "The trace's directory.", WMK_CLI_NAME(struct session_args, output, "a directory") },
 *
 * A kind (WMK_CLI_...) stores the value in a member of the command's arguments; the compiler checks the member's type.
 * An option with a value of its own kind has a function of its own: .store, and .at where it fills one member.
 */
#ifndef WMK_CLI_OPTION_H
#define WMK_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wmk_cli_option;

/*
 * Store a value. `at`: option->at bytes into the command's arguments; `value`: NULL for an option without one.
 * Strings are the command line's own. 0 or -errno with a cause chain.
 */
typedef int wmk_cli_store(const struct wmk_cli_option *option, void *at, const char *value);

struct wmk_cli_option {
	char letter;             /* 0: has none */
	const char *name;        /* without the dashes */
	/*
	 * What the value is called in help, which also says how shells complete it; NULL: the option takes none.
	 * In brackets: it may be left out.
	 */
	const char *value;
	const char *help;        /* one or more sentences */
	wmk_cli_store *store;
	size_t at;
	size_t given;            /* of a bool, set when the option is given; 0: none */
	/* Values are words of this list, with spaces between, for completion too. NULL: any. */
	const char *choices;
	const char *wrong;       /* the message for a value that the kind does not take */
	uint64_t min, max;       /* of numbers; see the kinds */
	bool choose_many;        /* several of `choices`, with commas between */
	bool repeats;            /* may be given several times */
};

/* The member's place; does not compile unless it has the type. */
#define WMK_CLI_AT(ctype, type, member) \
	.at = offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, ctype: 0))

/* bool: true. */
#define WMK_CLI_FLAG(type, member) .store = wmk_cli_store_flag, WMK_CLI_AT(bool, type, member)
/* unsigned: one more each time. */
#define WMK_CLI_COUNT(type, member) .store = wmk_cli_store_count, WMK_CLI_AT(unsigned, type, member)
/* uint8_t: `number`. */
#define WMK_CLI_CONSTANT(type, member, number) \
	.store = wmk_cli_store_constant, WMK_CLI_AT(uint8_t, type, member), .max = (number)
/* const char *: any text; a name of `what`, which is not empty. */
#define WMK_CLI_TEXT(type, member) .store = wmk_cli_store_text, WMK_CLI_AT(const char *, type, member)
#define WMK_CLI_NAME(type, member, what) WMK_CLI_NOT_EMPTY(type, member, "the name of " what " is missing")
#define WMK_CLI_NOT_EMPTY(type, member, words) WMK_CLI_TEXT(type, member), .wrong = (words)
/* uint64_t: a number; bytes, with k, M or G; bytes or a number, rounded up to a power of two, which is printed. */
#define WMK_CLI_NUMBER(type, member, most) \
	.store = wmk_cli_store_number, WMK_CLI_AT(uint64_t, type, member), .max = (most)
#define WMK_CLI_SIZE(type, member) .store = wmk_cli_store_size, WMK_CLI_AT(uint64_t, type, member)
#define WMK_CLI_POWER_OF_TWO(type, member, least, most) \
	.store = wmk_cli_store_power_of_two, WMK_CLI_AT(uint64_t, type, member), .min = (least), .max = (most)
/* double: seconds. */
#define WMK_CLI_SECONDS(type, member, most) \
	.store = wmk_cli_store_seconds, WMK_CLI_AT(double, type, member), .max = (most)
/*
 * uint32_t, or an enumeration: which word of the list it is, from .min (0) on; const char *: the word. `words`: the
 * message for others, see wmk_cli_choice().
 */
#define WMK_CLI_CHOICE(type, member, list, words) \
	.store = wmk_cli_store_choice, WMK_CLI_AT(uint32_t, type, member), .choices = (list), .wrong = (words)
#define WMK_CLI_WORD(type, member, list, words) \
	.store = wmk_cli_store_word, WMK_CLI_AT(const char *, type, member), .choices = (list), .wrong = (words)
/* struct wmk_cli_words: the words of a list with commas, behind those that are there. */
#define WMK_CLI_WORDS(type, member) .store = wmk_cli_store_words, WMK_CLI_AT(struct wmk_cli_words, type, member)
/* bool: the option was given. Behind one of those above. */
#define WMK_CLI_GIVEN(type, member) .given = offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, bool: 0))

wmk_cli_store wmk_cli_store_flag, wmk_cli_store_count, wmk_cli_store_constant, wmk_cli_store_text,
	wmk_cli_store_number, wmk_cli_store_size, wmk_cli_store_power_of_two, wmk_cli_store_seconds,
	wmk_cli_store_choice, wmk_cli_store_word, wmk_cli_store_words;

/*
 * Which word of the list the value is, or -EINVAL with the message `wrong`. In it, '@' is replaced by the value, '~' by
 * "; near is WORD" if a word of the list is near, '#' by the near words, or all words if none is near.
 */
int wmk_cli_choice(const char *choices, const char *wrong, const char *value);

/* A number of digits alone, at most `max`. -EINVAL, -ERANGE with a cause chain. */
int wmk_cli_number(const char *text, uint64_t max, uint64_t *number);

/* Words that options and arguments gather; "a,b" is two of them. Starts from zeros. */
struct wmk_cli_words {
	char **items;
	unsigned n;
};
#define WMK_CLI_WORDS_MAX 4096u
/* -EINVAL (an empty one), -E2BIG, -ENOMEM, with a cause chain. */
int wmk_cli_words_add(struct wmk_cli_words *words, const char *list);
void wmk_cli_words_free(struct wmk_cli_words *words);

#endif
