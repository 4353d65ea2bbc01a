/* SPDX-License-Identifier: MIT */
/*
 * screen.c - tables and keys with ncurses (see screen.h).
 */
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "top/screen.h"

#define TABS_MAX 8u
#define HEADER_LINES 3
#define ESCAPE 27
#define TEXT_MIN 12            /* columns of the terminal for a text */

struct tab {
	char name[32];                 /* of the table */
	int sort;                      /* column; -1: the sort column of the table */
	uint32_t scroll;               /* the first row */
};

struct wmk_screen {
	SCREEN *terminal;
	char source[200];
	const char *sort;
	struct wmk_result shown;
	bool has_shown, is_paused, is_help, is_filtering, has_ended;
	struct tab tabs[TABS_MAX];
	unsigned n_tabs;
	char current[32];              /* name of the displayed table; "": the first table with rows */
	char filter[64];
};

static const char *const help[] = {
	"Keys:", "",
	"Tab, Right    next table", "Left          previous table",
	"Up, Down      scroll by a row", "PgUp, PgDn    scroll by a page", "Home          first row",
	"F6, >         sort by the next column", "<             sort by the previous column",
	"/             show only rows that contain a text; Enter keeps the filter, Esc removes it",
	"p             pause the display, or resume it", "h             this help", "q             quit",
	"", "Values are those of the last interval. Any key returns.",
};

/* ── tables ──────────────────────────────────────────────────────────────────────────────────────────── */

/* Each table has a tab, except the table `totals`, which the header shows. */
static bool is_tab(const struct wmk_result_table *table)
{
	return strcmp(table->name, "totals") != 0;
}

static struct tab *tab_of(struct wmk_screen *screen, const struct wmk_result_table *table)
{
	unsigned i = 0;

	while (i < screen->n_tabs && strcmp(screen->tabs[i].name, table->name) != 0)
		i++;
	if (i == TABS_MAX)
		return &screen->tabs[0];
	if (i == screen->n_tabs) {
		screen->tabs[screen->n_tabs++] = (struct tab){ .sort = -1 };
		snprintf(screen->tabs[i].name, sizeof(screen->tabs[i].name), "%s", table->name);
	}
	return &screen->tabs[i];
}

/* The displayed table. NULL: no table yet. */
static struct wmk_result_table *current(struct wmk_screen *screen)
{
	struct wmk_result_table *first = NULL, *table;

	for (unsigned i = 0; i < screen->shown.n_tables; i++) {
		table = &screen->shown.tables[i];
		if (!is_tab(table))
			continue;
		if (!strcmp(table->name, screen->current))
			return table;
		if (!first || (!first->n_rows && table->n_rows))
			first = table;
	}
	return first;
}

/* Display the table that is `by` places after the displayed table. */
static void change_table(struct wmk_screen *screen, int by)
{
	const unsigned n = screen->shown.n_tables;
	const struct wmk_result_table *table = current(screen);
	unsigned at = table ? (unsigned)(table - screen->shown.tables) : 0;

	if (!table)
		return;
	do {
		at = (at + n + (unsigned)by) % n;
	} while (!is_tab(&screen->shown.tables[at]));
	snprintf(screen->current, sizeof(screen->current), "%s", screen->shown.tables[at].name);
}

static void sort_all(struct wmk_screen *screen)
{
	for (unsigned i = 0; i < screen->shown.n_tables; i++) {
		struct wmk_result_table *table = &screen->shown.tables[i];
		struct tab *tab = is_tab(table) ? tab_of(screen, table) : NULL;

		for (unsigned c = 0; tab && tab->sort < 0 && screen->sort && c < table->n_columns; c++)
			if (!strcmp(table->columns[c].key, screen->sort))
				tab->sort = (int)c;
		if (tab && tab->sort >= 0)
			table->sort = tab->sort;
	}
	wmk_result_sort(&screen->shown, NULL);
}

static void change_sort(struct wmk_screen *screen, int by)
{
	struct wmk_result_table *table = current(screen);

	if (!table)
		return;
	tab_of(screen, table)->sort = (table->sort + (int)table->n_columns + by) % (int)table->n_columns;
	sort_all(screen);
}

static bool is_selected(const struct wmk_screen *screen, const struct wmk_result_table *table, uint32_t row)
{
	const struct wmk_cell *cells = table->cells + (size_t)row * table->n_columns;

	for (unsigned i = 0; i < table->n_columns; i++)
		if (table->columns[i].kind == WMK_COLUMN_TEXT && cells[i].text &&
		    strcasestr(cells[i].text, screen->filter))
			return true;
	return !*screen->filter;
}

static uint32_t n_selected(const struct wmk_screen *screen, const struct wmk_result_table *table)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < table->n_rows; row++)
		n += is_selected(screen, table, row);
	return n;
}

/* ── drawing ─────────────────────────────────────────────────────────────────────────────────────────── */

/* Write text up to the right border. ncurses counts bytes, so text with multi-byte characters may end earlier. */
static void put(int y, int x, const char *text)
{
	if (y >= 0 && y < LINES && x < COLS)
		mvaddnstr(y, x, text, COLS - x);
}

static void draw_header(const struct wmk_screen *screen)
{
	const struct wmk_result_table *totals = NULL;
	char line[400], value[64];
	size_t len = (size_t)snprintf(line, sizeof(line), "waymark top  %.80s%s%s", screen->source,
				      screen->has_ended ? "  ended" : "", screen->is_paused ? "  paused" : "");

	for (unsigned i = 0; i < screen->shown.n_tables; i++)
		if (!is_tab(&screen->shown.tables[i]))
			totals = &screen->shown.tables[i];
	for (unsigned i = 0; totals && totals->n_rows && i < totals->n_columns; i++)
		if (totals->cells[i].has && len < sizeof(line))
			len += (size_t)snprintf(line + len, sizeof(line) - len, "  %s %s%s", totals->columns[i].head,
						wmk_cell_format(&totals->columns[i], &totals->cells[i], value,
								sizeof(value)),
						totals->columns[i].kind == WMK_COLUMN_COUNT &&
						screen->shown.is_lost_unknown ? "+" : "");
	if (!screen->has_shown)
		snprintf(line + len, sizeof(line) - len, "  no interval yet");
	attron(A_BOLD);
	put(0, 0, line);
	attroff(A_BOLD);
}

static void draw_tabs(struct wmk_screen *screen)
{
	const struct wmk_result_table *now = current(screen);
	int x = 0;

	for (unsigned i = 0; i < screen->shown.n_tables; i++) {
		const struct wmk_result_table *table = &screen->shown.tables[i];

		if (!is_tab(table))
			continue;
		if (table == now)
			attron(A_REVERSE);
		put(1, x, table->title);
		attroff(A_REVERSE);
		x += (int)strlen(table->title) + 2;
	}
}

static const char *text_at(const struct wmk_result_table *table, uint32_t row, unsigned i, char *buf, size_t size)
{
	return wmk_cell_format(&table->columns[i], &table->cells[(size_t)row * table->n_columns + i], buf, size);
}

/*
 * Widths do not depend on the values, so that columns do not move. On a screen of 80 columns, the names still have
 * enough space. The last column is a text, and is not padded.
 */
static int width_of(const struct wmk_result_table *table, unsigned i)
{
	const struct wmk_column *column = &table->columns[i];
	const int head = (int)strlen(column->head), least = column->kind == WMK_COLUMN_VALUE ? 11 : 8;

	return column->kind == WMK_COLUMN_TEXT ? TEXT_MIN : head > least ? head : least;
}

static void draw_row(const struct wmk_result_table *table, int y, int64_t row)
{
	char buf[128];
	int x = 0;

	for (unsigned i = 0; i < table->n_columns; i++) {
		const bool is_text = table->columns[i].kind == WMK_COLUMN_TEXT;
		const char *text = row < 0 ? table->columns[i].head
					   : text_at(table, (uint32_t)row, i, buf, sizeof(buf));
		const int width = width_of(table, i), pad = is_text ? 0 : width - (int)strlen(text);

		if (row < 0 && (int)i == table->sort)
			attron(A_REVERSE);
		put(y, x + (pad > 0 ? pad : 0), text);
		attroff(A_REVERSE);
		x += width + 1;
	}
}

static void draw_table(struct wmk_screen *screen)
{
	const struct wmk_result_table *table = current(screen);
	struct tab *tab = table ? tab_of(screen, table) : NULL;
	const uint32_t n = table ? n_selected(screen, table) : 0;
	int y = HEADER_LINES;

	if (!table)
		return;
	tab->scroll = tab->scroll >= n ? (n ? n - 1 : 0) : tab->scroll;
	draw_row(table, HEADER_LINES - 1, -1);
	for (uint32_t row = 0, seen = 0; row < table->n_rows && y < LINES - 1; row++) {
		if (!is_selected(screen, table, row) || seen++ < tab->scroll)
			continue;
		draw_row(table, y++, row);
	}
}

static void draw(struct wmk_screen *screen)
{
	char line[160];

	erase();
	for (int i = 0; screen->is_help && i < (int)WMK_ARRAY_LEN(help); i++)
		put(i, 0, help[i]);
	if (!screen->is_help) {
		draw_header(screen);
		draw_tabs(screen);
		draw_table(screen);
		if (screen->is_filtering || *screen->filter)
			snprintf(line, sizeof(line), "filter: %s%s", screen->filter, screen->is_filtering ? "_" : "");
		else
			snprintf(line, sizeof(line), "q quit  h help  Tab table  F6 > sort  / filter  p pause");
		put(LINES - 1, 0, line);
	}
	refresh();
}

/* ── keys ────────────────────────────────────────────────────────────────────────────────────────────── */

static void scroll_by(struct wmk_screen *screen, int64_t by)
{
	const struct wmk_result_table *table = current(screen);
	struct tab *tab = table ? tab_of(screen, table) : NULL;
	const int64_t to = tab ? (int64_t)tab->scroll + by : 0;

	if (tab)
		tab->scroll = to < 0 ? 0 : (uint32_t)to;
}

static void take_filter_key(struct wmk_screen *screen, int key)
{
	const size_t len = strlen(screen->filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		screen->is_filtering = false;
	} else if (key == ESCAPE) {
		screen->is_filtering = false;
		screen->filter[0] = '\0';
	} else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && len) {
		screen->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 127 && len + 1 < sizeof(screen->filter)) {
		screen->filter[len] = (char)key;
		screen->filter[len + 1] = '\0';
	}
}

/* False: quit. */
static bool take_key(struct wmk_screen *screen, int key)
{
	const int page = LINES - HEADER_LINES - 1;

	if (key == KEY_RESIZE)
		return true;
	if (screen->is_help) {
		screen->is_help = false;
		return true;
	}
	if (screen->is_filtering) {
		take_filter_key(screen, key);
		return true;
	}
	switch (key) {
	case 'q':
	case KEY_F(10):
		return false;
	case 'h':
	case '?':
	case KEY_F(1):
		screen->is_help = true;
		break;
	case 'p':
		screen->is_paused = !screen->is_paused;
		break;
	case '/':
	case KEY_F(4):
		screen->is_filtering = true;
		break;
	case ESCAPE:
		screen->filter[0] = '\0';
		break;
	case '\t':
	case KEY_RIGHT:
		change_table(screen, 1);
		break;
	case KEY_BTAB:
	case KEY_LEFT:
		change_table(screen, -1);
		break;
	case '>':
	case KEY_F(6):
		change_sort(screen, 1);
		break;
	case '<':
		change_sort(screen, -1);
		break;
	case KEY_UP:
		scroll_by(screen, -1);
		break;
	case KEY_DOWN:
		scroll_by(screen, 1);
		break;
	case KEY_PPAGE:
		scroll_by(screen, -page);
		break;
	case KEY_NPAGE:
		scroll_by(screen, page);
		break;
	case KEY_HOME:
		scroll_by(screen, INT32_MIN);
		break;
	default:
		break;
	}
	return true;
}

bool wmk_screen_keys(struct wmk_screen *screen)
{
	bool has_key = false;
	int key;

	while ((key = getch()) != ERR) {
		has_key = true;
		if (!take_key(screen, key))
			return false;
	}
	if (has_key)
		draw(screen);
	return true;
}

/* ── the screen ──────────────────────────────────────────────────────────────────────────────────────── */

int wmk_screen_open(const char *source, const char *sort, struct wmk_screen **screen)
{
	struct wmk_screen *made = calloc(1, sizeof(*made));

	if (!made)
		return wmk_error(-ENOMEM, "no memory for the screen");
	snprintf(made->source, sizeof(made->source), "%s", source);
	made->sort = sort;
	setlocale(LC_CTYPE, "");
	made->terminal = newterm(NULL, stdout, stdin);
	if (!made->terminal) {
		free(made);
		return wmk_error(-ENOTTY, "cannot use the terminal (--batch prints lines)");
	}
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	*screen = made;
	draw(made);
	return 0;
}

void wmk_screen_close(struct wmk_screen *screen)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen->terminal);
	if (screen->has_shown)
		wmk_result_free(&screen->shown);
	free(screen);
}

void wmk_screen_show(struct wmk_screen *screen, struct wmk_result *shown)
{
	if (screen->is_paused) {
		wmk_result_free(shown);
		return;
	}
	if (screen->has_shown)
		wmk_result_free(&screen->shown);
	screen->shown = *shown;
	screen->has_shown = true;
	for (unsigned i = 0; i < screen->shown.n_tables; i++)
		screen->shown.tables[i].result = &screen->shown;
	sort_all(screen);
	draw(screen);
}

void wmk_screen_ended(struct wmk_screen *screen)
{
	screen->has_ended = true;
	draw(screen);
}
