/* SPDX-License-Identifier: MIT */
/*
 * tsdl_env.c - references to lengths and selectors (CTF 1.8.3, section 7.3.2). A reference leads to a field or, in the
 * form `x[env.N]`, to an entry of the environment. If an environment block follows later, the parser searches the rest
 * of the text once for all such blocks.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/format_names.h"
#include "ctf/tsdl.h"

#define PATH_MAX_NAMES 32u

/* ── references to fields ────────────────────────────────────────────────────────────────────────────── */

const struct wmk_ref *wmk_tsdl_ref(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *path)
{
	struct wmk_ref *ref = wmk_ctf_alloc(in->to, sizeof(*ref));
	const char **names = wmk_ctf_alloc(in->to, PATH_MAX_NAMES * sizeof(*names));

	if (!names)
		return NULL;
	/* (section 7.3.2 calls these scopes dynamic) */
	for (uint8_t scope = WMK_SCOPE_PACKET_HEADER; scope < WMK_SCOPES && !ref->scope; scope++) {
		const size_t len = strlen(wmk_tsdl_scope_names[scope]);

		if (strncmp(path, wmk_tsdl_scope_names[scope], len) == 0 && path[len] == '.') {
			ref->scope = scope;
			path += len + 1;
		}
	}
	while (*path) {
		const size_t len = strcspn(path, ".");

		if (ref->n == PATH_MAX_NAMES) {
			wmk_tsdl_error(in, at, -EPROTO, "the path has more than %u names", PATH_MAX_NAMES);
			break;
		}
		names[ref->n++] = wmk_ctf_copy_text(in->to, path, len);
		path += len + (path[len] == '.');
	}
	ref->names = names;
	ref->line = at->line;
	ref->column = at->column;
	return ref;
}

/* ── references to the environment ───────────────────────────────────────────────────────────────────── */

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

/* Parse `NAME = number`; for an entry without a number, parse only the name and the '='. */
static void look_at_entry(struct wmk_tsdl *ahead, struct wmk_ctf_list *found)
{
	struct wmk_ctf_env_entry entry = { .name = wmk_tsdl_path(ahead) }, *at;
	bool is_unsigned;

	if (!wmk_tsdl_take(ahead, '=') ||
	    (ahead->token.kind != WMK_TSDL_NUMBER && !wmk_tsdl_is(ahead, '-') && !wmk_tsdl_is(ahead, '+')))
		return;
	entry.number = wmk_tsdl_number(ahead, &is_unsigned);
	at = wmk_ctf_list_add(ahead->to, found, sizeof(*at), WMK_CTF_STREAMS_MAX);
	if (at)
		*at = entry;
}

/*
 * Search the rest of the text for entries of the environment. The parser reports errors in the rest of the text when it
 * parses the rest.
 */
static void look_ahead(struct wmk_tsdl *in)
{
	struct wmk_tsdl ahead = *in;
	bool is_env = false, in_env = false;
	char before = '\0';

	ahead.is_ahead = true;
	while (ahead.to->err >= 0 && ahead.token.kind != WMK_TSDL_END) {
		const bool is_word = ahead.token.kind == WMK_TSDL_IDENT;

		if (in_env && is_word && (before == '{' || before == ';')) {
			before = '\0';
			look_at_entry(&ahead, &in->env_ahead);
			continue;
		}
		/* (a structure may be named "env", but no declaration begins with this word) */
		in_env = in_env ? !wmk_tsdl_is(&ahead, '}') : is_env && wmk_tsdl_is(&ahead, '{');
		is_env = before == ';' && wmk_tsdl_is_word(&ahead, "env");
		before = ahead.token.kind == WMK_TSDL_PUNCT ? ahead.token.punct : '\0';
		wmk_tsdl_next(&ahead);
	}
	if (ahead.to->err < 0)
		wmk_error_clear();
	ahead.to->err = 0;
}

int64_t wmk_tsdl_env_number(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *name)
{
	int64_t number = 0;

	if (in->to->err < 0 || find(&in->to->env, name, &number))
		return number;
	if (!in->has_looked_ahead)
		look_ahead(in);
	in->has_looked_ahead = true;
	if (!find(&in->env_ahead, name, &number))
		wmk_tsdl_error(in, at, -EPROTO, "the environment has no integer '%.60s'", name);
	return number;
}
