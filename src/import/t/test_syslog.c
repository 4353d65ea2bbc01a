/* SPDX-License-Identifier: MIT */
/*
 * test_syslog.c - parse lines of system logs: each date format, lines without a tag, RFC 5424, lines of other formats.
 */
#include "show.h"

/* 2026-11-22 is day 20779; 08:05:42 is second 29142 of a day. */
static void rfc_3164_lines_with_each_kind_of_date_are_parsed_or_unknown(void **state)
{
	static const struct expected table[] = {
		{ "Nov 22 08:05:42 web1 sshd[731]: Accepted key",
		  "date 11-22 29142.000000000L p731 (sshd) syslog:message{host='web1'|tag='sshd'|message='Accepted "
		  "key'}" },
		{ "<38>Nov  2 08:05:42 web1 su: x",
		  "date 11-2 29142.000000000L syslog:message{host='web1'|tag='su'|facility=4|severity=6|message='x'}" },
		{ "Nov 22 08:05:42.25 h t[1]:",
		  "date 11-22 29142.250000000L p1 (t) syslog:message{host='h'|tag='t'|message=''}" },
		{ "Nov 22 08:05:42 h last message repeated 2 times",
		  "date 11-22 29142.000000000L syslog:message{host='h'|tag=''|message='last message repeated 2 "
		  "times'}" },
		{ "<13>Nov 22 08:05:42 root: hello",
		  "date 11-22 29142.000000000L "
		  "syslog:message{host=''|tag='root'|facility=1|severity=5|message='hello'}" },
		{ "Nov 22 08:05:42 h a/b[x7]: m",
		  "date 11-22 29142.000000000L syslog:message{host='h'|tag='a/b'|procid='x7'|message='m'}" },
		{ "Nov 22 08:05:42 h t[99999999999]: m",
		  "date 11-22 29142.000000000L syslog:message{host='h'|tag='t'|procid='99999999999'|message='m'}" },
		{ "Nov 22 08:05:42 h a:b c",
		  "date 11-22 29142.000000000L syslog:message{host='h'|tag=''|message='a:b c'}" },
		{ "Feb 29 23:59:60 h t: m", "date 2-29 86400.000000000L syslog:message{host='h'|tag='t'|message='m'}" },
		{ "2026-11-22T08:05:42.123456+01:00 h t[1]: m",
		  "epoch 1795331142.123456000 p1 (t) syslog:message{host='h'|tag='t'|message='m'}" },
		{ "2026-11-22T08:05:42-0330 h t: m",
		  "epoch 1795347342.000000000 syslog:message{host='h'|tag='t'|message='m'}" },
		{ "2026-11-22T08:05:42Z h t: m",
		  "epoch 1795334742.000000000 syslog:message{host='h'|tag='t'|message='m'}" },
		{ "2026-11-22T08:05:42 h t: m",
		  "epoch 1795334742.000000000L syslog:message{host='h'|tag='t'|message='m'}" },
		{ "Sun 2026-11-22 08:05:42 UTC h t: m",
		  "epoch 1795334742.000000000 syslog:message{host='h'|tag='t'|message='m'}" },
		{ "Sun 2026-11-22 08:05:42 CET h t: m",
		  "epoch 1795334742.000000000L syslog:message{host='h'|tag='t'|message='m'}" },
		{ "Sun 2026-11-22 08:05:42 +03 h t: m",
		  "epoch 1795323942.000000000 syslog:message{host='h'|tag='t'|message='m'}" },
		{ "[  123.456789] h t[2]: m",
		  "origin 123.456789000 p2 (t) syslog:message{host='h'|tag='t'|message='m'}" },
		{ "1795336891.123456 h t: m",
		  "epoch 1795336891.123456000 syslog:message{host='h'|tag='t'|message='m'}" },
		{ "Nov 31 08:05:42 h t: m", "unknown" },
		{ "Nov 22 24:05:42 h t: m", "unknown" },
		{ "2027-02-29T08:05:42Z h t: m", "unknown" },
		{ "1969-12-31T08:05:42Z h t: m", "unknown" },
		{ "9999-12-31T08:05:42Z h t: m", "unknown" },
		{ "Nov 22 08:05:423 h t: m", "unknown" },
		{ "<192>Nov 22 08:05:42 h t: m", "unknown" },
		{ "-- Boot 5d1 --", "unknown" },
		{ "", "blank" },
		{ " \t\r", "blank" },
	};

	(void)state;
	CHECK_LINES(wmk_import_syslog_line, table);
}

static void rfc_5424_lines_are_parsed_and_malformed_ones_are_unknown(void **state)
{
	static const struct expected table[] = {
		{ "<165>1 2026-11-22T08:05:42.003Z h app 731 ID47 [a@1 b=\"c]\\\"\\]\"][d] \xef\xbb\xbfm x",
		  "epoch 1795334742.003000000 p731 (app) "
		  "syslog:message{host='h'|tag='app'|facility=20|severity=5|msgid='ID47'|structured='[a@1 "
		  "b=\"c]\\\"\\]\"][d]'|message='m x'}" },
		{ "<0>1 2026-11-22T08:05:42Z - - - - -",
		  "epoch 1795334742.000000000 syslog:message{host=''|tag=''|facility=0|severity=0|message=''}" },
		{ "<0>1 - h a w1 - - m",
		  "none syslog:message{host='h'|tag='a'|procid='w1'|facility=0|severity=0|message='m'}" },
		{ "<0>1 2026-11-22T08:05:42Z h a p i [x", "unknown" },
		{ "<0>1 2026-11-22T08:05:42Z h a p i [x b=\"\\", "unknown" },
		{ "<0>1 2026-11-22T08:05:42Z h a p i -m", "unknown" },
		{ "<0>1 2026-11-22T08:05:42Z h a", "unknown" },
	};

	(void)state;
	CHECK_LINES(wmk_import_syslog_line, table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc_3164_lines_with_each_kind_of_date_are_parsed_or_unknown),
		cmocka_unit_test(rfc_5424_lines_are_parsed_and_malformed_ones_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
