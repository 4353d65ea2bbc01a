/* SPDX-License-Identifier: MIT */
/*
 * procfs_parse.c - parsers for text files of /proc (see procfs.h). The functions are pure; no text needs a terminating
 * NUL.
 */
#include <errno.h>
#include <string.h>

#include "base/scan.h"
#include "kernel/proc/procfs.h"

const char *const wmk_kns_names[WMK_KNS_KINDS] = { "pid", "user", "cgroup", "ipc", "mnt", "net", "time", "uts" };

size_t wmk_kproc_number(const char *text, size_t len, unsigned base, uint64_t max, uint64_t *number)
{
	struct wmk_scan scan = { text, text + len };

	return wmk_scan_number(&scan, base, max, number) ? (size_t)(scan.at - text) : 0;
}

/* ── stat ────────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * In the kernel, a worker is named "kworker/0:1". /proc appends the current work of the worker, as "-events" or
 * "+flush". The kernel's name of a rescuer contains a dash ("kworker/R-nvme").
 */
static size_t worker_len(const char *name, size_t len)
{
	static const char head[] = "kworker/";
	const size_t n = sizeof(head) - 1;

	if (len < n || memcmp(name, head, n) != 0 || (len > n && name[n] == 'R'))
		return len;
	for (size_t i = n; i < len; i++)
		if (name[i] == '-' || name[i] == '+')
			return i;
	return len;
}

/* Positions in /proc/PID/stat (proc(5)) of the numbers after the state. */
enum { AT_PPID = 4, AT_FLAGS = 9, AT_PRIO = 18, AT_THREADS = 20, AT_START = 22, AT_CPU = 39 };

struct stat_number {
	uint64_t value;
	bool is_negative;
};

static bool is_within(const struct stat_number *number, uint64_t max)
{
	return !number->is_negative && number->value <= max;
}

static int take_stat_numbers(struct wmk_scan text, struct wmk_kproc_stat *stat)
{
	struct stat_number all[AT_CPU + 1];

	for (unsigned place = AT_PPID; place <= AT_CPU; place++) {
		wmk_scan_space(&text);
		all[place].is_negative = wmk_scan_take(&text, "-");
		if (!wmk_scan_number(&text, 10, UINT64_MAX, &all[place].value))
			return -EPROTO;
	}
	if (!is_within(&all[AT_PPID], INT32_MAX) || !is_within(&all[AT_FLAGS], UINT32_MAX) ||
	    all[AT_PRIO].value > INT32_MAX || !is_within(&all[AT_THREADS], INT32_MAX) ||
	    !is_within(&all[AT_START], UINT64_MAX) || !is_within(&all[AT_CPU], UINT32_MAX))
		return -EPROTO;
	stat->ppid = (int32_t)all[AT_PPID].value;
	stat->flags = (uint32_t)all[AT_FLAGS].value;
	stat->prio = all[AT_PRIO].is_negative ? -(int32_t)all[AT_PRIO].value : (int32_t)all[AT_PRIO].value;
	stat->n_threads = (uint32_t)all[AT_THREADS].value;
	stat->start = all[AT_START].value;
	stat->cpu = (uint32_t)all[AT_CPU].value;
	return 0;
}

int wmk_kproc_stat_parse(const char *bytes, size_t len, struct wmk_kproc_stat *stat)
{
	struct wmk_scan text = { bytes, bytes + len };
	const char *close_bracket;
	uint64_t tid;
	int err;

	*stat = (struct wmk_kproc_stat){ .tid = 0 };
	if (!wmk_scan_number(&text, 10, INT32_MAX, &tid) || !wmk_scan_take(&text, " ") || !wmk_scan_take(&text, "("))
		return -EPROTO;
	stat->tid = (int32_t)tid;
	/*
	 * In /proc/PID/stat, the last bracket ends the name. A name may contain brackets, blanks and newlines, but the
	 * text after the name has no bracket.
	 */
	close_bracket = memrchr(text.at, ')', wmk_scan_len(&text));
	if (!close_bracket)
		return -EPROTO;
	const struct wmk_scan name = { text.at, close_bracket };

	text.at = close_bracket + 1;
	if (!wmk_scan_take(&text, " ") || text.at == text.end)
		return -EPROTO;
	stat->state = *text.at++;
	err = take_stat_numbers(text, stat);
	if (err < 0)
		return err;
	const size_t kept = stat->flags & WMK_KPROC_WORKER && stat->flags & WMK_KPROC_KTHREAD
				    ? worker_len(name.at, wmk_scan_len(&name))
				    : wmk_scan_len(&name);

#ifdef WMK_PLANTED_BUG_KERNEL_PROCFS
	memcpy(stat->name, name.at, kept);      /* the fuzzer must find this */
#else
	memcpy(stat->name, name.at, kept < sizeof(stat->name) ? kept : sizeof(stat->name) - 1);
#endif
	return 0;
}

/* ── status ──────────────────────────────────────────────────────────────────────────────────────────── */

static uint32_t take_list(struct wmk_scan text, int32_t list[WMK_KPROC_LEVELS])
{
	uint32_t n = 0;
	uint64_t number;

	for (; n < WMK_KPROC_LEVELS; n++) {
		wmk_scan_space(&text);
		if (!wmk_scan_number(&text, 10, INT32_MAX, &number))
			break;
		list[n] = (int32_t)number;
	}
	return n;
}

static bool take_first(struct wmk_scan text, uint64_t max, uint64_t *number)
{
	wmk_scan_space(&text);
	return wmk_scan_number(&text, 10, max, number);
}

void wmk_kproc_status_line(const char *line, size_t len, struct wmk_kproc_status *status)
{
	struct wmk_scan text = { line, line + len };
	uint64_t number;

	if (wmk_scan_take(&text, "Tgid:")) {
		if (take_first(text, INT32_MAX, &number))
			status->tgid = (int32_t)number;
	} else if (wmk_scan_take(&text, "Uid:")) {
		if (take_first(text, UINT32_MAX, &number))
			status->uid = (uint32_t)number;
	} else if (wmk_scan_take(&text, "Gid:")) {
		if (take_first(text, UINT32_MAX, &number))
			status->gid = (uint32_t)number;
	} else if (wmk_scan_take(&text, "NStgid:")) {
		status->n_tgids = take_list(text, status->tgids);
	} else if (wmk_scan_take(&text, "NSpid:")) {
		status->n_tids = take_list(text, status->tids);
	}
}

/* ── namespaces ──────────────────────────────────────────────────────────────────────────────────────── */

int wmk_kns_parse(enum wmk_kns kind, const char *bytes, size_t len, uint32_t *inum)
{
	struct wmk_scan text = { bytes, bytes + len };
	uint64_t number;

	if (!wmk_scan_take(&text, wmk_kns_names[kind]) || !wmk_scan_take(&text, ":[") ||
	    !wmk_scan_number(&text, 10, UINT32_MAX, &number) || !wmk_scan_take(&text, "]") || text.at < text.end)
		return -EPROTO;
	*inum = (uint32_t)number;
	return 0;
}

bool wmk_kproc_id_inside(const char *line, size_t len, uint32_t outside, uint32_t *inside)
{
	struct wmk_scan text = { line, line + len };
	uint64_t parts[3];

	for (unsigned i = 0; i < 3; i++) {
		wmk_scan_space(&text);
		if (!wmk_scan_number(&text, 10, UINT32_MAX, &parts[i]))
			return false;
	}
	if (outside < parts[1] || outside - parts[1] >= parts[2] || parts[0] + (outside - parts[1]) > UINT32_MAX)
		return false;
	*inside = (uint32_t)(parts[0] + (outside - parts[1]));
	return true;
}

/* ── files and memory ────────────────────────────────────────────────────────────────────────────────── */

static bool take_may(struct wmk_scan *text, const char *yes, bool *may)
{
	*may = wmk_scan_take(text, yes);
	return *may || wmk_scan_take(text, "-");
}

/*
 * Parses "7f12-7f13 rw-p 00001000 fe:00 247134   /some/path". In a line of /proc/PID/maps, any bytes may follow the
 * inode.
 */
int wmk_kproc_map_parse(const char *line, size_t len, struct wmk_kproc_map *map)
{
	struct wmk_scan text = { line, line + len };
	uint64_t major, minor;

	if (!wmk_scan_number(&text, 16, UINT64_MAX, &map->start) || !wmk_scan_take(&text, "-") ||
	    !wmk_scan_number(&text, 16, UINT64_MAX, &map->end) || map->end < map->start || !wmk_scan_take(&text, " "))
		return -EPROTO;
	if (!take_may(&text, "r", &map->can_read) || !take_may(&text, "w", &map->can_write) ||
	    !take_may(&text, "x", &map->can_execute))
		return -EPROTO;
	map->is_shared = wmk_scan_take(&text, "s");
	if ((!map->is_shared && !wmk_scan_take(&text, "p")) || !wmk_scan_take(&text, " ") ||
	    !wmk_scan_number(&text, 16, UINT64_MAX, &map->offset) || !wmk_scan_take(&text, " "))
		return -EPROTO;
	if (!wmk_scan_number(&text, 16, UINT32_MAX, &major) || !wmk_scan_take(&text, ":") ||
	    !wmk_scan_number(&text, 16, UINT32_MAX, &minor) || !wmk_scan_take(&text, " ") ||
	    !wmk_scan_number(&text, 10, UINT64_MAX, &map->inode))
		return -EPROTO;
	return 0;
}

bool wmk_kproc_fdinfo_flags(const char *line, size_t len, uint32_t *flags)
{
	struct wmk_scan text = { line, line + len };
	uint64_t number;

	if (!wmk_scan_take(&text, "flags:"))
		return false;
	wmk_scan_space(&text);
	if (!wmk_scan_number(&text, 8, UINT32_MAX, &number))
		return false;
	*flags = (uint32_t)number;
	return true;
}

bool wmk_kproc_value(const char *line, size_t len, const char *name, const char **value, size_t *value_len)
{
	struct wmk_scan text = { line, line + len };

	if (!wmk_scan_take(&text, name))
		return false;
	wmk_scan_space(&text);
	if (!wmk_scan_take(&text, ":"))
		return false;
	wmk_scan_trim(&text);
	*value = text.at;
	*value_len = wmk_scan_len(&text);
	return true;
}
