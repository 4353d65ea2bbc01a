/* SPDX-License-Identifier: MIT */
/*
 * rig.h - an event class for tests of filters, with a field of each kind, and values for it.
 *
 *     s t  signed      u  unsigned      d  double      name other  text      state  enumeration
 *     list[0..2]  elements; [2] is always absent      opt  optional; always absent
 *     box  a structure; box.in signed      $ctx.vpid  signed      $event  "shop:paid"
 */
#ifndef WMK_FILTER_T_RIG_H
#define WMK_FILTER_T_RIG_H

#include <string.h>

#include "base/array.h"
#include "filter/filter.h"

struct rig {
	int64_t s, t, box_in, vpid, list[2];
	uint64_t u;
	double d;
	const char *name, *other;
	int64_t state;
};

enum rig_number { RIG_S, RIG_T, RIG_U, RIG_D, RIG_NAME, RIG_OTHER, RIG_STATE, RIG_LIST, RIG_OPT, RIG_BOX_IN, RIG_VPID };

static const struct wmk_label rig_labels[] = {
	{ "IDLE", 0, 0 }, { "RUNNING", 1, 1 }, { "WAITING", 2, 9 }, { "WALKING", 20, 20 }, { "NONE", -1, -1 }
};

static inline void rig_lookup(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	static const struct {
		const char *name;
		uint8_t type, number;
	} fields[] = {
		{ "s", WMK_FILTER_SIGNED, RIG_S },         { "t", WMK_FILTER_SIGNED, RIG_T },
		{ "u", WMK_FILTER_UNSIGNED, RIG_U },       { "d", WMK_FILTER_DOUBLE, RIG_D },
		{ "name", WMK_FILTER_TEXT, RIG_NAME },     { "other", WMK_FILTER_TEXT, RIG_OTHER },
		{ "state", WMK_FILTER_SIGNED, RIG_STATE }, { "in", WMK_FILTER_SIGNED, RIG_T },
		{ "exists", WMK_FILTER_SIGNED, RIG_T },    { "opt", WMK_FILTER_SIGNED, RIG_OPT },
	};
	const struct wmk_filter_step *step = name->steps;

	(void)data;
	if (name->scope == WMK_FILTER_EVENT) {
		found->text = "shop:paid";
		return;
	}
	if (name->scope == WMK_FILTER_CONTEXT) {
		if (name->n_steps == 1 && !strcmp(step->name, "vpid"))
			found->input = (struct wmk_filter_input){ WMK_FILTER_SIGNED, WMK_FILTER_CONTEXT, RIG_VPID, 0 };
		return;
	}
	for (size_t i = 0; name->n_steps == 1 && i < WMK_ARRAY_LEN(fields); i++)
		if (!strcmp(step->name, fields[i].name)) {
			found->input =
				(struct wmk_filter_input){ fields[i].type, WMK_FILTER_FIELD, fields[i].number, 0 };
			found->may_lack = fields[i].number == RIG_OPT;
			if (fields[i].number == RIG_STATE) {
				found->labels = rig_labels;
				found->n_labels = WMK_ARRAY_LEN(rig_labels);
			}
			return;
		}
	if (!strcmp(step->name, "list") && name->n_steps == 2 && !step[1].name) {
		found->input = (struct wmk_filter_input){ WMK_FILTER_SIGNED, WMK_FILTER_FIELD, RIG_LIST,
							  (uint32_t)step[1].index };
		found->may_lack = true;
	} else if (!strcmp(step->name, "box") && name->n_steps == 2 && step[1].name && !strcmp(step[1].name, "in")) {
		found->input = (struct wmk_filter_input){ WMK_FILTER_SIGNED, WMK_FILTER_FIELD, RIG_BOX_IN, 0 };
	} else if (!strcmp(step->name, "box") && name->n_steps == 1) {
		found->no_operand = "a structure";
	}
}

static inline void rig_fill(const struct rig *rig, const struct wmk_filter_program *program,
			    struct wmk_filter_values *values)
{
	values->lacking = 0;
	for (uint32_t i = 0; i < program->n_inputs; i++) {
		const struct wmk_filter_input *input = &program->inputs[i];

		values->numbers[i] = 0;
		switch (input->number) {
		case RIG_S: values->numbers[i] = (uint64_t)rig->s; break;
		case RIG_T: values->numbers[i] = (uint64_t)rig->t; break;
		case RIG_U: values->numbers[i] = rig->u; break;
		case RIG_D: memcpy(&values->numbers[i], &rig->d, 8); break;
		case RIG_NAME: values->texts[i] = (struct wmk_filter_text){ rig->name, SIZE_MAX }; break;
		case RIG_OTHER: values->texts[i] = (struct wmk_filter_text){ rig->other, strlen(rig->other) }; break;
		case RIG_STATE: values->numbers[i] = (uint64_t)rig->state; break;
		case RIG_BOX_IN: values->numbers[i] = (uint64_t)rig->box_in; break;
		case RIG_VPID: values->numbers[i] = (uint64_t)rig->vpid; break;
		case RIG_LIST:
			if (input->index < 2) {
				values->numbers[i] = (uint64_t)rig->list[input->index];
				break;
			}
			__attribute__((fallthrough));
		default: values->lacking |= UINT64_C(1) << i; break;
		}
	}
}

#endif
