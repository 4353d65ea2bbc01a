/* SPDX-License-Identifier: MIT */
/* trace_work.h - work items, each carried out in the thread of its trace. */
#ifndef WMK_CONSUMER_TRACE_WORK_H
#define WMK_CONSUMER_TRACE_WORK_H

/* Carry out a struct wmk_server_work. For wmk_consumer_queue_work(). */
void wmk_server_work_run(void *work);

#endif
