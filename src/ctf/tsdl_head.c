/* SPDX-License-Identifier: MIT */
/*
 * tsdl_head.c - find what is needed before TSDL metadata is parsed: version and byte order.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl.h"

/* Return whether the next token is the given word, or a string with the given text. */
static bool is_text(const struct wmk_tsdl *in, const char *word)
{
	const bool has_text = in->token.kind == WMK_TSDL_IDENT || in->token.kind == WMK_TSDL_STRING;

	return has_text && in->token.len == strlen(word) && memcmp(in->token.text, word, in->token.len) == 0;
}

/* Parse what follows `byte_order`. */
static void take_order(struct wmk_tsdl *in)
{
	bool is_big;

	wmk_tsdl_expect(in, '=', "after 'byte_order'");
	is_big = is_text(in, "be") || is_text(in, "network");
	if (!is_big && !is_text(in, "le"))
		wmk_tsdl_wrong(in, NULL, "a byte_order: 'le', 'be' or 'network'");
	in->to->class.order = is_big ? WMK_ORDER_BIG : WMK_ORDER_LITTLE;
	in->to->has_order = true;
	if (in->token.kind == WMK_TSDL_STRING)
		wmk_ctf_warn(in->to, in->token.line, in->token.column, "a byte_order that is a string");
}

/*
 * Find the byte order of the trace, because types that precede the trace block may need it. The search reads all tokens
 * without parsing declarations.
 */
void wmk_tsdl_find_order(struct wmk_tsdl *in)
{
	struct wmk_tsdl_token trace = { .kind = WMK_TSDL_END };
	bool in_trace = false;
	int depth = 0;

	for (wmk_tsdl_next(in); in->to->err >= 0 && in->token.kind != WMK_TSDL_END; wmk_tsdl_next(in)) {
		if (depth == 0 && wmk_tsdl_is_word(in, "trace")) {
			in_trace = true;
			trace = in->token;
		} else if (in_trace && depth == 1 && wmk_tsdl_take_word(in, "byte_order")) {
			take_order(in);
			return;
		}
		depth += wmk_tsdl_is(in, '{') - wmk_tsdl_is(in, '}');
		in_trace = in_trace && (depth > 0 || !wmk_tsdl_is(in, ';'));
	}
	if (trace.kind == WMK_TSDL_END)
		wmk_tsdl_error(in, NULL, -EPROTO, "the metadata has no trace block");
	else
		wmk_tsdl_error(in, &trace, -EPROTO, "the trace block has no byte_order");
}

void wmk_tsdl_open(struct wmk_tsdl *in, struct wmk_ctf_builder *to, const char *text, size_t len, const char *name)
{
	*in = (struct wmk_tsdl){ .to = to, .name = name, .text = text, .at = text, .end = text + len,
				 .line_begin = text, .line = 1 };
}

/* A text may begin with a comment that contains "CTF" and a version (section 7). */
void wmk_tsdl_signature(struct wmk_ctf_builder *to, const char *text, size_t len)
{
	static const char head[] = "/* CTF ", version[] = "1.8";
	const size_t n = sizeof(head) - 1;

	if (len < n + 3 || memcmp(text, head, n) != 0 || memcmp(text + n, version, 3) == 0)
		return;
	wmk_ctf_warn(to, 1, 1, "metadata of CTF %.3s is read as CTF 1.8", text + n);
}
