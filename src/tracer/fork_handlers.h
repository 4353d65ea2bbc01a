/* SPDX-License-Identifier: MIT */
/*
 * fork_handlers.h - handlers before and after a process is copied: by fork() (pthread_atfork), and by clone() without
 * CLONE_VM (fork.c).
 */
#ifndef WMK_TRACER_FORK_HANDLERS_H
#define WMK_TRACER_FORK_HANDLERS_H

/*
 * wmk_fork_begin(): takes the lock with signals blocked, and notes whether the calling task owns its storage. In a
 * signal handler that interrupted a thread with the lock, it only counts the nested fork.
 *
 * wmk_fork_end(): releases the lock and restores the signal mask. It runs in the parent; the functions below call it in
 * the child.
 */
void wmk_fork_begin(void);
void wmk_fork_end(void);
/*
 * In the child of fork(): the child records at once under its own identity into the inherited rings, then it registers.
 * If it removed rings that belong to its parent only, it waits for its own rings, for at most the time of a
 * constructor.
 */
void wmk_fork_child(void);
/* In the child of clone(), which the C library has not prepared: the child records, and does not register. */
void wmk_fork_child_quiet(void);

#endif
