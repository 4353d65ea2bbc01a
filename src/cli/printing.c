/* SPDX-License-Identifier: MIT */
/*
 * printing.c - print sizes, JSON, colours and errors.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json_text.h"
#include "cli/command.h"

const char *wmk_cli_size_text(uint64_t size, char *buf, size_t buf_size)
{
	static const char *const letters[] = { "", "k", "M", "G" };
	unsigned unit = 0;

	while (unit < 3 && size && size % 1024 == 0) {
		size /= 1024;
		unit++;
	}
	snprintf(buf, buf_size, "%" PRIu64 "%s", size, letters[unit]);
	return buf;
}

const char *wmk_cli_larger_buffers(uint64_t subbuf_size, uint64_t n_subbufs, char *buf, size_t buf_size)
{
	const uint64_t twice = 2 * subbuf_size * n_subbufs;
	const uint64_t wanted = twice > WMK_CLI_BUFFERS_DEFAULT ? twice : WMK_CLI_BUFFERS_DEFAULT;
	char text[32];

	snprintf(buf, buf_size, "--num-subbuf %" PRIu64 " or --subbuf-size %s", wanted / subbuf_size,
		 wmk_cli_size_text(wanted / n_subbufs, text, sizeof(text)));
	return buf;
}

const char *wmk_cli_bytes_text(uint64_t bytes, char *buf, size_t buf_size)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 999.95 && unit < 6) {
		value /= 1000;
		unit++;
	}
	snprintf(buf, buf_size, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
	return buf;
}

const char *wmk_cli_clean(const char *text)
{
	static char bufs[8][501];
	static unsigned turn;
	char *buf = bufs[turn++ % 8];

	wmk_error_format(buf, sizeof(bufs[0]), "%s", text);
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return buf;
}

void wmk_cli_json_string(FILE *out, const char *text)
{
	wmk_json_quote(out, text, strlen(text));
}

static void json_name(struct wmk_cli_json *json, const char *name)
{
	if (json->comma)
		fputc(',', json->out);
	json->comma = true;
	if (name) {
		wmk_cli_json_string(json->out, name);
		fputc(':', json->out);
	}
}

void wmk_cli_json_open(struct wmk_cli_json *json, const char *name, char bracket)
{
	json_name(json, name);
	fputc(bracket, json->out);
	json->comma = false;
}

void wmk_cli_json_close(struct wmk_cli_json *json, char bracket)
{
	fputc(bracket, json->out);
	json->comma = true;
}

void wmk_cli_json_text(struct wmk_cli_json *json, const char *name, const char *text)
{
	json_name(json, name);
	if (text)
		wmk_cli_json_string(json->out, text);
	else
		fputs("null", json->out);
}

void wmk_cli_json_u64(struct wmk_cli_json *json, const char *name, uint64_t number)
{
	json_name(json, name);
	fprintf(json->out, "%" PRIu64, number);
}

void wmk_cli_json_i64(struct wmk_cli_json *json, const char *name, int64_t number)
{
	json_name(json, name);
	fprintf(json->out, "%" PRId64, number);
}

void wmk_cli_json_double(struct wmk_cli_json *json, const char *name, double number)
{
	json_name(json, name);
	fprintf(json->out, "%.3f", number);
}

void wmk_cli_json_bool(struct wmk_cli_json *json, const char *name, bool yes)
{
	json_name(json, name);
	fputs(yes ? "true" : "false", json->out);
}

const char *wmk_cli_color(FILE *out, enum wmk_cli_color color)
{
	static const char *const sequences[] = { "\033[0m", "\033[1m", "\033[1;31m", "\033[33m" };
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if ((no_color && *no_color) || !term || strcmp(term, "dumb") == 0 || !isatty(fileno(out)))
		return "";
	return sequences[color];
}

void wmk_cli_print_error(void)
{
	char text[WMK_ERROR_DEPTH * WMK_ERROR_LEN];

	fprintf(stderr, "waymark: %serror:%s %s\n", wmk_cli_color(stderr, WMK_CLI_RED),
		wmk_cli_color(stderr, WMK_CLI_PLAIN), wmk_error_text(text, sizeof(text)));
}

void wmk_cli_note(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("waymark: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}

void wmk_cli_warn(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "waymark: %swarning:%s ", wmk_cli_color(stderr, WMK_CLI_YELLOW),
		wmk_cli_color(stderr, WMK_CLI_PLAIN));
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
}
