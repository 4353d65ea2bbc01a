/* SPDX-License-Identifier: MIT */
/*
 * wide_numbers.c - prints the numbers that libwaymark-ctf reads from traces, as JSON lines: wide_numbers DIR.
 *
 * cases/t_wide_numbers.py compares them with the written values. A line is {"event": name, "by_name": whether each
 * member of the payload is equal when it is read by name, "scopes": [packet, stream context, event context, payload]}.
 * A scope is a list of its numbers: {"kind", "name", "number", "real", "text", "label", "kept": whether the text is
 * unchanged after the walk over the whole record}.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waymark/ctf.h>

#define SCOPES 4

/* A value, and a copy of its text from the time when it was read. */
struct seen {
	struct waymark_ctf_value value;
	char *text;
	bool is_member;                  /* the number of the scope's own structure */
};

struct list {
	struct seen *seen;
	size_t n, cap;
};

static void add(struct list *list, const struct waymark_ctf_value *value, bool is_member)
{
	if (list->n == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 64;
		list->seen = realloc(list->seen, list->cap * sizeof(*list->seen));
	}
	struct seen *seen = &list->seen[list->n++];

	*seen = (struct seen){ .value = *value, .is_member = is_member };
	if (value->text) {
		seen->text = malloc(value->length + 1);
		memcpy(seen->text, value->text, value->length);
	}
}

static void clear(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->seen[i].text);
	list->n = 0;
}

static bool is_kept(const struct seen *seen)
{
	return !seen->text || !memcmp(seen->text, seen->value.text, seen->value.length);
}

static void walk(const struct waymark_ctf_record *record, int scope, struct list *list)
{
	struct waymark_ctf_value value;
	int depth = 0;

	waymark_ctf_walk_begin(record, (enum waymark_ctf_scope)scope);
	while (waymark_ctf_walk_next(record, &value) > 0) {
		if (value.kind == WAYMARK_CTF_END)
			depth--;
		else if (value.kind >= WAYMARK_CTF_STRUCT)
			depth++;
		else
			add(list, &value, depth == 1);
	}
}

static bool same_by_name(const struct waymark_ctf_record *record, const struct seen *seen)
{
	struct waymark_ctf_value one;

	if (waymark_ctf_field(record, seen->value.name, &one) != 0)
		return false;
	return one.kind == seen->value.kind && one.label == seen->value.label && !one.text == !seen->text &&
	       (one.kind == WAYMARK_CTF_REAL ? !memcmp(&one.real, &seen->value.real, sizeof(one.real))
					     : one.number == seen->value.number) &&
	       (!one.text || (one.length == seen->value.length && !memcmp(one.text, seen->text, one.length)));
}

static void put(const struct seen *seen)
{
	static const char *const kinds[] = {
		[WAYMARK_CTF_UNSIGNED] = "unsigned", [WAYMARK_CTF_SIGNED] = "signed", [WAYMARK_CTF_REAL] = "real",
		[WAYMARK_CTF_BOOL] = "bool",         [WAYMARK_CTF_TEXT] = "text",     [WAYMARK_CTF_BYTES] = "bytes"
	};
	const struct waymark_ctf_value *value = &seen->value;

	printf("{\"kind\":\"%s\",\"name\":%s%s%s,", kinds[value->kind], value->name ? "\"" : "",
	       value->name ? value->name : "null", value->name ? "\"" : "");
	if (value->kind == WAYMARK_CTF_UNSIGNED)
		printf("\"number\":%" PRIu64 ",", (uint64_t)value->number);
	else
		printf("\"number\":%" PRId64 ",", value->number);
	printf("\"real\":\"%a\",\"kept\":%s,", value->kind == WAYMARK_CTF_REAL ? value->real : 0.0,
	       is_kept(seen) ? "true" : "false");
	if (seen->text)
		printf("\"text\":\"%.*s\",", (int)value->length, seen->text);
	else
		printf("\"text\":null,");
	printf(value->label ? "\"label\":\"%s\"}" : "\"label\":null}", value->label);
}

static void damage(void *data, const char *words)
{
	(void)data;
	fprintf(stderr, "damage: %s\n", words);
}

int main(int argc, char **argv)
{
	const struct waymark_ctf_options options = { .size = sizeof(options), .damage = damage };
	struct list lists[SCOPES] = { { NULL, 0, 0 } };
	const struct waymark_ctf_record *record;
	struct waymark_ctf *ctf;
	char why[1000];
	int got;

	if (argc != 2)
		return 2;
	if (waymark_ctf_open(&options, argv[1], &ctf) < 0) {
		fprintf(stderr, "error: %s\n", waymark_ctf_error_text(why, sizeof(why)));
		return 1;
	}
	while ((got = waymark_ctf_next(ctf, &record)) > 0) {
		bool by_name = true;

		for (int scope = 0; scope < SCOPES; scope++)
			walk(record, scope, &lists[scope]);
		const struct list *payload = &lists[SCOPES - 1];

		for (size_t i = 0; i < payload->n; i++)
			by_name = by_name && (!payload->seen[i].is_member || same_by_name(record, &payload->seen[i]));
		printf("{\"event\":\"%s\",\"by_name\":%s,\"scopes\":[", waymark_ctf_event_name(record),
		       by_name ? "true" : "false");
		for (int scope = 0; scope < SCOPES; scope++) {
			printf(scope ? ",[" : "[");
			for (size_t i = 0; i < lists[scope].n; i++) {
				printf(i ? "," : "");
				put(&lists[scope].seen[i]);
			}
			printf("]");
			clear(&lists[scope]);
		}
		printf("]}\n");
	}
	waymark_ctf_close(ctf);
	for (int scope = 0; scope < SCOPES; scope++)
		free(lists[scope].seen);
	return got < 0;
}
