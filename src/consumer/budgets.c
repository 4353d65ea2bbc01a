/* SPDX-License-Identifier: MIT */
/*
 * budgets.c - how much may be below a session's path: traces there share a budget (store/store.h), and who asked for it hears when it is spent.
 *
 *     server's thread                          a trace's thread
 *     join: found by path, or made             measure: what is there already, once
 *     tell: FULL to the session daemon  ◄wake─ a packet is refused: full
 *     leave: the last one takes it away
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "consumer/server_inside.h"

struct wmk_server_budget {
	struct wmk_server_budget *next;
	struct wmk_consumer_server *server;
	unsigned users;
	char *path;
	bool told;
	atomic_bool full;                /* relaxed: whoever is woken looks */
	pthread_mutex_t lock;            /* of `measured` */
	bool measured;
	struct wmk_store_budget is;
};

static void on_full(void *data)
{
	struct wmk_server_budget *budget = data;

	/* A packet that is refused is tried again and again: woken once. */
	if (!atomic_exchange_explicit(&budget->full, true, memory_order_relaxed))
		wmk_server_wake(budget->server);
}

static struct wmk_server_budget *budget_new(struct wmk_consumer_server *server, const struct wmk_consumerd_trace *is)
{
	struct wmk_server_budget *budget = calloc(1, sizeof(*budget));

	if (!budget || !(budget->path = strdup(is->path))) {
		free(budget);
		return NULL;
	}
	budget->server = server;
	budget->is = (struct wmk_store_budget){ .max = is->max_size, .full = on_full, .data = budget };
	pthread_mutex_init(&budget->lock, NULL);
	pthread_mutex_init(&budget->is.lock, NULL);
	budget->next = server->budgets;
	server->budgets = budget;
	return budget;
}

int wmk_server_budget_join(struct wmk_server_trace *trace)
{
	struct wmk_server_budget *budget = trace->server->budgets;

	if (!trace->is.max_size)
		return 0;
	while (budget && strcmp(budget->path, trace->is.path) != 0)
		budget = budget->next;
	if (!budget)
		budget = budget_new(trace->server, &trace->is);
	if (!budget)
		return wmk_error(-ENOMEM, "no memory for a trace");
	budget->users++;
	trace->budget = budget;
	return 0;
}

void wmk_server_budget_leave(struct wmk_server_trace *trace)
{
	struct wmk_server_budget *budget = trace->budget, **at = &trace->server->budgets;

	trace->budget = NULL;
	if (!budget || --budget->users)
		return;
	while (*at != budget)
		at = &(*at)->next;
	*at = budget->next;
	pthread_mutex_destroy(&budget->is.lock);
	pthread_mutex_destroy(&budget->lock);
	free(budget->path);
	free(budget);
}

int wmk_server_budget_share(struct wmk_server_trace *trace)
{
	struct wmk_server_budget *budget = trace->budget;
	bool first = false;
	int err = 0;

	if (!budget)
		return 0;
	pthread_mutex_lock(&budget->lock);
	first = !budget->measured;
	if (first)
		err = wmk_store_measure(&budget->is, budget->path);
	budget->measured = err == 0;
	pthread_mutex_unlock(&budget->lock);
	if (err == 0)
		wmk_store_share(trace->store, &budget->is, first);
	return err;
}

void wmk_server_budget_measure(struct wmk_server_trace *trace)
{
	struct wmk_server_budget *budget = trace->budget;

	if (!budget || wmk_store_as((uid_t)trace->is.uid, (gid_t)trace->is.gid) < 0)
		return;
	if (wmk_store_measure(&budget->is, budget->path) < 0)
		wmk_error_clear();
	wmk_store_as_end();
}

void wmk_server_budget_cleared(struct wmk_server_trace *trace)
{
	if (!trace->budget)
		return;
	trace->budget->told = false;
	atomic_store_explicit(&trace->budget->full, false, memory_order_relaxed);
}

void wmk_server_budgets_tell(struct wmk_consumer_server *server)
{
	for (struct wmk_server_budget *budget = server->budgets; budget; budget = budget->next) {
		const struct wmk_consumerd_full full = { budget->path };

		if (budget->told || !atomic_load_explicit(&budget->full, memory_order_relaxed))
			continue;
		budget->told = wmk_server_say(server, WMK_CONSUMERD_FULL, &wmk_consumerd_full_object, &full);
	}
}

void wmk_server_budgets_again(struct wmk_consumer_server *server)
{
	for (struct wmk_server_budget *budget = server->budgets; budget; budget = budget->next)
		budget->told = false;
}
