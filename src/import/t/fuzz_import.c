/* SPDX-License-Identifier: MIT */
/*
 * fuzz_import.c - import any bytes as a log of the format WMK_FUZZED; one fuzzer for each format. The first byte
 * decides whether year and origin are known. No line is read beyond its end; each record ends where its class defines;
 * no line with content is lost. Linked are all of src/import except trace_writer.c, which the functions here replace.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "import/import.h"
#include "import/trace_writer.h"

#define PASTED_(a, b, c) a##b##c
#define PASTED(a, b, c) PASTED_(a, b, c)
#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct wmk_import_trace {
	bool has_begun;
	uint64_t records;
} only;

static void must(bool so)
{
	if (!so)
		abort();
}

int wmk_import_trace_create(const char *path, const char *format, struct wmk_import_trace **trace)
{
	(void)path;
	(void)format;
	only = (struct wmk_import_trace){ .records = 0 };
	*trace = &only;
	return 0;
}

int wmk_import_trace_begin(struct wmk_import_trace *trace, const char *clock_words)
{
	must(!trace->has_begun && clock_words);
	trace->has_begun = true;
	return 0;
}

int wmk_import_trace_close(struct wmk_import_trace *trace, uint64_t *records)
{
	must(trace->has_begun);
	*records = trace->records;
	return 0;
}

static const uint8_t *skip_text(const uint8_t *at, const uint8_t *end)
{
	at = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
	must(at != NULL);
	return at + 1;
}

static const uint8_t *skip_field(const struct wmk_type *type, const uint8_t *at, const uint8_t *end)
{
	uint32_t n;

	switch (type->kind) {
	case WMK_TYPE_STRING:
		return skip_text(at, end);
	case WMK_TYPE_SEQUENCE:
		must(end - at >= (long)sizeof(n));
		memcpy(&n, at, sizeof(n));
		for (at += sizeof(n); n; n--)
			at = skip_text(at, end);
		return at;
	case WMK_TYPE_ENUM:
		must(at < end && *at < type->count);
		return at + 1;
	default:
		must(end - at >= type->width / 8);
		return at + type->width / 8;
	}
}

int wmk_import_trace_write(struct wmk_import_trace *trace, const struct wmk_import_record *record, uint64_t *late)
{
	const struct wmk_import_class *class = record->class;
	const uint8_t *at = record->payload, *end = at + record->len;

	(void)late;
	must(trace->has_begun && record->ns >= 0 && class->contexts < WMK_IMPORT_CONTEXTS &&
	     class->n <= WMK_IMPORT_VALUES + 1);
	for (unsigned bit = 1; bit < WMK_IMPORT_CONTEXTS; bit *= 2)
		if (class->contexts & bit)
			at = skip_field(&wmk_import_context(bit)->type, at, end);
	for (unsigned i = 0; i < class->n; i++)
		at = skip_field(&class->fields[i].type, at, end);
	must(at == end);
	trace->records++;
	return 0;
}

/* Number of lines with content, without those that may become a part of another line's record. */
static uint64_t each_line(wmk_import_parser *parse, const uint8_t *data, size_t size)
{
	static struct wmk_import_line line;
	uint64_t n = 0;

	while (size) {
		const uint8_t *newline = memchr(data, '\n', size);
		const size_t len = newline ? (size_t)(newline - data) : size;
		char *copy = malloc(len ? len : 1);

		must(copy != NULL);
		memcpy(copy, data, len);
		parse((struct wmk_import_text){ copy, len }, &line);
		must(line.what <= WMK_IMPORT_FRAME && line.n <= WMK_IMPORT_VALUES && line.stamp.ns < 1000000000);
		must(line.what != WMK_IMPORT_FRAME || line.n == 1);
		must((line.what != WMK_IMPORT_OPENS && line.what != WMK_IMPORT_RESUMES) || line.n >= 2);
		n += line.what != WMK_IMPORT_BLANK && line.what != WMK_IMPORT_UNKNOWN &&
		     line.what != WMK_IMPORT_FRAME && line.what != WMK_IMPORT_RESUMES;
		free(copy);
		data += len + (newline ? 1 : 0);
		size -= len + (newline ? 1 : 0);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wmk_import_options options = { .year = 0 };
	struct wmk_import *import;
	struct wmk_import_done done;
	uint64_t least;
	FILE *in;

	if (size < 2)
		return 0;
	least = each_line(PASTED(wmk_import_, WMK_FUZZED, _line), data + 1, size - 1);
	options.year = data[0] & 1 ? 2024 : 0;
	options.has_origin = data[0] & 2;
	options.origin_ns = 1700000000000000000;
	must(wmk_import_begin("", QUOTED(WMK_FUZZED), &options, &import) == 0);
	char *copy = malloc(size - 1);

	must(copy != NULL);
	memcpy(copy, data + 1, size - 1);
	in = fmemopen(copy, size - 1, "r");
	must(in != NULL && wmk_import_file(import, in, "fuzz", 1795334742000000000) == 0);
	fclose(in);
	free(copy);
	must(wmk_import_end(import, &done) == 0 && done.records == only.records && done.records >= least &&
	     done.unknown <= done.records);
	wmk_error_clear();
	return 0;
}
