/* SPDX-License-Identifier: MIT */
/*
 * objects_cxx.h - C++: texts, containers of numbers, optional values, durations and time points as fields. event_cxx.h
 * includes this file inside the namespace of event_cxx.h.
 *
 *     std::array                                      an array of numbers
 *     std::vector, std::span, any data() and size()   a sequence of numbers
 *     std::string, std::string_view, char elements    text
 *     std::optional of a number                       a sequence of one number, or an empty one
 *     std::optional of a text                         text; "(null)" for an absent one
 *     std::chrono::duration, time_point               its number, with the unit
 *
 * The C++ types are recognized by their members, so no header of the C++ library is included.
 */
#ifndef WAYMARK_DETAIL_OBJECTS_CXX_H
#define WAYMARK_DETAIL_OBJECTS_CXX_H

template<class T> struct unqualified { typedef T type; };
template<class T> struct unqualified<const T> { typedef T type; };
template<class T> struct unqualified<volatile T> { typedef T type; };
template<class T> struct unqualified<const volatile T> { typedef T type; };
template<class T> struct unqualified<T &> : unqualified<T> { };

template<class T> struct is_char { static constexpr bool value = false; };
template<> struct is_char<char> { static constexpr bool value = true; };

/* An array or a sequence of T. A type that holds one number, such as a duration, is stored as that number. */
template<class T, unsigned type_, unsigned count_> struct elements : description<type_, argument<T>::type, 0, count_> {
	static_assert(argument<T>::is_number, "waymark: only an array of numbers can be a field");
	enum : unsigned { is_integer = 0, is_number = 0 };
	static constexpr const char *unit() { return argument<T>::unit(); }
};

/* A built-in array. An array without elements is a sequence. */
template<class T, size_t n> struct array_argument : elements<T, WAYMARK_T_ARRAY, n> { };
template<class T> struct array_argument<T, 0> : elements<T, WAYMARK_T_SEQ, 0> { };

/*
 * The number of elements, if a template argument of the type gives this number and the object holds only the elements;
 * else 0.
 */
template<class T> struct fixed_length { enum : size_t { value = 0 }; };
template<template<class, size_t> class Array, class T, size_t n> struct fixed_length<Array<T, n> > {
	enum : size_t { value = n <= UINT32_MAX && sizeof(Array<T, n>) == n * sizeof(T) ? n : 0 };
};

/*
 * std::string, std::string_view and similar types. The text of a std::array of char ends at its first NUL, as in a
 * built-in array.
 */
template<class T> struct argument<T, string_like> : description<WAYMARK_T_TEXT> {
	enum : unsigned { is_integer = 0, is_number = 0 };
	static WMK_CXX_INLINE size_t length(const T &v)
	{
		const size_t whole = fixed_length<T>::value;
		size_t n = 0;

		while (n < whole && v.data()[n])
			n++;
		return whole != 0 ? n : v.size();
	}
	static WMK_CXX_INLINE waymark_ref value(const T &v) { return waymark_ref{ v.data(), length(v) }; }
};

template<class T> struct argument<T, container> :
	elements<typename unqualified<decltype(*object_of<const T>().data())>::type,
		 fixed_length<T>::value ? WAYMARK_T_ARRAY : WAYMARK_T_SEQ, fixed_length<T>::value> {
	static WMK_CXX_INLINE waymark_ref value(const T &v)
	{
		return waymark_ref{ v.data(), v.size() * sizeof(*v.data()) };
	}
};

template<class T, unsigned type> struct optional_argument : elements<T, WAYMARK_T_SEQ, 0> {
	static WMK_CXX_INLINE waymark_ref some(const T &v) { return waymark_ref{ __builtin_addressof(v), sizeof(T) }; }
	static WMK_CXX_INLINE waymark_ref none() { return waymark_ref{ nullptr, 0 }; }
};
template<class T> struct optional_argument<T, WAYMARK_T_TEXT> : argument<T> {
	static WMK_CXX_INLINE waymark_ref some(const T &v) { return argument<T>::value(v); }
	static WMK_CXX_INLINE waymark_ref none() { return waymark_ref{ "(null)", 6 }; }
};
template<class T> struct optional_argument<T, WAYMARK_T_STRING> : argument<T> {
	static WMK_CXX_INLINE waymark_ref some(const T &v) { return argument<T>::value(v); }
	static WMK_CXX_INLINE waymark_ref none() { return waymark_ref{ nullptr, SIZE_MAX }; }
};
template<class T, class V = typename unqualified<decltype(*object_of<const T>())>::type>
struct optional_base : optional_argument<V, argument<V>::type> { };
template<class T> struct argument<T, optional> : optional_base<T> {
	static WMK_CXX_INLINE waymark_ref value(const T &v)
	{
		return v.has_value() ? optional_base<T>::some(*v) : optional_base<T>::none();
	}
};

/* The unit of a duration that counts num/den seconds: "ms"; "1/60 s" if it has no name. */
template<char... c> struct unit_text { static constexpr char text[] = { c..., 0 }; };
template<char... c> constexpr char unit_text<c...>::text[];
template<intmax_t rest, intmax_t num, char... c> struct fraction : fraction<rest / 10, num, '0' + rest % 10, c...> { };
template<intmax_t num, char... c> struct fraction<0, num, c...> : fraction<num, 0, '/', c...> { };
template<char... c> struct fraction<0, 0, c...> : unit_text<c...> { };
template<intmax_t num, intmax_t den> struct unit_of : fraction<den, num, ' ', 's'> { };
template<intmax_t num> struct unit_of<num, 1> : fraction<num, 0, ' ', 's'> { };
#define WMK_CXX_UNIT(num, den, ...) template<> struct unit_of<num, den> : unit_text<__VA_ARGS__> { };
WMK_CXX_UNIT(1, 1000000000, 'n', 's')
WMK_CXX_UNIT(1, 1000000, 'u', 's')
WMK_CXX_UNIT(1, 1000, 'm', 's')
WMK_CXX_UNIT(1, 1, 's')
WMK_CXX_UNIT(60, 1, 'm', 'i', 'n')
WMK_CXX_UNIT(3600, 1, 'h')
WMK_CXX_UNIT(86400, 1, 'd')
#undef WMK_CXX_UNIT

template<class T> struct argument<T, duration> : argument<typename T::rep> {
	static_assert(argument<typename T::rep>::is_number && sizeof(T) == sizeof(typename T::rep),
		      "waymark: a duration can be a field only if its one member is a number");
	static constexpr const char *unit() { return unit_of<T::period::num, T::period::den>::text; }
	static WMK_CXX_INLINE auto value(const T &v) -> decltype(argument<typename T::rep>::value(v.count()))
	{
		return argument<typename T::rep>::value(v.count());
	}
};

template<class T, class D = typename unqualified<decltype(object_of<const T>().time_since_epoch())>::type>
struct time_point_base : argument<D> {
	static_assert(sizeof(T) == sizeof(D),
		      "waymark: a time point can be a field only if its one member is a duration");
	static WMK_CXX_INLINE auto value(const T &v) -> decltype(argument<D>::value(v.time_since_epoch()))
	{
		return argument<D>::value(v.time_since_epoch());
	}
};
template<class T> struct argument<T, time_point> : time_point_base<T> { };

#endif
