/* SPDX-License-Identifier: MIT */
/*
 * syslog_levels.c - facilities and severities of syslog (RFC 5424, 6.2.1), with the names of dmesg and journalctl.
 */
#include "import/log_line.h"

const struct wmk_label wmk_import_facilities[WMK_IMPORT_FACILITIES] = {
	{ "kern", 0, 0 },       { "user", 1, 1 },     { "mail", 2, 2 },     { "daemon", 3, 3 },   { "auth", 4, 4 },
	{ "syslog", 5, 5 },     { "lpr", 6, 6 },      { "news", 7, 7 },     { "uucp", 8, 8 },     { "cron", 9, 9 },
	{ "authpriv", 10, 10 }, { "ftp", 11, 11 },    { "ntp", 12, 12 },    { "audit", 13, 13 },  { "alert", 14, 14 },
	{ "clock", 15, 15 },    { "local0", 16, 16 }, { "local1", 17, 17 }, { "local2", 18, 18 }, { "local3", 19, 19 },
	{ "local4", 20, 20 },   { "local5", 21, 21 }, { "local6", 22, 22 }, { "local7", 23, 23 },
};

const struct wmk_label wmk_import_severities[WMK_IMPORT_SEVERITIES] = {
	{ "emerg", 0, 0 }, { "alert", 1, 1 },  { "crit", 2, 2 }, { "err", 3, 3 },
	{ "warn", 4, 4 },  { "notice", 5, 5 }, { "info", 6, 6 }, { "debug", 7, 7 },
};

static int find(const struct wmk_label *labels, unsigned n, struct wmk_import_text name)
{
	for (unsigned i = 0; i < n; i++)
		if (wmk_import_text_is(name, labels[i].name))
			return (int)i;
	return -1;
}

int wmk_import_facility(struct wmk_import_text name)
{
	return find(wmk_import_facilities, WMK_IMPORT_FACILITIES, name);
}

int wmk_import_severity(struct wmk_import_text name)
{
	return find(wmk_import_severities, WMK_IMPORT_SEVERITIES, name);
}

bool wmk_import_take_priority(struct wmk_import_text *text, int64_t *priority)
{
	struct wmk_import_text rest = *text;

	if (!wmk_import_take(&rest, "<") || !wmk_import_take_number(&rest, WMK_IMPORT_FACILITIES * 8 - 1, priority) ||
	    !wmk_import_take(&rest, ">"))
		return false;
	*text = rest;
	return true;
}

void wmk_import_add_priority(struct wmk_import_line *line, int64_t priority)
{
	wmk_import_add_number(line, "facility", WMK_IMPORT_FACILITY, priority / 8);
	wmk_import_add_number(line, "severity", WMK_IMPORT_SEVERITY, priority % 8);
}
