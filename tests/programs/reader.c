/* SPDX-License-Identifier: MIT */
/*
 * reader.c - prints the records that libwaymark-ctf reads from traces, as JSON lines: reader DIR [SEEK-NS [FILTER]].
 *
 * cases/t_view.py compares them with `waymark view --json`. A line is {"time": ns, "event": name, "stream": file,
 * "scopes": [packet, stream context, event context, payload]}, with null for a missing scope. The program also reads
 * every value by its name, which must give the same value.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waymark/ctf.h>

static void put_string(const char *s, size_t len)
{
	putchar('"');
	for (size_t i = 0; i < len; i++)
		if (s[i] == '"' || s[i] == '\\' || (unsigned char)s[i] < 0x20)
			printf("\\u%04x", (unsigned char)s[i]);
		else
			putchar(s[i]);
	putchar('"');
}

static void put_value(const struct waymark_ctf_value *value)
{
	switch (value->kind) {
	case WAYMARK_CTF_UNSIGNED: printf("%" PRIu64, (uint64_t)value->number); break;
	case WAYMARK_CTF_REAL: printf("%.17g", value->real); break;
	case WAYMARK_CTF_BOOL: printf(value->number ? "true" : "false"); break;
	case WAYMARK_CTF_TEXT: put_string(value->text, value->length); break;
	case WAYMARK_CTF_BYTES: printf("\"%zu bytes\"", value->length); break;
	default: printf("%" PRId64, value->number);
	}
}

static int is_begin(const struct waymark_ctf_value *value)
{
	return value->kind >= WAYMARK_CTF_STRUCT && value->kind < WAYMARK_CTF_END;
}

/* Print the compound that begins with `value`, to its end. */
static void put_inside(const struct waymark_ctf_record *record, const struct waymark_ctf_value *begin)
{
	const int is_struct = begin->kind == WAYMARK_CTF_STRUCT, is_array = begin->kind == WAYMARK_CTF_ARRAY;
	struct waymark_ctf_value value;
	int n = 0;

	printf(is_struct ? "{" : is_array ? "[" : "");
	while (waymark_ctf_walk_next(record, &value) > 0 && value.kind != WAYMARK_CTF_END) {
		if (n++)
			printf(",");
		if (is_struct) {
			put_string(value.name, strlen(value.name));
			printf(":");
		}
		if (is_begin(&value))
			put_inside(record, &value);
		else
			put_value(&value);
	}
	printf(is_struct ? "}" : is_array ? "]" : n ? "" : "null");
}

static void put_scope(const struct waymark_ctf_record *record, enum waymark_ctf_scope scope)
{
	struct waymark_ctf_value value;

	waymark_ctf_walk_begin(record, scope);
	if (waymark_ctf_walk_next(record, &value) > 0)
		put_inside(record, &value);
	else
		printf("null");
}

/*
 * Read a field by its name and by an accessor, which is kept for all records. Both must give the same result. Returns
 * that of waymark_ctf_field(), or 1 if they differ.
 */
static int by_name(struct waymark_ctf *ctf, const struct waymark_ctf_record *record, const char *name,
		   struct waymark_ctf_value *value)
{
	static struct { char *name; struct waymark_ctf_accessor *accessor; } kept[2000];
	const int err = waymark_ctf_field(record, name, value);
	struct waymark_ctf_value other;
	unsigned i = 0;

	while (i < 1999 && kept[i].name && strcmp(kept[i].name, name) != 0)
		i++;
	if (!kept[i].name) {
		if (waymark_ctf_accessor_create(ctf, name, &kept[i].accessor) < 0)
			return err == -ENOENT ? err : 1;
		kept[i].name = strdup(name);
	}
	if (strcmp(kept[i].name, name) != 0)
		return err;            /* (there are more names than slots for accessors) */
	if (waymark_ctf_accessor_get(kept[i].accessor, record, &other) != err)
		return 1;
	return err == -ENOENT || (other.kind == value->kind && other.name == value->name &&
				  other.number == value->number && other.text == value->text &&
				  other.length == value->length && other.label == value->label &&
				  memcmp(&other.real, &value->real, sizeof(other.real)) == 0)
		       ? err
		       : 1;
}

/* Compare the members of the payload with the values that are read by name. */
static int same_by_name(struct waymark_ctf *ctf, const struct waymark_ctf_record *record)
{
	struct waymark_ctf_value all[200], one;
	unsigned n = 0, depth = 0;

	waymark_ctf_walk_begin(record, WAYMARK_CTF_PAYLOAD);
	while (n < 200 && waymark_ctf_walk_next(record, &one) > 0) {
		if (depth == 1 && one.kind != WAYMARK_CTF_END && one.kind != WAYMARK_CTF_VARIANT &&
		    one.kind != WAYMARK_CTF_OPTIONAL)
			all[n++] = one;
		depth += is_begin(&one) ? 1 : one.kind == WAYMARK_CTF_END ? -1u : 0;
	}
	for (unsigned i = 0; i < n; i++) {
		int err = by_name(ctf, record, all[i].name, &one);

		if (err != (is_begin(&all[i]) ? -EISDIR : 0) || one.kind != all[i].kind ||
		    one.number != all[i].number || one.text != all[i].text)
			return 0;
	}
	return by_name(ctf, record, "there is no such field", &one) == -ENOENT &&
	       by_name(ctf, record, "", &one) == -ENOENT && by_name(ctf, record, "a[", &one) == -ENOENT &&
	       by_name(ctf, record, ".", &one) == -ENOENT;
}

/* A record of another handle of the same trace: the accessor does not know its events. */
static int refuses_anothers(struct waymark_ctf *ctf, const char *trace)
{
	const struct waymark_ctf_options options = { .size = sizeof(options) };
	const struct waymark_ctf_record *record;
	struct waymark_ctf_accessor *accessor;
	struct waymark_ctf_value value;
	struct waymark_ctf *other;
	int refused = 0, got;

	if (waymark_ctf_accessor_create(ctf, "n", &accessor) < 0)
		return 0;
	if (waymark_ctf_open(&options, trace, &other) == 0) {
		got = waymark_ctf_next(other, &record);
		refused = got <= 0 || waymark_ctf_accessor_get(accessor, record, &value) == -EINVAL;
		waymark_ctf_close(other);
	}
	waymark_ctf_accessor_free(accessor);
	return refused;
}

static void damage(void *data, const char *words)
{
	(void)data;
	fprintf(stderr, "damage: %s\n", words);
}

static void lost(void *data, const char *stream, uint64_t records, int64_t time)
{
	(void)data;
	fprintf(stderr, "lost: %" PRIu64 " of %s at %" PRId64 "\n", records, stream, time);
}

int main(int argc, char **argv)
{
	const struct waymark_ctf_options options = { .size = sizeof(options), .damage = damage, .lost = lost };
	const struct waymark_ctf_record *record;
	struct waymark_ctf *ctf;
	char why[1000];
	int got;

	if (argc < 2)
		return 2;
	if (waymark_ctf_open(&options, argv[1], &ctf) < 0) {
		fprintf(stderr, "error: %s\n", waymark_ctf_error_text(why, sizeof(why)));
		return 1;
	}
	/* Set a filter again after a seek, but not in between. */
	if (argc > 3) {
		if (waymark_ctf_filter(ctf, "no_such_name == 1") != -EINVAL ||
		    waymark_ctf_filter(ctf, "(") != -EINVAL || waymark_ctf_filter(ctf, argv[3]) < 0) {
			fprintf(stderr, "error: %s\n", waymark_ctf_error_text(why, sizeof(why)));
			return 1;
		}
		if (waymark_ctf_next(ctf, &record) > 0 && waymark_ctf_filter(ctf, NULL) != -EBUSY)
			return 6;
		if (waymark_ctf_seek(ctf, INT64_MIN) < 0 || waymark_ctf_filter(ctf, NULL) < 0 ||
		    waymark_ctf_filter(ctf, argv[3]) < 0)
			return 7;
	}
	/* Seek to a time after some records: backwards. */
	for (int i = 0; argc > 2 && i < 100 && waymark_ctf_next(ctf, &record) > 0; i++)
		;
	if (argc > 2 && waymark_ctf_seek(ctf, strtoll(argv[2], NULL, 10)) < 0)
		return 3;
	while ((got = waymark_ctf_next(ctf, &record)) > 0) {
		if (!same_by_name(ctf, record)) {
			fprintf(stderr, "not the same by name: %s\n", waymark_ctf_event_name(record));
			return 4;
		}
		printf("{\"time\":%" PRId64 ",\"event\":", waymark_ctf_time(record));
		put_string(waymark_ctf_event_name(record), strlen(waymark_ctf_event_name(record)));
		printf(",\"stream\":\"%s\",\"level\":%d,\"scopes\":[", waymark_ctf_stream_name(record),
		       waymark_ctf_event_level(record));
		for (int scope = WAYMARK_CTF_PACKET; scope <= WAYMARK_CTF_PAYLOAD; scope++) {
			printf(scope ? "," : "");
			put_scope(record, (enum waymark_ctf_scope)scope);
		}
		printf("]}\n");
	}
	if (waymark_ctf_add(ctf, argv[1]) != -EBUSY)
		return 5;
	if (!refuses_anothers(ctf, argv[1]))
		return 8;
	waymark_ctf_close(ctf);
	return got < 0;
}
