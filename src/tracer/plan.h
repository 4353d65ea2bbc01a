/* SPDX-License-Identifier: MIT */
/* plan.h - the operations that record an event, created from its descriptor. */
#ifndef WMK_TRACER_PLAN_H
#define WMK_TRACER_PLAN_H

#include "tracer/event.h"

/* Return the size of a staged scalar type in bytes, or 0 for a type that is passed by reference. */
uint32_t wmk_scalar_bytes(unsigned type);
/*
 * Set the members of `event` that describe its operations, words and references (n_ops to text_refs). Returns 0,
 * -EINVAL or -ENOMEM.
 */
int wmk_plan_make(struct wmk_event *event, const struct waymark_desc *desc);

#endif
