/* SPDX-License-Identifier: MIT */
/*
 * class_filter.c - filters of a channel's rules, compiled for each event class and sent to applications with ENABLE.
 *
 *     rules of the channel that select the class ──► one without a filter: every record is recorded
 *                                                └─► all with filters: one filter program, true if any of them is
 *
 * The filter program is cached with the channel's verdict on the class until the rules change.
 */
#include "session/model/class_filter.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "ctf/writer.h"
#include "session/model/channel.h"
#include "session/model/class_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A filter program combines at most this many filters for one class, because each filter costs time at every record. */
#define RULES_MAX 32u

/* ── names ───────────────────────────────────────────────────────────────────────────────────────────── */

static void set(struct wmk_filter_found *found, const struct wmk_type *type, unsigned scope, uint32_t number,
		uint64_t index)
{
	const unsigned is = wmk_filter_type_of(type);

	if (is == WMK_FILTER_ABSENT) {
		found->no_operand = type->kind == WMK_TYPE_BLOB ? "bytes" : "an array";
		return;
	}
	found->input = (struct wmk_filter_input){ (uint8_t)is, (uint8_t)scope, (uint16_t)number, (uint32_t)index };
	wmk_filter_found_labels(found, type);
}

static void look_up(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found)
{
	const struct class *class = data;
	const struct wmk_filter_step *step = name->steps;

	if (name->scope == WMK_FILTER_EVENT) {
		found->text = class->full;
		return;
	}
	if (name->scope == WMK_FILTER_CONTEXT) {
		const struct wmk_ctf_context *context =
			name->n_steps == 1 && step->name ? wmk_ctf_context_find(step->name) : NULL;

		if (context)
			set(found, &context->field.type, WMK_FILTER_CONTEXT, context->number, 0);
		return;
	}
	for (uint32_t i = 0; i < class->event->n_fields; i++) {
		const struct wmk_field *field = &class->event->fields[i];

		if (strcmp(field->name, step->name) != 0)
			continue;
		if (name->n_steps == 1) {
			set(found, &field->type, WMK_FILTER_FIELD, i, 0);
		} else if (name->n_steps == 2 && !step[1].name && step[1].index <= UINT32_MAX &&
			   (field->type.kind == WMK_TYPE_ARRAY || field->type.kind == WMK_TYPE_SEQUENCE)) {
			set(found, field->type.elem, WMK_FILTER_FIELD, i, step[1].index);
			found->may_lack = true;
		}
		return;
	}
}

/* ── a filter that a client sends ────────────────────────────────────────────────────────────────────── */

int wmk_filter_text_check(const char *text)
{
	struct wmk_filter_expr *expr;
	int err = wmk_filter_parse(text, &expr);

	if (err >= 0)
		wmk_filter_expr_free(expr);
	return err < 0 ? wmk_error_add(err, "the filter '%.60s'", text) : 0;
}

struct filter_rules {
	const struct wmk_ctl_rule *rule;
	struct wmk_filter_fit fit;
	struct wmk_nearest near;
	const char *missing;             /* the name to look up in the second pass */
	bool is_context;
	int err;
};

static void try_one(void *data, const struct class *class)
{
	struct filter_rules *f = data;

	if (f->err >= 0 && !class->own && wmk_rule_fits(f->rule, class->event))
		f->err = wmk_filter_fit_try(&f->fit, look_up, (void *)(uintptr_t)class, class->full);
}

static void offer_one(void *data, const struct class *class)
{
	struct filter_rules *f = data;

	for (uint32_t i = 0; i < class->event->n_fields && !class->own && wmk_rule_fits(f->rule, class->event); i++)
		wmk_nearest_offer(&f->near, class->event->fields[i].name);
}

/* Report a name that no event of the rule has, together with similar names. */
static int no_such_name(struct wmk_tracing *tracing, struct filter_rules *f, unsigned number)
{
	const struct wmk_filter_name *name = wmk_filter_name_of(f->fit.expr, number);
	const bool is_field = name->scope == WMK_FILTER_FIELD;
	char names[80], what[160];

	wmk_nearest_init(&f->near, name->steps[0].name);
	if (is_field)
		wmk_tracing_each_class(tracing, offer_one, f);
	for (const struct wmk_ctf_context *c = NULL; !is_field && (c = wmk_ctf_context_next(WMK_CONTEXT_USER, c));)
		wmk_nearest_offer(&f->near, c->field.name);
	wmk_nearest_text(&f->near, names, sizeof(names));
	snprintf(what, sizeof(what), "%s%s%s",
		 is_field ? "no known event has such a field" : "there is no such context",
		 names[0] ? "; near is " : "", names);
	return wmk_filter_name_wrong(f->fit.expr, number, what);
}

int wmk_tracing_filter_check(struct wmk_tracing *tracing, const struct wmk_ctl_rule *rule)
{
	struct filter_rules f = { .rule = rule };
	struct wmk_filter_expr *expr;
	int missing, fits, err;

	if (!rule->filter || !*rule->filter)
		return 0;
	err = wmk_filter_parse(rule->filter, &expr);
	if (err >= 0) {
		err = wmk_filter_fit_begin(&f.fit, expr);
		if (err >= 0)
			wmk_tracing_each_class(tracing, try_one, &f);
		fits = wmk_filter_fit_end(&f.fit, &missing);
		err = err < 0 ? err : f.err < 0 ? f.err : fits;
		if (missing >= 0)
			err = no_such_name(tracing, &f, (unsigned)missing);
		wmk_filter_expr_free(expr);
	}
	return err < 0 ? wmk_error_add(err, "the filter '%.60s'", rule->filter) : 0;
}

/* ── compile ─────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_filter_of_rules(const struct class *class, const struct wmk_filter_expr *const *exprs, unsigned n,
			struct class_filter **filter)
{
	struct wmk_filter_program *program;
	uint8_t *bytes;
	int err = n > RULES_MAX
			  ? wmk_errorx(-E2BIG, "more than %u filters match the event", RULES_MAX)
			  : wmk_filter_compile(exprs, n, look_up, (void *)(uintptr_t) class, WMK_FILTER_LAX, &program);
	long len = err < 0 ? err : wmk_filter_encode(program, &bytes);

	if (err >= 0)
		wmk_filter_program_free(program);
	if (len < 0)
		return wmk_error_add((int)len, "cannot combine the filters of event %.60s", class->full);
	*filter = malloc(sizeof(**filter) + (size_t)len);
	if (*filter) {
		(*filter)->hash = wmk_hash_bytes(WMK_HASH_BEGIN, bytes, (size_t)len) | 1; /* 0 means no filter */
		(*filter)->len = (uint32_t)len;
		memcpy((*filter)->bytes, bytes, (size_t)len);
	}
	free(bytes);
	return *filter ? 0 : wmk_error(-ENOMEM, "no memory for a filter");
}

/* ── check rules after they were added ───────────────────────────────────────────────────────────────── */

struct together {
	struct wmk_session_channel *channel;
	const struct wmk_list *rules;
};

static void want_one(void *data, const struct class *class)
{
	const struct together *t = data;

	if (t->channel->filter_err < 0)
		return;
	for (uint32_t i = 0; i < t->rules->n; i++) {
		const struct wmk_ctl_rule *rule = (const struct wmk_ctl_rule *)t->rules->items + i;

		if (rule->filter && *rule->filter && wmk_rule_fits(rule, class->event)) {
			wmk_channel_selects(t->channel, class);
			return;
		}
	}
}

int wmk_channel_filters_check(struct wmk_session_channel *channel, const struct wmk_list *rules)
{
	struct together t = { channel, rules };
	const int trouble = channel->session->trouble;

	channel->filter_err = 0;
	wmk_tracing_each_class(channel->session->tracing, want_one, &t);
	/* Rules that are rejected must not leave an error in the session. */
	channel->session->trouble = trouble;
	return channel->filter_err;
}
