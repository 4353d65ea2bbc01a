/* SPDX-License-Identifier: MIT */
/*
 * shop.c - a shop with some customers, each a thread, with events of every kind.
 *
 *     waymark record -c vpid -c procname -- examples/shop
 *     babeltrace2 ~/waymark-traces/shop-*
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <waymark/trace.h>

#define CUSTOMERS_MAX 100
#define ORDERS 5

enum state { NEW, PAID, REFUSED };
WAYMARK_LABELS(order_state, (NEW), (PAID), (REFUSED));

struct order {
	int id;
	const char *customer;
	double amount;
	unsigned items[3];
	enum state state;
};

/* Declared once, called as a function when an order changes. */
WAYMARK_EVENT(shop, order_changed, (const struct order *order),
	      wm_field(int, id, order->id),
	      wm_named("state", wm_enum(order_state, (int)order->state)));

static int next_id;

static bool pay(struct order *order)
{
	bool enough = order->amount < 90;

	order->state = enough ? PAID : REFUSED;
	/* Declared at the call site: names, types and values come from the arguments. */
	waymark(shop, payment, order->id, order->customer, order->amount, enough, wm_array(order->items, 3));
	if (!enough)
		waymark_logf(WARNING, "%s cannot pay %.2f", order->customer, order->amount);
	return enough;
}

static void *customer(void *name)
{
	unsigned seed = (unsigned)((const char *)name)[9];
	int paid = 0;

	for (int i = 0; i < ORDERS; i++) {
		struct order order = { .id = __atomic_add_fetch(&next_id, 1, __ATOMIC_RELAXED), .customer = name };

		for (int k = 0; k < 3; k++)
			order.items[k] = (unsigned)rand_r(&seed) % 1000;
		order.amount = (order.items[0] % 10000) / 10.0;
		waymark_shop_order_changed(&order);
		paid += pay(&order);
		waymark_shop_order_changed(&order);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	waymark_mark(customer_left, "orders %d paid %d", ORDERS, paid);
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[CUSTOMERS_MAX][16];
	pthread_t threads[CUSTOMERS_MAX];
	int n = argc > 1 ? atoi(argv[1]) : 3;

	n = n < 1 ? 1 : n > CUSTOMERS_MAX ? CUSTOMERS_MAX : n;
	waymark(shop, opened, n, wm_level(INFO));
	for (int i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "customer %d", i + 1);
		if (pthread_create(&threads[i], NULL, customer, names[i]) != 0)
			return 1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%d customers, %d orders\n", n, next_id);
	waymark(shop, closed, wm_named("orders", next_id), wm_level(INFO));
	return 0;
}
