/* SPDX-License-Identifier: MIT */
/*
 * labels.c - indexes of the labels of large enumerations (see labels.h).
 *
 * An enumeration is declared once, and any number of fields may have this type. All fields of an enumeration share one
 * index, so the memory of indexes is proportional to the number of labels in the metadata.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "ctf/labels.h"

static int no_memory(void)
{
	return wmk_error(-ENOMEM, "no memory for the labels of enumerations");
}

int wmk_ctf_enums_note(struct wmk_ctf_enums *enums, struct wmk_ctf_op *ops, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (ops[i].code != WMK_CTF_ENUM || ops[i].type->count <= WMK_CTF_CHOICES_FEW)
			continue;
		struct wmk_ctf_op **more = wmk_array_room(enums->ops, enums->n, &enums->cap, sizeof(*more));

		if (!more)
			return no_memory();
		enums->ops = more;
		enums->ops[enums->n++] = &ops[i];
	}
	return 0;
}

void wmk_ctf_enums_free(struct wmk_ctf_enums *enums)
{
	free(enums->ops);
	*enums = (struct wmk_ctf_enums){ NULL, 0, 0 };
}

static int by_labels(const void *left, const void *right)
{
	const struct wmk_type *a = (*(struct wmk_ctf_op *const *)left)->type,
			      *b = (*(struct wmk_ctf_op *const *)right)->type;
	const uintptr_t at = (uintptr_t)a->labels, other = (uintptr_t)b->labels;

	if (at != other)
		return at < other ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return (a->is_signed != 0) - (b->is_signed != 0);
}

static int order_one(struct wmk_scratch *scratch, const struct wmk_type *type,
		     const struct wmk_ctf_selector_index **made)
{
	struct wmk_ctf_choice *choices = malloc(type->count * sizeof(*choices));
	struct wmk_ctf_selector_index *chooser = malloc(wmk_ctf_selector_index_size(type->count));
	int err = choices && chooser ? 0 : no_memory();

	for (uint32_t i = 0; i < type->count && err >= 0; i++)
		choices[i] = (struct wmk_ctf_choice){ (uint64_t)type->labels[i].from, (uint64_t)type->labels[i].to, 0 };
	if (err >= 0)
		err = wmk_ctf_selector_index_make(chooser, type->is_signed, choices, type->count);
	if (err >= 0) {
		/* (the index needs half of the memory if the values of labels are adjacent) */
		const size_t size = wmk_ctf_selector_index_used(chooser);
		struct wmk_ctf_selector_index *kept = wmk_scratch_alloc(scratch, size);

		if (kept)
			*made = memcpy(kept, chooser, size);
		else
			err = no_memory();
	}
	free(chooser);
	free(choices);
	return err;
}

int wmk_ctf_enums_order(struct wmk_ctf_enums *enums, struct wmk_scratch *scratch)
{
	int err = 0;

	if (enums->n)
		qsort(enums->ops, enums->n, sizeof(struct wmk_ctf_op *), by_labels);
	for (uint32_t i = 0; i < enums->n && err >= 0; i++) {
		if (i && by_labels(&enums->ops[i - 1], &enums->ops[i]) == 0)
			enums->ops[i]->labels = enums->ops[i - 1]->labels;
		else
			err = order_one(scratch, enums->ops[i]->type, &enums->ops[i]->labels);
	}
	return err;
}
