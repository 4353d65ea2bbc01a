/* SPDX-License-Identifier: MIT */
/* spans_cxx.cc - spans.c in C++. */
#include "spans.c"
