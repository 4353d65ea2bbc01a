/* SPDX-License-Identifier: MIT */
/*
 * objects.h - field types that exist only in C++: containers, durations, optional values, enumerations. Part of
 * program.h.
 */
#ifndef WAYMARK_TESTS_FRONT_OBJECTS_H
#define WAYMARK_TESTS_FRONT_OBJECTS_H

#include <array>
#include <chrono>
#include <string>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif
#if __cplusplus >= 202002L && defined(__has_include)
#if __has_include(<span>)
#include <span>
#define WITH_STD_SPAN 1
#endif
#endif

namespace {

enum class colour : short { red = 1, blue = -1 };
namespace deep {
struct scope {
	enum class size : unsigned char { small = 1, large = 200 };
};
}

}

WAYMARK_LABELS(colours, (colour::red), (colour::blue), (mixed, 2, 9));
WAYMARK_LABELS(sizes, (deep::scope::size::small), (deep :: scope :: size :: large));

static void containers(void)
{
	const std::array<int, 3> fixed = { { 1, 2, 3 } };
	const std::array<int, 0> none{};
	const std::vector<double> numbers{ 0.5, 1.5 };
	std::vector<colour> shades(4, colour::red);
	const colour array[2] = { colour::red, colour::blue };
	std::chrono::milliseconds waits[2];

	RECORDS("front", "containers", 7,
		waymark(front, containers, fixed, none, numbers, shades, array, waits, std::vector<bool *>(3)));
	ARRAY_OF(0, S32, 3); SEQ_OF(1, S32); SEQ_OF(2, DOUBLE); SEQ_OF(3, S16); ARRAY_OF(4, S16, 2);
	ARRAY_OF(5, S64, 2); SEQ_OF(6, POINTER);
	REF(0, fixed.data(), 12); REF(1, none.data(), 0); REF(2, numbers.data(), 16);
	REF(3, shades.data(), 8); REF(4, array, 4);
	CHECK(!strcmp(harness.desc->fields[5].unit, "ms"), "an array of durations has no unit");
	RECORDS("front", "labels", 2,
		waymark(front, labels, wm_enum(colours, colour::blue), wm_enum(sizes, deep::scope::size::large)));
	const struct waymark_field *fields = harness.desc->fields;
	CHECK(!strcmp(fields[0].labels->label[0].name, "red") && !strcmp(fields[0].labels->label[1].name, "blue") &&
	      fields[0].labels->label[1].from == -1 && !strcmp(fields[0].labels->label[2].name, "mixed"),
	      "labels of a scoped enumeration");
	CHECK(!strcmp(fields[1].labels->label[0].name, "small") && !strcmp(fields[1].labels->label[1].name, "large"),
	      "labels in scopes: %s, %s", fields[1].labels->label[0].name, fields[1].labels->label[1].name);
	WORDS("ffff c8");
#if defined(WITH_STD_SPAN)
	const std::span<const int> any(fixed);
	const std::span<const int, 3> three(fixed);

	RECORDS("front", "spans", 2, waymark(front, spans, any, three));
	SEQ_OF(0, S32);
	REF(0, fixed.data(), 12); REF(1, fixed.data(), 12);
#endif
}

template<class D> static void check_unit(const char *unit)
{
	waymark(front, unit, D(1));
	CHECK(!strcmp(harness.desc->fields[0].unit, unit), "a duration in %s has the unit %s", unit,
	      harness.desc->fields[0].unit);
}

static void times(void)
{
	const std::chrono::milliseconds wait(5);
	const std::chrono::duration<double> share(0.5);
	const std::chrono::time_point<std::chrono::system_clock, std::chrono::seconds> when(std::chrono::seconds(7));

	RECORDS("front", "times", 3, waymark(front, times, wait, share, when));
	FIELD(0, S64, "wait"); FIELD(1, DOUBLE, "share"); FIELD(2, S64, "when");
	WORDS("0500000000000000 000000000000e03f 0700000000000000");
	RECORDS("front", "latency", 1, waymark_counter(front, latency, wait));
	using namespace std;
	check_unit<chrono::nanoseconds>("ns");
	check_unit<chrono::microseconds>("us");
	check_unit<chrono::milliseconds>("ms");
	check_unit<chrono::seconds>("s");
	check_unit<chrono::minutes>("min");
	check_unit<chrono::hours>("h");
	check_unit<chrono::duration<float, ratio<86400> > >("d");
	check_unit<chrono::duration<int, ratio<1, 60> > >("1/60 s");
	check_unit<chrono::duration<int, ratio<20, 30> > >("2/3 s");
	check_unit<chrono::duration<int, ratio<100> > >("100 s");
}

#if __cplusplus >= 201703L
static void optionals(void)
{
	std::optional<int> none, some = 5;
	std::optional<std::string> text, words = "words";
	std::optional<const char *> pointer, literal = "literal";
	std::optional<std::chrono::seconds> wait = std::chrono::seconds(3);
	const std::string_view part("partial", 4);

	RECORDS("front", "optionals", 8,
		waymark(front, optionals, none, some, text, words, pointer, literal, wait, part));
	SEQ_OF(0, S32); SEQ_OF(1, S32); SEQ_OF(6, S64);
	FIELD(2, TEXT, "text"); FIELD(4, STRING, "pointer"); FIELD(7, TEXT, "part");
	REF(0, nullptr, 0); REF(1, &*some, 4); REF(3, words->data(), 5);
	REF(4, nullptr, SIZE_MAX); REF(5, *literal, SIZE_MAX);
	REF(6, &*wait, 8); REF(7, part.data(), 4);
	CHECK(harness.refs[2].len == 6 && !memcmp(harness.refs[2].base, "(null)", 6), "a text that is not there");
	CHECK(!strcmp(harness.desc->fields[6].unit, "s"), "an optional duration has no unit");
}
#else
static void optionals(void)
{
}
#endif

#endif
