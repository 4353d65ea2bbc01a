/* SPDX-License-Identifier: MIT */
/*
 * print_columns.c - the style WMK_PRINT_COLUMNS (see print.h): rows are held back until a screenful is complete, so
 * that its columns are aligned.
 *
 *     wmk_print_row_begin() ─► time, CPU, host │ print.c: fields, thread │ wmk_print_row_end() ─► thread, event
 *                                                                            └ a full block ─► wmk_print_end() ─► out
 *
 * The cells of all rows are stored in one text, in the order in which they were formatted. Each row stores the
 * position, the length and the display width of its cells.
 */
#include <errno.h>

#include "base/error.h"
#include "ctf/wide_number.h"
#include "read/print_state.h"

#define BLOCK_MAX 65536u           /* bytes; then the block is complete, whatever its number of rows */
#define THREAD_MAX 256u            /* bytes of a thread's name that are shown */

/* A wider cell is shown completely, but does not widen its column. */
static const uint8_t width_max[WMK_PRINT_CELLS] = {
	[WMK_PRINT_CELL_MARK] = 24, [WMK_PRINT_CELL_TIME] = 40, [WMK_PRINT_CELL_CPU] = 8, [WMK_PRINT_CELL_HOST] = 24,
	[WMK_PRINT_CELL_THREAD] = 32, [WMK_PRINT_CELL_EVENT] = 40,
};

/* ── width on a screen ───────────────────────────────────────────────────────────────────────────────── */

struct width_range { uint32_t from, to; };

/*
 * The first list has combining marks and characters without a width. The second list has East Asian characters and
 * pictures, which take two columns.
 */
static const struct width_range none[] = { { 0x300, 0x36f }, { 0x200b, 0x200f }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f },
				     { 0xfe20, 0xfe2f } };
static const struct width_range twice[] = { { 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
				      { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
				      { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x1f300, 0x1f64f },
				      { 0x1f900, 0x1f9ff }, { 0x20000, 0x3fffd } };

static bool is_in(const struct width_range *ranges, size_t n, uint32_t c)
{
	size_t i = 0;

	while (i < n && c > ranges[i].to)
		i++;
	return i < n && c >= ranges[i].from;
}

/*
 * The function does not call wcwidth(), because the output must not depend on the locale. Bytes that are not UTF-8 take
 * one column each.
 */
uint32_t wmk_print_width(const char *s, size_t len)
{
	uint32_t width = 0;

	for (size_t i = 0; i < len;) {
		const unsigned char first = (unsigned char)s[i++];
		const unsigned more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
		uint32_t c = first & (0x7fu >> more);
		unsigned n = 0;

		if (first < 0x80) {
			width++;
			continue;
		}
		for (; n < more && i + n < len && ((unsigned char)s[i + n] & 0xc0) == 0x80; n++)
			c = c << 6 | ((unsigned char)s[i + n] & 0x3f);
		if (!more || n < more) {
			width++;
			continue;
		}
		i += more;
		c &= 0x1fffff;
		width += is_in(none, sizeof(none) / sizeof(none[0]), c) ? 0
			 : is_in(twice, sizeof(twice) / sizeof(twice[0]), c) ? 2 : 1;
	}
	return width;
}

/* ── cells ───────────────────────────────────────────────────────────────────────────────────────────── */

static inline char *copy(char *p, const char *s, size_t len)
{
	memcpy(p, s, len);
	return p + len;
}

void wmk_print_mark(struct wmk_print *print, const struct wmk_print_text *mark)
{
	print->columns.mark = mark;
}

void wmk_print_origin(struct wmk_print *print, int64_t ns)
{
	print->columns.origin = ns;
	print->columns.has_origin = true;
}

static char *put_time(struct wmk_print *print, char *p, const struct wmk_print_scale *scale, uint64_t value)
{
	return print->options.clock == WMK_PRINT_CYCLES ? wmk_print_u64(p, value)
							: wmk_print_wall(print, p, scale, value);
}

static inline void cell_set(struct wmk_print_cell *cell, size_t at, size_t len, uint32_t width)
{
	*cell = (struct wmk_print_cell){ .at = at, .len = len, .width = width };
}

/*
 * Begin a row with the cells of the time, the CPU and the host. Returns the position for the text of the fields; NULL
 * with a cause chain.
 */
char *wmk_print_row_begin(struct wmk_print_stream *stream, uint64_t time)
{
	struct wmk_print *print = stream->trace->print;
	struct wmk_print_columns *columns = &print->columns;
	struct wmk_print_cell *cells = columns->rows[columns->n_rows].cells;
	const struct wmk_print_text *cpu = &stream->cpu, *host = &stream->trace->host, *mark = columns->mark;
	const size_t marked = mark ? mark->len : 0;
	char *begin = wmk_print_begin(&columns->text, WMK_PRINT_STAMP + cpu->len + host->len + marked), *p = begin, *at;

	if (!begin)
		return NULL;
	columns->thread = (struct wmk_print_thread){ .name = NULL };
	memset(columns->rows[columns->n_rows].cells, 0, sizeof(columns->rows[0].cells));
	if (marked) {
		p = copy(p, mark->text, marked);
		cell_set(&cells[WMK_PRINT_CELL_MARK], (size_t)(begin - columns->text.text), marked,
			 wmk_print_width(mark->text, marked));
	}
	at = p;
	if (stream->class->scale.is_there)
		p = put_time(print, p, &stream->class->scale, time);
	cell_set(&cells[WMK_PRINT_CELL_TIME], (size_t)(at - columns->text.text), (size_t)(p - at), (uint32_t)(p - at));
	at = p;
	if (cpu->len)
		p = copy(p, cpu->text, cpu->len);
	cell_set(&cells[WMK_PRINT_CELL_CPU], (size_t)(at - columns->text.text), cpu->len, (uint32_t)cpu->len);
	at = p;
	if (columns->n_hosts > 1 && host->len)
		p = copy(p, host->text, host->len);
	cell_set(&cells[WMK_PRINT_CELL_HOST], (size_t)(at - columns->text.text), (size_t)(p - at),
		 p > at ? stream->trace->host_width : 0);
	cells[WMK_PRINT_CELL_FIELDS].at = (size_t)(p - columns->text.text);
	return p;
}

/* "shop/5698"; "shop/5698/5701" if the thread is not the first one of its process. */
static char *put_thread(const struct wmk_print_thread *thread, char *p)
{
	const size_t len = thread->len < THREAD_MAX ? thread->len : THREAD_MAX;

	if (len)
		p = wmk_print_name(p, thread->name, len);
	if (thread->has_pid || thread->has_tid) {
		if (len)
			*p++ = '/';
		p = wmk_print_s64(p, thread->has_pid ? thread->pid : thread->tid);
	}
	if (thread->has_pid && thread->has_tid && thread->tid != thread->pid) {
		*p++ = '/';
		p = wmk_print_s64(p, thread->tid);
	}
	return p;
}

/*
 * End a row; the text of its fields ends at `p`. The function appends the block of rows to `out` if the block is
 * complete.
 */
int wmk_print_row_end(struct wmk_print_stream *stream, const struct wmk_print_event *event, char *p,
		      struct wmk_print_text *out)
{
	static const char green[] = "\033[32m", plain[] = WMK_PRINT_PLAIN;
	struct wmk_print *print = stream->trace->print;
	struct wmk_print_columns *columns = &print->columns;
	struct wmk_print_cell *cells = columns->rows[columns->n_rows].cells;
	const struct wmk_print_thread *thread = &columns->thread;
	const struct wmk_print_text *process = &stream->trace->process;
	const bool color = print->options.color;
	size_t fields = (size_t)(p - columns->text.text);
	char *at, *name;

	cells[WMK_PRINT_CELL_FIELDS].len = fields - cells[WMK_PRINT_CELL_FIELDS].at;
	p = wmk_print_room(&columns->text, p, THREAD_MAX * WMK_PRINT_ESCAPE + 2 * WMK_PRINT_NUMBER + process->len +
			   event->head.len);
	if (!p)
		return wmk_print_error();
	at = p;
	if (color)
		p = copy(p, green, sizeof(green) - 1);
	name = p;
	if (thread->len || thread->has_pid || thread->has_tid)
		p = put_thread(thread, p);
	else if (process->len)
		p = copy(p, process->text, process->len);
	cells[WMK_PRINT_CELL_THREAD].width = wmk_print_width(name, (size_t)(p - name));
	if (color)
		p = p == name ? at : copy(p, plain, sizeof(plain) - 1);
	cells[WMK_PRINT_CELL_THREAD].at = (size_t)(at - columns->text.text);
	cells[WMK_PRINT_CELL_THREAD].len = (size_t)(p - at);
	cell_set(&cells[WMK_PRINT_CELL_EVENT], (size_t)(p - columns->text.text), event->head.len, event->width);
	p = copy(p, event->head.text, event->head.len);
	columns->text.len = (size_t)(p - columns->text.text);
	columns->n_shown++;
	return ++columns->n_rows == WMK_PRINT_ROWS || columns->text.len >= BLOCK_MAX ? wmk_print_end(print, out) : 0;
}

/* ── blocks ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Columns may become wider but never narrower, so that each screenful is aligned with the previous one. */
static void widen(struct wmk_print_columns *columns)
{
	for (unsigned r = 0; r < columns->n_rows; r++)
		for (unsigned c = 0; c < WMK_PRINT_CELL_FIELDS; c++) {
			const uint32_t width = columns->rows[r].cells[c].width;

			if (width > columns->width[c])
				columns->width[c] = width < width_max[c] ? width : width_max[c];
		}
}

/* Append a row to `out`. The cells of the time and the CPU are aligned to the right. */
static int put_row(const struct wmk_print_columns *columns, const struct wmk_print_row *row, struct wmk_print_text *out)
{
	const struct wmk_print_cell *fields = &row->cells[WMK_PRINT_CELL_FIELDS];
	size_t need = fields->len + 2;
	bool first = true;
	char *p;

	for (unsigned c = 0; c < WMK_PRINT_CELL_FIELDS; c++)
		need += row->cells[c].len + columns->width[c] + 2;
	p = wmk_print_begin(out, need);
	if (!p)
		return wmk_print_error();
	for (unsigned c = 0; c < WMK_PRINT_CELL_FIELDS; c++) {
		const struct wmk_print_cell *cell = &row->cells[c];
		const uint32_t pad = columns->width[c] > cell->width ? columns->width[c] - cell->width : 0;

		if (!columns->width[c])
			continue;
		if (!first)
			p = copy(p, "  ", 2);
		first = false;
		if (c == WMK_PRINT_CELL_TIME || c == WMK_PRINT_CELL_CPU) {
			memset(p, ' ', pad);
			p = copy(p + pad, columns->text.text + cell->at, cell->len);
		} else {
			p = copy(p, columns->text.text + cell->at, cell->len);
			if (c < WMK_PRINT_CELL_EVENT || fields->len) {
				memset(p, ' ', pad);
				p += pad;
			}
		}
	}
	/* (the fields begin with a space) */
	if (fields->len) {
		*p++ = ' ';
		p = copy(p, columns->text.text + fields->at, fields->len);
	}
	*p++ = '\n';
	out->len = (size_t)(p - out->text);
	return 0;
}

int wmk_print_end(struct wmk_print *print, struct wmk_print_text *out)
{
	struct wmk_print_columns *columns = &print->columns;
	int err = 0;

	widen(columns);
	for (unsigned r = 0; r < columns->n_rows && err >= 0; r++)
		err = put_row(columns, &columns->rows[r], out);
	columns->n_rows = 0;
	columns->text.len = 0;
	return err;
}

uint64_t wmk_print_hidden(const struct wmk_print *print)
{
	return print->columns.n_shown ? 0 : print->columns.n_hidden;
}

/* ── what the columns show of a trace, a packet and a context ────────────────────────────────────────── */

static const char *const thread_names[] = {
	[WMK_PRINT_TAKEN_PID] = "pid", [WMK_PRINT_TAKEN_VPID] = "vpid", [WMK_PRINT_TAKEN_TID] = "tid",
	[WMK_PRINT_TAKEN_VTID] = "vtid", [WMK_PRINT_TAKEN_NAME] = "procname",
};

static bool has_member(const struct wmk_ctf_program *program, const char *name)
{
	const struct wmk_ctf_op *ops = program->ops;

	for (uint32_t i = 1; i < program->n_ops && ops[i].code != WMK_CTF_END; i = ops[i].next)
		if (ops[i].name && strcmp(ops[i].name, name) == 0)
			return true;
	return false;
}

/*
 * A context may contain ids of the initial namespace and ids of the process's own namespace. The thread column shows
 * the ids of the initial namespace.
 */
unsigned wmk_print_taken(const struct wmk_ctf_program *program, const struct wmk_ctf_op *op)
{
	unsigned which = WMK_PRINT_TAKEN_PID;
	bool is_fit;

	while (which <= WMK_PRINT_TAKEN_NAME && (!op->name || strcmp(op->name, thread_names[which]) != 0))
		which++;
	if (which > WMK_PRINT_TAKEN_NAME)
		return 0;
	is_fit = which == WMK_PRINT_TAKEN_NAME
			 ? (op->code == WMK_CTF_STRING || op->code == WMK_CTF_TEXT) &&
				   op->type->encoding == WMK_ENCODING_UTF8
			 : op->code == WMK_CTF_INT && !wmk_ctf_may_be_wide(op);
	if ((which == WMK_PRINT_TAKEN_VPID && has_member(program, "pid")) ||
	    (which == WMK_PRINT_TAKEN_VTID && has_member(program, "tid")))
		is_fit = false;
	return is_fit ? which : 0;
}

void wmk_print_take(struct wmk_print_thread *thread, unsigned which, const struct wmk_ctf_item *item)
{
	switch (which) {
	case WMK_PRINT_TAKEN_PID:
	case WMK_PRINT_TAKEN_VPID:
		thread->pid = item->value.i;
		thread->has_pid = true;
		break;
	case WMK_PRINT_TAKEN_TID:
	case WMK_PRINT_TAKEN_VTID:
		thread->tid = item->value.i;
		thread->has_tid = true;
		break;
	default:
		thread->name = item->text;
		thread->len = item->len;
	}
}

/* "[3]": the CPU of a packet; "" if it has none. */
int wmk_print_cpu(struct wmk_print_stream *stream, struct wmk_ctf_walk *walk)
{
	struct wmk_print_words words = { .out = &stream->cpu };
	struct wmk_ctf_item item;

	stream->cpu.len = 0;
	wmk_ctf_walk_enter_passing(walk, &stream->class->decoder->packet_context);
	while (wmk_ctf_next(walk, &item)) {
		if (item.is_end || item.op->code != WMK_CTF_INT || item.value.u >= UINT32_MAX || stream->cpu.len ||
		    (!(item.op->roles & WMK_ROLE_BIT(WMK_ROLE_CPU)) &&
		     strcmp(wmk_or_empty(item.op->name), "cpu_id") != 0))
			continue;
		wmk_print_add(&words, "[");
		wmk_print_add_unsigned(&words, item.value.u);
		wmk_print_add(&words, "]");
	}
	return walk->err < 0 ? walk->err : words.err;
}

/*
 * Set the host of the trace, and the process that the environment of the trace names. For a record without a context
 * field for the thread, the output shows the process from the environment of the trace.
 */
int wmk_print_trace_columns(struct wmk_print_trace *trace, const char *name)
{
	struct wmk_print_words host = { .out = &trace->host }, process = { .out = &trace->process };
	const struct wmk_ctf_class *class = trace->decoder->class;
	const struct wmk_ctf_env_entry *entry;
	struct wmk_print_columns *columns = &trace->print->columns;

	if (name)
		wmk_print_add_name(&host, name);
	trace->host_width = trace->host.len ? wmk_print_width(trace->host.text, trace->host.len) : 0;
	entry = wmk_print_env(class, "procname");
	if (entry && entry->text)
		wmk_print_add_name(&process, entry->text);
	entry = wmk_print_env(class, "vpid");
	if (entry && !entry->text) {
		wmk_print_add(&process, trace->process.len ? "/" : "");
		wmk_print_add_number(&process, entry->number);
	}
	if (host.err < 0 || process.err < 0)
		return host.err < 0 ? host.err : process.err;
	if (trace->host.len && (!columns->n_hosts || trace->host.len != columns->host.len ||
				memcmp(trace->host.text, columns->host.text, trace->host.len) != 0)) {
		struct wmk_print_words first = { .out = &columns->host };

		if (!columns->n_hosts)
			wmk_print_add_bytes(&first, trace->host.text, trace->host.len);
		columns->n_hosts++;
		return first.err;
	}
	return 0;
}

/* Return whether an event belongs to a state dump of Waymark or of LTTng. */
bool wmk_print_is_statedump(const char *event)
{
	static const char kernel[] = "lttng_statedump_", user[] = "lttng_ust_statedump:";

	return event &&
	       (strncmp(event, kernel, sizeof(kernel) - 1) == 0 || strncmp(event, user, sizeof(user) - 1) == 0);
}

void wmk_print_columns_free(struct wmk_print_columns *columns)
{
	wmk_print_text_free(&columns->text);
	wmk_print_text_free(&columns->host);
}
