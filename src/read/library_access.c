/* SPDX-License-Identifier: MIT */
/*
 * library_access.c - a field that is asked for in record after record (waymark_ctf_accessor in include/waymark/ctf.h).
 *
 * For each event class it is found out once where the field is: at a constant distance from where a context or the
 * payload begins; behind something of varying size, so that values are gone over up to it, but no names; in what may be
 * there or not, where only the record tells; or nowhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "read/library.h"

#define FIRST_CAP 16u

enum how { NOWHERE, AT_ONCE, BEHIND, BY_NAME };

/* Where an event has the field. */
struct access {
	const struct wmk_ctf_event_decoder *event; /* NULL: this one is free */
	enum how how;
	enum waymark_ctf_scope scope;
	uint32_t op;
	uint64_t distance;         /* AT_ONCE: bits, from the first place that is aligned as the whole is */
};

struct waymark_ctf_accessor {
	struct waymark_ctf *ctf;
	/* by event, the next free place where another has its own; half of it at most is taken */
	struct access *table;
	uint32_t cap, n;           /* cap: a power of two */
	unsigned n_parts;
	struct wmk_library_part parts[WMK_LIBRARY_PARTS];
	char name[];               /* that the parts are of */
};

/* ── where it is ─────────────────────────────────────────────────────────────────────────────────────── */

/*
 * The member of the structure `in` that the part names: its operation, or 0. *distance is moved to it, if it
 * is_constant up to there.
 */
static uint32_t find_member(const struct wmk_ctf_op *ops, uint32_t in, const struct wmk_library_part *part,
			    uint64_t *distance, bool *is_constant)
{
	for (uint32_t i = in + 1; ops[i].code != WMK_CTF_END; i = ops[i].next) {
		uint64_t bits;

		*distance = wmk_bits_align(*distance, ops[i].align);
		if (wmk_library_is_called(part, &ops[i]))
			return i;
		bits = wmk_ctf_fixed_bits(ops, i);
		*is_constant = *is_constant && bits;
		*distance += bits;
	}
	return 0;
}

/* As find() in library_field.c does, as far as it is the same in all records. */
static enum how find_in(const struct waymark_ctf_accessor *accessor, const struct wmk_ctf_op *ops,
			struct access *access)
{
	bool is_constant = true;
	uint32_t op = 0;

	access->distance = 0;
	for (unsigned i = 0; i < accessor->n_parts; i++) {
		if (ops[op].code != WMK_CTF_STRUCT)
			return NOWHERE;
		op = find_member(ops, op, &accessor->parts[i], &access->distance, &is_constant);
		if (!op)
			return NOWHERE;
		if (ops[op].code > WMK_CTF_STRUCT)
			return BY_NAME;
	}
	access->op = op;
	return ops[op].code == WMK_CTF_STRUCT ? BY_NAME : is_constant ? AT_ONCE : BEHIND;
}

static void locate(const struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
		   struct access *access)
{
	const struct wmk_ctf_program *program;

	access->event = record->stream->record.event;
	access->how = NOWHERE;
	for (int scope = WAYMARK_CTF_PAYLOAD; scope >= WAYMARK_CTF_PACKET && access->how == NOWHERE; scope--) {
		access->scope = (enum waymark_ctf_scope)scope;
		wmk_library_enter(record, access->scope, &program);
		if (program->n_ops)
			access->how = find_in(accessor, program->ops, access);
	}
}

static struct access *place_of(struct access *table, uint32_t cap, const struct wmk_ctf_event_decoder *event)
{
	uint32_t i = (uint32_t)((uintptr_t)event / sizeof(*event)) & (cap - 1);

	while (table[i].event && table[i].event != event)
		i = (i + 1) & (cap - 1);
	return &table[i];
}

static int grow(struct waymark_ctf_accessor *accessor)
{
	const uint32_t cap = 2 * accessor->cap;
	struct access *table = calloc(cap, sizeof(*table));

	if (!table)
		return wmk_error(-ENOMEM, "no memory to look for a field in %u events", accessor->n);
	for (uint32_t i = 0; i < accessor->cap; i++)
		if (accessor->table[i].event)
			*place_of(table, cap, accessor->table[i].event) = accessor->table[i];
	free(accessor->table);
	accessor->table = table;
	accessor->cap = cap;
	return 0;
}

/* ── its value ───────────────────────────────────────────────────────────────────────────────────────── */

static int get(const struct waymark_ctf_accessor *accessor, const struct access *access,
	       const struct waymark_ctf_record *record, struct waymark_ctf_value *value)
{
	const struct wmk_ctf_program *program;
	struct wmk_ctf_item item;
	struct wmk_ctf_walk *walk;
	bool is_there;

	if (access->how == NOWHERE)
		return -ENOENT;
	if (access->how == BY_NAME)
		return wmk_library_field(record, accessor->parts, accessor->n_parts, value);
	walk = wmk_library_enter(record, access->scope, &program);
	if (access->how == AT_ONCE) {
		walk->at = wmk_bits_align(walk->at, program->ops->align) + access->distance;
		walk->op = access->op;
		is_there = wmk_ctf_next(walk, &item);
	} else {
		while ((is_there = wmk_ctf_next(walk, &item)) && item.op != &program->ops[access->op])
			;
	}
	if (!is_there)
		return -ENOENT;
	wmk_library_fill(record->ctf, &item, value);
	return 0;
}

API int waymark_ctf_accessor_get(struct waymark_ctf_accessor *accessor, const struct waymark_ctf_record *record,
				 struct waymark_ctf_value *value)
{
	struct access *access;

	if (record->ctf != accessor->ctf)
		return wmk_error_said(-EINVAL, "the field '%.240s' is looked for in a record of another handle",
				      accessor->name);
	access = place_of(accessor->table, accessor->cap, record->stream->record.event);
	if (!access->event) {
		if (2 * (accessor->n + 1) > accessor->cap) {
			int err = grow(accessor);

			if (err < 0)
				return err;
			access = place_of(accessor->table, accessor->cap, record->stream->record.event);
		}
		locate(accessor, record, access);
		accessor->n++;
	}
	return get(accessor, access, record, value);
}

/* ── making, unmaking ────────────────────────────────────────────────────────────────────────────────── */

API int waymark_ctf_accessor_create(struct waymark_ctf *ctf, const char *name, struct waymark_ctf_accessor **accessor)
{
	const size_t size = strlen(name) + 1;
	struct waymark_ctf_accessor *made = calloc(1, sizeof(*made) + size);
	int n;

	if (made)
		made->table = calloc(FIRST_CAP, sizeof(*made->table));
	if (!made || !made->table) {
		free(made);
		return wmk_error(-ENOMEM, "no memory to look for the field '%.240s'", name);
	}
	made->ctf = ctf;
	made->cap = FIRST_CAP;
	memcpy(made->name, name, size);
	n = wmk_library_split(made->name, made->parts);
	if (n < 0) {
		waymark_ctf_accessor_free(made);
		return wmk_error_said(-EINVAL, "'%.240s' is no field's name", name);
	}
	made->n_parts = (unsigned)n;
	*accessor = made;
	return 0;
}

API void waymark_ctf_accessor_free(struct waymark_ctf_accessor *accessor)
{
	if (!accessor)
		return;
	free(accessor->table);
	free(accessor);
}
