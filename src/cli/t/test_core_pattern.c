/* SPDX-License-Identifier: MIT */
/* test_core_pattern.c - core patterns are expanded as the kernel expands them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/core_pattern.h"

/* In the order of "PpiIugdstchEe". */
static const struct wmk_core_values values = { { "4711", "11", "12", "4712", "1000", "100", "1", "11", "1700000000",
						 "18446744073709551615", "host", "!usr!bin!shop", "sh/op" } };

static void expands(const char *word, bool file, const char *expected)
{
	char buf[200];

	assert_int_equal(wmk_core_expand(word, &values, file, buf, sizeof(buf)), 0);
	assert_string_equal(buf, expected);
}

static void core_pattern_specifiers_expand_to_process_values(void **state)
{
	(void)state;
	expands("/cores/core.%e.%P.%s", true, "/cores/core.sh!op.4711.11");
	expands("%e", false, "sh/op");
	expands("%p %i %I %u %g %d %t %c %h %E", false,
		"11 12 4712 1000 100 1 1700000000 18446744073709551615 host !usr!bin!shop");
	expands("%f", true, "shop");
	expands("100%% %X%", false, "100% ");
	expands("", false, "");
}

static void core_pattern_that_expands_to_a_long_path_is_refused(void **state)
{
	char buf[8];

	(void)state;
	assert_int_equal(wmk_core_expand("/cores/%e", &values, true, buf, sizeof(buf)), -ENAMETOOLONG);
	assert_int_equal(wmk_core_expand("1234567", &values, true, buf, sizeof(buf)), 0);
}

static void core_handler_command_is_split_before_expansion(void **state)
{
	struct wmk_core_values spaces = values;
	char *argv[WMK_CORE_ARGUMENTS_MAX + 1];

	(void)state;
	spaces.of[WMK_CORE_VALUES - 1] = "a b";
	assert_int_equal(wmk_core_words("/sbin/handler  %P --name=%e", &spaces, argv), 0);
	assert_string_equal(argv[0], "/sbin/handler");
	assert_string_equal(argv[1], "4711");
	assert_string_equal(argv[2], "--name=a b");
	assert_null(argv[3]);
	wmk_core_words_free(argv);
	assert_int_equal(wmk_core_words("handler %P", &values, argv), -EINVAL);
	assert_int_equal(wmk_core_words("", &values, argv), -EINVAL);
	assert_int_equal(wmk_core_words("/h 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2", &values,
					argv), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_pattern_specifiers_expand_to_process_values),
		cmocka_unit_test(core_pattern_that_expands_to_a_long_path_is_refused),
		cmocka_unit_test(core_handler_command_is_split_before_expansion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
