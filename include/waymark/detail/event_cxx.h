/* SPDX-License-Identifier: MIT */
/*
 * event_cxx.h - C++11 and later: map an argument to the type of a field, and to a value.
 *
 * Each use of a macro declares a local type (wmk_tag), which holds the texts of the event. The descriptor is a static
 * member of a template over wmk_tag and the types of the arguments. The template of the descriptor is in an unnamed
 * namespace. The descriptor is a local symbol, so assembly can name the address of the descriptor, also in inline
 * functions and templates. The descriptor is initialised at compile time; no code runs at program start.
 *
 * Arguments are evaluated within one full expression, together with the call of waymark_record(), so temporaries live
 * until the event is recorded.
 */
#ifndef WAYMARK_DETAIL_EVENT_CXX_H
#define WAYMARK_DETAIL_EVENT_CXX_H

#include <waymark/detail/name.h>
#include <waymark/detail/pp.h>
#include <waymark/detail/site.h>
#include <waymark/detail/stage.h>

#define WMK_CXX_INLINE inline __attribute__((always_inline))

namespace waymark_detail {

template<bool condition, class T = void> struct enable { };
template<class T> struct enable<true, T> { typedef T type; };
template<class T> struct same { typedef T type; };
template<class T> struct never { enum { value = 0 }; };

/* Staged values. */
template<unsigned width> struct bits { uint64_t value; };
struct nothing { };

template<unsigned width> WMK_CXX_INLINE void stage(wmk_stage *s, const bits<width> &v)
{
	wmk_stage_scalar(s, v.value, width);
}
WMK_CXX_INLINE void stage(wmk_stage *s, const waymark_ref &v) { wmk_stage_ref(s, v.base, v.len); }
WMK_CXX_INLINE void stage(wmk_stage *, const nothing &) { }

/* The description of an argument in a descriptor. */
template<unsigned type_, unsigned elem_ = 0, unsigned flags_ = 0, unsigned count_ = 0> struct description {
	enum : unsigned { type = type_, elem = elem_, flags = flags_, count = count_, level = 0 };
	static constexpr const waymark_labels *labels() { return nullptr; }
	static constexpr const char *unit() { return nullptr; }
};

struct wrapper { };  /* base of the results of wrappers: such a result type describes itself */

/* Kinds of types that partial specialisation alone cannot distinguish. */
enum kind_of_type { scalar, enumeration, wrapped, string_like, container, optional, duration, time_point, other };
template<class T> char is_text(const char *(*)[sizeof(static_cast<const char *>(static_cast<T *>(nullptr)->data())) +
					      sizeof(static_cast<size_t>(static_cast<T *>(nullptr)->size()))]);
template<class T> long is_text(...);
template<class T> T &object_of();
template<class T> char is_container(const char (*)[sizeof(*object_of<T>().data()) +
						   sizeof(static_cast<size_t>(object_of<T>().size()))]);
template<class T> long is_container(...);
template<class T> char is_optional(const char (*)[sizeof(*object_of<T>()) +
						  sizeof(static_cast<bool>(object_of<T>().has_value()))]);
template<class T> long is_optional(...);
template<class T> char is_duration(const char (*)[sizeof(object_of<T>().count()) + sizeof(typename T::rep) +
						  (T::period::den > 0)]);
template<class T> long is_duration(...);
template<class T> char is_time_point(const char (*)[sizeof(object_of<T>().time_since_epoch().count())]);
template<class T> long is_time_point(...);
template<class T> char is_wrapper(const wrapper *);
template<class T> long is_wrapper(...);
template<class T, bool object> struct object_kind {
	static constexpr kind_of_type value = sizeof(is_wrapper<T>(static_cast<T *>(nullptr))) == 1 ? wrapped :
		sizeof(is_text<const T>(nullptr)) == 1 ? string_like :
		sizeof(is_container<const T>(nullptr)) == 1 ? container :
		sizeof(is_optional<const T>(nullptr)) == 1 ? optional :
		sizeof(is_duration<const T>(nullptr)) == 1 ? duration :
		sizeof(is_time_point<const T>(nullptr)) == 1 ? time_point : other;
};
template<class T> struct object_kind<T, false> {
	static constexpr kind_of_type value = __is_enum(T) ? enumeration : scalar;
};
template<class T> struct is_object { static constexpr bool value = __is_class(T) || __is_union(T); };

template<class T, kind_of_type kind = object_kind<T, is_object<T>::value>::value> struct argument {
	static_assert(never<T>::value, "waymark: an argument of this type cannot be a field");
	enum : unsigned { type = 0, elem = 0, flags = 0, count = 0, level = 0, is_integer = 0, is_number = 0 };
	static constexpr const waymark_labels *labels() { return nullptr; }
	static constexpr const char *unit() { return nullptr; }
	static nothing value(const T &) { return nothing(); }
};

template<class T> struct integer_type {
	enum : unsigned { is_signed = static_cast<T>(-1) < static_cast<T>(1),
		value = sizeof(T) == 1 ? (is_signed ? WAYMARK_T_S8 : WAYMARK_T_U8) :
			sizeof(T) == 2 ? (is_signed ? WAYMARK_T_S16 : WAYMARK_T_U16) :
			sizeof(T) == 4 ? (is_signed ? WAYMARK_T_S32 : WAYMARK_T_U32) :
			(is_signed ? WAYMARK_T_S64 : WAYMARK_T_U64) };
};

template<class T> struct integer : description<integer_type<T>::value> {
	enum : unsigned { is_integer = 1, is_number = 1 };
	static WMK_CXX_INLINE bits<sizeof(T) * 8> value(T v) { return bits<sizeof(T) * 8>{ static_cast<uint64_t>(v) }; }
};
#define WMK_CXX_INTEGER(T) template<> struct argument<T, scalar> : integer<T> { };
WMK_CXX_INTEGER(char)
WMK_CXX_INTEGER(signed char)
WMK_CXX_INTEGER(unsigned char)
WMK_CXX_INTEGER(short)
WMK_CXX_INTEGER(unsigned short)
WMK_CXX_INTEGER(int)
WMK_CXX_INTEGER(unsigned)
WMK_CXX_INTEGER(long)
WMK_CXX_INTEGER(unsigned long)
WMK_CXX_INTEGER(long long)
WMK_CXX_INTEGER(unsigned long long)
WMK_CXX_INTEGER(wchar_t)
WMK_CXX_INTEGER(char16_t)
WMK_CXX_INTEGER(char32_t)
#ifdef __cpp_char8_t
WMK_CXX_INTEGER(char8_t)
#endif
#undef WMK_CXX_INTEGER

template<class T> struct argument<T, enumeration> : integer<__underlying_type(T)> {
	typedef integer<__underlying_type(T)> base;
	static WMK_CXX_INLINE bits<sizeof(T) * 8> value(T v)
	{
		return base::value(static_cast<__underlying_type(T)>(v));
	}
};

template<> struct argument<bool, scalar> : description<WAYMARK_T_BOOL> {
	enum : unsigned { is_integer = 0, is_number = 1 };
	static WMK_CXX_INLINE bits<8> value(bool v) { return bits<8>{ v }; }
};
template<> struct argument<float, scalar> : description<WAYMARK_T_FLOAT> {
	enum : unsigned { is_integer = 0, is_number = 1 };
	static WMK_CXX_INLINE bits<32> value(float v) { return bits<32>{ wmk_float_bits(v) }; }
};
template<> struct argument<double, scalar> : description<WAYMARK_T_DOUBLE> {
	enum : unsigned { is_integer = 0, is_number = 1 };
	static WMK_CXX_INLINE bits<64> value(double v) { return bits<64>{ wmk_double_bits(v) }; }
};
template<class T> struct argument<T *, scalar> : description<WAYMARK_T_POINTER> {
	enum : unsigned { is_integer = 0, is_number = 1 };
	static WMK_CXX_INLINE bits<64> value(T *v) { return bits<64>{ reinterpret_cast<uintptr_t>(v) }; }
};
template<> struct argument<decltype(nullptr), scalar> : description<WAYMARK_T_POINTER> {
	enum : unsigned { is_integer = 0, is_number = 0 };
	static WMK_CXX_INLINE bits<64> value(decltype(nullptr)) { return bits<64>{ 0 }; }
};
struct c_string : description<WAYMARK_T_STRING> {
	enum : unsigned { is_integer = 0, is_number = 0 };
	static WMK_CXX_INLINE waymark_ref value(const char *v) { return waymark_ref{ v, SIZE_MAX }; }
};
template<> struct argument<char *, scalar> : c_string { };
template<> struct argument<const char *, scalar> : c_string { };

template<class T> struct argument<T, wrapped> : T {
	enum : unsigned { is_integer = 0, is_number = 0 };
	static WMK_CXX_INLINE auto value(const T &v) -> decltype(v.get()) { return v.get(); }
};

#include <waymark/detail/objects_cxx.h>

/*
 * Scalars are passed by value: passing by value needs neither a definition of a static constant nor a reference to a
 * bit-field. Objects are passed by reference.
 */
template<class T> argument<T> describe(T, typename enable<!is_object<T>::value>::type * = nullptr);
template<class T> argument<T> describe(const T &, typename enable<is_object<T>::value>::type * = nullptr);
template<class T, class = typename enable<!is_object<T>::value>::type>
WMK_CXX_INLINE auto evaluate(T v) -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
template<class T, class = typename enable<is_object<T>::value>::type, class = void>
WMK_CXX_INLINE auto evaluate(const T &v) -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
/*
 * describe() and evaluate() for the arguments of events that are not formats: arrays are fields, except arrays of char,
 * which are text. In a format, an argument that is an array is recorded as a pointer.
 */
template<class T> argument<T> describe_field(T, typename enable<!is_object<T>::value>::type * = nullptr);
template<class T> argument<T> describe_field(const T &, typename enable<is_object<T>::value>::type * = nullptr);
template<class T, size_t n>
array_argument<T, n> describe_field(const volatile T (&)[n], typename enable<!is_char<T>::value>::type * = nullptr);
template<class T, class = typename enable<!is_object<T>::value>::type>
WMK_CXX_INLINE auto evaluate_field(T v) -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
template<class T, class = typename enable<is_object<T>::value>::type, class = void>
WMK_CXX_INLINE auto evaluate_field(const T &v) -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
template<class T, size_t n, class = typename enable<!is_char<T>::value>::type>
WMK_CXX_INLINE waymark_ref evaluate_field(const volatile T (&v)[n])
{
	return waymark_ref{ const_cast<const T *>(v), sizeof(v) };
}

/* Wrappers. */
template<unsigned flag, class T> struct flagged : wrapper, description<argument<T>::type, 0, flag> {
	T v;
	explicit WMK_CXX_INLINE flagged(T v_) : v(v_) { }
	WMK_CXX_INLINE auto get() const -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
};
template<class T> WMK_CXX_INLINE flagged<WAYMARK_F_HEX, T> hex(T v)
{
	static_assert(argument<T>::is_integer, "waymark: wm_hex takes an integer");
	return flagged<WAYMARK_F_HEX, T>(v);
}
template<class T> WMK_CXX_INLINE flagged<WAYMARK_F_OCT, T> oct(T v)
{
	static_assert(argument<T>::is_integer, "waymark: wm_oct takes an integer");
	return flagged<WAYMARK_F_OCT, T>(v);
}
template<class T> WMK_CXX_INLINE flagged<WAYMARK_F_BE, T> net(T v)
{
	static_assert(argument<T>::is_integer, "waymark: wm_net takes an integer");
	static_assert(sizeof(T) >= 2, "waymark: wm_net takes an integer of 16, 32 or 64 bits");
	return flagged<WAYMARK_F_BE, T>(v);
}

template <unsigned type, unsigned elem = 0, unsigned count = 0>
struct block : wrapper, description<type, elem, 0, count> {
	waymark_ref ref;
	WMK_CXX_INLINE block(const volatile void *base, size_t len) : ref{ const_cast<const void *>(base), len } { }
	WMK_CXX_INLINE waymark_ref get() const { return ref; }
};
template<class T> WMK_CXX_INLINE block<WAYMARK_T_SEQ, argument<T>::type> seq(const volatile T *p, size_t n)
{
	static_assert(argument<T>::is_number, "waymark: wm_seq takes a pointer to numbers");
	return block<WAYMARK_T_SEQ, argument<T>::type>(p, n * sizeof(T));
}
template<unsigned n, class T> WMK_CXX_INLINE block<WAYMARK_T_ARRAY, argument<T>::type, n> array(const volatile T *p)
{
	static_assert(argument<T>::is_number, "waymark: wm_array takes a pointer to numbers");
	return block<WAYMARK_T_ARRAY, argument<T>::type, n>(p, n * sizeof(T));
}

template<unsigned type, class Set, class T> struct labeled : wrapper, description<type, argument<T>::type> {
	T v;
	explicit WMK_CXX_INLINE labeled(T v_) : v(v_) { }
	static constexpr const waymark_labels *labels() { return Set::labels(); }
	WMK_CXX_INLINE auto get() const -> decltype(argument<T>::value(v)) { return argument<T>::value(v); }
};
template<class Set, class T> WMK_CXX_INLINE labeled<WAYMARK_T_ENUM, Set, T> labeled_enum(T v)
{
	static_assert(argument<T>::is_integer, "waymark: wm_enum takes an integer");
	return labeled<WAYMARK_T_ENUM, Set, T>(v);
}
template<class Set, class T> WMK_CXX_INLINE labeled<WAYMARK_T_FLAGS, Set, T> labeled_flags(T v)
{
	static_assert(argument<T>::is_integer, "waymark: wm_flags takes an integer");
	return labeled<WAYMARK_T_FLAGS, Set, T>(v);
}

constexpr const char *last_name(const char *s, const char *last)
{
	return !*s ? last : last_name(s + 1, *s == ':' || (*s == ' ' && s == last) ? s + 1 : last);
}

template<unsigned level_> struct level : wrapper, description<WAYMARK_T_NONE> {
	enum : unsigned { level_plus_1 = level_ + 1 };
	WMK_CXX_INLINE nothing get() const { return nothing(); }
};

template<class T> WMK_CXX_INLINE T as(typename same<T>::type v) { return v; }

/* The log level in an argument, plus 1; 0 if the argument is not a log level. */
template <class A> constexpr auto level_of(int) -> decltype(static_cast<unsigned>(A::level_plus_1))
{
	return A::level_plus_1;
}
template<class A> constexpr unsigned level_of(long) { return 0; }
constexpr unsigned sum() { return 0; }
template<class... T> constexpr unsigned sum(unsigned first, T... rest) { return first + sum(rest...); }

constexpr uint8_t level_or(unsigned plus_1, unsigned otherwise)
{
	return static_cast<uint8_t>(plus_1 ? plus_1 - 1 : otherwise);
}

constexpr bool is_reference(unsigned type) { return type >= WAYMARK_T_STRING && type <= WAYMARK_T_ARRAY; }
constexpr bool is_scalar(unsigned type) { return type != WAYMARK_T_NONE && !is_reference(type); }
constexpr int staged_size(unsigned type, unsigned elem)
{
	return type == WAYMARK_T_ENUM || type == WAYMARK_T_FLAGS ? WMK_STAGED_SIZE(elem) : WMK_STAGED_SIZE(type);
}

/*
 * The arguments of an event. The first template argument is void. The other template arguments are the result types of
 * describe() for the arguments of the event.
 */
template<class Void, class... A> struct arguments {
	enum : unsigned {
		n = sizeof...(A),
		n_fields = sum((static_cast<unsigned>(A::type) != WAYMARK_T_NONE ? 1u : 0u)...),
		n_scalars = sum((is_scalar(A::type) ? 1u : 0u)...),
		level = sum(level_of<A>(0)...),
	};
};

template<unsigned... i> struct indices { };

/* The arguments in the order of their entries: fields, then log levels. */
template<unsigned n, class Fields, class Rest, class... A> struct order;
template <unsigned n, unsigned... f, unsigned... r> struct order<n, indices<f...>, indices<r...>> {
	typedef indices<f..., r...> type;
};
template<bool is_field, unsigned n, class Fields, class Rest, class... A> struct order_next;
template <unsigned n, unsigned... f, unsigned... r, class... A>
struct order_next<true, n, indices<f...>, indices<r...>, A...> : order<n + 1, indices<f..., n>, indices<r...>, A...> {
};
template <unsigned n, unsigned... f, unsigned... r, class... A>
struct order_next<false, n, indices<f...>, indices<r...>, A...> : order<n + 1, indices<f...>, indices<r..., n>, A...> {
};
template<unsigned n, class Fields, class Rest, class First, class... A> struct order<n, Fields, Rest, First, A...> :
	order_next<static_cast<unsigned>(First::type) != WAYMARK_T_NONE, n, Fields, Rest, A...> { };

template<unsigned n, class First, class... A> struct nth : nth<n - 1, A...> { };
template<class First, class... A> struct nth<0, First, A...> { typedef First type; };

template<class Arguments> struct order_of;
template<class Void, class... A> struct order_of<arguments<Void, A...> > : order<0, indices<>, indices<>, A...> { };

/*
 * Size and offset of the staged argument `j`, if the previous arguments end at offset `word` (bytes) and reference
 * `ref`.
 */
template<int j, int word, int ref, class... A> struct staged_from {
	enum : int { size = 0, word_at = 0, ref_at = -1 };
};
template<int word, int ref, class First, class... A> struct staged_from<0, word, ref, First, A...> {
	enum : int {
		size = staged_size(First::type, First::elem),
		word_at = word,
		ref_at = is_reference(First::type) ? ref : -1,
	};
};
template<int j, int word, int ref, class First, class... A> struct staged_from<j, word, ref, First, A...> :
	staged_from<j - 1, WMK_STAGED_PAST(is_reference(First::type), word, (staged_from<0, word, ref, First>::size)),
		    ref + is_reference(First::type), A...> { };
template<class Arguments, int j> struct staged;
template<class Void, class... A, int j> struct staged<arguments<Void, A...>, j> {
	typedef staged_from<sizeof...(A) <= WMK_NOTED_MAX ? j : 99, 0, 0, A...> from;
	enum : int {
		size = from::size,
		words = 1 + static_cast<int>(arguments<Void, A...>::n_scalars),
		offset = from::ref_at >= 0 ? 8 * words + 16 * from::ref_at : from::word_at,
	};
};

template<class A> constexpr waymark_field field(const char *text)
{
	return waymark_field{ A::type, A::elem, A::flags, A::count, text, A::labels(), nullptr, A::unit() };
}

namespace {

template<class Tag, class Arguments, class Order = typename order_of<Arguments>::type> struct event;
template<class Tag, class Void, class... A, unsigned... i> struct event<Tag, arguments<Void, A...>, indices<i...> > {
	static const waymark_field fields[sizeof...(A) + 1];
	static const uint8_t types[sizeof...(A) + 1];
	static waymark_desc desc;
#if defined(WAYMARK_NO_PATCH)
	static unsigned char byte;
#endif
};
template<class Tag, class Void, class... A, unsigned... i>
const waymark_field event<Tag, arguments<Void, A...>, indices<i...> >::fields[sizeof...(A) + 1] = {
	field<typename nth<i, A...>::type>(Tag::text(sizeof...(A) - i))...,
	{ 0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr }
};
template<class Tag, class Void, class... A, unsigned... i>
const uint8_t event<Tag, arguments<Void, A...>, indices<i...> >::types[sizeof...(A) + 1] = { A::type..., 0 };
template <class Tag, class Void, class... A, unsigned... i>
waymark_desc event<Tag, arguments<Void, A...>, indices<i...>>::desc = { sizeof(waymark_desc),
									WAYMARK_ABI_VERSION,
									Tag::wmk_kind,
									level_or(arguments<Void, A...>::level,
										 Tag::wmk_level),
									nullptr,
									nullptr,
									Tag::provider(),
									Tag::name(),
									Tag::file(),
									nullptr,
									Tag::wmk_line,
									arguments<Void, A...>::n_fields,
									Tag::format() ? nullptr : fields,
									Tag::format(),
									Tag::format() ? types : nullptr,
									{ 0 } };
#if defined(WAYMARK_NO_PATCH)
template<class Tag, class Void, class... A, unsigned... i>
__attribute__((section("waymark_bytes"))) unsigned char event<Tag, arguments<Void, A...>, indices<i...> >::byte = 0;
#endif

}

template<unsigned width> constexpr unsigned is_bits(const bits<width> *) { return 1; }
constexpr unsigned is_bits(const void *) { return 0; }
constexpr unsigned is_ref(const waymark_ref *) { return 1; }
constexpr unsigned is_ref(const void *) { return 0; }

/* A constructor records the event, because the values of a braced list are evaluated from left to right. */
template<class Tag> struct recorder {
	template<class... V> WMK_CXX_INLINE explicit recorder(waymark_desc *desc, const V &... v)
	{
		struct {
			uint64_t words[sum(1u, is_bits(static_cast<const V *>(nullptr))...)];
			waymark_ref refs[sum(1u, is_ref(static_cast<const V *>(nullptr))...)];
		} b;
		wmk_stage s = { b.words, b.refs, 0, 0, 0, 0 };

		stage_all(&s, v...);
		wmk_stage_flush(&s);
		Tag::note(&b);
		wmk_stage_record(&s, desc);
	}
	static WMK_CXX_INLINE void stage_all(wmk_stage *) { }
	template<class First, class... Rest>
	static WMK_CXX_INLINE void stage_all(wmk_stage *s, const First &first, const Rest &... rest)
	{
		stage(s, first);
		stage_all(s, rest...);
	}
};

/* The object of waymark_span(): its destructor records the end event. */
class scope {
	waymark_desc *const end;
public:
	explicit WMK_CXX_INLINE scope(waymark_desc *end_) : end(end_) { }
	WMK_CXX_INLINE ~scope()
	{
		if (__builtin_expect(end != nullptr, 0))
			waymark_record(end, nullptr, nullptr, nullptr);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;
};

constexpr bool is_number_type(unsigned type) { return type >= WAYMARK_T_S8 && type <= WAYMARK_T_DOUBLE; }

}

#define wm_hex(x) ::waymark_detail::hex(x)
#define wm_oct(x) ::waymark_detail::oct(x)
#define wm_net(x) ::waymark_detail::net(x)
#define wm_text(p, len) ::waymark_detail::block<WAYMARK_T_TEXT>(p, len)
#define wm_bytes(p, len) ::waymark_detail::block<WAYMARK_T_BYTES>(p, len)
#define wm_seq(p, n) ::waymark_detail::seq(p, n)
#define wm_array(p, n) ::waymark_detail::array<(n)>(p)
#define wm_enum(labels, x) ::waymark_detail::labeled_enum<wmk_labelset_##labels>(x)
#define wm_flags(labels, x) ::waymark_detail::labeled_flags<wmk_labelset_##labels>(x)
/* The library finds the name, the unit and the media type in the source text of the argument. */
#define wm_named(name, x) (x)
#define wm_unit(unit, x) (x)
#define wm_media(type, p, len) wm_bytes(p, len)
#define wm_level(severity) ::waymark_detail::level<WAYMARK_LEVEL_##severity>()
#define wm_field(type, name, expr) ::waymark_detail::as<type>(expr)

/* The text of a label, without scopes: "red" for colour::red. */
#define WMK_LABEL_TEXT(text) ::waymark_detail::last_name(text, text)
#define WMK_LABELS(set, e, ...) \
	__attribute__((unused)) static const struct waymark_label wmk_label_##set[] = { \
		WMK_MAP_FOR(e, e##__VA_ARGS__)(WMK_LABEL, e, e##__VA_ARGS__) \
	}; \
	__attribute__((unused)) static const struct waymark_labels wmk_labels_##set = { \
		#set, sizeof(wmk_label_##set) / sizeof(wmk_label_##set[0]), 0, wmk_label_##set \
	}; \
	namespace { struct wmk_labelset_##set { \
		static constexpr const ::waymark_labels *labels() { return &wmk_labels_##set; } \
	}; } \
	struct wmk_semicolon

#define WMK_ARGUMENT(e, i, text, x) , decltype(::waymark_detail::describe_field(x))
#define WMK_ARGUMENT_MANY
#define WMK_PRINTED(e, i, text, x) , decltype(::waymark_detail::describe(x))
#define WMK_PRINTED_MANY
#define WMK_TEXT(e, i, text, x) wmk_i == i ? text :
#define WMK_TEXT_MANY
#define WMK_EVALUATE(e, i, text, x) , ::waymark_detail::evaluate_field(x)
#define WMK_EVALUATE_MANY
#define WMK_EVALUATE_PRINTED(e, i, text, x) , ::waymark_detail::evaluate(x)
#define WMK_EVALUATE_PRINTED_MANY
#define WMK_ONE(e, i, text, x)
#define WMK_ONE_MANY + 99

/*
 * The site is in a separate function, which is inlined. clang before 18 treats each `asm goto` as a jump to the labels
 * of all other `asm goto` in the function. If two sites were in one function, a jump between the two sites would skip
 * initializations.
 */
#define WMK_NOTED(i) \
	[wmk_size##i] "i"(static_cast<int>(::waymark_detail::staged<wmk_arguments, i>::size)), \
	[wmk_offset##i] "i"(static_cast<int>(::waymark_detail::staged<wmk_arguments, i>::offset))
#define WMK_EVENT_TYPE(kind_, level_, provider_, name_, note_name, format_, note_, each, map, e, ...) \
	typedef ::waymark_detail::arguments<void map(each, e, e##__VA_ARGS__)> wmk_arguments; \
	static_assert((0 map(WMK_ONE, e, e##__VA_ARGS__)) + wmk_arguments::n_fields <= WAYMARK_MAX_FIELDS, \
		"waymark: at most 32 fields"); \
	struct wmk_tag { \
		enum : unsigned { wmk_kind = kind_, wmk_level = level_, wmk_line = __LINE__ }; \
		static constexpr const char *provider() { return provider_; } \
		static constexpr const char *name() { return name_; } \
		static constexpr const char *file() { return __FILE__; } \
		static constexpr const char *format() { return format_; } \
		static constexpr const char *text(unsigned wmk_i) \
		{ return map(WMK_TEXT, e, e##__VA_ARGS__) ((void)wmk_i, ""); } \
		static WMK_CXX_INLINE bool enabled() \
		{ \
			typedef ::waymark_detail::event<wmk_tag, wmk_arguments> wmk_event; \
			bool wmk_on = false; \
			WMK_SITE(&wmk_event::desc, wmk_event::byte, , note_, provider_, note_name); \
			return wmk_on; \
		} \
		static WMK_CXX_INLINE void note(const void *wmk_b) \
		{ \
			__asm__ __inline__ volatile( \
				WMK_ASM_NOTE_WITH(provider_, note_name "_args", \
					WMK_ASM_STAGED(0) WMK_ASM_STAGED(1) WMK_ASM_STAGED(2) WMK_ASM_STAGED(3) \
					WMK_ASM_STAGED(4) WMK_ASM_STAGED(5) WMK_ASM_STAGED(6) WMK_ASM_STAGED(7) \
					WMK_ASM_STAGED(8) WMK_ASM_STAGED(9) WMK_ASM_STAGED(10) WMK_ASM_STAGED(11)) \
				: : [wmk_base] WMK_NOTE_BASE(wmk_b), WMK_NOTED(0), WMK_NOTED(1), WMK_NOTED(2), \
				WMK_NOTED(3), WMK_NOTED(4), WMK_NOTED(5), WMK_NOTED(6), WMK_NOTED(7), WMK_NOTED(8), \
				WMK_NOTED(9), WMK_NOTED(10), WMK_NOTED(11) : "memory"); \
		} \
	}

#define WMK_EMIT_KIND(kind, level, provider, name, note_name, format, each, evaluate, map, e, ...) do { \
	WMK_EVENT_TYPE(kind, level, provider, name, note_name, format, WMK_ASM_NOTE, each, map, e, e##__VA_ARGS__); \
	if (__builtin_expect_with_probability(wmk_tag::enabled(), 0, 1.0)) \
		(void)::waymark_detail::recorder<wmk_tag>{ &::waymark_detail::event<wmk_tag, wmk_arguments>::desc \
			map(evaluate, e, e##__VA_ARGS__) }; \
} while (0)

#define WMK_EMIT(kind, provider, name, n, map, e, ...) \
	WMK_EMIT_KIND(kind, WAYMARK_LEVEL_DEBUG_LINE, provider, name, name, nullptr, WMK_ARGUMENT, WMK_EVALUATE, map, \
		e, e##__VA_ARGS__)

#define WMK_EMIT_FORMAT(kind, level, provider, name, note_name, n, map, e, format, ...) \
	WMK_EMIT_KIND(kind, level, provider, name, note_name, format, WMK_PRINTED, WMK_EVALUATE_PRINTED, map, \
		e, e##__VA_ARGS__)

/*
 * Record the begin event. If the end event is enabled, the object wmk_span_<n> holds the descriptor of the end event
 * until the scope of waymark_span() ends. The begin event and the end event have the same log level.
 */
#define WMK_SCOPE(provider, name, n, n_end, map, e, ...) \
	const ::waymark_detail::scope wmk_span_##n{ __extension__ ({ \
		WMK_CHECK_NAMES(provider, name); \
		::waymark_desc *wmk_end_of = nullptr; \
		WMK_EMIT(WAYMARK_KIND_BEGIN, provider, name "_begin", n, map, e, e##__VA_ARGS__); \
		do { \
			typedef ::waymark_detail::arguments<void map(WMK_ARGUMENT, e, e##__VA_ARGS__)> wmk_begun; \
			WMK_EVENT_TYPE(WAYMARK_KIND_END, \
				::waymark_detail::level_or(wmk_begun::level, WAYMARK_LEVEL_DEBUG_LINE), provider, \
				name "_end", name, nullptr, WMK_ASM_NO_NOTE, WMK_ARGUMENT, WMK_MAP_0, , ~); \
			if (__builtin_expect_with_probability(wmk_tag::enabled(), 0, 1.0)) \
				wmk_end_of = &::waymark_detail::event<wmk_tag, wmk_arguments>::desc; \
		} while (0); \
		wmk_end_of; \
	}) }

#define WMK_IS_NUMBER(x) ::waymark_detail::is_number_type(decltype(::waymark_detail::describe_field(x))::type)

#define WMK_GUARD(provider, name, n) __extension__ ({ \
	WMK_CHECK_NAMES(provider, name); \
	WMK_EVENT_TYPE(WAYMARK_KIND_GUARD, WAYMARK_LEVEL_DEBUG_LINE, provider, name, name, nullptr, WMK_ASM_NO_NOTE, \
		WMK_ARGUMENT, WMK_MAP_0, , ~); \
	__builtin_expect_with_probability(wmk_tag::enabled(), 0, 1.0) != 0; \
})

#endif
