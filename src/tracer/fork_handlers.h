/* SPDX-License-Identifier: MIT */
/*
 * fork_handlers.h - handlers before and after a process is copied: by fork() (pthread_atfork), and by clone() without
 * CLONE_VM (fork.c).
 */
#ifndef WMK_TRACER_FORK_HANDLERS_H
#define WMK_TRACER_FORK_HANDLERS_H

/*
 * wmk_fork_begin(): takes the lock with signals blocked, and notes whether the calling task owns its storage. In a
 * signal handler that interrupted a thread with the lock, wmk_fork_begin() only counts the nested fork.
 *
 * wmk_fork_end(): releases the lock and restores the signal mask. The parent calls wmk_fork_end() directly; in the
 * child, wmk_fork_child() and wmk_fork_child_quiet() call wmk_fork_end().
 */
void wmk_fork_begin(void);
void wmk_fork_end(void);
/*
 * Called in the child of fork(): the child records at once, under its own identity, into the inherited rings, and then
 * registers. If the child has removed rings that belong to its parent only, the child waits for its own rings, for at
 * most the time that a constructor waits.
 */
void wmk_fork_child(void);
/*
 * Called in the child of clone(), which the C library has not prepared: the child records events, but does not
 * register.
 */
void wmk_fork_child_quiet(void);

#endif
