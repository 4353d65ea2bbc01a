/* SPDX-License-Identifier: MIT */
/*
 * named.pml - assertions with names. pan prints the expression that failed, so the expression is only the name:
 * `must_not(torn, cond)` fails as "assertion violated !(torn)" when cond is true. `torn` is a global bit, which is 0
 * otherwise. Use it only inside atomic or d_step.
 */
#define must_not(name, condition) name = (condition); assert(!name)
