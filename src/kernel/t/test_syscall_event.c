/* SPDX-License-Identifier: MIT */
/*
 * test_syscall_event.c - handmade records of system calls as events: their classes can be declared, and their payloads
 * match the classes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/error.h"
#include "ctf/writer.h"
#include "kernel/syscall/syscall_event.h"
#include "kernel/t/payload.h"

/* A record under test and its payload. */
struct made {
	struct wmk_syscall call;
	struct wmk_syscalls_record record;
	struct wmk_event_class *class;
	uint8_t payload[4096];
	long len;
};

static void begin(struct made *made, enum wmk_kabi abi, const char *name, bool is_exit)
{
	const int number = wmk_syscall_find(abi, name);

	memset(made, 0, sizeof(*made));
	assert_true(number >= 0);
	assert_int_equal(wmk_syscall_describe(abi, (unsigned)number, &made->call), 0);
	made->record = (struct wmk_syscalls_record){
		.number = (uint16_t)number, .abi = abi, .is_exit = is_exit, .n_values = is_exit ? 1 : WMK_SYSCALLS_ARGS
	};
}

static void add_part(struct made *made, unsigned arg, const void *bytes, size_t len, unsigned flags)
{
	made->record.parts[made->record.n_parts++] = (struct wmk_syscalls_piece){
		.arg = (uint8_t)arg, .flags = (uint8_t)flags, .len = (uint32_t)len, .bytes = bytes
	};
}

static void finish(struct made *made)
{
	assert_int_equal(wmk_syscalls_class(&made->call, made->record.is_exit, &made->class), 0);
	made->len = wmk_syscalls_payload(&made->call, &made->record, made->payload, sizeof(made->payload));
	assert_true(made->len >= 0);
	assert_true(payload_is_whole(made->class, made->payload, made->payload + made->len));
	/* It fits into exactly its own length. */
	assert_int_equal(wmk_syscalls_payload(&made->call, &made->record, made->payload, (size_t)made->len), made->len);
	if (made->len)
		assert_int_equal(wmk_syscalls_payload(&made->call, &made->record, made->payload, (size_t)made->len - 1),
				 -ENOSPC);
	assert_int_equal(wmk_syscalls_payload(&made->call, &made->record, made->payload, sizeof(made->payload)),
			 made->len);
}

static const void *field(const struct made *made, const char *name)
{
	const uint8_t *at = payload_field(made->class, name, made->payload, made->payload + made->len);

	if (!at)
		fail_msg("%s has no field %s", made->class->name, name);
	return at;
}

static int64_t number(const struct made *made, const char *name)
{
	const void *at = field(made, name);

	for (unsigned i = 0; i < made->class->n_fields; i++) {
		const struct wmk_type *type = &made->class->fields[i].type;
		uint64_t value = 0;

		if (strcmp(made->class->fields[i].name, name) != 0)
			continue;
		memcpy(&value, at, type->width / 8);
		return type->is_signed && type->width == 32 ? (int32_t)value : (int64_t)value;
	}
	return 0;
}

static void end(struct made *made)
{
	wmk_event_class_free(made->class);
}

static void openat_event_has_its_path_or_an_unreadable_mark(void **state)
{
	struct made m;

	(void)state;
	begin(&m, WMK_KABI_NATIVE, "openat", false);
	m.record.values[0] = (uint64_t)-100;
	m.record.values[2] = 0101;
	m.record.values[3] = 0644;
	add_part(&m, 1, "/etc/passwd", 11, WMK_SYSCALLS_PART_CUT);
	finish(&m);
	assert_string_equal(m.class->name, "syscall_entry_openat");
	assert_string_equal(m.class->provider, "");
	assert_int_equal(m.class->n_fields, 5);
	assert_int_equal(number(&m, "dfd"), -100);
	assert_string_equal(field(&m, "filename"), "/etc/passwd");
	assert_int_equal(number(&m, "flags"), 0101);
	assert_int_equal(number(&m, "mode"), 0644);
	assert_int_equal(number(&m, "pointers"), 4);
	assert_string_equal(m.class->fields[4].type.labels[1].name, "filename_unreadable");
	end(&m);
	/* A text that could not be read is empty and marked. */
	m.record.parts[0] = (struct wmk_syscalls_piece){ .arg = 1, .flags = WMK_SYSCALLS_PART_UNREADABLE };
	finish(&m);
	assert_string_equal(field(&m, "filename"), "");
	assert_int_equal(number(&m, "pointers"), 2);
	end(&m);
	begin(&m, WMK_KABI_NATIVE, "openat", true);
	m.record.values[0] = (uint64_t)-2;
	finish(&m);
	assert_string_equal(m.class->name, "syscall_exit_openat");
	assert_int_equal(number(&m, "ret"), -2);
	assert_string_equal(field(&m, "filename"), "");
	end(&m);
	add_part(&m, 1, "/late", 5, WMK_SYSCALLS_PART_LATE);
	finish(&m);
	assert_string_equal(field(&m, "filename"), "/late");
	assert_int_equal(number(&m, "pointers"), 0);
	end(&m);
}

static void buffers_of_pointer_arguments_become_byte_or_text_fields(void **state)
{
	struct made m;
	uint32_t len;

	(void)state;
	begin(&m, WMK_KABI_NATIVE, "write", false);
	m.record.values[1] = 0xdead0000;
	m.record.values[2] = 1000;
	add_part(&m, 1, "a\0b", 3, WMK_SYSCALLS_PART_CUT);
	finish(&m);
	assert_int_equal(number(&m, "buf"), 0xdead0000);
	memcpy(&len, field(&m, "buf_bytes"), 4);
	assert_int_equal(len, 3);
	assert_memory_equal((const uint8_t *)field(&m, "buf_bytes") + 4, "a\0b", 3);
	end(&m);
	begin(&m, WMK_KABI_NATIVE, "execve", false);
	add_part(&m, 0, "/bin/ls", 7, 0);
	add_part(&m, 1, "ls\0-l\0", 6, 0);
	m.record.parts[1].count = 2;
	finish(&m);
	memcpy(&len, field(&m, "argv"), 4);
	assert_int_equal(len, 2);
	assert_memory_equal((const uint8_t *)field(&m, "argv") + 4, "ls\0-l\0", 6);
	end(&m);
	/* A wrong count, and a last text without its NUL. */
	m.record.parts[1].count = 9;
	m.record.parts[1].len = 5;
	finish(&m);
	memcpy(&len, field(&m, "argv"), 4);
	assert_int_equal(len, 1);
	end(&m);
}

static void assert_address(const void *address, size_t len, int family, int port, const char *text)
{
	struct made m;
	uint16_t value;

	begin(&m, WMK_KABI_NATIVE, "connect", false);
	add_part(&m, 1, address, len, 0);
	finish(&m);
	memcpy(&value, field(&m, "uservaddr_family"), 2);
	assert_int_equal(value, family);
	memcpy(&value, field(&m, "uservaddr_port"), 2);
	assert_int_equal(value, port);
	assert_string_equal(field(&m, "uservaddr_address"), text);
	end(&m);
}

static void socket_addresses_become_family_port_and_text(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(443), .sin_addr.s_addr = htonl(0x7f000001) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(53),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/run/sock" },
			   abstract = { .sun_family = AF_UNIX, .sun_path = "\0name" }, full;
	char all[sizeof(un.sun_path) + 1];

	(void)state;
	assert_address(&in, sizeof(in), AF_INET, 443, "127.0.0.1");
	assert_address(&in6, sizeof(in6), AF_INET6, 53, "::1");
	assert_address(&un, sizeof(un), AF_UNIX, 0, "/run/sock");
	assert_address(&abstract, offsetof(struct sockaddr_un, sun_path) + 5, AF_UNIX, 0, "@name");
	/* The longest name, without a NUL; no name; an address that is cut; no address. */
	memset(&full, 'x', sizeof(full));
	full.sun_family = AF_UNIX;
	memset(all, 'x', sizeof(all));
	all[sizeof(un.sun_path)] = 0;
	assert_address(&full, sizeof(full), AF_UNIX, 0, all);
	assert_address(&un, 2, AF_UNIX, 0, "");
	assert_address(&in, 4, AF_INET, 443, "0.0.0.0");
	assert_address(NULL, 0, AF_UNSPEC, 0, "");
}

static void structures_of_pointer_arguments_become_one_field_per_member(void **state)
{
	const struct stat stat = { .st_mode = 0100644, .st_uid = 7, .st_gid = 8, .st_size = 1ll << 40 };
	const int64_t time[2] = { 5, 500 };
	const int32_t narrow[2] = { -5, 500 }, pair[2] = { 3, 4 }, polls[4] = { 3, 0x00010001, 4, 4 };
	struct made m;

	(void)state;
	begin(&m, WMK_KABI_NATIVE, "newfstatat", true);
	add_part(&m, 2, &stat, sizeof(stat), 0);
	finish(&m);
	assert_int_equal(number(&m, "statbuf_mode"), 0100644);
	assert_int_equal(number(&m, "statbuf_gid"), 8);
	assert_int_equal(number(&m, "statbuf_size"), 1ll << 40);
	end(&m);
	begin(&m, WMK_KABI_NATIVE, "nanosleep", false);
	add_part(&m, 0, time, sizeof(time), 0);
	finish(&m);
	assert_int_equal(number(&m, "rqtp_sec"), 5);
	assert_int_equal(number(&m, "rqtp_nsec"), 500);
	end(&m);
	begin(&m, WMK_KABI_NATIVE, "pipe2", true);
	add_part(&m, 0, pair, sizeof(pair), 0);
	finish(&m);
	assert_int_equal(number(&m, "fildes_1"), 4);
	end(&m);
	begin(&m, WMK_KABI_NATIVE, "ppoll", true);
	add_part(&m, 0, polls, sizeof(polls), 0);
	finish(&m);
	assert_memory_equal(field(&m, "ufds_fds"), "\2\0\0\0\3\0\0\0\1\0\1\0\4", 13);
	end(&m);
#ifdef __x86_64__
	begin(&m, WMK_KABI_COMPAT, "nanosleep", false);
	add_part(&m, 0, narrow, sizeof(narrow), 0);
	finish(&m);
	assert_string_equal(m.class->name, "compat_syscall_entry_nanosleep");
	assert_int_equal(number(&m, "rqtp_sec"), -5);
	end(&m);
	begin(&m, WMK_KABI_COMPAT, "lseek", false);
	m.record.values[1] = 0xfffffff0u;
	finish(&m);
	assert_int_equal(number(&m, "offset"), -16);
	end(&m);
#endif
}

static void unknown_syscall_event_has_its_number_and_arguments(void **state)
{
	struct made m = { .record = { .number = 511, .n_values = 6, .values = { 1, 2, 3, 4, 5, 6 } } };

	(void)state;
	assert_int_equal(wmk_syscall_describe(WMK_KABI_NATIVE, 511, &m.call), -ENOENT);
	wmk_error_clear();
	finish(&m);
	assert_string_equal(m.class->name, "syscall_entry_unknown");
	assert_int_equal(number(&m, "id"), 511);
	assert_int_equal(number(&m, "arg5"), 6);
	end(&m);
}

/*
 * For every system call: both classes can be declared in both versions of the metadata, and an empty record matches its
 * class.
 */
static void every_syscall_has_classes_that_metadata_can_declare(void **state)
{
	(void)state;
	for (unsigned abi = 0; abi < WMK_SYSCALLS_ABIS; abi++)
		for (unsigned n = 0; n < 2 * WMK_SYSCALLS_NUMBERS; n++) {
			struct made m = {
				.record = { .abi = (uint8_t)abi, .number = (uint16_t)(n / 2), .is_exit = n % 2 }
			};
			struct wmk_ctf_text_buffer text = { .text = NULL };

			if (wmk_syscall_describe((enum wmk_kabi)abi, n / 2, &m.call) < 0)
				continue;
			finish(&m);
			assert_int_equal(wmk_ctf_event_text(&text, WMK_CTF_1_8, 0, 0, m.class), 0);
			assert_int_equal(wmk_ctf_event_text(&text, WMK_CTF_2, 0, 0, m.class), 0);
			wmk_ctf_text_free(&text);
			end(&m);
		}
}

static void assert_bad(const struct wmk_syscalls_head *head, const struct wmk_syscalls_part *part, size_t len)
{
	uint8_t bytes[sizeof(*head) + 8 + sizeof(*part)];
	struct wmk_syscalls_record record;

	memcpy(bytes, head, sizeof(*head));
	memset(bytes + sizeof(*head), 0, 8);
	memcpy(bytes + sizeof(*head) + 8, part, sizeof(*part));
	assert_int_equal(wmk_syscalls_record_parse(bytes, len, &record), -EPROTO);
}

static void damaged_syscall_records_are_refused(void **state)
{
	const struct wmk_syscalls_head good = { .number = 1, .n_values = 1, .n_parts = 1 };
	const struct wmk_syscalls_part part = { .len = 0 }, long_part = { .len = 1 };
	const size_t len = sizeof(good) + 8 + sizeof(part);
	struct wmk_syscalls_head head = good;

	(void)state;
	assert_bad(&good, &part, sizeof(good) - 1);
	assert_bad(&good, &part, sizeof(good) + 7);
	assert_bad(&good, &part, len - 1);
	assert_bad(&good, &long_part, len);
	head.n_parts = 2;
	assert_bad(&head, &part, len);
	head = good;
	head.n_values = 7;
	assert_bad(&head, &part, len);
	head = good;
	head.number = WMK_SYSCALLS_NUMBERS;
	assert_bad(&head, &part, len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openat_event_has_its_path_or_an_unreadable_mark),
		cmocka_unit_test(buffers_of_pointer_arguments_become_byte_or_text_fields),
		cmocka_unit_test(socket_addresses_become_family_port_and_text),
		cmocka_unit_test(structures_of_pointer_arguments_become_one_field_per_member),
		cmocka_unit_test(unknown_syscall_event_has_its_number_and_arguments),
		cmocka_unit_test(every_syscall_has_classes_that_metadata_can_declare),
		cmocka_unit_test(damaged_syscall_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
