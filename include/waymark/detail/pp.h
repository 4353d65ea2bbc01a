/* SPDX-License-Identifier: MIT */
/*
 * pp.h - lists of macro arguments: count them, apply a macro to each, keep their text unexpanded.
 *
 * An argument next to ## or # is not expanded. `e` is always an empty argument: e##__VA_ARGS__ passes a list on
 * unexpanded, so that `#a` gives the source text of an argument (`errno`, not the expansion of errno). Each list ends
 * in an extra `~`, so that the list is never empty: C11 requires an argument for each `...`.
 *
 * WMK_MAP_<n>(f, e, a1, ..., an, ~) expands to f(e, n, "a1", a1) f(e, n - 1, "a2", a2) ... f(e, 1, "an", an). For a
 * list that is longer than the limit of an event, the macro expands to f##_MANY.
 */
#ifndef WAYMARK_DETAIL_PP_H
#define WAYMARK_DETAIL_PP_H

#define WMK_CAT_(a, b) a##b
#define WMK_CAT(a, b) WMK_CAT_(a, b)
#define WMK_STR_(a) #a
#define WMK_STR(a) WMK_STR_(a)

/* Null pointer and cast, in forms that cause no C++ warning about C casts and null pointers. */
#if defined(__cplusplus)
#define WMK_NULL nullptr
#define WMK_INT64(x) static_cast<int64_t>(x)
#else
#define WMK_NULL NULL
#define WMK_INT64(x) ((int64_t)(x))
#endif

/* The macro that maps a list of this length, or WMK_MAP_MANY if the list is longer than the limit of an event. */
#define WMK_MAP_FOR(e, ...) WMK_CAT(WMK_MAP_, WMK_COUNT(e, e##__VA_ARGS__))
#define WMK_COUNT(e, ...) \
	WMK_COUNT_(e##__VA_ARGS__, \
		MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
		MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, MANY, \
		MANY, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, \
		12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~)
#define WMK_COUNT_( \
		p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14, p15, p16, p17, p18, p19, p20, p21, \
		p22, p23, p24, p25, p26, p27, p28, p29, p30, p31, p32, p33, p34, p35, p36, p37, p38, p39, p40, p41, \
		p42, p43, p44, p45, p46, p47, p48, p49, p50, p51, p52, p53, p54, p55, p56, p57, p58, p59, p60, p61, \
		p62, p63, p64, p65, p66, p67, p68, p69, p70, p71, n, ...) n

#define WMK_MAP_MANY(f, e, ...) f##_MANY
#define WMK_MAP_0(f, e, ...)
#define WMK_MAP_1(f, e, a, ...) f(e, 1, #a, e##a) WMK_MAP_0(f, e, e##__VA_ARGS__)
#define WMK_MAP_2(f, e, a, ...) f(e, 2, #a, e##a) WMK_MAP_1(f, e, e##__VA_ARGS__)
#define WMK_MAP_3(f, e, a, ...) f(e, 3, #a, e##a) WMK_MAP_2(f, e, e##__VA_ARGS__)
#define WMK_MAP_4(f, e, a, ...) f(e, 4, #a, e##a) WMK_MAP_3(f, e, e##__VA_ARGS__)
#define WMK_MAP_5(f, e, a, ...) f(e, 5, #a, e##a) WMK_MAP_4(f, e, e##__VA_ARGS__)
#define WMK_MAP_6(f, e, a, ...) f(e, 6, #a, e##a) WMK_MAP_5(f, e, e##__VA_ARGS__)
#define WMK_MAP_7(f, e, a, ...) f(e, 7, #a, e##a) WMK_MAP_6(f, e, e##__VA_ARGS__)
#define WMK_MAP_8(f, e, a, ...) f(e, 8, #a, e##a) WMK_MAP_7(f, e, e##__VA_ARGS__)
#define WMK_MAP_9(f, e, a, ...) f(e, 9, #a, e##a) WMK_MAP_8(f, e, e##__VA_ARGS__)
#define WMK_MAP_10(f, e, a, ...) f(e, 10, #a, e##a) WMK_MAP_9(f, e, e##__VA_ARGS__)
#define WMK_MAP_11(f, e, a, ...) f(e, 11, #a, e##a) WMK_MAP_10(f, e, e##__VA_ARGS__)
#define WMK_MAP_12(f, e, a, ...) f(e, 12, #a, e##a) WMK_MAP_11(f, e, e##__VA_ARGS__)
#define WMK_MAP_13(f, e, a, ...) f(e, 13, #a, e##a) WMK_MAP_12(f, e, e##__VA_ARGS__)
#define WMK_MAP_14(f, e, a, ...) f(e, 14, #a, e##a) WMK_MAP_13(f, e, e##__VA_ARGS__)
#define WMK_MAP_15(f, e, a, ...) f(e, 15, #a, e##a) WMK_MAP_14(f, e, e##__VA_ARGS__)
#define WMK_MAP_16(f, e, a, ...) f(e, 16, #a, e##a) WMK_MAP_15(f, e, e##__VA_ARGS__)
#define WMK_MAP_17(f, e, a, ...) f(e, 17, #a, e##a) WMK_MAP_16(f, e, e##__VA_ARGS__)
#define WMK_MAP_18(f, e, a, ...) f(e, 18, #a, e##a) WMK_MAP_17(f, e, e##__VA_ARGS__)
#define WMK_MAP_19(f, e, a, ...) f(e, 19, #a, e##a) WMK_MAP_18(f, e, e##__VA_ARGS__)
#define WMK_MAP_20(f, e, a, ...) f(e, 20, #a, e##a) WMK_MAP_19(f, e, e##__VA_ARGS__)
#define WMK_MAP_21(f, e, a, ...) f(e, 21, #a, e##a) WMK_MAP_20(f, e, e##__VA_ARGS__)
#define WMK_MAP_22(f, e, a, ...) f(e, 22, #a, e##a) WMK_MAP_21(f, e, e##__VA_ARGS__)
#define WMK_MAP_23(f, e, a, ...) f(e, 23, #a, e##a) WMK_MAP_22(f, e, e##__VA_ARGS__)
#define WMK_MAP_24(f, e, a, ...) f(e, 24, #a, e##a) WMK_MAP_23(f, e, e##__VA_ARGS__)
#define WMK_MAP_25(f, e, a, ...) f(e, 25, #a, e##a) WMK_MAP_24(f, e, e##__VA_ARGS__)
#define WMK_MAP_26(f, e, a, ...) f(e, 26, #a, e##a) WMK_MAP_25(f, e, e##__VA_ARGS__)
#define WMK_MAP_27(f, e, a, ...) f(e, 27, #a, e##a) WMK_MAP_26(f, e, e##__VA_ARGS__)
#define WMK_MAP_28(f, e, a, ...) f(e, 28, #a, e##a) WMK_MAP_27(f, e, e##__VA_ARGS__)
#define WMK_MAP_29(f, e, a, ...) f(e, 29, #a, e##a) WMK_MAP_28(f, e, e##__VA_ARGS__)
#define WMK_MAP_30(f, e, a, ...) f(e, 30, #a, e##a) WMK_MAP_29(f, e, e##__VA_ARGS__)
#define WMK_MAP_31(f, e, a, ...) f(e, 31, #a, e##a) WMK_MAP_30(f, e, e##__VA_ARGS__)
#define WMK_MAP_32(f, e, a, ...) f(e, 32, #a, e##a) WMK_MAP_31(f, e, e##__VA_ARGS__)
#define WMK_MAP_33(f, e, a, ...) f(e, 33, #a, e##a) WMK_MAP_32(f, e, e##__VA_ARGS__)
#define WMK_MAP_34(f, e, a, ...) f(e, 34, #a, e##a) WMK_MAP_33(f, e, e##__VA_ARGS__)
#define WMK_MAP_35(f, e, a, ...) f(e, 35, #a, e##a) WMK_MAP_34(f, e, e##__VA_ARGS__)
#define WMK_MAP_36(f, e, a, ...) f(e, 36, #a, e##a) WMK_MAP_35(f, e, e##__VA_ARGS__)

#endif
