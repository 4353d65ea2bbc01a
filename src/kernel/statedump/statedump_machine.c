/* SPDX-License-Identifier: MIT */
/*
 * statedump_machine.c - interrupts, block devices and CPUs of the state dump. A part that the kernel lacks or a
 * container hides is counted as denied or gone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/statedump/statedump_record.h"

#define NAME_ROOM (WMK_KDUMP_NAME_MAX + 2u)   /* bytes of a file that holds a name, with a newline and a NUL */

static size_t without_newline(const char *text, long len)
{
	return len > 0 && text[len - 1] == '\n' ? (size_t)len - 1 : len > 0 ? (size_t)len : 0;
}

static size_t name_len(size_t len)
{
	return len < WMK_KDUMP_NAME_MAX ? len : WMK_KDUMP_NAME_MAX;
}

/* ── interrupts ──────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Return the thread that handles an interrupt. If the kernel has truncated the thread's name, only the truncated name
 * is compared.
 */
static int32_t irq_thread(const struct wmk_kdump *dump, uint32_t irq, const char *action, size_t len)
{
	for (uint32_t i = 0; i < dump->n_irq_threads; i++) {
		const struct wmk_kdump_irq_thread *thread = &dump->irq_threads[i];
		const size_t n = strlen(thread->name);

		if (thread->irq == irq && n <= len && memcmp(thread->name, action, n) == 0)
			return thread->tid;
	}
	return 0;
}

static int dump_action(struct wmk_kdump *dump, uint32_t irq, const char *chip, size_t chip_len, const char *action,
		       size_t len)
{
	static const char unnamed[] = "unnamed_irq_chip", no_name[] = "(null)";

		/* The kernel prints a missing name as "(null)". */
	if (len == sizeof(no_name) - 1 && memcmp(action, no_name, len) == 0)
		len = 0;
	wmk_kdump_put_32(dump, irq);
	wmk_kdump_put_text(dump, chip_len ? chip : unnamed, chip_len ? name_len(chip_len) : sizeof(unnamed) - 1);
	wmk_kdump_put_text(dump, action, name_len(len));
	wmk_kdump_put_i32(dump, irq_thread(dump, irq, action, len));
	dump->counts.devices++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_INTERRUPT);
}

/* The file `actions` has the names of all handlers that share the interrupt, separated by commas. */
static int dump_interrupt(struct wmk_kdump *dump, DIR *irqs, int32_t irq)
{
	char path[32], chip[NAME_ROOM], actions[4097];
	long chip_len, len;
	int err = 0;

	snprintf(path, sizeof(path), "%d/chip_name", (int)irq);
	chip_len = wmk_kproc_read(dirfd(irqs), path, chip, sizeof(chip));
	snprintf(path, sizeof(path), "%d/actions", (int)irq);
	len = wmk_kproc_read(dirfd(irqs), path, actions, sizeof(actions));
	if (chip_len < 0 || len < 0)
		return wmk_kdump_missed(dump, chip_len < 0 ? chip_len : len);
	for (const char *at = actions, *end = actions + without_newline(actions, len); err == 0 && at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;

		err = dump_action(dump, (uint32_t)irq, chip, without_newline(chip, chip_len), at, (size_t)(stop - at));
		at = stop + 1;
	}
	return err;
}

int wmk_kdump_interrupts(struct wmk_kdump *dump)
{
	DIR *irqs = wmk_kdump_open_sys(dump, "kernel/irq");
	int32_t irq;
	int err = 0;

	if (!irqs)
		return wmk_kdump_missed(dump, -errno);
	while (err == 0 && wmk_kproc_next_number(irqs, &irq) > 0)
		err = dump_interrupt(dump, irqs, irq);
	closedir(irqs);
	return err;
}

/* ── block devices ───────────────────────────────────────────────────────────────────────────────────── */

/*
 * Parse "254:0" into the encoding of `dev` in kernel events: 12 bits for the major number and 20 bits for the minor
 * number.
 */
static bool parse_device(const char *text, size_t len, uint32_t *dev)
{
	uint64_t major, minor;
	const size_t n = wmk_kproc_number(text, len, 10, 0xfff, &major);

	if (!n || n >= len || text[n] != ':')
		return false;
	if (wmk_kproc_number(text + n + 1, len - n - 1, 10, 0xfffff, &minor) != len - n - 1 || n + 1 == len)
		return false;
	*dev = (uint32_t)(major << 20 | minor);
	return true;
}

/* Disks without sectors and hidden disks (paths of a multipath device) are omitted. */
static bool is_shown(DIR *disks, const char *name)
{
	char path[NAME_ROOM + 16];
	uint64_t sectors = 0, is_hidden = 0;

	snprintf(path, sizeof(path), "%.255s/size", name);
	if (wmk_kproc_read_number(dirfd(disks), path, &sectors) < 0 || !sectors)
		return false;
	snprintf(path, sizeof(path), "%.255s/hidden", name);
	return wmk_kproc_read_number(dirfd(disks), path, &is_hidden) < 0 || !is_hidden;
}

static int dump_disk(struct wmk_kdump *dump, DIR *disks, const char *name)
{
	char path[NAME_ROOM + 16], text[32], shown[NAME_ROOM];
	uint32_t dev;
	long len;

	if (!is_shown(disks, name))
		return 0;
	snprintf(path, sizeof(path), "%.255s/dev", name);
	len = wmk_kproc_read(dirfd(disks), path, text, sizeof(text));
	if (len < 0)
		return wmk_kdump_missed(dump, len);
	if (!parse_device(text, without_newline(text, len), &dev)) {
		dump->counts.gone++;
		return 0;
	}
	/* A file name has no slash, so sysfs writes "cciss!c0d0" for "cciss/c0d0". */
	snprintf(shown, sizeof(shown), "%.255s", name);
	for (char *c = shown; *c; c++)
		*c = *c == '!' ? '/' : *c;
	wmk_kdump_put_32(dump, dev);
	wmk_kdump_put_text(dump, shown, strlen(shown));
	dump->counts.devices++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_BLOCK_DEVICE);
}

int wmk_kdump_block(struct wmk_kdump *dump)
{
	return wmk_kdump_each_sys(dump, "class/block", dump_disk);
}

/* ── CPUs ────────────────────────────────────────────────────────────────────────────────────────────── */

enum { CPU_ID, CPU_FAMILY, CPU_MODEL, CPU_PACKAGE, CPU_CORE, CPU_CORES, CPU_NUMBERS };

static const struct {
	const char *name;
	uint64_t max;
} numbers[CPU_NUMBERS] = {
	[CPU_ID] = { "processor", UINT16_MAX }, [CPU_FAMILY] = { "cpu family", UINT8_MAX },
	[CPU_MODEL] = { "model", UINT8_MAX },   [CPU_PACKAGE] = { "physical id", UINT16_MAX },
	[CPU_CORE] = { "core id", UINT16_MAX }, [CPU_CORES] = { "cpu cores", UINT16_MAX },
};

struct cpu {
	bool is_one, is_x86;
	uint64_t numbers[CPU_NUMBERS];
	char vendor[NAME_ROOM], model_name[NAME_ROOM];
};

static void keep_text(char room[NAME_ROOM], const char *value, size_t len)
{
	len = name_len(len);
	memcpy(room, value, len);
	room[len] = '\0';
}

static void take_cpu_line(const char *line, size_t len, struct cpu *cpu)
{
	const char *value;
	size_t value_len;

	for (unsigned i = 0; i < CPU_NUMBERS; i++)
		if (wmk_kproc_value(line, len, numbers[i].name, &value, &value_len)) {
			wmk_kproc_number(value, value_len, 10, numbers[i].max, &cpu->numbers[i]);
			cpu->is_one |= i == CPU_ID;
		}
	if (wmk_kproc_value(line, len, "vendor_id", &value, &value_len)) {
		keep_text(cpu->vendor, value, value_len);
		cpu->is_x86 = true;
	} else if (wmk_kproc_value(line, len, "model name", &value, &value_len)) {
		keep_text(cpu->model_name, value, value_len);
	}
}

/* lttng-modules has this event for x86 only; only x86 has "vendor_id" in /proc/cpuinfo. */
static int dump_cpu(struct wmk_kdump *dump, const struct cpu *cpu)
{
	static const char architecture[] = "x86";
	const char *vendor = cpu->vendor[0] ? cpu->vendor : "unknown",
		   *model = cpu->model_name[0] ? cpu->model_name : "unknown";

	if (!cpu->is_one || !cpu->is_x86)
		return 0;
	wmk_kdump_put(dump, architecture, sizeof(architecture));
	wmk_kdump_put_16(dump, (uint16_t)cpu->numbers[CPU_ID]);
	wmk_kdump_put_text(dump, vendor, strlen(vendor));
	wmk_kdump_put_8(dump, (uint8_t)cpu->numbers[CPU_FAMILY]);
	wmk_kdump_put_8(dump, (uint8_t)cpu->numbers[CPU_MODEL]);
	wmk_kdump_put_text(dump, model, strlen(model));
	wmk_kdump_put_16(dump, (uint16_t)cpu->numbers[CPU_PACKAGE]);
	wmk_kdump_put_16(dump, (uint16_t)cpu->numbers[CPU_CORE]);
	wmk_kdump_put_16(dump, (uint16_t)cpu->numbers[CPU_CORES]);
	dump->counts.devices++;
	return wmk_kdump_emit(dump, WMK_KSTATEDUMP_CPU_TOPOLOGY);
}

/* /proc/cpuinfo separates CPUs by an empty line. */
int wmk_kdump_cpus(struct wmk_kdump *dump)
{
	struct cpu cpu = { .is_one = false };
	const char *line;
	size_t len;
	long more;
	int err = wmk_kproc_lines_open(&dump->lines, dump->proc, "cpuinfo");

	if (err < 0)
		return wmk_kdump_missed(dump, err);
	while (err == 0 && (more = wmk_kproc_lines_next(&dump->lines, &line, &len)) > 0) {
		take_cpu_line(line, len, &cpu);
		if (len == 0) {
			err = dump_cpu(dump, &cpu);
			cpu = (struct cpu){ .is_one = false };
		}
	}
	wmk_kproc_lines_close(&dump->lines);
	return err ? err : dump_cpu(dump, &cpu);
}
