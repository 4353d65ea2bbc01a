/* SPDX-License-Identifier: MIT */
/*
 * named.pml - assertions with names. pan prints the expression that failed, so the expression is the name alone:
 * `must_not(torn, cond)` fails as "assertion violated !(torn)" when cond is true. `torn` is a global bit, else always 0.
 * To be used inside atomic or d_step.
 */
#define must_not(name, condition) name = (condition); assert(!name)
