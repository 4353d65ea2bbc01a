/* SPDX-License-Identifier: MIT */
/*
 * plan.h - the operations that record an event, made from its descriptor.
 */
#ifndef WMK_TRACER_PLAN_H
#define WMK_TRACER_PLAN_H

#include "tracer/event.h"

/* Bytes of a scalar type as staged; 0 for a type that is passed by reference. */
uint32_t wmk_scalar_bytes(unsigned type);
/* Fill the members of event->ops to event->text_refs from the descriptor. 0, -EINVAL, -ENOMEM. */
int wmk_plan_make(struct wmk_event *event, const struct waymark_desc *desc);

#endif
