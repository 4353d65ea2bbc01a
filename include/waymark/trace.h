/* SPDX-License-Identifier: MIT */
/*
 * trace.h - instrument a program, in C11 or in C++11 and later. Link with -lwaymark. See docs/instrument.md.
 *
 *     waymark(shop, order_paid, order_id, customer, amount);          an event, declared where it occurs
 *     WAYMARK_EVENT(sched, switch, (struct task *prev, struct task *next),
 *                   wm_field(int, prev_tid, prev->tid),
 *                   wm_field(int, next_tid, next->tid));
 *     waymark_sched_switch(prev, next);                               ... declared once, called as a function
 *     waymark_mark(kernel_sched, "prev_pid %d next_pid %d", p, n);    fields from a format; recorded in binary
 *     waymark_logf(INFO, "%s has %d items", name, n);                 text; only the arguments are recorded
 *     if (wm_enabled(shop, order_paid)) ...                           compute expensive arguments only when enabled
 *     waymark_begin(shop, order, id); ... waymark_end(shop, order);   a time span of this thread
 *     waymark_span(shop, order, id);                                  ... from here to the end of the scope
 *     waymark_counter(shop, queue, length);                           a number that changes
 *
 * A disabled tracepoint is at most two instructions that do nothing: no load, no branch. With WAYMARK_NO_PATCH, a
 * disabled tracepoint is a load and a branch. Arguments are evaluated only while the event is enabled, and are
 * evaluated once. All macros may be used in any thread, in signal handlers, in inline functions and templates, in
 * executables and libraries.
 */
#ifndef WAYMARK_TRACE_H
#define WAYMARK_TRACE_H

#if defined(__cplusplus)
#include <waymark/detail/event_cxx.h>
#else
#include <waymark/detail/event_c.h>
#endif

/*
 * `, ##__VA_ARGS__` passes all arguments on unexpanded (pp.h). The form `, ##__VA_ARGS__` is an extension that gcc and
 * clang support; clang warns about the form with -Wpedantic.
 */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif

/*
 * waymark(provider, name, argument...): record the event provider:name. A statement. Preserves errno.
 *
 * Up to 32 arguments become fields. An argument is an integer, bool, float or double; a char * (text up to its NUL;
 * NULL is recorded as "(null)"); an array of numbers; or another pointer (printed in base 16). In C++, an argument can
 * also be an enumeration, std::string, std::array, std::vector, std::optional, std::chrono::duration or a similar type.
 * Wrappers:
 *
 *   wm_hex(x), wm_oct(x)     an integer, printed in base 16 or 8
 *   wm_net(x)                an integer of 16, 32 or 64 bits in network byte order
 *   wm_text(p, len)          len bytes of text
 *   wm_bytes(p, len)         len bytes
 *   wm_media("type", p, len) len bytes of a media type, "image/png"
 *   wm_seq(p, n)             n numbers, n is computed at run time; p points to integers, floats, doubles, bools or
 *                            pointers
 *   wm_array(p, n)           n numbers, n is a constant
 *   wm_enum(set, x)          an integer with labels (WAYMARK_LABELS)
 *   wm_flags(set, x)         an integer with a label for each bit
 *   wm_named("name", x)      x, any of the above, with the given field name
 *   wm_unit("unit", x)       x, any of the above, in the given unit, "ms"
 *   wm_level(LEVEL)          no field: the log level of the event, EMERG ... DEBUG as in enum waymark_level; default
 *                            DEBUG_LINE
 *
 * A field is named after its argument: the identifier itself, the last member for an argument that ends in .m or ->m,
 * else argN. Provider and name must be identifiers; other text does not compile (in C, clang accepts letters outside
 * ASCII, but the event is not recorded).
 */
#define waymark(provider, ...) WMK_EVENT(WAYMARK_KIND_EVENT, "", #provider, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * waymark_begin(provider, name, argument...), waymark_end(provider, name, argument...): begin and end a time span of
 * the calling thread. The macros record the events provider:name_begin and provider:name_end; the pattern
 * provider:name_* enables both. Spans of a thread must be nested. Arguments as above. Statements.
 */
#define waymark_begin(provider, ...) WMK_EVENT(WAYMARK_KIND_BEGIN, "_begin", #provider, __COUNTER__, , ##__VA_ARGS__, ~)
#define waymark_end(provider, ...) WMK_EVENT(WAYMARK_KIND_END, "_end", #provider, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * waymark_span(provider, name, argument...): begin a time span here and end it when the scope is left, also by return,
 * break or an exception, but not by longjmp() or the end of the thread. The begin event records the arguments; both
 * events have the log level of the span. The end event is recorded if it was enabled when the span began and is still
 * enabled. A declaration in a function. In C, clang before 18 needs WAYMARK_NO_PATCH for waymark_span(). clang does not
 * accept waymark_span() in a constexpr function.
 */
#define waymark_span(provider, ...) WMK_SPAN(#provider, __COUNTER__, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * waymark_counter(provider, name, value, argument...): record the event provider:name with the current `value` of a
 * counter as the first field: an integer, enumeration, bool, float or double, also in wm_unit(). Further arguments as
 * above. A statement.
 */
#define waymark_counter(provider, ...) WMK_COUNTER(#provider, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * WAYMARK_EVENT(provider, name, (parameters), field...) defines the inline function
 * waymark_<provider>_<name>(parameters), which records the event. WAYMARK_EVENT() may be used at file scope or at
 * namespace scope, also in a header. A field is wm_field(type, name, expression) or an argument of waymark().
 */
#define WAYMARK_EVENT(provider, ...) WMK_FUNCTION(provider, #provider, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * waymark_mark(name, "format", argument...): record the event marker:<name>. The format is a literal that names and
 * types the fields: a word before each printf conversion. The compiler checks the conversions against the arguments. A
 * statement.
 */
#define waymark_mark(name, ...) WMK_MARK(#name, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * waymark_logf(LEVEL, "format", argument...): record a line of text as the event text:<file>_<line>. The format is a
 * literal, which the metadata of the trace holds once; a record has the arguments only. LEVEL as in wm_level(). A
 * statement.
 */
#define waymark_logf(level, ...) WMK_LOGF(WAYMARK_LEVEL_##level, __COUNTER__, , ##__VA_ARGS__, ~)

/*
 * wm_enabled(provider, name): true while the event is enabled. The evaluation of wm_enabled() costs as much as a
 * disabled tracepoint.
 */
#define wm_enabled(provider, name) WMK_ENABLED_GUARD(#provider, #name, __COUNTER__)

/*
 * WAYMARK_LABELS(set, (LABEL), (LABEL, value), (LABEL, from, to)...) defines up to 36 labels for wm_enum(set, x) and
 * wm_flags(set, x). A LABEL without a value is the name of a constant; for example, the label of colour::red is "red".
 * At file or namespace scope.
 */
#define WAYMARK_LABELS(set, ...) WMK_LABELS(set, , ##__VA_ARGS__, ~)

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#define WMK_EVENT(kind, suffix, provider, n, e, name, ...) do { \
	WMK_CHECK_NAMES(provider, #name); \
	WMK_EMIT(kind, provider, #name suffix, n, WMK_MAP_FOR(e, e##__VA_ARGS__), e, e##__VA_ARGS__); \
} while (0)

#define WMK_SPAN(provider, n, n_end, e, name, ...) \
	WMK_SPAN_LATER(provider, #name, n, n_end, WMK_MAP_FOR(e, e##__VA_ARGS__), e, e##__VA_ARGS__)
#define WMK_SPAN_LATER(provider, name, n, n_end, map, e, ...) \
	WMK_SCOPE(provider, name, n, n_end, map, e, e##__VA_ARGS__)

#if defined(__cplusplus)
#define WMK_STATIC_ASSERT static_assert
#else
#define WMK_STATIC_ASSERT _Static_assert
#endif
#define WMK_COUNTER(provider, n, e, name, value, ...) do { \
	WMK_CHECK_NAMES(provider, #name); \
	WMK_CHECK_VALUE(#value); \
	WMK_STATIC_ASSERT(WMK_IS_NUMBER(value), "waymark: the value of a counter is a number"); \
	WMK_EMIT(WAYMARK_KIND_COUNTER, provider, #name, n, \
		WMK_MAP_FOR(e, wm_named("value", e##value), e##__VA_ARGS__), e, \
		wm_named("value", e##value), e##__VA_ARGS__); \
} while (0)

#define WMK_FUNCTION(provider, text, n, e, name, parameters, ...) \
	WMK_CHECK_NAMES_AT(n, text, #name); \
	__attribute__((unused)) static inline void waymark_##provider##_##name parameters \
	{ \
		WMK_EMIT_LATER(text, #name, n, WMK_MAP_FOR(e, e##__VA_ARGS__), e, e##__VA_ARGS__); \
	} \
	struct wmk_semicolon
#define WMK_EMIT_LATER(provider, name, n, map, e, ...) \
	WMK_EMIT(WAYMARK_KIND_EVENT, provider, name, n, map, e, e##__VA_ARGS__)

__attribute__((format(printf, 1, 2), unused)) static inline void wmk_check_format(const char *format, ...)
{
	(void)format;
}

#define WMK_COMMA(e, i, text, x) , x
#define WMK_COMMA_MANY

#define WMK_MARK(name, n, e, format, ...) do { \
	WMK_CHECK_NAMES("marker", name); \
	WMK_CHECK_FORMAT(#format); \
	WMK_FORMAT(WAYMARK_KIND_MARKER, WAYMARK_LEVEL_DEBUG_LINE, "marker", name, name, n, \
		WMK_MAP_FOR(e, e##__VA_ARGS__), e, format, e##__VA_ARGS__); \
} while (0)
/*
 * The file name of the source without directories, for the SystemTap note; "line" if the compiler does not define
 * __FILE_NAME__.
 */
#if defined(__FILE_NAME__)
#define WMK_FILE_NAME __FILE_NAME__
#else
#define WMK_FILE_NAME "line"
#endif
#define WMK_LOGF(level, n, e, format, ...) do { \
	WMK_CHECK_FORMAT(#format); \
	WMK_FORMAT(WAYMARK_KIND_TEXT, level, "text", NULL, WMK_FILE_NAME "_" WMK_STR(__LINE__), n, \
		WMK_MAP_FOR(e, e##__VA_ARGS__), e, format, e##__VA_ARGS__); \
} while (0)
#define WMK_FORMAT(kind, level, provider, name, note, n, map, e, format, ...) do { \
	if (0) \
		wmk_check_format("" format "" map(WMK_COMMA, e, e##__VA_ARGS__)); \
	WMK_EMIT_FORMAT(kind, level, provider, name, note, n, map, e, "" format "", e##__VA_ARGS__); \
} while (0)

#define WMK_ENABLED_GUARD(provider, name, n) WMK_GUARD(provider, name, n)

/*
 * One label. `pair` is not expanded here, so #label gives the source text of the label instead of the expansion of the
 * label.
 */
#define WMK_LABEL(e, i, text, pair) WMK_CAT(WMK_LABEL_, WMK_COUNT_3 pair) e##pair,
#define WMK_LABEL_MANY
#define WMK_COUNT_3(...) WMK_COUNT_3_(__VA_ARGS__, 3, 2, 1, ~)
#define WMK_COUNT_3_(a, b, c, n, ...) n
#define WMK_LABEL_1(label) { WMK_LABEL_TEXT(#label), WMK_INT64(label), WMK_INT64(label) }
#define WMK_LABEL_2(label, value) { WMK_LABEL_TEXT(#label), WMK_INT64(value), WMK_INT64(value) }
#define WMK_LABEL_3(label, from, to) { WMK_LABEL_TEXT(#label), WMK_INT64(from), WMK_INT64(to) }

#endif
