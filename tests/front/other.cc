/* SPDX-License-Identifier: MIT */
#define FUNCTION other_unit
#include "other.h"
