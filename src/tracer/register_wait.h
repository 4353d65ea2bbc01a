/* SPDX-License-Identifier: MIT */
/*
 * register_wait.h - constructors and forks wait for the answers of session daemons, so that the events that they have
 * registered are enabled before they continue.
 *
 *     waiting thread                                          helper thread
 *     wmk_register_wait(change) sleeps on a word              wmk_register_publish(change)
 *       until the word has reached `change`, or               without the lock (lock.h): wmk_register_wake()
 *       WAYMARK_REGISTER_TIMEOUT is over: late                wmk_register_take_late(), for a report
 *
 * wmk_register_publish() and wmk_register_wake() are separate functions, because the woken thread takes the lock next.
 */
#ifndef WMK_TRACER_REGISTER_WAIT_H
#define WMK_TRACER_REGISTER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Publish that all session daemons have answered the registrations up to `change`. Returns true if `change` is new, so
 * that the caller must call wmk_register_wake(). Helper thread only.
 */
bool wmk_register_publish(uint32_t change);
void wmk_register_wake(void);
/* Whether a thread waits. The result is a hint, because the wait may have just begun or ended. */
bool wmk_register_is_awaited(void);
/*
 * Return the time in ms that a thread has waited without an answer since the last call; 0: no thread. Helper thread
 * only.
 */
uint32_t wmk_register_take_late(void);
/* Wait for at most the time that remains for all constructors together. Without the lock. */
void wmk_register_wait(uint32_t change);
/* Reset in a forked child. Lock held. */
void wmk_register_after_fork(void);

#endif
