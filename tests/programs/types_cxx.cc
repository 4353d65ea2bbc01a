/* SPDX-License-Identifier: MIT */
/*
 * types_cxx.cc - types.h in C++, and the features of C++ only: templates, inline member functions, std::string,
 * enumerations.
 */
#include <array>
#include <chrono>
#include <string>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif
#include "types.h"

namespace {

enum class Shade : int { Light = 1, Dark = 2 };

WAYMARK_LABELS(shades, (Shade::Light), (Shade::Dark));

template <typename T> struct Box {
	T value;
	void put() const
	{
		waymark(cxx, put, value);
	}
};

void record_objects()
{
	const std::array<int, 3> fixed = { { 1, 2, 3 } };
	const std::array<char, 8> letters = { { 'a', 'b' } };
	const std::vector<double> numbers{ 0.5, 1.5 };
	const std::vector<short> nothing;
	const std::chrono::milliseconds wait(5);
	const Shade shade = Shade::Dark;
	const int after = 4711;

	waymark(cxx, objects, fixed, letters, numbers, nothing, wait, wm_enum(shades, shade), after);
#if __cplusplus >= 201703L
	const std::optional<int> none, some = 7;
	const std::optional<std::string> text, words = "words";
	const std::string_view part("partial", 4);

	waymark(cxx, optionals, none, some, text, words, part, after);
#endif
}

} // namespace

int main(int argc, char **argv)
{
	std::string name = "a std::string";
	Shade shade = Shade::Dark;
	waymark(cxx, only, name, shade);
	record_objects();
	Box<int>{ 5 }.put();
	Box<double>{ 2.5 }.put();
	Box<const char *>{ "boxed" }.put();
	[&] { waymark(cxx, in_lambda, name); }();
	return types_main(argc, argv);
}
