/* SPDX-License-Identifier: MIT */
/*
 * register_wait.h - who waits for the controllers' answer: constructors and forks, which must not go on before what
 * they have registered is enabled.
 *
 *     waiting thread                                helper
 *     wmk_register_wait(change) sleeps on a word      wmk_register_publish(change), then, without the tracer's lock, wmk_register_wake()
 *       until the word has reached `change`, or
 *       the time of WAYMARK_REGISTER_TIMEOUT is over: late                wmk_register_take_late(): to be told
 *
 * Publishing and waking are two, as who is woken takes the tracer's lock next.
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
