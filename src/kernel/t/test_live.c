/* SPDX-License-Identifier: MIT */
/*
 * test_live.c - records of this machine's kernel: read as whole pages from an instance, copied, and decoded by the
 * class's reader. Each is compared with the kernel's own text of the same record (its option `fields` prints the fields
 * of every event by name).
 *
 * Skipped with a message if tracefs is not writable or the kernel has no such option (before Linux 6.2).
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/error.h"
#include "kernel/event/kernel_event.h"
#include "kernel/event/event_names.h"
#include "kernel/t/decode.h"
#include "kernel/t/read_file.h"

#define EVENTS "/sys/kernel/tracing/events"
#define INSTANCE "/sys/kernel/tracing/instances/wmkt-events"

struct known {
	struct wmk_kformat *format;
	struct wmk_kevent *event;
	struct decoded decoded;
	unsigned records;
};

static struct known known[65536];
static unsigned n_values;          /* values that were compared */

static int put(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), INSTANCE "/%s", file);
	const int fd = open(path, O_WRONLY | O_APPEND);

	if (fd < 0)
		return -errno;
	const int err = write(fd, text, strlen(text)) < 0 ? -errno : 0;

	close(fd);
	return err;
}

/* Look up an event when its first record arrives. */
static struct known *get(uint16_t type, const char *name)
{
	struct known *k = &known[type];
	char pattern[512], error[1024];
	glob_t found;

	if (k->event)
		return k;
	snprintf(pattern, sizeof(pattern), EVENTS "/*/%s/format", name);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc && !k->event; i++) {
		char *text = read_file(found.gl_pathv[i]), *system = found.gl_pathv[i] + strlen(EVENTS "/");

		*strchr(system, '/') = '\0';
		assert_non_null(text);
		if (wmk_kformat_parse(system, text, strlen(text), &k->format) < 0)
			fail_msg("%s: %s", name, wmk_error_text(error, sizeof(error)));
		free(text);
		if (k->format->id != type) {
			free(k->format);
			continue;
		}
		if (wmk_kevent_make(k->format, &k->event) < 0 ||
		    decoded_make(k->event->class, WMK_CTF_1_8, &k->decoded) < 0)
			fail_msg("%s: %s", name, wmk_error_text(error, sizeof(error)));
	}
	globfree(&found);
	assert_non_null(k->event);
	return k;
}

/*
 * Parse the kernel's value of a field: "0x2a (42)", "(0)", "symbol+0x0/0x1 (-7)". *bits: how many bits of it are valid.
 * False: the address of something.
 */
static bool kernels_number(const char *line, const char *name, uint64_t *value, unsigned *bits)
{
	char wanted[300];
	const char *at;

	snprintf(wanted, sizeof(wanted), " %s=", name);
	at = strstr(line, wanted);
	if (!at)
		return false;
	at += strlen(wanted);
	*bits = 64;
	if (strncmp(at, "(0x", 3) == 0 || *at == '{')
		return false;
	if (strncmp(at, "0x", 2) == 0) {
		*value = strtoull(at, NULL, 16);
		return true;
	}
	/* A symbol is followed by 32 bits; a boolean is one number in parentheses. */
	at = strchr(at, '(');
	*bits = 32;
	*value = at ? (uint64_t)strtoll(at + 1, NULL, 10) : 0;
	return at != NULL;
}

static void same_number(const char *line, const struct wmk_kfield *field, const struct wmk_kfield_rule *rule,
			const struct wmk_ctf_item *item)
{
	uint64_t value;
	unsigned bits;

	if (field->shape != WMK_KSHAPE_NUMBER || !kernels_number(line, field->name, &value, &bits))
		return;
	if (item->op->width < bits)
		bits = item->op->width;
	if (((item->value.u - (uint64_t)rule->add) ^ value) & (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1))
		fail_msg("%s is %" PRIx64 " in: %s", item->op->name, item->value.u, line);
	n_values++;
}

static void same_text(const char *line, const struct wmk_kfield *field, const struct wmk_ctf_item *item)
{
	char wanted[1024];

	/* A text that is not readable in a line is not compared. */
	if (item->len > 500 || memchr(item->text, '\n', item->len))
		return;
	snprintf(wanted, sizeof(wanted), " %s=%.*s", field->name, (int)item->len, item->text);
	if (!strstr(line, wanted))
		fail_msg("%s is \"%.*s\" in: %s", item->op->name, (int)item->len, item->text, line);
	n_values++;
}

/* Find the kernel's field from which the field `name` was made. */
static const struct wmk_kfield *field_of(const struct wmk_kformat *format, const char *name,
					 struct wmk_kfield_rule *rule)
{
	for (uint32_t i = format->n_common; i < format->n_common + format->n_fields; i++) {
		wmk_kname_field(format->system, format->name, format->fields[i].name, rule);
		if (strcmp(rule->name, name) == 0 && rule->how != WMK_KHOW_DROPPED)
			return &format->fields[i];
	}
	return NULL;
}

static void one(const char *line, const uint8_t *record, size_t len)
{
	const char *colon = strstr(line, ": "), *name_end, *name;
	struct wmk_kcommon common;
	char event_name[256], error[1024];
	uint8_t out[65536];

	/* "task-1 [000] d..2. 36480.632911: sched_switch: ..." */
	assert_true(len >= 8 && colon);
	name = colon + 2;
	name_end = strchr(name, ':');
	assert_true(name_end && name_end - name < 256);
	snprintf(event_name, sizeof(event_name), "%.*s", (int)(name_end - name), name);
	wmk_kcommon_read(record, &common);
	struct known *k = get(common.type, event_name);
	const long n = wmk_kevent_copy(k->event, record, len, out, sizeof(out));

	if (n < 0)
		fail_msg("%s: %s: %s", event_name, wmk_error_text(error, sizeof(error)), line);
	struct wmk_ctf_bytes in = { out, 0, (uint64_t)n * 8 };
	struct wmk_ctf_walk walk;
	struct wmk_ctf_item item;

	wmk_ctf_walk_begin(&walk, &in, 0);
	wmk_ctf_walk_enter(&walk, decoded_payload(&k->decoded));
	while (wmk_ctf_next(&walk, &item)) {
		struct wmk_kfield_rule rule;
		const struct wmk_kfield *field = item.op->name && !item.is_end && walk.depth == 1
							 ? field_of(k->format, item.op->name, &rule)
							 : NULL;

		if (!field)
			continue;
		if (item.op->code == WMK_CTF_STRING || item.op->code == WMK_CTF_TEXT)
			same_text(line, field, &item);
		else if (item.op->code == WMK_CTF_INT || item.op->code == WMK_CTF_ENUM)
			same_number(line, field, &rule, &item);
	}
	assert_int_equal(walk.err, 0);
	assert_int_equal(walk.at, (uint64_t)n * 8);
	k->records++;
}

/* Compare the records of a page with the next lines of `*text`. */
static void page(const uint8_t *bytes, size_t size, char **text)
{
	uint64_t commit;
	size_t at = 16;

	assert_true(size >= 16);
	memcpy(&commit, bytes + 8, 8);
	const size_t end = at + (commit & 0xfffff);

	assert_true(end <= size);
	while (at < end) {
		uint32_t head, len;

		memcpy(&head, bytes + at, 4);
		memcpy(&len, bytes + at + 4, 4);
		const unsigned kind = head & 31;

		if (kind == 30 || kind == 31) {
			at += 8;
		} else if (kind == 29) {
			at += 4 + (head >> 5 ? len : end);
		} else {
			const size_t data = at + (kind ? 4 : 8), n = kind ? kind * 4 : len - 4;
			char *newline;

			assert_true(data + n <= end);
			while (**text == '#') {
				*text = strchr(*text, '\n');
				assert_non_null(*text);
				(*text)++;
			}
			newline = strchr(*text, '\n');
			assert_non_null(newline);
			*newline = '\0';
			one(*text, bytes + data, n);
			*text = newline + 1;
			at = data + n;
		}
	}
}

static void one_cpu(const char *folder)
{
	char path[512], *text, *at;
	static uint8_t bytes[1 << 16];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/trace", folder);
	at = text = read_file(path);
	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/trace_pipe_raw", folder);
	const int fd = open(path, O_RDONLY | O_NONBLOCK);

	assert_true(fd >= 0);
	while ((n = read(fd, bytes, 4096)) > 0)
		page(bytes, (size_t)n, &at);
	close(fd);
	while (*at == '#' && strchr(at, '\n'))
		at = strchr(at, '\n') + 1;
	assert_string_equal(at, "");
	free(text);
}

/* Cause many kinds of events: files, processes, waiting, signals. */
static void work(void)
{
	const pid_t child = fork();

	if (child == 0) {
		execl("/bin/sh", "sh", "-c",
		      "ls -lR /usr/share/doc | head -c 100000 > /tmp/wmkt-events; sync /tmp/wmkt-events; rm "
		      "/tmp/wmkt-events; (sleep 0.02 & kill -USR1 $$) 2>/dev/null; true",
		      (char *)NULL);
		_exit(127);
	}
	assert_true(child > 0);
	waitpid(child, NULL, 0);
}

static void events_of_this_machine_are_copied_as_the_kernel_prints_them(void **state)
{
	static const char *const wanted[] = {
		"sched:*",       "irq:*",      "timer:*",      "block:*",      "task:*",        "signal:*",
		"workqueue:*",   "ext4:*",     "jbd2:*",       "writeback:*",  "syscalls:*",    "raw_syscalls:*",
		"net:*",         "skb:*",      "mmap:*",       "exceptions:*", "kmem:rss_stat", "ipi:*",
		"irq_vectors:*", "filelock:*", "oom:*",        "percpu:*",     "power:*",       "tlb:*",
		"avc:*",         "cgroup:*",   "maple_tree:*", "rpm:*",        "nmi:*"
	};
	unsigned kinds = 0, records = 0;
	glob_t found;

	(void)state;
	if (mkdir(INSTANCE, 0700) < 0 && errno != EEXIST) {
		print_message("skipped: cannot create a tracefs instance: %s\n", strerror(errno));
		skip();
	}
	put("tracing_on", "0");
	if (put("options/fields", "1") < 0) {
		print_message("skipped: this kernel cannot print its events' fields by name\n");
		skip();
	}
	/* Events that do not exist here are not recorded. */
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		put("set_event", wanted[i]);
	assert_int_equal(put("buffer_size_kb", "2000"), 0);
	assert_int_equal(put("tracing_on", "1"), 0);
	work();
	assert_int_equal(put("tracing_on", "0"), 0);
	put("events/enable", "0");
	assert_int_equal(glob(INSTANCE "/per_cpu/cpu*", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		one_cpu(found.gl_pathv[i]);
	globfree(&found);
	for (unsigned i = 0; i < 65536; i++)
		if (known[i].event) {
			records += known[i].records;
			kinds++;
			decoded_free(&known[i].decoded);
			wmk_kevent_free(known[i].event);
			free(known[i].format);
		}
	print_message("%u records of %u events, %u equal values\n", records, kinds, n_values);
	assert_true(kinds >= 20 && records > 200 && n_values > records);
}

/* Also after a failure. */
static int remove_instance(void **state)
{
	(void)state;
	put("events/enable", "0");
	rmdir(INSTANCE);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(events_of_this_machine_are_copied_as_the_kernel_prints_them, remove_instance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
