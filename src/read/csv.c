/* SPDX-License-Identifier: MIT */
/*
 * csv.c - export records as a table (RFC 4180, but lines end with a newline only). The first columns contain the time,
 * the trace, the stream and the event. The table has one further column for each field name. The table contains the
 * fields of packets, and the context fields and payload fields of all event classes. A cell is empty if the record
 * lacks the field. Structured values are JSON.
 *
 * Titles are unique. If a field has the name of one of the first four columns, its title has the prefix "fields.".
 * Other duplicate titles get the suffix "_2" and so on, for example for the fields `_x` and `x` of one structure, or
 * for names of CTF 2 with dots.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "read/convert.h"
#include "read/json_writer.h"
#include "read/record_scope.h"

#define COLUMNS_MAX 65536u
#define FIXED 4u                   /* time, trace, stream, event */

static const char *const prefixes[WMK_READ_SCOPES] = { "packet.", "context.", "event_context.", "" };

struct column {
	char *name;
	uint32_t part, nth;        /* nth: number of the column among equal names of one structure */
	/* of the current record: position in `cells`; len 0: no cell */
	size_t at, len;
	bool is_set;
};

struct table {
	struct column *columns;
	uint32_t n, cap;
	struct wmk_print_text cells;
	struct wmk_print_text json;    /* the cell that is being written */
};

struct csv_stream {
	struct table *table;
	const struct wmk_ctf_stream_decoder *decoder;
	struct wmk_print_text packet;  /* the cells of the packet, which all of its records repeat */
	struct column *packet_columns; /* as many as the table has */
};

/* ── columns ─────────────────────────────────────────────────────────────────────────────────────────── */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct column *)a)->name, ((const struct column *)b)->name);
}

static int compare(const void *left, const void *right)
{
	const struct column *a = left, *b = right;
	const int order = compare_names(a, b);

	if (order || a->part != b->part)
		return order ? order : a->part < b->part ? -1 : 1;
	return a->nth < b->nth ? -1 : a->nth > b->nth;
}

static int add_column(struct table *table, unsigned part, const char *name)
{
	struct column *more = wmk_array_room(table->columns, table->n, &table->cap, sizeof(*more));

	if (!more)
		return wmk_error(-ENOMEM, "no memory for %u columns", table->n);
	table->columns = more;
	if (table->n >= COLUMNS_MAX)
		return wmk_error(-E2BIG, "too many columns: the maximum is %u", COLUMNS_MAX);
	table->columns[table->n] = (struct column){ .part = part };
	if (asprintf(&table->columns[table->n].name, "%s%s", prefixes[part], name) < 0)
		return wmk_error(-ENOMEM, "no memory for a column");
	table->n++;
	return 0;
}

/* Sort the columns, and remove duplicate columns. */
static void settle(struct table *table)
{
	uint32_t n = 0;

	qsort(table->columns, table->n, sizeof(table->columns[0]), compare);
	for (uint32_t i = 0; i < table->n; i++) {
		if (n && !compare(&table->columns[n - 1], &table->columns[i]))
			free(table->columns[i].name);
		else
			table->columns[n++] = table->columns[i];
	}
	table->n = n;
}

/*
 * Number the columns with equal names, starting at column `before`. All columns from `before` to the last one belong to
 * the same structure.
 */
static void number(struct table *table, uint32_t before)
{
	struct column *columns = table->columns;

	if (table->n > before)
		qsort(columns + before, table->n - before, sizeof(columns[0]), compare);
	for (uint32_t i = before + 1; i < table->n; i++)
		if (strcmp(columns[i].name, columns[i - 1].name) == 0)
			columns[i].nth = columns[i - 1].nth + 1;
}

static int add_program(struct table *table, const struct wmk_ctf_program *program, unsigned part)
{
	const struct wmk_ctf_op *ops = program->ops;
	const uint32_t before = table->n;
	int err = 0;

	for (uint32_t i = 1; program->n_ops && ops[i].code != WMK_CTF_END && err >= 0; i = ops[i].next)
		if (!wmk_read_is_interpreted(&ops[i]))
			err = add_column(table, part, wmk_or_empty(ops[i].name));
	number(table, before);
		/*
		 * The function removes duplicates immediately, because the columns of many similar classes would
		 * accumulate.
		 */
	if (table->n > 4096)
		settle(table);
	return err;
}

static int csv_create(const char *directory, void **whole)
{
	(void)directory;
	*whole = calloc(1, sizeof(struct table));
	return *whole ? 0 : wmk_error(-ENOMEM, "no memory for a table");
}

static int csv_trace(void *whole, const struct wmk_read_trace *trace)
{
	int err = 0;

	for (uint32_t s = 0; s < trace->decoder->n_streams && err >= 0; s++) {
		const struct wmk_ctf_stream_decoder *stream = &trace->decoder->streams[s];

		err = add_program(whole, &stream->packet_context, WMK_READ_OF_PACKET);
		if (err >= 0)
			err = add_program(whole, &stream->event_context, WMK_READ_COMMON);
		for (uint32_t e = 0; e < stream->n_events && err >= 0; e++) {
			err = add_program(whole, &stream->events[e].context, WMK_READ_CONTEXT);
			if (err >= 0)
				err = add_program(whole, &stream->events[e].payload, WMK_READ_PAYLOAD);
		}
	}
	return err;
}

static void csv_free(void *whole)
{
	struct table *table = whole;

	for (uint32_t i = 0; i < table->n; i++)
		free(table->columns[i].name);
	free(table->columns);
	wmk_print_text_free(&table->cells);
	wmk_print_text_free(&table->json);
	free(table);
}

/* ── cells ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Copy a character; invalid UTF-8 becomes U+FFFD, as in JSON. Returns its length. */
static size_t put_character(struct wmk_json_writer *w, const char *text, size_t len)
{
	const size_t n = wmk_utf8_length(text, len);

	wmk_json_put(w, n ? text : "\xef\xbf\xbd", n ? n : 3);
	return n ? n : 1;
}

/* Add quotes to the cell if the format requires them. */
static void put_cell(struct wmk_json_writer *w, const char *text, size_t len)
{
	bool needs = len && (text[0] == ' ' || text[len - 1] == ' '), is_plain = true;

	for (size_t i = 0; i < len && !needs; i++) {
		needs = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
		is_plain = is_plain && !(text[i] & 0x80);
	}
	if (!needs && is_plain) {
		wmk_json_put(w, text, len);
		return;
	}
	wmk_json_put(w, "\"", needs);
	for (size_t i = 0; i < len;) {
		if (text[i] == '"')
			wmk_json_put(w, "\"", 1);
		i += put_character(w, text + i, len - i);
	}
	wmk_json_put(w, "\"", needs);
}

static bool is_fixed(const char *name)
{
	return !strcmp(name, "time") || !strcmp(name, "trace") || !strcmp(name, "stream") || !strcmp(name, "event");
}

/*
 * Return the unique title of a column; the caller frees the title. `n` is the number in the previous title of a column
 * with this name. NULL: no memory.
 */
static char *title_of(const struct table *table, const struct column *column, uint32_t *n)
{
	const bool is_again = column != table->columns && strcmp(column[-1].name, column->name) == 0;
	struct column title = { .name = NULL };
	bool is_free;

	*n = is_again ? *n : 0;
	if (!is_again && !is_fixed(column->name))
		return strdup(column->name);
	do {
		char suffix[16] = "";

		free(title.name);
		if (++*n > 1)
			snprintf(suffix, sizeof(suffix), "_%" PRIu32, *n);
		if (asprintf(&title.name, "%s%s%s", is_fixed(column->name) ? "fields." : "", column->name, suffix) < 0)
			return NULL;
		is_free = !bsearch(&title, table->columns, table->n, sizeof(title), compare_names);
	} while (!is_free);
	return title.name;
}

static int csv_begin(void *whole, struct wmk_print_text *out)
{
	struct table *table = whole;
	struct wmk_json_writer w;
	uint32_t n = 0;

	settle(table);
	w = wmk_json_begin(out);
	wmk_json_put_text(&w, "time,trace,stream,event");
	for (uint32_t i = 0; i < table->n; i++) {
		char *title = title_of(table, &table->columns[i], &n);

		if (!title)
			return wmk_error(-ENOMEM, "no memory for a table");
		wmk_json_put(&w, ",", 1);
		put_cell(&w, title, strlen(title));
		free(title);
	}
	wmk_json_put(&w, "\n", 1);
	return wmk_json_end(&w, 0);
}

static struct column *column_of(const struct table *table, struct column *columns, unsigned part, const char *name)
{
	char full[512], *at = full;
	struct column *found, key = { .part = part };

	if (strlen(name) >= sizeof(full) - 20 && asprintf(&at, "%s%s", prefixes[part], name) < 0)
		return NULL;
	if (at == full)
		snprintf(full, sizeof(full), "%s%s", prefixes[part], name);
	key.name = at;
	found = bsearch(&key, table->columns, table->n, sizeof(key), compare);
	if (at != full)
		free(at);
	if (!found)
		return NULL;
	/* (if one structure has several columns of this name, take the next one) */
	columns += found - table->columns;
	for (uint32_t left = table->n - (uint32_t)(found - table->columns); columns->is_set && left > 1 &&
	     found[1].nth; left--, found++)
		columns++;
	return columns;
}

/* The exporter first converts a text in UTF-16 or UTF-32 to UTF-8. */
static void put_wide_text(struct table *table, struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	struct wmk_json_writer characters;
	const char *at = item->text;
	size_t left = item->len, n;
	uint32_t character;
	char bytes[4];

	table->json.len = 0;
	characters = wmk_json_begin(&table->json);
	for (; (n = wmk_print_character(at, left, item->op->type->encoding, &character)) != 0; at += n, left -= n)
		wmk_json_put(&characters, bytes, (size_t)(wmk_print_encode(bytes, character) - bytes));
	if (wmk_json_end(&characters, 0) < 0)
		w->p = NULL;
	else
		put_cell(w, table->json.text, table->json.len);
}

/*
 * Write a text without the quotes of JSON; for an enumeration, write the label or the number. False: another kind of
 * value.
 */
static bool put_plain(struct table *table, struct wmk_json_writer *w, const struct wmk_ctf_item *item)
{
	const struct wmk_ctf_op *op = item->op;
	const char *label = op->code == WMK_CTF_ENUM ? wmk_ctf_label(item) : NULL;

	if (label) {
		put_cell(w, label, strlen(label));
	} else if ((op->code == WMK_CTF_STRING || op->code == WMK_CTF_TEXT) &&
		   op->type->encoding == WMK_ENCODING_UTF8) {
		put_cell(w, item->text, item->len);
	} else if (op->code == WMK_CTF_STRING || op->code == WMK_CTF_TEXT) {
		put_wide_text(table, w, item);
	} else if (op->code == WMK_CTF_ENUM) {
		wmk_json_put_integer(w, item);
	} else {
		return false;
	}
	return true;
}

/* Store the written text as the cell. JSON gets quotes. */
static int end_cell(struct table *table, const struct wmk_json_writer *put, struct column *column)
{
	struct wmk_print_text *text = put->out;
	const size_t from = text->len;
	struct wmk_json_writer w;
	int err = wmk_json_end(put, 0);

	if (err < 0 || !column)
		return err;
	/* (put_plain() has already quoted other cells) */
	if (text->len > from && (text->text[from] == '{' || text->text[from] == '[')) {
		table->json.len = 0;
		w = wmk_json_begin(&table->json);
		wmk_json_put(&w, text->text + from, text->len - from);
		err = wmk_json_end(&w, 0);
		if (err < 0)
			return err;
		text->len = from;
		w = wmk_json_begin(text);
		put_cell(&w, table->json.text, table->json.len);
		err = wmk_json_end(&w, 0);
		if (err < 0)
			return err;
	}
	column->is_set = true;
	column->at = from;
	column->len = text->len - from;
	return 0;
}

/* Write the cells of one scope. */
static int fill(struct table *table, struct column *columns, struct wmk_print_text *text, unsigned part,
		struct wmk_read_stream *read)
{
	const struct wmk_ctf_program *program = wmk_read_scope_begin(read, part);
	struct wmk_ctf_walk *walk = &read->record.walk;
	struct wmk_ctf_item item;
	struct wmk_json_writer w = wmk_json_begin(text);
	struct column *column = NULL;
	unsigned depth = 0, within = 0;         /* number of open containers; of open structures and arrays */
	int err = 0;

	if (!program->n_ops)
		return 0;
	wmk_ctf_walk_enter(walk, program);
	while (err >= 0 && wmk_ctf_next(walk, &item)) {
		const bool is_container = item.op->code >= WMK_CTF_STRUCT;

		if (item.op == program->ops)
			continue;
		if (depth == 0 && wmk_read_is_interpreted(item.op))
			continue;
		if (depth == 0) {
			column = column_of(table, columns, part, wmk_or_empty(item.op->name));
			w = wmk_json_begin(text);
			w.in_variant = true;        /* the column already has the name */
		}
		const bool is_whole = item.op->code == WMK_CTF_STRUCT || item.op->code == WMK_CTF_ARRAY;

		/* (the content of a variant or an optional is the whole cell) */
		if (within || is_container || !put_plain(table, &w, &item))
			wmk_json_put_item(&w, &item, item.op->name);
		depth += is_container && !item.is_end;
		depth -= item.is_end;
		within += is_whole && !item.is_end;
		within -= is_whole && item.is_end;
		if (!depth)
			err = end_cell(table, &w, column);
	}
	return err < 0 ? err : walk->err;
}

/* ── streams and records ─────────────────────────────────────────────────────────────────────────────── */

static void csv_stream_free(void *state)
{
	struct csv_stream *stream = state;

	wmk_print_text_free(&stream->packet);
	free(stream->packet_columns);
	free(stream);
}

static int csv_stream(void *whole, const struct wmk_read_stream *read, void **state)
{
	struct csv_stream *made = calloc(1, sizeof(*made));

	if (made) {
		made->table = whole;
		made->decoder = read->decoder;
		made->packet_columns = calloc(made->table->n + 1, sizeof(made->packet_columns[0]));
	}
	*state = made;
	return made && made->packet_columns ? 0 : wmk_error(-ENOMEM, "no memory for a table");
}

static int csv_packet(void *state, struct wmk_read_stream *read)
{
	struct csv_stream *stream = state;

	memset(stream->packet_columns, 0, stream->table->n * sizeof(stream->packet_columns[0]));
	stream->packet.len = 0;
	return fill(stream->table, stream->packet_columns, &stream->packet, WMK_READ_OF_PACKET, read);
}

static int fill_record(struct csv_stream *stream, struct wmk_read_stream *read)
{
	struct table *table = stream->table;
	int err = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		table->columns[i].len = 0;
		table->columns[i].is_set = false;
	}
	table->cells.len = 0;
	for (unsigned part = WMK_READ_COMMON; part < WMK_READ_SCOPES && err >= 0; part++)
		err = fill(table, table->columns, &table->cells, part, read);
	return err;
}

static int csv_record(void *state, struct wmk_read_stream *read, struct wmk_print_text *out)
{
	struct csv_stream *stream = state;
	const struct table *table = stream->table;
	const char *name = read->record.event->class->name;
	const int64_t real = wmk_read_real_ns(read);
	const uint64_t ns = real < 0 ? 0 - (uint64_t)real : (uint64_t)real;
	struct wmk_json_writer w;
	char time[48] = "";
	int err = fill_record(stream, read);

	if (err < 0)
		return err;
	if (wmk_read_has_time(read))
		snprintf(time, sizeof(time), "%s%" PRIu64 ".%09" PRIu64, real < 0 ? "-" : "", ns / 1000000000,
			 ns % 1000000000);
	w = wmk_json_begin(out);
	wmk_json_put_text(&w, time);
	wmk_json_put(&w, ",", 1);
	put_cell(&w, read->trace->name, strlen(read->trace->name));
	wmk_json_put(&w, ",", 1);
	put_cell(&w, read->name, strlen(read->name));
	wmk_json_put(&w, ",", 1);
	put_cell(&w, wmk_or_empty(name), name ? strlen(name) : 0);
	for (uint32_t i = 0; i < table->n; i++) {
		const struct column *cell = &table->columns[i], *packet = &stream->packet_columns[i];

		wmk_json_put(&w, ",", 1);
		if (cell->len)
			wmk_json_put(&w, table->cells.text + cell->at, cell->len);
		else if (packet->len)
			wmk_json_put(&w, stream->packet.text + packet->at, packet->len);
	}
	wmk_json_put(&w, "\n", 1);
	return wmk_json_end(&w, 0);
}

const struct wmk_read_exporter wmk_read_csv = {
	.name = "csv",
	.create = csv_create,
	.trace = csv_trace,
	.begin = csv_begin,
	.free = csv_free,
	.stream = csv_stream,
	.stream_free = csv_stream_free,
	.packet = csv_packet,
	.record = csv_record,
};
