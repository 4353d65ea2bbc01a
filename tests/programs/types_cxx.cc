/* SPDX-License-Identifier: MIT */
/* types_cxx.cc - types.h in C++, and what only C++ has: templates, inline member functions, std::string, enumerations. */
#include <string>
#include "types.h"

namespace {

enum class Shade : int { Light = 1, Dark = 2 };

template <typename T> struct Box {
	T value;
	void put() const
	{
		waymark(cxx, put, value);
	}
};

} // namespace

int main(int argc, char **argv)
{
	std::string name = "a std::string";
	Shade shade = Shade::Dark;
	waymark(cxx, only, name, shade);
	Box<int>{ 5 }.put();
	Box<double>{ 2.5 }.put();
	Box<const char *>{ "boxed" }.put();
	[&] { waymark(cxx, in_lambda, name); }();
	return types_main(argc, argv);
}
