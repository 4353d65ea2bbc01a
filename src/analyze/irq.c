/* SPDX-License-Identifier: MIT */
/*
 * irq.c - the analysis `irq` (see irq.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/irq.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/error.h"

#define VECTORS 16u
#define CPUS_MAX 65536
#define NEVER INT64_MIN

/* The start times of the handlers that run on a CPU. */
struct irq_cpu {
	int64_t irq_since, irq;        /* NEVER: no handler runs, or its begin is unknown */
	int64_t softirq_since, softirq;
	int64_t raised[VECTORS];
};

struct irqs {
	struct irq_cpu *cpus;
	uint32_t n_cpus;
	struct wmk_texts names;
	struct wmk_stats handlers;     /* by number, name */
	struct wmk_stats softirqs, raises; /* by number */
	struct wmk_stats loads;        /* by CPU; the second number is 0 for interrupts, 1 for softirqs */
};

enum { NUMBER, NAME, COUNT, TOTAL };
static const struct wmk_column columns[] = {
	{ "irq", "interrupt", WMK_COLUMN_ID, true },
	{ "name", "name", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
};
enum { VEC, VEC_NAME, VEC_COUNT, VEC_TOTAL, VEC_RAISE = VEC_TOTAL + WMK_DURATION_CELLS };
static const struct wmk_column softirq_columns[] = {
	{ "vec", "softirq", WMK_COLUMN_ID, true },
	{ "name", "name", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	WMK_COLUMNS_DURATIONS,
	WMK_COLUMNS_QUANTILES("raise_", "raise to entry"),
};
enum { CPU, KIND, CPU_COUNT, CPU_LOAD, CPU_TOTAL };
static const struct wmk_column cpu_columns[] = {
	{ "cpu", "CPU", WMK_COLUMN_ID, true },
	{ "kind", "kind", WMK_COLUMN_TEXT, true },
	{ "count", "count", WMK_COLUMN_COUNT, false },
	{ "percent", "use", WMK_COLUMN_PERCENT, false },
	WMK_COLUMNS_DURATIONS,
};
static const char *const softirq_names[] = { "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched",
					     "hrtimer", "rcu" };

static int create(struct wmk_analysis *analysis, void **state)
{
	struct irqs *made = calloc(1, sizeof(*made));

	(void)analysis;
	*state = made;
	if (!made)
		return wmk_error(-ENOMEM, "no memory for an analysis");
	wmk_texts_begin(&made->names);
	wmk_stats_begin(&made->handlers);
	wmk_stats_begin(&made->softirqs);
	wmk_stats_begin(&made->raises);
	wmk_stats_begin(&made->loads);
	return 0;
}

static void forget(struct irq_cpu *cpu)
{
	cpu->irq_since = cpu->softirq_since = NEVER;
	for (unsigned i = 0; i < VECTORS; i++)
		cpu->raised[i] = NEVER;
}

/* Returns NULL if the CPU number is invalid, or if memory is exhausted. */
static struct irq_cpu *cpu_of(struct irqs *irqs, int64_t cpu)
{
	const uint32_t before = irqs->n_cpus;
	struct irq_cpu *cpus;

	if (cpu < 0 || cpu >= CPUS_MAX)
		return NULL;
	cpus = wmk_array_reach(irqs->cpus, (uint32_t)cpu, &irqs->n_cpus, sizeof(*cpus));
	if (!cpus)
		return NULL;
	irqs->cpus = cpus;
	for (uint32_t i = before; i < irqs->n_cpus; i++)
		forget(&cpus[i]);
	return &cpus[cpu];
}

/* Count a duration. If `since` is NEVER, count the event without a duration. */
static int count(struct wmk_stats *stats, uint64_t a, uint64_t b, int64_t since, int64_t now)
{
	struct wmk_stat *stat = wmk_stats_get(stats, a, b);

	if (!stat)
		return -ENOMEM;
	stat->count++;
	return since == NEVER ? 0 : wmk_histogram_add(&stat->ns, (uint64_t)(now - since));
}

static int enter_irq(struct irqs *irqs, struct irq_cpu *cpu, const struct wmk_record *record)
{
	const struct wmk_field_value *name = &record->values[WMK_IRQ_NAME];
	uint32_t number = UINT32_MAX;
	int err = 0;

	if (name->is_text)
		err = wmk_texts_number(&irqs->names, name->text, strnlen(name->text, name->len), &number);
	cpu->irq_since = record->ns;
	cpu->irq = record->values[WMK_IRQ_NUMBER].number << 32 | number;
	return err;
}

/*
 * The exit record has only the number of the interrupt. The duration is counted for the number and the name in the
 * entry record.
 */
static int leave_irq(struct irqs *irqs, struct irq_cpu *cpu, const struct wmk_record *record)
{
	const int64_t irq = record->values[WMK_IRQ_NUMBER].number;
	int err = 0;

	if (cpu->irq_since == NEVER || cpu->irq >> 32 != irq)
		return 0;
	err = count(&irqs->handlers, (uint64_t)irq, (uint32_t)cpu->irq, cpu->irq_since, record->ns);
	if (err >= 0)
		err = count(&irqs->loads, (uint64_t)record->cpu, 0, cpu->irq_since, record->ns);
	cpu->irq_since = NEVER;
	return err;
}

static int enter_softirq(struct irqs *irqs, struct irq_cpu *cpu, const struct wmk_record *record)
{
	const uint64_t vec = (uint64_t)record->values[0].number;
	int err = 0;

	cpu->softirq_since = record->ns;
	cpu->softirq = (int64_t)vec;
	if (vec < VECTORS && cpu->raised[vec] != NEVER) {
		err = count(&irqs->raises, vec, 0, cpu->raised[vec], record->ns);
		cpu->raised[vec] = NEVER;
	}
	return err;
}

static int leave_softirq(struct irqs *irqs, struct irq_cpu *cpu, const struct wmk_record *record)
{
	const int64_t vec = record->values[0].number;
	int err;

	if (cpu->softirq_since == NEVER || cpu->softirq != vec)
		return 0;
	err = count(&irqs->softirqs, (uint64_t)vec, 0, cpu->softirq_since, record->ns);
	if (err >= 0)
		err = count(&irqs->loads, (uint64_t)record->cpu, 1, cpu->softirq_since, record->ns);
	cpu->softirq_since = NEVER;
	return err;
}

static int record(void *state, const struct wmk_record *record)
{
	struct irqs *irqs = state;
	struct irq_cpu *cpu = cpu_of(irqs, record->cpu);
	const uint64_t vec = (uint64_t)record->values[0].number;

	if (!cpu)
		return 0;
	switch (record->event) {
	case WMK_EV_IRQ_ENTRY:
		return enter_irq(irqs, cpu, record);
	case WMK_EV_IRQ_EXIT:
		return leave_irq(irqs, cpu, record);
	case WMK_EV_SOFTIRQ_ENTRY:
		return enter_softirq(irqs, cpu, record);
	case WMK_EV_SOFTIRQ_EXIT:
		return leave_softirq(irqs, cpu, record);
	default:
		/* (a softirq that is raised several times before it runs, runs only once) */
		if (vec < VECTORS && cpu->raised[vec] == NEVER)
			cpu->raised[vec] = record->ns;
		return 0;
	}
}

static void lost(void *state, const struct wmk_loss *loss)
{
	struct irqs *irqs = state;

	for (uint32_t i = 0; i < irqs->n_cpus; i++)
		if (loss->cpu == i || loss->cpu == WMK_READ_NOWHERE)
			forget(&irqs->cpus[i]);
}

/* ── result ──────────────────────────────────────────────────────────────────────────────────────────── */

static void add_handlers(const struct irqs *irqs, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "interrupts", "Interrupts", columns, WMK_ARRAY_LEN(columns));

	table->sort = TOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&irqs->handlers, stat));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[NUMBER], (int64_t)stat->slot.a);
		if (stat->slot.b < irqs->names.n)
			wmk_cell_text(table, &row[NAME], irqs->names.texts[stat->slot.b]);
		wmk_cell_number(&row[COUNT], (int64_t)stat->count);
		wmk_cell_durations(&row[TOTAL], &stat->ns);
	}
}

static void add_softirqs(const struct irqs *irqs, struct wmk_result *result)
{
	struct wmk_result_table *table =
		wmk_result_table(result, "softirqs", "Softirqs", softirq_columns, WMK_ARRAY_LEN(softirq_columns));

	table->sort = VEC_TOTAL;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&irqs->softirqs, stat));) {
		const struct wmk_stat *raise = wmk_read_table_find(&irqs->raises.table, stat->slot.a, 0);
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[VEC], (int64_t)stat->slot.a);
		if (stat->slot.a < WMK_ARRAY_LEN(softirq_names))
			wmk_cell_text(table, &row[VEC_NAME], softirq_names[stat->slot.a]);
		wmk_cell_number(&row[VEC_COUNT], (int64_t)stat->count);
		wmk_cell_durations(&row[VEC_TOTAL], &stat->ns);
		if (raise)
			wmk_cell_quantiles(&row[VEC_RAISE], &raise->ns);
	}
}

static int result(void *state, struct wmk_result *result)
{
	const struct irqs *irqs = state;
	const double length = (double)(result->end - result->begin);
	struct wmk_result_table *table;

	add_handlers(irqs, result);
	add_softirqs(irqs, result);
	table = wmk_result_table(result, "cpus", "By CPU", cpu_columns, WMK_ARRAY_LEN(cpu_columns));
	table->sort = CPU;
	for (struct wmk_stat *stat = NULL; (stat = wmk_stats_next(&irqs->loads, stat));) {
		struct wmk_cell *row = wmk_result_row(table);

		wmk_cell_number(&row[CPU], (int64_t)stat->slot.a);
		wmk_cell_text(table, &row[KIND], stat->slot.b ? "softirqs" : "interrupts");
		wmk_cell_number(&row[CPU_COUNT], (int64_t)stat->count);
		if (length > 0)
			wmk_cell_real(&row[CPU_LOAD], 100.0 * (double)stat->ns.sum / length);
		wmk_cell_durations(&row[CPU_TOTAL], &stat->ns);
	}
	return 0;
}

static void release(void *state)
{
	struct irqs *irqs = state;

	wmk_texts_free(&irqs->names);
	wmk_stats_free(&irqs->handlers);
	wmk_stats_free(&irqs->softirqs);
	wmk_stats_free(&irqs->raises);
	wmk_stats_free(&irqs->loads);
	free(irqs->cpus);
	free(irqs);
}

const struct wmk_analyze_module wmk_analyze_irq = {
	.name = "irq",
	.summary = "interrupts and softirqs: count and durations, time from raise to entry, by CPU",
	.options = "--preset=irq",
	.needs = { { WMK_EV(IRQ_EXIT) | WMK_EV(SOFTIRQ_EXIT), false, "irq_handler_exit or irq_softirq_exit", NULL } },
	.events = WMK_EV(IRQ_ENTRY) | WMK_EV(IRQ_EXIT) | WMK_EV(SOFTIRQ_RAISE) | WMK_EV(SOFTIRQ_ENTRY) |
		  WMK_EV(SOFTIRQ_EXIT),
	.create = create,
	.record = record,
	.lost = lost,
	.result = result,
	.free = release,
};
