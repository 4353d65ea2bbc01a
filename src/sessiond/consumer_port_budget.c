/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_budget.c - the budget pages of sessions with --max-size (store/store.h). Both consumer daemons count
 * bytes in one page.
 *
 *     trace_open ──► page of the path: of another open trace, else held by a consumer daemon, else created
 *                      └──TRACE_ADD──► consumer daemon
 *
 * A page lives as long as a trace below its path is open. A later page starts with the size of the existing files,
 * which the consumer daemons measure.
 */
#include "sessiond/consumer_port_traces.h"

#include "base/error.h"
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct port_budget {
	struct port_budget *next;
	char *path;
	int fd;
	unsigned traces;
};

static void budget_free(struct port_budget *budget)
{
	if (budget->fd >= 0)
		close(budget->fd);
	free(budget->path);
	free(budget);
}

/* Locked. */
static struct port_budget *budget_new(struct wmk_consumer_port *port, const char *path)
{
	struct port_budget *budget = calloc(1, sizeof(*budget));

	if (!budget) {
		wmk_error(-ENOMEM, "no memory for a budget page");
		return NULL;
	}
	budget->path = strdup(path);
	budget->fd = wmk_adopted_budget(port, path);
	if (budget->fd < 0)
		budget->fd = wmk_store_budget_page_make();
	if (!budget->path || budget->fd < 0) {
		if (budget->fd >= 0)
			wmk_error(-ENOMEM, "no memory for a budget page");
		budget_free(budget);
		return NULL;
	}
	budget->next = port->budgets;
	port->budgets = budget;
	return budget;
}

struct port_budget *wmk_port_budget_join(struct wmk_consumer_port *port, const char *path)
{
	pthread_mutex_lock(&port->lock);
	struct port_budget *budget = port->budgets;

	while (budget && strcmp(budget->path, path) != 0)
		budget = budget->next;
	if (!budget)
		budget = budget_new(port, path);
	if (budget)
		budget->traces++;
	pthread_mutex_unlock(&port->lock);
	return budget;
}

void wmk_port_budget_leave(struct wmk_consumer_port *port, struct port_budget *budget)
{
	struct port_budget **at = &port->budgets;

	if (!budget)
		return;
	pthread_mutex_lock(&port->lock);
	if (--budget->traces == 0) {
		while (*at != budget)
			at = &(*at)->next;
		*at = budget->next;
		budget_free(budget);
	}
	pthread_mutex_unlock(&port->lock);
}

int wmk_port_budget_fd(const struct port_budget *budget)
{
	return budget ? budget->fd : -1;
}
