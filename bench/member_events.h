/* SPDX-License-Identifier: MIT */
/* member_events.h - the names of member.c's events; the last one is e31. */
#define MEMBER_NAMES(X) \
	X(e00) X(e01) X(e02) X(e03) X(e04) X(e05) X(e06) X(e07) X(e08) X(e09) X(e10) X(e11) X(e12) X(e13) X(e14) \
	X(e15) X(e16) X(e17) X(e18) X(e19) X(e20) X(e21) X(e22) X(e23) X(e24) X(e25) X(e26) X(e27) X(e28) X(e29) \
	X(e30) X(e31)
