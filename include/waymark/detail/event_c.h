/* SPDX-License-Identifier: MIT */
/*
 * event_c.h - C11: map an argument to the type of a field, and to a value.
 *
 * The macros expand each argument for the descriptor and for the enabled block. A wrapper such as wm_hex(x) must then
 * have two different results:
 * - in the descriptor, a constant that is never evaluated. The *type* of the constant in the descriptor is a pointer to
 *   a constant pointer to an array; the length of the array is the code of the field (WMK_CODE). The *value* of the
 *   constant is the address of the labels, or NULL;
 * - in the enabled block, a value.
 *
 * A wrapper such as wm_hex() has the descriptor form or the block form, depending on the size of `struct
 * waymark_argument_context`. Each descriptor and each enabled block declares `struct waymark_argument_context` anew. A
 * structure tag is used because the declaration of a tag does not shadow a variable. Outside of an event, `struct
 * waymark_argument_context` is not declared, so a wrapper does not compile.
 */
#ifndef WAYMARK_DETAIL_EVENT_C_H
#define WAYMARK_DETAIL_EVENT_C_H

#include <waymark/detail/name.h>
#include <waymark/detail/pp.h>
#include <waymark/detail/site.h>
#include <waymark/detail/stage.h>

/* The code of a field: type | elem << 8 | flags << 16 | count << 32. Never 0. */
struct wmk_code {
	char c;
};
#define WMK_CODE_LEVEL 0x8000u  /* flag: not a field; `elem` is a log level */
#define WMK_CODED(code) (struct wmk_code (*const *)[code])0

#define WMK_CODE_CHAR ((char)-1 < 0 ? WAYMARK_T_S8 : WAYMARK_T_U8)

/*
 * WMK_CODE_ODD(x) is the code of an expression of a type that is not in the list of WMK_CODE(). Class 1 of
 * __builtin_classify_type is an integer; in WMK_CODE_ODD(), an integer is a bit-field, for which gcc has separate
 * types. Promotion gives a bit-field a standard type if the bit-field is not wider than int. An expression of another
 * class is a pointer, or an error that WMK_IS_VALUE reports.
 */
/* constant 0 instead of a float: promoting a float causes a warning */
#define WMK_CLASS(x) __builtin_classify_type(_Generic((x), float: 0, default: (x)))
#define WMK_PROMOTED(x) (1 ? __builtin_choose_expr(WMK_CLASS(x) == 1, (x), 0) : 0)
#define WMK_CODE_ODD(x) (WMK_CLASS(x) != 1 ? WAYMARK_T_POINTER : _Generic(WMK_PROMOTED(x), \
	int: WAYMARK_T_S32, unsigned: WAYMARK_T_U32, unsigned long: WAYMARK_T_U64, default: WAYMARK_T_S64))
/* WMK_CLASS_IS_VALUE() is true for the classes integer, enumeration, bool, pointer and floating point. */
#define WMK_CLASS_IS_VALUE(class) (0x13a >> (class) & 1)  /* classes 1, 3, 4, 5, 8 */
#define WMK_IS_VALUE(x) WMK_CLASS_IS_VALUE(WMK_CLASS(x))

#define WMK_CODE(x) sizeof(**_Generic((x), \
	struct wmk_code (*const *)[]: 1 ? 0 : (x), \
	_Bool: WMK_CODED(WAYMARK_T_BOOL), \
	char: WMK_CODED(WMK_CODE_CHAR), \
	signed char: WMK_CODED(WAYMARK_T_S8), \
	unsigned char: WMK_CODED(WAYMARK_T_U8), \
	short: WMK_CODED(WAYMARK_T_S16), \
	unsigned short: WMK_CODED(WAYMARK_T_U16), \
	int: WMK_CODED(WAYMARK_T_S32), \
	unsigned: WMK_CODED(WAYMARK_T_U32), \
	long: WMK_CODED(WAYMARK_T_S64), \
	unsigned long: WMK_CODED(WAYMARK_T_U64), \
	long long: WMK_CODED(WAYMARK_T_S64), \
	unsigned long long: WMK_CODED(WAYMARK_T_U64), \
	float: WMK_CODED(WAYMARK_T_FLOAT), \
	double: WMK_CODED(WAYMARK_T_DOUBLE), \
	char *: WMK_CODED(WAYMARK_T_STRING), \
	const char *: WMK_CODED(WAYMARK_T_STRING), \
	default: WMK_CODED(WMK_CODE_ODD(x))))

/* WMK_CODE_LABELS(x) is the address of the labels of the wrapped argument x, or NULL if x has no labels. */
#define WMK_CODE_LABELS(x) \
	((const struct waymark_labels *)_Generic((x), struct wmk_code(*const *)[] : (x), default : NULL))

#define WMK_CODE_TYPE(code) ((code) & 0xff)
#define WMK_CODE_ELEM(code) ((code) >> 8 & 0xff)
#define WMK_CODE_FLAGS(code) ((code) >> 16 & 0xffff)
#define WMK_CODE_COUNT(code) ((code) >> 32)
#define WMK_CODE_IS_REF(code) (WMK_CODE_TYPE(code) >= WAYMARK_T_STRING && WMK_CODE_TYPE(code) <= WAYMARK_T_ARRAY)

/* The value of an argument in the enabled block. */
struct wmk_value {
	uint64_t bits;
	struct waymark_ref ref;
};

WMK_INLINE struct wmk_value wmk_value_s64(int64_t value)
{
	return (struct wmk_value){ (uint64_t)value, { NULL, 0 } };
}

WMK_INLINE struct wmk_value wmk_value_u64(uint64_t value)
{
	return (struct wmk_value){ value, { NULL, 0 } };
}

WMK_INLINE struct wmk_value wmk_value_float(float value)
{
	return (struct wmk_value){ wmk_float_bits(value), { NULL, 0 } };
}

WMK_INLINE struct wmk_value wmk_value_double(double value)
{
	return (struct wmk_value){ wmk_double_bits(value), { NULL, 0 } };
}

/*
 * Make the value of a pointer or of an array. The value contains no length, because the code of the field contains the
 * length of the array.
 */
WMK_INLINE struct wmk_value wmk_value_pointer(const volatile void *value)
{
	return (struct wmk_value){ (uint64_t)(uintptr_t)value, { (const void *)(uintptr_t)value, 0 } };
}

WMK_INLINE struct wmk_value wmk_value_string(const char *value)
{
	return (struct wmk_value){ 0, { value, SIZE_MAX } };
}

WMK_INLINE struct wmk_value wmk_value_ref(const volatile void *base, size_t len)
{
	return (struct wmk_value){ 0, { (const void *)(uintptr_t)base, len } };
}

WMK_INLINE struct wmk_value wmk_value_wrapped(const struct wmk_value *value)
{
	return *value;
}

#define WMK_VALUE_ODD(x) _Generic((const char (*)[WMK_CLASS(x) == 1 ? 1 : 2])0, \
	const char (*)[1]: _Generic(WMK_PROMOTED(x), unsigned: wmk_value_u64, unsigned long: wmk_value_u64, \
		default: wmk_value_s64), \
	default: wmk_value_pointer)

#define WMK_VALUE(x) _Generic((x), \
	struct wmk_value *: wmk_value_wrapped, \
	_Bool: wmk_value_u64, char: wmk_value_s64, signed char: wmk_value_s64, unsigned char: wmk_value_u64, \
	short: wmk_value_s64, unsigned short: wmk_value_u64, int: wmk_value_s64, unsigned: wmk_value_u64, \
	long: wmk_value_s64, unsigned long: wmk_value_u64, \
	long long: wmk_value_s64, unsigned long long: wmk_value_u64, \
	float: wmk_value_float, double: wmk_value_double, char *: wmk_value_string, const char *: wmk_value_string, \
	default: WMK_VALUE_ODD(x))(x)

WMK_INLINE unsigned wmk_code_width(unsigned type)
{
	switch (type) {
	case WAYMARK_T_S8: case WAYMARK_T_U8: case WAYMARK_T_BOOL:
		return 8;
	case WAYMARK_T_S16: case WAYMARK_T_U16:
		return 16;
	case WAYMARK_T_S32: case WAYMARK_T_U32: case WAYMARK_T_FLOAT:
		return 32;
	default:
		return 64;
	}
}

/* `array_bytes` is the size of the argument if it is an array, else 0. */
WMK_INLINE void wmk_stage_value(struct wmk_stage *s, size_t code, struct wmk_value value, size_t array_bytes)
{
	unsigned type = WMK_CODE_TYPE(code);

	if (type == WAYMARK_T_NONE)
		return;
	if (type == WAYMARK_T_ENUM || type == WAYMARK_T_FLAGS)
		type = WMK_CODE_ELEM(code);
	if (WMK_CODE_IS_REF(type))
		wmk_stage_ref(s, value.ref.base, array_bytes ? array_bytes : value.ref.len);
	else
		wmk_stage_scalar(s, value.bits, wmk_code_width(type));
}

/* Building blocks of wrappers. */
#define WMK_IS_DESCRIPTOR (sizeof(struct waymark_argument_context) == 1)
#define WMK_WRAPPER(code, labels, value) \
	__builtin_choose_expr(WMK_IS_DESCRIPTOR, (struct wmk_code (*const *)[code])(const void *)(labels), \
		(struct wmk_value[1]){ value })
/* 0, or a compile-time error with the message. */
#define WMK_REQUIRE(condition, message) (sizeof(struct { _Static_assert(condition, message); char c; }) - 1)

#define WMK_CODE_IS_INT(code) ((code) - WAYMARK_T_S8 <= WAYMARK_T_U64 - WAYMARK_T_S8)
#define WMK_CODE_IS_ELEM(code) ((code) - WAYMARK_T_S8 <= WAYMARK_T_POINTER - WAYMARK_T_S8)

#define WMK_INTEGER(x, flag, wrapper) \
	WMK_WRAPPER(WMK_CODE(x) | (size_t)(flag) << 16 | \
		WMK_REQUIRE(WMK_CODE_IS_INT(WMK_CODE(x)), "waymark: " wrapper " takes an integer"), NULL, WMK_VALUE(x))

#define wm_hex(x) WMK_INTEGER(x, WAYMARK_F_HEX, "wm_hex")
#define wm_oct(x) WMK_INTEGER(x, WAYMARK_F_OCT, "wm_oct")
#define wm_net(x) WMK_INTEGER(x, WAYMARK_F_BE | \
	WMK_REQUIRE(sizeof(x) >= 2, "waymark: wm_net takes an integer of 16, 32 or 64 bits"), "wm_net")
#define wm_text(p, len) WMK_WRAPPER(WAYMARK_T_TEXT, NULL, wmk_value_ref(p, len))
#define wm_bytes(p, len) WMK_WRAPPER(WAYMARK_T_BYTES, NULL, wmk_value_ref(p, len))
#define WMK_ELEMENTS(type, p, n, count, wrapper) \
	WMK_WRAPPER((type) | WMK_CODE(*(p)) << 8 | (size_t)(n) << 32 | \
		WMK_REQUIRE(WMK_IS_VALUE(*(p)) && WMK_CODE_IS_ELEM(WMK_CODE(*(p))), \
			"waymark: " wrapper " takes a pointer to numbers"), NULL, \
		wmk_value_ref(p, (size_t)(count) * sizeof(*(p))))
#define wm_seq(p, n) WMK_ELEMENTS(WAYMARK_T_SEQ, p, 0, n, "wm_seq")
#define wm_array(p, n) WMK_ELEMENTS(WAYMARK_T_ARRAY, p, n, n, "wm_array")
#define WMK_LABELED(type, set, x, wrapper) \
	WMK_WRAPPER((type) | WMK_CODE(x) << 8 | \
		WMK_REQUIRE(WMK_CODE_IS_INT(WMK_CODE(x)), "waymark: " wrapper " takes an integer"), &(set), \
		WMK_VALUE(x))
#define wm_enum(labels, x) WMK_LABELED(WAYMARK_T_ENUM, wmk_labels_##labels, x, "wm_enum")
#define wm_flags(labels, x) WMK_LABELED(WAYMARK_T_FLAGS, wmk_labels_##labels, x, "wm_flags")
/* The library finds the name, the unit and the media type in the source text of the argument. */
#define wm_named(name, x) (x)
#define wm_unit(unit, x) (x)
#define wm_media(type, p, len) wm_bytes(p, len)
#define wm_level(level) \
	WMK_WRAPPER(WAYMARK_T_NONE | (size_t)WAYMARK_LEVEL_##level << 8 | (size_t)WMK_CODE_LEVEL << 16, NULL, \
		wmk_value_u64(0))
/* The compiler converts expr to type, as in an assignment. */
#define wm_field(type, name, expr) (((struct { type value; }){ (expr) }).value)

#define WMK_LABEL_TEXT(text) text
#define WMK_LABELS(set, e, ...) \
	__attribute__((unused)) static const struct waymark_label wmk_label_##set[] = { \
		WMK_MAP_FOR(e, e##__VA_ARGS__)(WMK_LABEL, e, e##__VA_ARGS__) \
	}; \
	__attribute__((unused)) static const struct waymark_labels wmk_labels_##set = { \
		#set, sizeof(wmk_label_##set) / sizeof(wmk_label_##set[0]), 0, wmk_label_##set \
	}

/* Macros for the parts of a descriptor, with one part for each argument. */
#define WMK_IS_FIELD(i) (WMK_CODE_TYPE(sizeof(wmk_code_##i)) != WAYMARK_T_NONE)
#define WMK_ONE(e, i, text, x) + WMK_IS_FIELD(i)
#define WMK_ONE_MANY + 99
#define WMK_EACH(e, i, text, x) + 1
#define WMK_EACH_MANY
/*
 * The enumerators wmk_at_<i> are the indices of fields, in the order of the arguments. In C, an enumerator without a
 * value is the previous enumerator plus 1. Arguments that are not fields (log levels) have the indices after all
 * fields.
 */
#define WMK_PLACE(e, i, text, x) wmk_at_##i, wmk_end_##i = (int)wmk_at_##i - !WMK_IS_FIELD(i),
#define WMK_PLACE_MANY
/*
 * Distinguish an array argument from a pointer argument, although most expressions convert an array to a pointer.
 * Bit-fields have no __typeof__, so WMK_ADDRESS keeps the type of pointers and arrays only. Arrays of char are text.
 */
#define WMK_ADDRESS(i, x) __builtin_choose_expr(sizeof(wmk_class_##i) == 5, (x), (int *)0)
#define WMK_IS_ARRAY(i) (sizeof(wmk_is_array_##i) == 2)
#define WMK_ARRAY(i, x) __builtin_choose_expr(WMK_IS_ARRAY(i), (x), (int *)0)
#define WMK_BAD_ARRAY "waymark: only an array of numbers can be a field"
#define WMK_ELEMENT(i) (*(wmk_element_##i *)0)
#define WMK_TYPEDEF(e, i, text, x) \
	WMK_PRINTED_TYPEDEF(i, x, wmk_value_code_##i) \
	__attribute__((unused)) typedef char wmk_is_array_##i[1 + (sizeof(wmk_value_code_##i) != WAYMARK_T_STRING && \
		!__builtin_types_compatible_p(__typeof__(WMK_ADDRESS(i, x)), \
			__typeof__(1 ? WMK_ADDRESS(i, x) : (void *)0)))]; \
	__attribute__((unused)) typedef __typeof__(WMK_ARRAY(i, x)[0]) wmk_element_##i; \
	_Static_assert(WMK_IS_VALUE(WMK_ELEMENT(i)) && \
		__builtin_types_compatible_p(wmk_element_##i, __typeof__(((void)0, WMK_ELEMENT(i)))), WMK_BAD_ARRAY); \
	_Static_assert(WMK_CODE_IS_ELEM(WMK_CODE(WMK_ELEMENT(i))), WMK_BAD_ARRAY); \
	__attribute__((unused)) typedef char wmk_code_##i[!WMK_IS_ARRAY(i) ? sizeof(wmk_value_code_##i) : \
		WMK_CODE(WMK_ELEMENT(i)) << 8 | WMK_ARRAY_CODE(sizeof(WMK_ARRAY(i, x)), sizeof(WMK_ELEMENT(i)))];
#define WMK_TYPEDEF_MANY
/* An array of variable length, or without elements, is a sequence. */
#define WMK_ARRAY_CODE(size, element) __builtin_choose_expr(__builtin_constant_p(size), \
	(size) ? WAYMARK_T_ARRAY | (size_t)(size) / (element) << 32 : WAYMARK_T_SEQ, WAYMARK_T_SEQ)
/* In a format, an array argument is a pointer, as for printf(). */
#define WMK_PRINTED_TYPEDEF(i, x, code) \
	__attribute__((unused)) typedef char wmk_class_##i[WMK_CLASS(x)]; \
	_Static_assert(WMK_CLASS_IS_VALUE(sizeof(wmk_class_##i)), \
		"waymark: an argument of this type cannot be a field"); \
	__attribute__((unused)) typedef char code[WMK_CODE(x)];
#define WMK_PRINTED(e, i, text, x) \
	WMK_PRINTED_TYPEDEF(i, x, wmk_code_##i) \
	__attribute__((unused)) typedef char wmk_is_array_##i[1];
#define WMK_PRINTED_MANY
#define WMK_FIELD(e, i, text, x) \
	[WMK_IS_FIELD(i) ? (int)wmk_at_##i : (int)wmk_n_fields + (int)wmk_n - (i) - (int)wmk_at_##i] = { \
	WMK_CODE_TYPE(sizeof(wmk_code_##i)), WMK_CODE_ELEM(sizeof(wmk_code_##i)), \
	WMK_CODE_FLAGS(sizeof(wmk_code_##i)), WMK_CODE_COUNT(sizeof(wmk_code_##i)), text, WMK_CODE_LABELS(x), \
	NULL, NULL },
#define WMK_FIELD_MANY
#define WMK_LEVEL(e, i, text, x) \
	+ (WMK_CODE_FLAGS(sizeof(wmk_code_##i)) & WMK_CODE_LEVEL ? (WMK_CODE_ELEM(sizeof(wmk_code_##i)) + 1) : 0)
#define WMK_LEVEL_MANY
#define WMK_LEVEL_OF(level) ((uint8_t)((level) ? (level) - 1 : WAYMARK_LEVEL_DEBUG_LINE))
#define WMK_STAGE(e, i, text, x) \
	wmk_stage_value(&wmk_s, sizeof(wmk_code_##i), WMK_VALUE(x), WMK_IS_ARRAY(i) ? sizeof(WMK_ARRAY(i, x)) : 0);
#define WMK_STAGE_MANY
#define WMK_SCALARS(e, i, text, x) + !WMK_CODE_IS_REF(sizeof(wmk_code_##i))
#define WMK_SCALARS_MANY
#define WMK_REFS(e, i, text, x) + WMK_CODE_IS_REF(sizeof(wmk_code_##i))
#define WMK_REFS_MANY
#define WMK_ARG_TYPE(e, i, text, x) WMK_CODE_TYPE(sizeof(wmk_code_##i)),
#define WMK_ARG_TYPE_MANY

#define WMK_LIMIT(map, e, ...) \
	_Static_assert((0 map(WMK_ONE, e, e##__VA_ARGS__)) <= WAYMARK_MAX_FIELDS, "waymark: at most 32 fields")

#if defined(WAYMARK_NO_PATCH)
#define WMK_BYTE static unsigned char wmk_byte __attribute__((section("waymark_bytes")));
#else
#define WMK_BYTE
#endif

#define WMK_DESC(kind, level, provider, name, n, fields, text, types) \
	static struct waymark_desc wmk_desc = { \
		sizeof(struct waymark_desc), WAYMARK_ABI_VERSION, kind, level, NULL, NULL, provider, name, \
		__FILE__, __func__, __LINE__, n, fields, text, types, { 0 } }; \
	WMK_BYTE \
	_Bool wmk_on = 0

/*
 * The SDT note that describes the staged arguments of an event with 1 to WMK_NOTED_MAX arguments. An enumerator without
 * a value is the previous enumerator plus 1, so the offset of an argument is the end of the previous argument.
 */
#define WMK_STAGED_TYPE(i) (WMK_CODE_TYPE(sizeof(wmk_code_##i)) == WAYMARK_T_ENUM || \
	WMK_CODE_TYPE(sizeof(wmk_code_##i)) == WAYMARK_T_FLAGS ? WMK_CODE_ELEM(sizeof(wmk_code_##i)) : \
	WMK_CODE_TYPE(sizeof(wmk_code_##i)))
#define WMK_STAGED_IS_REF(i) WMK_CODE_IS_REF(sizeof(wmk_code_##i))
#define WMK_NOTED_SIZE(e, i, text, x) wmk_size_##i = WMK_STAGED_SIZE(WMK_STAGED_TYPE(i)),
#define WMK_NOTED_WORD(e, i, text, x) wmk_word_##i, \
	wmk_past_##i = WMK_STAGED_PAST(WMK_STAGED_IS_REF(i), (int)wmk_word_##i, (int)wmk_size_##i) - 1,
#define WMK_NOTED_REF(e, i, text, x) wmk_ref_##i, wmk_last_ref_##i = (int)wmk_ref_##i - !WMK_STAGED_IS_REF(i),
#define WMK_NOTED_TEXT(e, i, text, x) WMK_ASM_STAGED(i)
#define WMK_NOTED_REF_AT(i) ((int)__builtin_offsetof(struct wmk_block, refs) + 16 * (int)wmk_ref_##i)
#define WMK_NOTED_OPERAND(e, i, text, x) , [wmk_size##i] "i"((int)wmk_size_##i), \
	[wmk_offset##i] "i"(WMK_STAGED_IS_REF(i) ? WMK_NOTED_REF_AT(i) : (int)wmk_word_##i)
#define WMK_NOTED(provider, name, map, e, ...) \
	enum { map(WMK_NOTED_SIZE, e, e##__VA_ARGS__) }; \
	enum { wmk_word_begin = -1, map(WMK_NOTED_WORD, e, e##__VA_ARGS__) }; \
	enum { wmk_ref_begin = -1, map(WMK_NOTED_REF, e, e##__VA_ARGS__) }; \
	__asm__ __inline__ volatile( \
		WMK_ASM_NOTE_WITH(provider, name "_args", map(WMK_NOTED_TEXT, e, e##__VA_ARGS__)) \
		: : [wmk_base] WMK_NOTE_BASE(&wmk_b) map(WMK_NOTED_OPERAND, e, e##__VA_ARGS__) : "memory");
#define WMK_NOT_NOTED(provider, name, map, e, ...)
#define WMK_FEW_WMK_MAP_1 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_2 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_3 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_4 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_5 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_6 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_7 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_8 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_9 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_10 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_11 ~, WMK_NOTED
#define WMK_FEW_WMK_MAP_12 ~, WMK_NOTED
#define WMK_SECOND_(first, second, ...) second
#define WMK_SECOND(...) WMK_SECOND_(__VA_ARGS__)
#define WMK_NOTED_IF_FEW(map) WMK_SECOND(WMK_CAT(WMK_FEW_, map), WMK_NOT_NOTED, ~)

/* The enabled block of an event: stage the arguments, then record the event. */
#define WMK_ENABLED(provider, name, map, e, ...) \
	if (__builtin_expect_with_probability(wmk_on, 0, 1.0)) { \
		struct waymark_argument_context { char value[2]; }; \
		struct wmk_block { \
			uint64_t words[1 map(WMK_SCALARS, e, e##__VA_ARGS__)]; \
			struct waymark_ref refs[1 map(WMK_REFS, e, e##__VA_ARGS__)]; \
		} wmk_b; \
		struct wmk_stage wmk_s = { wmk_b.words, wmk_b.refs, 0, 0, 0, 0 }; \
		map(WMK_STAGE, e, e##__VA_ARGS__) \
		wmk_stage_flush(&wmk_s); \
		WMK_NOTED_IF_FEW(map)(provider, name, map, e, e##__VA_ARGS__) \
		wmk_stage_record(&wmk_s, &wmk_desc); \
	} \
	(void)0

#define WMK_EMIT(kind, provider, name, n, map, e, ...) do { \
	struct waymark_argument_context { char constant[1]; }; \
	map(WMK_TYPEDEF, e, e##__VA_ARGS__) \
	WMK_LIMIT(map, e, e##__VA_ARGS__); \
	enum { wmk_n_fields = 0 map(WMK_ONE, e, e##__VA_ARGS__), wmk_n = 0 map(WMK_EACH, e, e##__VA_ARGS__), \
		wmk_level = 0 map(WMK_LEVEL, e, e##__VA_ARGS__), wmk_begin = -1, map(WMK_PLACE, e, e##__VA_ARGS__) }; \
	static const struct waymark_field wmk_fields[wmk_n + 1] = { map(WMK_FIELD, e, e##__VA_ARGS__) \
		[wmk_n] = { 0, 0, 0, 0, NULL, NULL, NULL, NULL } }; \
	WMK_DESC(kind, WMK_LEVEL_OF(wmk_level), provider, name, wmk_n_fields, wmk_fields, NULL, NULL); \
	WMK_SITE(&wmk_desc, wmk_byte, n, WMK_ASM_NOTE, provider, name); \
	WMK_ENABLED(provider, name, map, e, e##__VA_ARGS__); \
} while (0)

#define WMK_EMIT_FORMAT(kind, level, provider, name, note_name, n, map, e, format, ...) do { \
	struct waymark_argument_context { char constant[1]; }; \
	map(WMK_PRINTED, e, e##__VA_ARGS__) \
	WMK_LIMIT(map, e, e##__VA_ARGS__); \
	static const uint8_t wmk_types[] = { map(WMK_ARG_TYPE, e, e##__VA_ARGS__) 0 }; \
	WMK_DESC(kind, level, provider, name, sizeof(wmk_types) - 1, NULL, format, wmk_types); \
	WMK_SITE(&wmk_desc, wmk_byte, n, WMK_ASM_NOTE, provider, note_name); \
	WMK_ENABLED(provider, note_name, map, e, e##__VA_ARGS__); \
} while (0)

WMK_INLINE void wmk_span_leave(struct waymark_desc *const *end)
{
	if (__builtin_expect(*end != NULL, 0))
		waymark_record(*end, NULL, NULL, NULL);
}

/*
 * Record the begin event. If the end event is enabled, the variable wmk_span_<n> holds the descriptor of the end event
 * until the scope of waymark_span() ends. The arguments are expanded a second time for the log level, which both events
 * share.
 */
#if defined(__clang__) && __clang_major__ < 18 && !defined(WAYMARK_NO_PATCH)
/*
 * clang before 18 treats each `asm goto` as a jump to the labels of all other `asm goto` in the function. A jump from
 * one span to another would skip the initialization of the variables of a span. event_cxx.h has a function for each
 * site instead.
 */
#define WMK_SCOPE(provider, name, n, n_end, map, e, ...) \
	_Static_assert(0, "waymark: for waymark_span() in C, clang before 18 needs -DWAYMARK_NO_PATCH; " \
		"waymark_begin() and waymark_end() do not")
#else
#define WMK_SCOPE(provider, name, n, n_end, map, e, ...) \
	__attribute__((cleanup(wmk_span_leave), unused)) struct waymark_desc *const wmk_span_##n = __extension__ ({ \
		WMK_CHECK_NAMES(provider, name); \
		struct waymark_desc *wmk_end_of = NULL; \
		WMK_EMIT(WAYMARK_KIND_BEGIN, provider, name "_begin", n, map, e, e##__VA_ARGS__); \
		do { \
			struct waymark_argument_context { char constant[1]; }; \
			map(WMK_PRINTED, e, e##__VA_ARGS__) \
			enum { wmk_level = 0 map(WMK_LEVEL, e, e##__VA_ARGS__) }; \
			WMK_DESC(WAYMARK_KIND_END, WMK_LEVEL_OF(wmk_level), provider, name "_end", 0, \
				NULL, NULL, NULL); \
			WMK_SITE(&wmk_desc, wmk_byte, n_end, WMK_ASM_NO_NOTE, provider, name); \
			if (__builtin_expect_with_probability(wmk_on, 0, 1.0)) \
				wmk_end_of = &wmk_desc; \
		} while (0); \
		wmk_end_of; \
	})
#endif

#define WMK_IS_NUMBER(x) (0x11a >> WMK_CLASS(x) & 1)  /* classes 1, 3, 4, 8 */

#define WMK_GUARD(provider, name, n) __extension__ ({ \
	WMK_CHECK_NAMES(provider, name); \
	WMK_DESC(WAYMARK_KIND_GUARD, WAYMARK_LEVEL_DEBUG_LINE, provider, name, 0, NULL, NULL, NULL); \
	WMK_SITE(&wmk_desc, wmk_byte, n, WMK_ASM_NO_NOTE, provider, name); \
	__builtin_expect_with_probability(wmk_on, 0, 1.0); \
})

#endif
