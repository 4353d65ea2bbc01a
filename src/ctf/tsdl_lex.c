/* SPDX-License-Identifier: MIT */
/*
 * tsdl_lex.c - split TSDL into tokens, and report errors with their place. TSDL has the tokens of C without a
 * preprocessor (CTF 1.8.3, section C.1).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "ctf/tsdl.h"

#define STRING_MAX (1u << 20)     /* bytes of a string constant */

/* ── errors ──────────────────────────────────────────────────────────────────────────────────────────── */

void wmk_tsdl_error(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, int err, const char *format, ...)
{
	char words[WMK_ERROR_LEN];
	va_list args;

	if (in->to->err < 0)
		return;
	at = at ? at : &in->token;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	in->to->err = wmk_error(err, "%s:%" PRIu32 ":%" PRIu32 ": %s", in->name, at->line, at->column, words);
	in->token.kind = WMK_TSDL_BAD;
}

void wmk_tsdl_warn(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *format, ...)
{
	char words[WMK_ERROR_LEN];
	va_list args;

	if (in->is_ahead)
		return;
	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	wmk_ctf_warn(in->to, at->line, at->column, "%s", words);
}

void wmk_tsdl_wrong(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *what)
{
	const struct wmk_tsdl_token *token = at ? at : &in->token;

	if (in->to->err < 0)
		return;
	/* The end of the text may also be inside its last token. */
	in->is_cut = in->at == in->end;
	switch (token->kind) {
	case WMK_TSDL_END:
		wmk_tsdl_error(in, token, -EPROTO, "expected %s, found the end of the text", what);
		break;
	case WMK_TSDL_IDENT:
		wmk_tsdl_error(in, token, -EPROTO, "expected %s, not '%.*s'", what,
			       (int)(token->len < 40 ? token->len : 40), token->text);
		break;
	case WMK_TSDL_NUMBER:
		wmk_tsdl_error(in, token, -EPROTO, "expected %s, not the number %" PRIu64, what, token->number);
		break;
	case WMK_TSDL_STRING:
		wmk_tsdl_error(in, token, -EPROTO, "expected %s, not a string", what);
		break;
	default:
		wmk_tsdl_error(in, token, -EPROTO, "expected %s, not '%s'", what,
			       token->punct == 'E'   ? "..."
			       : token->punct == 'D' ? ":="
			       : token->punct == 'A' ? "->"
						     : (char[]){ token->punct, '\0' });
	}
}

/* Report an error of the lexer in a token that begins at `at`. */
static void bad_at(struct wmk_tsdl *in, const struct wmk_tsdl_token *at, const char *words)
{
	in->is_cut = in->at == in->end;
	wmk_tsdl_error(in, at, -EPROTO, "%s", words);
}

/* Report an error of the lexer at a byte of the current line. */
static void bad(struct wmk_tsdl *in, const char *at, const char *words)
{
	const struct wmk_tsdl_token here = { .line = in->line, .column = (uint32_t)(at - in->line_begin) + 1 };

	bad_at(in, &here, words);
}

/* ── blanks and comments ─────────────────────────────────────────────────────────────────────────────── */

static void newline(struct wmk_tsdl *in, const char *next)
{
	in->line++;
	in->line_begin = next;
}

static void skip_comment(struct wmk_tsdl *in)
{
	const char *begin = in->at, *line_begin = in->line_begin;
	const uint32_t line = in->line;

	for (in->at += 2; in->end - in->at >= 2; in->at++) {
		if (in->at[0] == '*' && in->at[1] == '/') {
			in->at += 2;
			return;
		}
		if (*in->at == '\n')
			newline(in, in->at + 1);
	}
	in->at = in->end;
	in->line = line;
	in->line_begin = line_begin;
	bad(in, begin, "unterminated comment");
}

static void skip_blank(struct wmk_tsdl *in)
{
	while (in->at < in->end) {
		if (*in->at == '\n') {
			newline(in, ++in->at);
		} else if (*in->at == ' ' || (*in->at >= '\t' && *in->at <= '\r')) {
			in->at++;
		} else if (in->end - in->at >= 2 && in->at[0] == '/' && in->at[1] == '*') {
			skip_comment(in);
		} else if (in->end - in->at >= 2 && in->at[0] == '/' && in->at[1] == '/') {
			while (in->at < in->end && *in->at != '\n')
				in->at++;
		} else {
			return;
		}
	}
}

/* ── constants ───────────────────────────────────────────────────────────────────────────────────────── */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int digit_value(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Read a decimal, octal, hexadecimal or binary number in the syntax of gcc, with a suffix of the letters u and l. */
static void lex_number(struct wmk_tsdl *in)
{
	const char *begin = in->at;
	unsigned base = 10;
	uint64_t value = 0;

	if (*in->at == '0' && in->end - in->at >= 2) {
		char x = in->at[1];

		base = x == 'x' || x == 'X' ? 16 : x == 'b' || x == 'B' ? 2 : 8;
		in->at += base == 8 ? 1 : 2;
		if (base != 8 && (in->at == in->end || digit_value(*in->at) >= (int)base)) {
			bad(in, begin, "a number without digits");
			return;
		}
	}
	for (; in->at < in->end && digit_value(*in->at) < (int)base; in->at++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*in->at), &value)) {
			bad(in, begin, "a number of more than 64 bits");
			return;
		}
	while (in->at < in->end && memchr("uUlL", *in->at, 4))
		in->at++;
	if (in->at < in->end && (is_letter(*in->at) || is_digit(*in->at))) {
		bad(in, begin, "invalid digit in a number");
		return;
	}
	in->token.kind = WMK_TSDL_NUMBER;
	in->token.number = value;
}

/* Read an escape sequence after its backslash. Returns its value; -1: invalid. */
static int lex_escape(struct wmk_tsdl *in)
{
	static const char from[] = "abfnrtv\\'\"?", to[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *known;
	int value = 0, n = 0;

#ifndef WMK_PLANTED_BUG_CTF_METADATA            /* a planted bug that the fuzzer must find */
	if (in->at == in->end)
		return -1;
#endif
	if (*in->at == 'x') {
		for (in->at++; in->at < in->end && digit_value(*in->at) < 16 && n < 2; n++)
			value = value * 16 + digit_value(*in->at++);
		return n ? value : -1;
	}
	if (digit_value(*in->at) < 8) {
		for (; in->at < in->end && digit_value(*in->at) < 8 && n < 3; n++)
			value = value * 8 + digit_value(*in->at++);
		return value & 0xff;
	}
	known = memchr(from, *in->at, sizeof(from) - 1);
	if (!known)
		return -1;
	in->at++;
	return (unsigned char)to[known - from];
}

/* Read a string, or a character constant in single quotes; the value of a character constant is a number. */
static void lex_string(struct wmk_tsdl *in)
{
	const struct wmk_tsdl_token at = in->token;
	const char *begin = in->at, quote = *in->at++;
	const char *last = memchr(in->at, quote, (size_t)(in->end - in->at));
	size_t len = 0, room;
	char *text;

	/* The string ends at or before the first quote that does not follow a backslash. */
	while (last && last[-1] == '\\' && (size_t)(last - begin) < STRING_MAX)
		last = memchr(last + 1, quote, (size_t)(in->end - last - 1));
	if (!last || (size_t)(last - begin) > STRING_MAX)
		last = in->end;
	room = (size_t)(last - begin);
	if (room > STRING_MAX)
		room = STRING_MAX;
	text = wmk_ctf_alloc(in->to, room + 1);
	if (!text)
		return;
	while (in->at < in->end && *in->at != quote && len < room) {
		int c = (unsigned char)*in->at++;

		if (c == '\n')
			newline(in, in->at);
		if (c == '\\' && (c = lex_escape(in)) < 0) {
			bad_at(in, &at, "unknown escape sequence in a string");
			return;
		}
		text[len++] = (char)c;
	}
	if (in->at == in->end || *in->at != quote) {
		bad_at(in, &at, "unterminated string, or string of more than 1 MB");
		return;
	}
	in->at++;
	if (in->line != at.line) {
		in->lines = at;
		wmk_tsdl_warn(in, &at, "a string of more than one line");
	}
	in->token.kind = quote == '\'' ? WMK_TSDL_NUMBER : WMK_TSDL_STRING;
	in->token.number = (unsigned char)text[0];
	in->token.text = text;
	in->token.len = len;
	if (quote == '\'' && len != 1)
		bad_at(in, &at, "a character constant that is not one character");
}

/* ── tokens ──────────────────────────────────────────────────────────────────────────────────────────── */

static bool follows(const struct wmk_tsdl *in, const char *words)
{
	size_t len = strlen(words);

	return (size_t)(in->end - in->at) >= len && memcmp(in->at, words, len) == 0;
}

static void lex_punct(struct wmk_tsdl *in)
{
	in->token.kind = WMK_TSDL_PUNCT;
	if (follows(in, "...")) {
		in->token.punct = 'E';
		in->at += 3;
	} else if (follows(in, ":=")) {
		in->token.punct = 'D';
		in->at += 2;
	} else if (follows(in, "->")) {
		in->token.punct = 'A';
		in->at += 2;
	} else if (memchr("{}()[]<>;:,=.*-+", *in->at, 16)) {
		in->token.punct = *in->at++;
	} else {
		bad(in, in->at, "unexpected character");
	}
}

static void lex_identifier(struct wmk_tsdl *in)
{
	in->token.kind = WMK_TSDL_IDENT;
	in->token.text = in->at;
	while (in->at < in->end && (is_letter(*in->at) || is_digit(*in->at)))
		in->at++;
	in->token.len = (size_t)(in->at - in->token.text);
}

void wmk_tsdl_next(struct wmk_tsdl *in)
{
	if (in->to->err >= 0)
		skip_blank(in);
	if (in->to->err < 0) {
		in->token.kind = WMK_TSDL_BAD;
		return;
	}
	in->token = (struct wmk_tsdl_token){ .line = in->line, .column = (uint32_t)(in->at - in->line_begin) + 1 };
	if (follows(in, "L\"") || follows(in, "L'"))
		in->at++;
	if (in->at == in->end)
		in->token.kind = WMK_TSDL_END;
	else if (is_digit(*in->at))
		lex_number(in);
	else if (*in->at == '"' || *in->at == '\'')
		lex_string(in);
	else if (is_letter(*in->at))
		lex_identifier(in);
	else
		lex_punct(in);
}

bool wmk_tsdl_is(const struct wmk_tsdl *in, char punct)
{
	return in->token.kind == WMK_TSDL_PUNCT && in->token.punct == punct;
}

bool wmk_tsdl_is_word(const struct wmk_tsdl *in, const char *word)
{
	return in->token.kind == WMK_TSDL_IDENT && in->token.len == strlen(word) &&
	       memcmp(in->token.text, word, in->token.len) == 0;
}

bool wmk_tsdl_take(struct wmk_tsdl *in, char punct)
{
	const bool is = wmk_tsdl_is(in, punct);

	if (is)
		wmk_tsdl_next(in);
	return is;
}

bool wmk_tsdl_take_word(struct wmk_tsdl *in, const char *word)
{
	const bool is = wmk_tsdl_is_word(in, word);

	if (is)
		wmk_tsdl_next(in);
	return is;
}

bool wmk_tsdl_before(struct wmk_tsdl *in, char punct)
{
	return in->to->err >= 0 && !wmk_tsdl_take(in, punct);
}

void wmk_tsdl_expect(struct wmk_tsdl *in, char punct, const char *where)
{
	char what[80];

	if (wmk_tsdl_take(in, punct))
		return;
	snprintf(what, sizeof(what), "'%s' %s", punct == 'D' ? ":=" : (char[]){ punct, '\0' }, where);
	wmk_tsdl_wrong(in, NULL, what);
}

const char *wmk_tsdl_take_text(struct wmk_tsdl *in)
{
	const char *text = wmk_ctf_copy_text(in->to, in->token.text, in->token.len);

	wmk_tsdl_next(in);
	return text;
}
