/* SPDX-License-Identifier: MIT */
/*
 * register_wait.h - constructors and forks wait until session daemons have answered, so that what they registered is
 * enabled before they continue.
 *
 *     waiting thread                                          helper thread
 *     wmk_register_wait(change) sleeps on a word              wmk_register_publish(change)
 *       until the word has reached `change`, or               without the tracer's lock: wmk_register_wake()
 *       WAYMARK_REGISTER_TIMEOUT is over: late                wmk_register_take_late(), for a report
 *
 * Publishing and waking are separate because a thread that wakes takes the tracer's lock next.
 */
#ifndef WMK_TRACER_REGISTER_WAIT_H
#define WMK_TRACER_REGISTER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * All controllers have answered for what was registered up to `change`. True: that is news, and wmk_register_wake() is
 * to follow. By the helper.
 */
bool wmk_register_publish(uint32_t change);
void wmk_register_wake(void);
/* Does somebody wait? A hint: he may have begun, or ended, just now. */
bool wmk_register_is_awaited(void);
/* A thread has waited in vain since this was asked last: for so many ms; 0: none has. By the helper. */
uint32_t wmk_register_take_late(void);
/* Wait, bounded by the time that is left to all of them together. Lock not held. */
void wmk_register_wait(uint32_t change);
/* In the child of a fork. Lock held. */
void wmk_register_after_fork(void);

#endif
