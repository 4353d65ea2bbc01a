/* SPDX-License-Identifier: MIT */
/*
 * name.h - check the names of providers and events at compile time, and that no argument is missing.
 *
 * WMK_CHECK_NAMES(provider, name) is a statement, WMK_CHECK_NAMES_AT(n, provider, name) a declaration for file scope.
 * Both take literals. `~` replaces a missing argument (pp.h). A missing name fails the check, since `~` is not an
 * identifier.
 *
 * C++ has constant functions. In C, gcc folds __builtin_strspn() in a static assertion. clang does not fold it. clang's
 * attribute diagnose_if evaluates constant arguments, but has no loops: the check then searches for each invalid ASCII
 * character.
 */
#ifndef WAYMARK_DETAIL_NAME_H
#define WAYMARK_DETAIL_NAME_H

#include <waymark/detail/pp.h>

#define WMK_NAME_LENGTH 255  /* bytes at most: WMK_NAME_MAX of the library */
#define WMK_BAD_NAME \
	"waymark: provider and name of an event are identifiers of at most 255 characters: waymark(provider, name, ...)"
#define WMK_NO_FORMAT \
	"waymark: the format is missing: waymark_mark(name, \"format\", ...), waymark_logf(LEVEL, \"format\", ...)"
#define WMK_NO_VALUE "waymark: the value of the counter is missing: waymark_counter(provider, name, value, ...)"

#if defined(__cplusplus)

namespace waymark_detail {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(const char *s, unsigned left)
{
	return !*s || (left && (is_letter(*s) || (*s >= '0' && *s <= '9')) && is_word(s + 1, left - 1));
}
constexpr bool is_name(const char *s) { return is_letter(*s) && is_word(s, WMK_NAME_LENGTH); }
constexpr bool is_given(const char *s) { return !(*s == '~' && !s[1]); }

}

#define WMK_CHECK_NAMES(provider, name) \
	static_assert(::waymark_detail::is_name(provider) && ::waymark_detail::is_name(name), WMK_BAD_NAME)
#define WMK_CHECK_NAMES_AT(n, provider, name) WMK_CHECK_NAMES(provider, name)
#define WMK_CHECK_FORMAT(text) static_assert(::waymark_detail::is_given(text), WMK_NO_FORMAT)
#define WMK_CHECK_VALUE(text) static_assert(::waymark_detail::is_given(text), WMK_NO_VALUE)

#elif defined(__clang__)

#define WMK_WITH(s, c) || __builtin_strchr(s, c)
#define WMK_WITH_8(s, c0, c1, c2, c3, c4, c5, c6, c7) \
	WMK_WITH(s, c0) WMK_WITH(s, c1) WMK_WITH(s, c2) WMK_WITH(s, c3) \
	WMK_WITH(s, c4) WMK_WITH(s, c5) WMK_WITH(s, c6) WMK_WITH(s, c7)
#define WMK_IS_WRONG(s) (!*(s) || (*(s) >= '0' && *(s) <= '9') || __builtin_strlen(s) > WMK_NAME_LENGTH \
	WMK_WITH_8(s, '-', '.', '"', '~', ' ', '(', ')', '+') WMK_WITH_8(s, ':', '/', '*', '&', '!', '<', '>', '=') \
	WMK_WITH_8(s, '[', ']', '{', '}', '|', '^', '%', '?') WMK_WITH_8(s, '\'', '\\', ';', '#', '$', '@', '`', ','))

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#define WMK_REFUSE(function, parameters, condition, message) \
	__attribute__((unused)) static inline void function parameters \
		__attribute__((diagnose_if(condition, message, "error"))); \
	static inline void function parameters { }
WMK_REFUSE(wmk_check_name, (const char *s __attribute__((unused))), WMK_IS_WRONG(s), WMK_BAD_NAME)
WMK_REFUSE(wmk_check_format_text, (const char *s __attribute__((unused))), *s == '~' && !s[1], WMK_NO_FORMAT)
WMK_REFUSE(wmk_check_value_text, (const char *s __attribute__((unused))), *s == '~' && !s[1], WMK_NO_VALUE)
#pragma clang diagnostic pop

#define WMK_CHECK_NAMES(provider, name) do { if (0) { wmk_check_name(provider); wmk_check_name(name); } } while (0)
#define WMK_CHECK_NAMES_AT(n, provider, name) WMK_CHECK_NAMES_AT_(n, provider, name)
#define WMK_CHECK_NAMES_AT_(n, provider, name) \
	__attribute__((unused)) static inline void wmk_check_names_##n(void) { WMK_CHECK_NAMES(provider, name); } \
	struct wmk_semicolon
#define WMK_CHECK_FORMAT(text) do { if (0) wmk_check_format_text(text); } while (0)
#define WMK_CHECK_VALUE(text) do { if (0) wmk_check_value_text(text); } while (0)

#else

#define WMK_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define WMK_IS_NAME(s) (sizeof(s) > 1 && sizeof(s) <= WMK_NAME_LENGTH + 1 && __builtin_strspn(s, "0123456789") == 0 && \
	__builtin_strspn(s, WMK_LETTERS "0123456789") == sizeof(s) - 1)
#define WMK_CHECK_NAMES(provider, name) _Static_assert(WMK_IS_NAME(provider) && WMK_IS_NAME(name), WMK_BAD_NAME)
#define WMK_CHECK_NAMES_AT(n, provider, name) WMK_CHECK_NAMES(provider, name)
#define WMK_CHECK_FORMAT(text) _Static_assert(__builtin_strcmp(text, "~") != 0, WMK_NO_FORMAT)
#define WMK_CHECK_VALUE(text) _Static_assert(__builtin_strcmp(text, "~") != 0, WMK_NO_VALUE)

#endif
#endif
