/* SPDX-License-Identifier: MIT */
/*
 * consumer_port_budget.c - the budget pages of sessions (store/store.h): both consumer daemons count the bytes of a
 * session in one page, for --max-size and for rotations by size.
 *
 *     trace_open ──► page of the path: of another open trace, else held by a consumer daemon, else created
 *                      └──TRACE_ADD──► consumer daemon
 *
 * A budget page exists as long as a trace below its path is open. A page that is created later starts with the size of
 * the existing files, which the consumer daemons measure.
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
	struct wmk_store_budget_page *page;
	unsigned traces;
};

static void budget_free(struct port_budget *budget)
{
	wmk_store_budget_page_unmap(budget->page);
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
	if (!budget->path && budget->fd >= 0)
		wmk_error(-ENOMEM, "no memory for a budget page");
	if (!budget->path || budget->fd < 0 || wmk_store_budget_page_map(budget->fd, &budget->page) < 0) {
		budget_free(budget);
		return NULL;
	}
	budget->next = port->budgets;
	port->budgets = budget;
	return budget;
}

/* Locked. Returns NULL if no trace below this path is open. */
static struct port_budget *budget_find(const struct wmk_consumer_port *port, const char *path)
{
	struct port_budget *budget = port->budgets;

	while (budget && strcmp(budget->path, path) != 0)
		budget = budget->next;
	return budget;
}

struct port_budget *wmk_port_budget_join(struct wmk_consumer_port *port, const struct wmk_trace_info *info)
{
	pthread_mutex_lock(&port->lock);
	struct port_budget *budget = budget_find(port, info->path);

	if (!budget) {
		budget = budget_new(port, info->path);
		if (budget)
			wmk_store_chunk_is_due(budget->page, info->chunk_max);
	}
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

bool wmk_port_chunk_is_due(void *data, const char *path, uint64_t chunk_max)
{
	struct wmk_consumer_port *port = data;

	pthread_mutex_lock(&port->lock);
	const struct port_budget *budget = budget_find(port, path);
	const bool is_due = budget && wmk_store_chunk_is_due(budget->page, chunk_max);
	pthread_mutex_unlock(&port->lock);
	return is_due;
}

void wmk_port_chunk_end(void *data, const char *path)
{
	struct wmk_consumer_port *port = data;

	pthread_mutex_lock(&port->lock);
	const struct port_budget *budget = budget_find(port, path);
	if (budget)
		wmk_store_chunk_end(budget->page);
	pthread_mutex_unlock(&port->lock);
}
