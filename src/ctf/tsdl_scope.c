/* SPDX-License-Identifier: MIT */
/*
 * tsdl_scope.c - names of types: typedefs and typealiases, and the tags of structures, variants and enumerations, each
 * in a name space of its own. A name is visible from its declaration to the end of the enclosing block (CTF 1.8.3,
 * section 7.3.1).
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl_type.h"

struct scoped_type {
	char space;
	const char *text;
	struct wmk_type type;
};

struct wmk_tsdl_scope {
	struct wmk_tsdl_scope *outer;
	void *names;               /* a tree of tsearch() */
};

static int compare(const void *left, const void *right)
{
	const struct scoped_type *a = left, *b = right;

	return a->space != b->space ? a->space - b->space : strcmp(a->text, b->text);
}

void wmk_tsdl_enter(struct wmk_tsdl *in)
{
	struct wmk_tsdl_scope *scope = wmk_ctf_alloc(in->to, sizeof(*scope));

	if (!scope)
		return;
	scope->outer = in->scope;
	in->scope = scope;
}

static void forget(void *name)
{
	(void)name;                /* the name is in scratch memory */
}

void wmk_tsdl_leave(struct wmk_tsdl *in)
{
	if (!in->scope)            /* (after an error, wmk_tsdl_enter() opens no scope) */
		return;
	tdestroy(in->scope->names, forget);
	in->scope = in->scope->outer;
}

void wmk_tsdl_declare(struct wmk_tsdl *in, const struct wmk_tsdl_token *token, char space, const char *text,
		      const struct wmk_type *type)
{
	struct scoped_type *name = wmk_ctf_alloc(in->to, sizeof(*name));
	struct scoped_type **at;

	if (!name)
		return;
	*name = (struct scoped_type){ .space = space, .text = text, .type = *type };
	at = tsearch(name, &in->scope->names, compare);
	if (!at)
		in->to->err = wmk_error(-ENOMEM, "no memory for the names of types");
	else if (*at != name)
		wmk_tsdl_error(in, token, -EPROTO, "'%.60s' is declared twice", text);
}

const struct wmk_type *wmk_tsdl_find(const struct wmk_tsdl *in, char space, const char *text)
{
	const struct scoped_type wanted = { .space = space, .text = text };

	for (const struct wmk_tsdl_scope *scope = in->scope; scope; scope = scope->outer) {
		struct scoped_type **at = tfind(&wanted, &scope->names, compare);

		if (at)
			return &(*at)->type;
	}
	return NULL;
}
