/* SPDX-License-Identifier: MIT */
#define FUNCTION in_library
#include "other.h"
