/* SPDX-License-Identifier: MIT */
/*
 * tsdl_env.c - where lengths and selectors are (CTF 1.8.3, section 7.3.2): in a field, or for `x[env.N]` in the
 * environment, whose blocks may follow what needs them. Then the parser looks through the rest of the text for them,
 * once.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl.h"

#define PATH_MAX_NAMES 32u

/* ── where a length or a selector stands ─────────────────────────────────────────────────────────────── */

/* The names of dynamic scopes (section 7.3.2), and what they are here. */
static const struct {
	const char *prefix;
	uint8_t scope;
} scopes[] = {
	{ "trace.packet.header.", WMK_SCOPE_PACKET_HEADER }, { "stream.packet.context.", WMK_SCOPE_PACKET_CONTEXT },
	{ "stream.event.header.", WMK_SCOPE_EVENT_HEADER }, { "stream.event.context.", WMK_SCOPE_COMMON_CONTEXT },
	{ "event.context.", WMK_SCOPE_CONTEXT }, { "event.fields.", WMK_SCOPE_PAYLOAD },
};

int wmk_tsdl_ref(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *path, const struct wmk_ref **made)
{
	struct wmk_ref *ref = wmk_scratch_alloc(&in->to->scratch, sizeof(*ref));
	const char **names = wmk_scratch_alloc(&in->to->scratch, PATH_MAX_NAMES * sizeof(*names));

	if (!ref || !names)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (strncmp(path, scopes[i].prefix, strlen(scopes[i].prefix)) == 0) {
			ref->scope = scopes[i].scope;
			path += strlen(scopes[i].prefix);
			break;
		}
	while (*path) {
		size_t len = strcspn(path, ".");

		if (ref->n == PATH_MAX_NAMES)
			return wmk_tsdl_error_at(in, at, "a path of more than %u names", PATH_MAX_NAMES);
		names[ref->n] = wmk_scratch_text(&in->to->scratch, path, len);
		if (!names[ref->n++])
			return -ENOMEM;
		path += len + (path[len] == '.');
	}
	ref->names = names;
	ref->line = at->line;
	ref->column = at->column;
	*made = ref;
	return 0;
}

/* ── in the environment ──────────────────────────────────────────────────────────────────────────────── */

static bool find(const struct wmk_ctf_list *list, const char *name, int64_t *number)
{
	const struct wmk_ctf_env_entry *entries = list->items;

	for (uint32_t i = 0; i < list->n; i++)
		if (!entries[i].text && strcmp(entries[i].name, name) == 0) {
			*number = entries[i].number;
			return true;
		}
	return false;
}

/* `NAME = number`, at the name; of whatever else an entry is, no more than the name is taken. */
static int look_at_entry(struct wmk_tsdl *ahead, struct wmk_ctf_list *found)
{
	struct wmk_ctf_env_entry entry = { .name = NULL }, *at;
	bool is_unsigned;
	int got = wmk_tsdl_path(ahead, &entry.name);

	if (got >= 0)
		got = wmk_tsdl_take(ahead, '=');
	if (got <= 0 || (ahead->token.kind != WMK_TSDL_NUMBER && !wmk_tsdl_is(ahead, '-') && !wmk_tsdl_is(ahead, '+')))
		return got;
	got = wmk_tsdl_number(ahead, &entry.number, &is_unsigned);
	if (got < 0)
		return got;
	at = wmk_ctf_list_add(ahead->to, found, sizeof(*at), WMK_CTF_STREAMS_MAX);
	if (!at)
		return -ENOMEM;
	*at = entry;
	return 0;
}

/* What is wrong further on is said when the parser comes there. */
static void look_ahead(struct wmk_tsdl *in)
{
	struct wmk_tsdl ahead = *in;
	bool is_env = false, in_env = false;
	char before = '\0';
	int err = 0;

	ahead.is_ahead = true;
	while (err >= 0 && ahead.token.kind != WMK_TSDL_END) {
		const bool is_word = ahead.token.kind == WMK_TSDL_IDENT;

		if (in_env && is_word && (before == '{' || before == ';')) {
			before = '\0';
			err = look_at_entry(&ahead, &in->env_ahead);
			continue;
		}
		/* (a structure may be called so, but a declaration does not begin with that) */
		in_env = in_env ? !wmk_tsdl_is(&ahead, '}') : is_env && wmk_tsdl_is(&ahead, '{');
		is_env = before == ';' && wmk_tsdl_is_word(&ahead, "env");
		before = ahead.token.kind == WMK_TSDL_PUNCT ? ahead.token.punct : '\0';
		err = wmk_tsdl_next(&ahead);
	}
	if (err < 0)
		wmk_error_clear();
}

int wmk_tsdl_env_number(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name, int64_t *number)
{
	if (find(&in->to->env, name, number))
		return 0;
	if (!in->has_looked_ahead)
		look_ahead(in);
	in->has_looked_ahead = true;
	if (find(&in->env_ahead, name, number))
		return 0;
	return wmk_tsdl_error_at(in, at, "the environment has no number '%.60s'", name);
}
