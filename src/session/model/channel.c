/* SPDX-License-Identifier: MIT */
/*
 * channel.c - channels of a session: options, rules, contexts, and the event classes that they select.
 *
 * A channel keeps its options as the protocol object (wire/ctl.h), with defaults filled in. The decision whether the
 * rules select a class is made once for each class, and cached as a verdict until the rules change.
 */
#include "session/model/channel.h"

#include "base/error.h"
#include "base/utf8.h"
#include "ctf/writer.h"
#include "session/model/channel_options.h"
#include "session/model/class_filter.h"
#include "session/model/class_table.h"
#include "session/model/name_check.h"
#include "session/model/process_set.h"
#include "session/model/quota.h"
#include "session/model/ring_layout.h"
#include "session/model/session_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCLUSIONS_MAX 64u
#define RULE_BYTES 192u              /* of a rule as JSON, without its strings */
/* The state dump has a few hundred short records for each application. */
#define STATEDUMP_SUBBUF 65536u
#define STATEDUMP_SUBBUFS 4u
#define STATEDUMP_CHANNEL "statedump"

/* ── rules ───────────────────────────────────────────────────────────────────────────────────────────── */

static struct wmk_ctl_rule *rule_at(const struct wmk_session_channel *channel, uint32_t i)
{
	return (struct wmk_ctl_rule *)channel->is.rules.items + i;
}

static const char *text_at(const struct wmk_list *list, uint32_t i)
{
	return ((const char *const *)list->items)[i];
}

static void verdicts_forget(struct wmk_session_channel *channel)
{
	for (uint32_t i = 0; i < channel->n_filters; i++) {
		free(channel->filters[i]);
		channel->filters[i] = NULL;
	}
	if (channel->n_verdicts)
		memset(channel->verdicts, VERDICT_UNKNOWN, channel->n_verdicts);
}

static bool level_fits(const struct wmk_ctl_rule *rule, uint32_t level)
{
	switch (rule->level_op) {
	case WMK_LEVEL_AT_LEAST:
		return level <= rule->level;         /* a smaller number is more severe */
	case WMK_LEVEL_EXACTLY:
		return level == rule->level;
	case WMK_LEVEL_BETWEEN:
		return level >= rule->level && level <= rule->level_to;
	default:
		return true;
	}
}

bool wmk_rule_fits(const struct wmk_ctl_rule *rule, const struct wmk_event_class *event)
{
	if (!level_fits(rule, event->level) || !wmk_pattern_match(rule->pattern, event->provider, event->name))
		return false;
	for (uint32_t i = 0; i < rule->exclusions.n; i++)
		if (wmk_pattern_match(text_at(&rule->exclusions, i), event->provider, event->name))
			return false;
	return true;
}

static int filter_keep(struct wmk_session_channel *channel, const struct class *class, struct class_filter *filter)
{
	if (class->serial >= channel->n_filters) {
		struct class_filter **more =
			realloc(channel->filters, channel->n_verdicts * sizeof(struct class_filter *));

		if (!more || class->serial >= channel->n_verdicts)
			return wmk_error(-ENOMEM, "no memory for a filter");
		memset(more + channel->n_filters, 0,
		       (channel->n_verdicts - channel->n_filters) * sizeof(struct class_filter *));
		channel->filters = more;
		channel->n_filters = channel->n_verdicts;
	}
	channel->filters[class->serial] = filter;
	return 0;
}

/*
 * Compile the filters of all rules that select the class into one program. If the compilation fails, the session does
 * not record the class: without a filter, the session would record too much.
 */
static bool filters_select(struct wmk_session_channel *channel, const struct class *class,
			 const struct wmk_filter_expr *const *exprs, unsigned n)
{
	struct class_filter *filter = NULL;
	int err = wmk_filter_of_rules(class, exprs, n, &filter);

	if (err >= 0)
		err = filter_keep(channel, class, filter);
	if (err >= 0)
		return true;
	free(filter);
	channel->filter_err = err;
	wmk_session_report(channel->session, err, "an event is not recorded: cannot compile its filter");
	return false;
}

/*
 * Decide whether the rules select the class. VERDICT_UNKNOWN: no memory is available, and the next call decides again.
 */
static uint8_t rules_select(struct wmk_session_channel *channel, const struct class *class)
{
	const struct wmk_filter_expr **filtered;
	unsigned n = 0;
	bool all = false, want;

	if (class->own || channel->own)
		return class->own && channel->own ? VERDICT_IN : VERDICT_OUT;
	filtered = calloc(channel->is.rules.n + 1, sizeof(*filtered));
	if (!filtered) {
		wmk_session_report(channel->session, -ENOMEM, "cannot decide whether an event is recorded: no memory");
		return VERDICT_UNKNOWN;
	}
	for (uint32_t i = 0; i < channel->is.rules.n && !all; i++) {
		const struct wmk_ctl_rule *rule = rule_at(channel, i);

		if (!rule->enabled || !wmk_rule_fits(rule, class->event))
			continue;
		all = !channel->exprs[i];
		filtered[n++] = channel->exprs[i];
	}
	want = all || (n && filters_select(channel, class, filtered, n));
	free(filtered);
	return want ? VERDICT_IN : VERDICT_OUT;
}

const struct class_filter *wmk_channel_filter(const struct wmk_session_channel *channel, const struct class *class)
{
	return class->serial < channel->n_filters ? channel->filters[class->serial] : NULL;
}

bool wmk_channel_selects(struct wmk_session_channel *channel, const struct class *class)
{
	if (class->serial >= channel->n_verdicts) {
		uint32_t n = channel->n_verdicts ? channel->n_verdicts : 256;

		while (n <= class->serial)
			n *= 2;
		uint8_t *more = realloc(channel->verdicts, n);
		if (!more)
			return false;    /* the next call decides again */
		memset(more + channel->n_verdicts, VERDICT_UNKNOWN, n - channel->n_verdicts);
		channel->verdicts = more;
		channel->n_verdicts = n;
	}
	uint8_t *verdict = &channel->verdicts[class->serial];

	if (*verdict == VERDICT_UNKNOWN)
		*verdict = rules_select(channel, class);
	return *verdict == VERDICT_IN;
}

static const char *filter_of(const struct wmk_ctl_rule *rule)
{
	return rule->filter ? rule->filter : "";
}

static const char *place_of(const struct wmk_ctl_rule *rule)
{
	return rule->place ? rule->place : "";
}

static bool rule_same(const struct wmk_ctl_rule *a, const struct wmk_ctl_rule *b)
{
	if (a->probe != b->probe || strcmp(place_of(a), place_of(b)) != 0)
		return false;
	if (strcmp(a->pattern, b->pattern) != 0 || strcmp(filter_of(a), filter_of(b)) != 0 ||
	    a->level_op != b->level_op || a->exclusions.n != b->exclusions.n ||
	    (a->level_op != WMK_LEVEL_ANY && a->level != b->level) ||
	    (a->level_op == WMK_LEVEL_BETWEEN && a->level_to != b->level_to))
		return false;
	for (uint32_t i = 0; i < a->exclusions.n; i++)
		if (strcmp(text_at(&a->exclusions, i), text_at(&b->exclusions, i)) != 0)
			return false;
	return true;
}

int wmk_session_rule_check(const struct wmk_ctl_rule *rule)
{
	int err = wmk_pattern_check(rule->pattern ? rule->pattern : "");

	if (err == 0 && rule->exclusions.n > EXCLUSIONS_MAX)
		err = wmk_errorx(-E2BIG, "a rule has at most %u exclusions", EXCLUSIONS_MAX);
	for (uint32_t i = 0; err == 0 && i < rule->exclusions.n; i++)
		err = wmk_pattern_check(text_at(&rule->exclusions, i));
	if (err == 0 && !wmk_utf8_is(place_of(rule)))
		err = wmk_errorx(-EINVAL, "the location of a probe is not valid UTF-8");
	if (err == 0 && !wmk_utf8_is(filter_of(rule)))
		err = wmk_errorx(-EINVAL, "the filter is not valid UTF-8: write other bytes as \\xff in a string");
	if (err == 0 && *filter_of(rule))
		err = wmk_filter_text_check(rule->filter);
	if (err < 0)
		return err;
	if (rule->level_op > WMK_LEVEL_BETWEEN ||
	    (rule->level_op != WMK_LEVEL_ANY && rule->level > WAYMARK_LEVEL_DEBUG) ||
	    (rule->level_op == WMK_LEVEL_BETWEEN &&
	     (rule->level_to > WAYMARK_LEVEL_DEBUG || rule->level_to < rule->level)))
		return wmk_error(-EINVAL,
				 "invalid log levels: the range is 0 (emergency) to %d (debug), the more severe level "
				 "first",
				 WAYMARK_LEVEL_DEBUG);
	return 0;
}

/* Return the largest number of bytes that a string can have in JSON, with quotes and separators. */
static size_t text_bytes(const char *text)
{
	size_t n = 4;

	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		n += *c < ' ' || *c >= 0x7f ? 6 : *c == '"' || *c == '\\' ? 2 : 1;
	return n;
}

static int rule_count(struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule)
{
	struct wmk_session *session = channel->session;
	size_t bytes =
		RULE_BYTES + text_bytes(rule->pattern) + text_bytes(filter_of(rule)) + text_bytes(place_of(rule));

	for (uint32_t i = 0; i < rule->exclusions.n; i++)
		bytes += text_bytes(text_at(&rule->exclusions, i));
	int err = wmk_quota_rule_charge(session->tracing, session->uid, bytes);

	if (err == 0) {
		channel->rule_bytes += bytes;
		session->rule_bytes += bytes;
	}
	return err;
}

/*
 * Parse the rule's filter, and reserve an entry in channel->exprs, which keeps the filter as long as the rule exists.
 */
static int expr_make(struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule,
		     struct wmk_filter_expr **expr)
{
	struct wmk_filter_expr **more =
		realloc(channel->exprs, (channel->n_exprs + 1) * sizeof(struct wmk_filter_expr *));

	if (!more)
		return wmk_error(-ENOMEM, "no memory for a rule");
	channel->exprs = more;
	return *filter_of(rule) ? wmk_filter_parse(rule->filter, expr) : 0;
}

int wmk_session_rule_add(struct wmk_session_channel *channel, const struct wmk_ctl_rule *rule)
{
	struct wmk_filter_expr *expr = NULL;
	int err = wmk_session_rule_check(rule);

	if (err < 0)
		return err;
	verdicts_forget(channel);
	for (uint32_t i = 0; i < channel->is.rules.n; i++)
		if (rule_same(rule_at(channel, i), rule)) {
			rule_at(channel, i)->enabled = true;
			return 0;
		}
	if (channel->is.rules.n >= channel->session->tracing->options.max_rules &&
	    !channel->session->tracing->restoring)
		return wmk_limit_reached(channel->session->tracing, -E2BIG, "rules",
					 "the channel '%s' has %u rules, which is the limit", channel->is.name,
					 channel->is.rules.n);
	/*
	 * If the daemon has charged a rule but cannot add it for lack of memory, the charge stays until the channel
	 * ends.
	 */
	err = rule_count(channel, rule);
	if (err == 0)
		err = expr_make(channel, rule, &expr);
	struct wmk_ctl_rule *made =
		err < 0 ? NULL : wmk_arena_append(&channel->arena, &channel->is.rules, sizeof(*made));

	if (!made) {
		wmk_filter_expr_free(expr);
		return err < 0 ? err : -ENOMEM;
	}
	if (wmk_object_copy(&wmk_ctl_rule_object, rule, made, &channel->arena) < 0) {
		wmk_filter_expr_free(expr);
		channel->is.rules.n--;
		return -ENOMEM;
	}
	made->enabled = true;
	made->matched = 0;
	channel->exprs[channel->n_exprs++] = expr;
	return 0;
}

unsigned wmk_session_rule_disable(struct wmk_session_channel *channel, const char *pattern)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < channel->is.rules.n; i++) {
		struct wmk_ctl_rule *rule = rule_at(channel, i);

		if (rule->enabled && (!pattern || strcmp(rule->pattern, pattern) == 0)) {
			rule->enabled = false;
			n++;
		}
	}
	verdicts_forget(channel);
	return n;
}

void wmk_session_rules_withdraw(struct wmk_session_channel *channel, const struct wmk_list *rules)
{
	for (uint32_t i = 0; i < channel->is.rules.n; i++)
		for (uint32_t k = 0; k < rules->n; k++)
			if (rule_same(rule_at(channel, i), (const struct wmk_ctl_rule *)rules->items + k))
				rule_at(channel, i)->enabled = false;
	verdicts_forget(channel);
}

int wmk_session_context_add(struct wmk_session_channel *channel, const char *name)
{
	const struct wmk_ctf_context *context = wmk_ctf_context_find(name);
	const char **at;

	if (!context)
		return wmk_error(-EINVAL, "unknown context '%.60s'", name);
	if (!(context->domains & (wmk_channel_is_kernel(channel) ? WMK_CONTEXT_KERNEL : WMK_CONTEXT_USER)))
		return wmk_errorx(-EINVAL, "the context '%s' is not available in the %s domain",
				  context->field.name, wmk_channel_is_kernel(channel) ? "kernel" : "user");
	for (uint32_t i = 0; i < channel->n_contexts; i++)
		if (channel->contexts[i] == context->number)
			return 0;
	if (channel->n_contexts == WMK_WIRE_CONTEXTS_MAX)
		return wmk_errorx(-E2BIG, "a channel has at most %u contexts", WMK_WIRE_CONTEXTS_MAX);
	int err = channel->laid_out ? wmk_rings_new_layout(channel) : 0;
	if (err < 0)
		return err;
	at = wmk_arena_append(&channel->arena, &channel->is.contexts, sizeof(*at));
	if (!at)
		return -ENOMEM;
	*at = context->field.name;
	channel->contexts[channel->n_contexts++] = (uint8_t)context->number;
	return 0;
}

/* ── channels ────────────────────────────────────────────────────────────────────────────────────────── */

int wmk_session_channel_find(struct wmk_session *session, const struct wmk_ctl_domain *domain, const char *name,
			     struct wmk_session_channel **out)
{
	struct wmk_session_channel *found = NULL;

	for (unsigned i = 0; i < session->n_channels; i++) {
		struct wmk_session_channel *channel = session->channels[i];

		if (channel->own || !wmk_domain_same(&channel->is.domain, domain))
			continue;
		if (name && *name && strcmp(channel->is.name, name) != 0)
			continue;
		if (found)
			return wmk_errorx(-ENOTUNIQ,
					  "the session '%s' has several channels in this domain: name one (-c)",
					  session->name);
		found = channel;
	}
	if (!found)
		return name && *name
			       ? wmk_errorx(-ENOENT, "the session '%s' has no channel '%.240s' in this domain",
					    session->name, name)
			       : wmk_errorx(-ENOENT, "the session '%s' has no channel in this domain",
					    session->name);
	*out = found;
	return 0;
}

void wmk_session_channel_complete(const struct wmk_session *session, struct wmk_ctl_channel *is)
{
	if (session->settings.snapshot)
		is->settings.mode = WMK_MODE_OVERWRITE;
}

static int channel_fill(struct wmk_session_channel *channel, const struct wmk_ctl_channel *options)
{
	const struct wmk_list rules = options->rules, contexts = options->contexts;
	struct wmk_ctl_channel given = *options;
	int err;

	given.rules = given.contexts = (struct wmk_list){ NULL, 0 };
	memset(&given.counts, 0, sizeof(given.counts));
	given.memory = 0;
	if (!given.settings.flush_us && given.settings.mode == WMK_MODE_DISCARD &&
	    given.domain.kind != WMK_DOMAIN_KERNEL)
		given.settings.flush_us = channel->session->settings.flush_us;
	err = wmk_object_copy(&wmk_ctl_channel_object, &given, &channel->is, &channel->arena);
	if (err == 0) {
		wmk_session_channel_complete(channel->session, &channel->is);
		err = wmk_channel_options_check(&channel->is);
	}
	for (uint32_t i = 0; err == 0 && i < contexts.n; i++)
		err = wmk_session_context_add(channel, text_at(&contexts, i));
	/* the "pid" context narrows the records to tracked processes */
	if (err == 0 && wmk_channel_is_kernel(channel) && channel->session->trackers.kernel_pid)
		err = wmk_session_context_add(channel, "pid");
	for (uint32_t i = 0; err == 0 && i < rules.n; i++)
		err = wmk_session_rule_add(channel, (const struct wmk_ctl_rule *)rules.items + i);
	return err;
}

struct wmk_session_channel *wmk_session_channel_by_index(const struct wmk_session *session, uint32_t index)
{
	for (unsigned i = 0; i < session->n_channels; i++)
		if (session->channels[i]->index == index)
			return session->channels[i];
	return NULL;
}

static int channel_append(struct wmk_session *session, struct wmk_session_channel *channel)
{
	struct wmk_session_channel **more;

	/* An edited or damaged state file may have any number of channels. */
	if (session->n_channels > WMK_SESSION_CHANNELS)
		return wmk_errorx(-E2BIG, "the session '%s' has %u channels, the maximum", session->name,
				  session->n_channels);
	more = realloc(session->channels, (session->n_channels + 1) * sizeof(struct wmk_session_channel *));
	if (!more)
		return wmk_error(-ENOMEM, "no memory for a channel");
	session->channels = more;
	for (channel->index = 0; wmk_session_channel_by_index(session, channel->index); channel->index++)
		;
	channel->first_stream = channel->index;
	more[session->n_channels++] = channel;
	/* relaxed: serials only have to be unique */
	channel->serial = atomic_fetch_add_explicit(&session->tracing->channels_made, 1, memory_order_relaxed) + 1;
	return 0;
}

int wmk_session_channel_add(struct wmk_session *session, const struct wmk_ctl_channel *options,
			    struct wmk_session_channel **out)
{
	struct wmk_session_channel *channel;
	int err = wmk_name_check("channel", options->name);

	if (err < 0)
		return err;
	for (unsigned i = 0; i < session->n_channels; i++)      /* streams have the channel's name, in each domain */
		if (strcmp(session->channels[i]->is.name, options->name) == 0)
			return wmk_errorx(-EEXIST, "the session '%s' already has a channel '%s'", session->name,
					  options->name);
	if (strcmp(options->name, STATEDUMP_CHANNEL) == 0 && !session->settings.no_statedump)
		return wmk_errorx(-EEXIST, "the channel name '%s' is reserved for the state dump", options->name);
	if (session->n_channels >= session->tracing->options.max_channels && !session->tracing->restoring)
		return wmk_limit_reached(session->tracing, -E2BIG, "channels",
					 "the session '%s' has %u channels, which is the limit", session->name,
					 session->n_channels);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return wmk_error(-ENOMEM, "no memory for a channel");
	channel->session = session;
	err = channel_fill(channel, options);
	if (err == 0)
		err = channel_append(session, channel);
	if (err < 0) {
		session->rule_bytes -= channel->rule_bytes;
		wmk_quota_rules_uncharge(session->tracing, session->uid, channel->rule_bytes);
		wmk_channel_free(channel);
		return err;
	}
	channel->is.enabled = true;
	*out = channel;
	return 0;
}

/*
 * Add the channel of the state dump. A record of the state dump describes an object of a process, and the context vpid
 * names the process. State dump records have no thread name, because libwaymark's helper thread writes them.
 */
int wmk_session_add_own_channel(struct wmk_session *session)
{
	static const char *contexts[] = { "vpid" };
	const struct wmk_ctl_channel options = {
		.name = STATEDUMP_CHANNEL,
		.settings.subbuf_size = STATEDUMP_SUBBUF,
		.settings.n_subbufs = STATEDUMP_SUBBUFS,
		.contexts = { contexts, 1 },
	};
	struct wmk_session_channel *channel = calloc(1, sizeof(*channel));
	int err;

	if (!channel)
		return wmk_error(-ENOMEM, "no memory for a channel");
	channel->session = session;
	channel->own = true;
	err = channel_fill(channel, &options);
	channel->is.enabled = true;
	if (err == 0)
		err = channel_append(session, channel);
	if (err < 0)
		wmk_channel_free(channel);
	return err;
}

void wmk_channel_free(struct wmk_session_channel *channel)
{
	verdicts_forget(channel);
	wmk_arena_free(&channel->arena);
	for (uint32_t i = 0; i < channel->n_exprs; i++)
		wmk_filter_expr_free(channel->exprs[i]);
	free(channel->exprs);
	free(channel->verdicts);
	free(channel->filters);
	wmk_process_set_free(&channel->members);
	free(channel);
}

void wmk_session_channel_switch(struct wmk_session_channel *channel, bool on)
{
	channel->is.enabled = on;
}

const struct wmk_ctl_channel *wmk_session_channel_options(const struct wmk_session_channel *channel)
{
	return &channel->is;
}
