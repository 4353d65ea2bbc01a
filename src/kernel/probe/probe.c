/* SPDX-License-Identifier: MIT */
/*
 * probe.c - make events with their places from a parsed probe: look up symbols and files, name the fields (see
 * probe.h).
 */
#include "kernel/probe/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/scan.h"
#include "kernel/probe/kallsyms.h"
#include "kernel/event/near_names.h"
#include "kernel/probe/probe_fetch.h"

#define NAME_ROOM 10u        /* reserved in an event's name for a suffix: _entry, _return, _1024 */

/* The state of a probe while the probe is built. */
struct maker {
	struct wmk_probe *probe;
	const struct wmk_probe_options *options;
	struct wmk_probe_text text;
	struct wmk_probe_spot spot;
	char path[PATH_MAX];                   /* of the file, absolute */
	char name[WMK_PROBE_NAME_MAX];         /* of its first event */
	char where[PATH_MAX + 64];             /* PLACE of a line */
};

/* The fields of one place. */
struct fields {
	uint32_t n;
	struct wmk_probe_field fields[WMK_PROBE_ARGS_MAX];
	char fetches[WMK_PROBE_ARGS_MAX][WMK_PROBE_FETCH_MAX];
};

void wmk_probe_free(struct wmk_probe *probe)
{
	if (!probe)
		return;
	for (uint32_t i = 0; i < probe->n_events; i++) {
		for (uint32_t j = 0; j < probe->events[i].n_places; j++)
			free(probe->events[i].places[j]);
		free(probe->events[i].places);
	}
	free(probe->events);
	free(probe);
}

const char *wmk_probe_line(const struct wmk_probe *probe, const struct wmk_probe_event *event, uint32_t place,
			   char line[WMK_PROBE_LINE_MAX])
{
	snprintf(line, WMK_PROBE_LINE_MAX, "%c:%s/%s %s", event->letter, probe->group, event->name,
		 event->places[place]);
	return line;
}

static void note(struct wmk_probe *probe, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct wmk_probe *probe, const char *format, ...)
{
	const size_t len = strlen(probe->note);
	va_list args;

	if (len)
		snprintf(probe->note + len, sizeof(probe->note) - len, "; ");
	va_start(args, format);
	vsnprintf(probe->note + strlen(probe->note), sizeof(probe->note) - strlen(probe->note), format, args);
	va_end(args);
}

/* ── events ──────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_probe_event *add_event(struct wmk_probe *probe, char letter, const char *name,
					 const struct fields *fields)
{
	struct wmk_probe_event *events = reallocarray(probe->events, probe->n_events + 1, sizeof(*events)), *event;

	if (!events)
		return NULL;
	probe->events = events;
	event = &events[probe->n_events++];
	memset(event, 0, sizeof(*event));
	event->letter = letter;
	snprintf(event->name, sizeof(event->name), "%s", name);
	event->n_fields = fields->n;
	memcpy(event->fields, fields->fields, fields->n * sizeof(fields->fields[0]));
	return event;
}

static bool has_place(const struct wmk_probe_event *event, const char *place)
{
	for (uint32_t i = 0; i < event->n_places; i++)
		if (strcmp(event->places[i], place) == 0)
			return true;
	return false;
}

/* A file can contain a note twice, and the kernel rejects a second event at the same place with the same arguments. */
static int add_place(const struct maker *maker, struct wmk_probe_event *event, const struct fields *fields)
{
	char place[WMK_PROBE_LINE_MAX], **places;
	const size_t room = sizeof(place) - 2 * WMK_PROBE_NAME_MAX - 8;
	size_t len = (size_t)snprintf(place, sizeof(place), "%s", maker->where);

	for (uint32_t i = 0; i < fields->n && len < room; i++)
		len += (size_t)snprintf(place + len, sizeof(place) - len, " %s=%s", fields->fields[i].name,
					fields->fetches[i]);
	if (len >= room)
		return wmk_errorx(-EINVAL, "path and arguments exceed the longest line that the kernel accepts");
	if (has_place(event, place))
		return 0;
	places = reallocarray(event->places, event->n_places + 1, sizeof(*places));
	if (!places)
		return wmk_error(-ENOMEM, "cannot make a probe");
	event->places = places;
	places[event->n_places] = strdup(place);
	if (!places[event->n_places])
		return wmk_error(-ENOMEM, "cannot make a probe");
	event->n_places++;
	return 0;
}

static int add_single(struct maker *maker, char letter, const char *suffix, const struct fields *fields)
{
	char name[WMK_PROBE_NAME_MAX];
	struct wmk_probe_event *event;

	snprintf(name, sizeof(name), "%.50s%s", maker->name, suffix);
	event = add_event(maker->probe, letter, name, fields);
	return event ? add_place(maker, event, fields) : wmk_error(-ENOMEM, "cannot make a probe");
}

/* ── fields ──────────────────────────────────────────────────────────────────────────────────────────── */

static int add_field(struct maker *maker, const struct wmk_probe_arg *arg, struct fields *fields)
{
	struct wmk_probe_field *field = &fields->fields[fields->n];
	const int err = wmk_probe_fetch(&maker->spot, arg, fields->fetches[fields->n], field->type);

	if (err < 0)
		return err;
	memcpy(field->name, arg->name, sizeof(field->name));
	fields->n++;
	return 0;
}

/*
 * Add a field for each typed argument. If a function has two events, its exit gets $retval, and its entry gets all
 * other arguments.
 */
static int typed_fields(struct maker *maker, struct fields *fields)
{
	const bool is_part = maker->probe->kind == WMK_PROBE_FUNCTION;
	int err = 0;

	fields->n = 0;
	for (uint32_t i = 0; i < maker->text.n_args && err == 0; i++)
		if (!is_part || maker->spot.at_return == (maker->text.args[i].base == WMK_PROBE_RETVAL))
			err = add_field(maker, &maker->text.args[i], fields);
	return err;
}

/*
 * Makes the fields of a return probe. Without a list of arguments, a return probe has the field retval, unless BTF
 * describes the function as void.
 */
static int return_fields(struct maker *maker, struct fields *fields)
{
	static const struct wmk_probe_arg retval = { .column = 1, .name = "retval", .base = WMK_PROBE_RETVAL };
	int err = typed_fields(maker, fields);

	if (err < 0 || fields->n ||
	    (maker->text.has_args && (maker->probe->kind != WMK_PROBE_FUNCTION || maker->text.n_args == 0)))
		return err;
	if (!maker->spot.is_user && wmk_probe_ask_btf(&maker->spot) == 0 && maker->spot.function.is_void)
		return 0;
	wmk_error_clear();
	return add_field(maker, &retval, fields);
}

/* Make the only event of a probe: at the probe's place, or at the return of the function at that place. */
static int make_single(struct maker *maker, bool is_return, struct fields *fields)
{
	int err;

	maker->spot.at_return = is_return;
	maker->spot.at_entry = !is_return && maker->text.symbol[0] && !maker->text.number;
	err = is_return ? return_fields(maker, fields) : typed_fields(maker, fields);
	return err < 0 ? err
		       : add_single(maker, is_return ? 'r' : 'p', is_return && !maker->probe->is_named ? "_return" : "",
				    fields);
}

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

/* Replace all characters except letters, digits and _; a name must not begin with a digit. */
static void make_name(const char *wanted, char name[WMK_PROBE_NAME_MAX])
{
	size_t len = 0;

	if (wmk_scan_is_digit(wanted[0]))
		name[len++] = '_';
	for (; *wanted && len < WMK_PROBE_NAME_MAX - NAME_ROOM; wanted++)
		name[len++] = wmk_scan_is_word(*wanted) ? *wanted : '_';
	name[len] = '\0';
}

static void name_event(struct maker *maker)
{
	const struct wmk_probe_text *text = &maker->text;
	char wanted[2 * WMK_PROBE_SYMBOL_MAX];

	if (maker->options->name && maker->options->name[0]) {
		maker->probe->is_named = true;
		make_name(maker->options->name, maker->name);
		return;
	}
	if (text->place == WMK_PROBE_AT_SDT)
		snprintf(wanted, sizeof(wanted), "%s_%s", text->scope, text->symbol);
	else if (!text->symbol[0])
		snprintf(wanted, sizeof(wanted), "at_0x%" PRIx64, text->number);
	else if (text->number)
		snprintf(wanted, sizeof(wanted), "%s_0x%" PRIx64, text->symbol, text->number);
	else
		snprintf(wanted, sizeof(wanted), "%s", text->symbol);
	make_name(wanted, maker->name);
}

static bool is_group(const char *group)
{
	const size_t len = group ? strlen(group) : 0;

	return len > 0 && len < WMK_PROBE_NAME_MAX && !wmk_scan_is_digit(group[0]) &&
		strspn(group, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len;
}

/* ── the kernel ──────────────────────────────────────────────────────────────────────────────────────── */

static int make_function(struct maker *maker, struct fields *fields)
{
	int err;

	maker->spot.at_entry = maker->text.symbol[0] && !maker->text.number;
	err = typed_fields(maker, fields);
	if (err == 0)
		err = add_single(maker, 'p', "_entry", fields);
	maker->spot.at_entry = false;
	maker->spot.at_return = true;
	if (err == 0)
		err = return_fields(maker, fields);
	return err < 0 ? err : add_single(maker, 'r', "_exit", fields);
}

static int make_kernel(struct maker *maker, struct fields *fields)
{
	const struct wmk_probe_text *text = &maker->text;
	struct wmk_kallsyms_found found = { .n = 0 };
	const char *colon = text->scope[0] ? ":" : "";
	int err;

	if (text->symbol[0]) {
		err = wmk_kallsyms_find(maker->options->kallsyms, text->scope, text->symbol, &found);
		if (err < 0)
			return err;
	} else if (text->number <= INT64_MAX) {
		return wmk_errorx(-EINVAL, "0x%" PRIx64 " is not an address of the kernel", text->number);
	}
	maker->spot.machine = maker->options->machine ? maker->options->machine : wmk_elf_host();
	maker->spot.btf = maker->options->btf;
	maker->spot.module = found.module;
	maker->spot.symbol = text->number ? "" : text->symbol;
	if (!text->symbol[0])
		snprintf(maker->where, sizeof(maker->where), "0x%" PRIx64, text->number);
	else if (text->number)
		snprintf(maker->where, sizeof(maker->where), "%s%s%s+%" PRIu64, text->scope, colon, text->symbol,
			 text->number);
	else
		snprintf(maker->where, sizeof(maker->where), "%s%s%s", text->scope, colon, text->symbol);
	return maker->probe->kind == WMK_PROBE_FUNCTION
		       ? make_function(maker, fields)
		       : make_single(maker, maker->probe->kind == WMK_PROBE_KERNEL_RETURN, fields);
}

/* ── programs and libraries ──────────────────────────────────────────────────────────────────────────── */

/* Search for a program in the directories of $PATH, like a shell. */
static int find_path(struct maker *maker)
{
	const char *typed = maker->text.path,
		   *folders = maker->options->search_path ? maker->options->search_path : getenv("PATH");
	struct stat st;

	if (typed[0] == '/') {
		snprintf(maker->path, sizeof(maker->path), "%s", typed);
		return 0;
	}
	if (strchr(typed, '/'))
		return wmk_errorx(-EINVAL, "%s: not an absolute path (give an absolute path, or the name of a program "
					   "in $PATH)",
				  typed);
	while (folders && *folders) {
		const size_t len = strcspn(folders, ":");

		if (folders[0] == '/' &&
		    snprintf(maker->path, sizeof(maker->path), "%.*s/%s", (int)len, folders, typed) <
			    (int)sizeof(maker->path) &&
		    !strpbrk(maker->path, " \t\n#") && stat(maker->path, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(maker->path, X_OK) == 0)
			return 0;
		folders += len + (folders[len] == ':');
	}
	return wmk_errorx(-ENOENT, "no program %s in $PATH: give its absolute path", typed);
}

static int make_elf(struct maker *maker, struct fields *fields)
{
	const struct wmk_probe_text *text = &maker->text;
	struct wmk_elf_place *place = &maker->spot.place;
	int err = text->symbol[0] ? wmk_elf_function(maker->spot.elf, text->symbol, place) : 0;

	if (err < 0)
		return err;
	if (text->symbol[0] && place->size && text->number >= place->size)
		return wmk_errorx(-EINVAL, "%s has only %" PRIu64 " bytes", text->symbol, place->size);
	place->address += text->number;
	if (wmk_elf_offset(maker->spot.elf, place->address, true, &place->offset) < 0)
		return wmk_errorx(-EINVAL, "%s has no code at address 0x%" PRIx64, maker->path, place->address);
	if (text->symbol[0] && wmk_elf_is_stripped(maker->spot.elf))
		note(maker->probe, "%s is stripped: only its exported functions have names", maker->path);
	snprintf(maker->where, sizeof(maker->where), "%s:0x%" PRIx64, maker->path, place->offset);
	return make_single(maker, maker->probe->kind == WMK_PROBE_USER_RETURN, fields);
}

/* ── SDT notes ───────────────────────────────────────────────────────────────────────────────────────── */

/* The hint is stored once, even if the probe has several places. */
static void note_left_out(struct wmk_probe *probe, uint32_t number, const char *why)
{
	char words[48];

	snprintf(words, sizeof(words), "argument %u is left out", number);
	if (!strstr(probe->note, words))
		note(probe, "%s: %s", words, why);
}

static void all_arguments(struct maker *maker, struct fields *fields)
{
	fields->n = 0;
	for (uint32_t i = 0; i < maker->spot.n_sdt; i++) {
		struct wmk_probe_field *field = &fields->fields[fields->n];
		char fetch[WMK_PROBE_FETCH_MAX];
		const char *why = "it is too long for the kernel";

		if (wmk_probe_fetch_sdt(&maker->spot, i, fetch, field->type, &why) == 0 &&
		    wmk_probe_put_type(fetch, field->type, fields->fetches[fields->n])) {
			snprintf(field->name, sizeof(field->name), "arg%u", i + 1);
			fields->n++;
		} else {
			note_left_out(maker->probe, i + 1, why);
		}
	}
}

/* Find the event with the same fields; NULL: no such event exists yet. */
static struct wmk_probe_event *same_event(struct wmk_probe *probe, const struct fields *fields)
{
	for (uint32_t i = 0; i < probe->n_events; i++) {
		struct wmk_probe_event *event = &probe->events[i];
		bool same = event->n_fields == fields->n;

		for (uint32_t j = 0; j < fields->n && same; j++)
			same = strcmp(event->fields[j].name, fields->fields[j].name) == 0 &&
			       strcmp(event->fields[j].type, fields->fields[j].type) == 0;
		if (same)
			return event;
	}
	return NULL;
}

static int put_sdt(struct maker *maker, const struct fields *fields)
{
	struct wmk_probe_event *event = same_event(maker->probe, fields);
	char name[WMK_PROBE_NAME_MAX];

	if (!event) {
		snprintf(name, sizeof(name), "%.50s", maker->name);
		if (maker->probe->n_events)
			snprintf(name, sizeof(name), "%.50s_%u", maker->name, maker->probe->n_events + 1);
		event = add_event(maker->probe, 'p', name, fields);
	}
	if (!event)
		return wmk_error(-ENOMEM, "cannot make a probe");
	if (event->n_places >= WMK_PROBE_PLACES_MAX || maker->probe->n_events > WMK_PROBE_PLACES_MAX)
		return wmk_errorx(-E2BIG, "the probe matches more than %u places", WMK_PROBE_PLACES_MAX);
	return add_place(maker, event, fields);
}

static int one_sdt(void *data, const struct wmk_elf_sdt *sdt)
{
	struct maker *maker = data;
	struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX];
	struct wmk_elf_place *place = &maker->spot.place;
	struct fields fields;
	uint64_t semaphore;
	int err, len;

	if (strcmp(sdt->provider, maker->text.scope) != 0 || strcmp(sdt->name, maker->text.symbol) != 0)
		return 0;
	place->address = sdt->address;
	if (wmk_elf_offset(maker->spot.elf, place->address, true, &place->offset) < 0)
		return wmk_errorx(-EPROTO, "its note has address 0x%" PRIx64 ", but %s has no code there",
				  sdt->address, maker->path);
	maker->spot.n_sdt = wmk_sdt_args(maker->spot.machine, sdt->arguments, args);
	maker->spot.sdt = args;
	len = snprintf(maker->where, sizeof(maker->where), "%s:0x%" PRIx64, maker->path, place->offset);
	if (sdt->semaphore) {
		if (wmk_elf_offset(maker->spot.elf, sdt->semaphore, false, &semaphore) < 0)
			return wmk_errorx(-EPROTO, "its semaphore at 0x%" PRIx64 " is not in the file",
					  sdt->semaphore);
		snprintf(maker->where + len, sizeof(maker->where) - (size_t)len, "(0x%" PRIx64 ")", semaphore);
	}
	if (!maker->text.has_args) {
		all_arguments(maker, &fields);
		return put_sdt(maker, &fields);
	}
	err = typed_fields(maker, &fields);
	return err < 0 ? err : put_sdt(maker, &fields);
}

struct offer {
	struct wmk_names_near names, providers;
	const char *provider;
	bool has_provider;
};

static int offer_sdt(void *data, const struct wmk_elf_sdt *sdt)
{
	struct offer *offer = data;

	wmk_names_near_offer(&offer->providers, sdt->provider);
	if (strcmp(sdt->provider, offer->provider) == 0) {
		offer->has_provider = true;
		wmk_names_near_offer(&offer->names, sdt->name);
	}
	return offer->providers.left ? 0 : 1;
}

static int no_sdt(struct maker *maker)
{
	const char *provider = maker->text.scope, *name = maker->text.symbol;
	struct offer offer = { .provider = provider };
	char words[96];

	wmk_names_near_init(&offer.names, name, WMK_ELF_NEAREST_MAX);
	wmk_names_near_init(&offer.providers, provider, WMK_ELF_NEAREST_MAX);
	wmk_elf_each_sdt(maker->spot.elf, offer_sdt, &offer);
	wmk_nearest_text(offer.has_provider ? &offer.names.best : &offer.providers.best, words, sizeof(words));
	if (offer.providers.left == WMK_ELF_NEAREST_MAX)
		wmk_errorx(-ENOENT, "it has no SDT probes at all (section .note.stapsdt)");
	else if (words[0])
		wmk_errorx(-ENOENT, "did you mean %s?", words);
	else
		wmk_errorx(-ENOENT, offer.has_provider ? "readelf -n lists its probes"
						       : "no such provider: readelf -n lists its probes");
	return wmk_error_add(-ENOENT, "%s has no SDT probe %s:%s", maker->path, provider, name);
}

static int make_sdt(struct maker *maker)
{
	int err = wmk_elf_each_sdt(maker->spot.elf, one_sdt, maker);

	if (err < 0)
		return wmk_error_add(err, "the SDT probe %s:%s of %s", maker->text.scope, maker->text.symbol,
				     maker->path);
	return maker->probe->n_events ? 0 : no_sdt(maker);
}

static int make_user(struct maker *maker, struct fields *fields)
{
	int err = find_path(maker);

	if (err == 0)
		err = wmk_elf_open(maker->path, &maker->spot.elf);
	if (err < 0)
		return err;
	maker->spot.is_user = true;
	maker->spot.machine = wmk_elf_machine(maker->spot.elf);
	err = maker->text.place == WMK_PROBE_AT_SDT ? make_sdt(maker) : make_elf(maker, fields);
	wmk_elf_close(maker->spot.elf);
	return err;
}

static int make(struct maker *maker, const char *typed)
{
	struct fields *fields;
	int err = wmk_probe_text_read(maker->probe->kind, typed, &maker->text);

	if (err < 0)
		return err;
	fields = calloc(1, sizeof(*fields));
	if (!fields)
		return wmk_error(-ENOMEM, "cannot make a probe");
	name_event(maker);
	err = maker->text.place == WMK_PROBE_IN_KERNEL ? make_kernel(maker, fields) : make_user(maker, fields);
	free(fields);
	return err;
}

int wmk_probe_make(enum wmk_probe_kind kind, const char *typed, const struct wmk_probe_options *options,
		   struct wmk_probe **probe)
{
	struct maker *maker;
	int err;

	if (!is_group(options->group))
		return wmk_errorx(-EINVAL, "'%.64s' is not a valid group of events: use letters, digits and _",
				  options->group ? options->group : "");
	maker = calloc(1, sizeof(*maker));
	if (maker)
		maker->probe = calloc(1, sizeof(*maker->probe));
	if (!maker || !maker->probe) {
		free(maker);
		return wmk_error(-ENOMEM, "cannot make a probe");
	}
	maker->options = options;
	maker->probe->kind = kind;
	snprintf(maker->probe->group, sizeof(maker->probe->group), "%s", options->group);
	err = make(maker, typed);
	if (err < 0)
		wmk_probe_free(maker->probe);
	else
		*probe = maker->probe;
	free(maker);
	return err;
}
