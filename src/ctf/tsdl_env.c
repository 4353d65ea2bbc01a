/* SPDX-License-Identifier: MIT */
/*
 * tsdl_env.c - lengths that the environment tells, `x[env.N]` (CTF 1.8.3, section 7.3.2: `env.` is a scope like any other). Its blocks may stand
 * behind what they are for: then the rest of the text is looked through for them, once.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl.h"

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

int wmk_tsdl_env_number(struct wmk_tsdl *in, const char *name, int64_t *number)
{
	if (find(&in->to->env, name, number))
		return 0;
	if (!in->has_looked_ahead)
		look_ahead(in);
	in->has_looked_ahead = true;
	return find(&in->env_ahead, name, number) ? 0 : wmk_tsdl_error(in, -EPROTO, "the environment has no number '%.60s'", name);
}
