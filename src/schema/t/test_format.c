/* SPDX-License-Identifier: MIT */
/* test_format.c - printf formats as fields: names, classes, limits, and rejected conversions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "schema/format.h"

/* Return "name:class[base][sign][max]" of each argument. */
static const char *parsed(const char *format)
{
	static char text[1024];
	struct wmk_format_arg args[8];
	int n = wmk_format_parse(format, args, 8);
	size_t len = 0;

	if (n < 0)
		return n == -EINVAL && wmk_error_get(0) ? "refused" : "?";
	text[0] = '\0';
	for (int i = 0; i < n; i++) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s%s:%c", i ? " " : "",
					(int)args[i].name_len, args[i].name ? args[i].name : "", args[i].suffix,
					"ifsp"[args[i].class]);
		if (args[i].class == WMK_FORMAT_INT)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%u%s", args[i].base,
						args[i].is_signed ? "s" : "");
		if (args[i].max_is_arg)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "*");
		else if (args[i].max != UINT32_MAX)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "<%u", args[i].max);
	}
	return text;
}

static void format_field_names_are_the_words_before_the_conversions(void **state)
{
	(void)state;
	assert_string_equal(parsed("prev_pid %d next_pid %d state %ld"), "prev_pid:i10s next_pid:i10s state:i10s");
	assert_string_equal(parsed("pid=%d, name='%s' (%x)"), "pid:i10s name:s :i16");
	assert_string_equal(parsed("t->pid: %u t.comm: %s"), "pid:i10 comm:s");
	assert_string_equal(parsed("%d%d"), ":i10s :i10s");
	assert_string_equal(parsed("step 5: %d"), ":i10s");
	assert_string_equal(parsed("done 100%% of %d"), "of:i10s");
	assert_string_equal(parsed("rate 5%%%d"), ":i10s");
	assert_string_equal(parsed("no arguments"), "");
	assert_string_equal(parsed(""), "");
}

static void format_conversions_become_typed_arguments_with_limits(void **state)
{
	(void)state;
	assert_string_equal(parsed("%hhd %hi %lu %llo %zx %jX %c %td"), ":i10s :i10s :i10 :i8 :i16 :i16 :i10s :i10s");
	assert_string_equal(parsed("%f %.3lf %Lg %e %a"), ":f :f :f :f :f");
	assert_string_equal(parsed("%p %ls %S %m %-+ #05d"), ":p :p :p :i10s");
	assert_string_equal(parsed("n %*d"), "n_width:i10s n:i10s");
	assert_string_equal(parsed("s %.*s"), "s_precision:i10s s:s*");
	assert_string_equal(parsed("s %*.*s"), "s_width:i10s s_precision:i10s s:s*");
	assert_string_equal(parsed("s %.5s %.s %s"), "s:s<5 :s<0 :s");
	assert_string_equal(parsed("s %.99999999999999999999s"), "s:s<4294967294");
	assert_string_equal(parsed("s %.*d"), "s_precision:i10s s:i10s");
}

static void unsupported_or_too_many_conversions_are_refused(void **state)
{
	(void)state;
	assert_string_equal(parsed("%n"), "refused");
	assert_string_equal(parsed("%1$d"), "refused");
	assert_string_equal(parsed("%"), "refused");
	assert_string_equal(parsed("%ll"), "refused");
	assert_string_equal(parsed("%y"), "refused");
	assert_string_equal(parsed("%d%d%d%d%d%d%d%d%d"), "refused");
	assert_string_equal(parsed("%d%d%d%d%d%d%d%d%*"), "refused");
	assert_string_equal(parsed("%d%d%d%d%d%d%d%d%.*s"), "refused");
	assert_string_equal(parsed("%d%d%d%d%d%d%d%d"), ":i10s :i10s :i10s :i10s :i10s :i10s :i10s :i10s");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(format_field_names_are_the_words_before_the_conversions),
					    cmocka_unit_test(format_conversions_become_typed_arguments_with_limits),
					    cmocka_unit_test(unsupported_or_too_many_conversions_are_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
