/* SPDX-License-Identifier: MIT */
/*
 * test_elf.c - symbols and SDT notes of the programs that test_probes_live.c probes. Other and damaged files: a reason
 * for each, and no crash.
 *
 *     test_elf LIBRARY STRIPPED PROGRAM...
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "kernel/probe/elf_file.h"
#include "kernel/probe/probe.h"

static const char *library, *stripped, *program;

static struct wmk_elf *opened(const char *path)
{
	struct wmk_elf *elf;
	char text[512];

	if (wmk_elf_open(path, &elf) < 0)
		fail_msg("%s", wmk_error_text(text, sizeof(text)));
	return elf;
}

static void check_words(int got, int err, const char *words)
{
	char text[1024];

	wmk_error_text(text, sizeof(text));
	if (got != err || !strstr(text, words))
		fail_msg("%d: %s; not %s", got, text, words);
	wmk_error_clear();
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "r");
	uint8_t *bytes = malloc(1u << 20);

	assert_non_null(in);
	assert_non_null(bytes);
	*size = fread(bytes, 1, 1u << 20, in);
	assert_true(*size > 1000 && *size < 1u << 20);
	fclose(in);
	return bytes;
}

/* Makes a file of bytes; the caller closes the descriptor. */
static int as_file(const void *bytes, size_t size, char path[64])
{
	const int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static int open_bytes(const void *bytes, size_t size, struct wmk_elf **elf)
{
	char path[64];
	const int fd = as_file(bytes, size, path), err = wmk_elf_open(path, elf);

	close(fd);
	return err;
}

static void function_that_cannot_be_probed_is_refused_with_advice(void **state)
{
	struct wmk_elf *elf = opened(program);
	struct wmk_elf_place place;
	uint64_t address, offset;

	(void)state;
	assert_int_equal(wmk_elf_function(elf, "probed_checkout", &place), 0);
	assert_true(place.size > 0);
	assert_int_equal(wmk_elf_address(elf, "probed_checkout", &address), 0);
	assert_int_equal(address, place.address);
	assert_int_equal(wmk_elf_offset(elf, address + 1, true, &offset), 0);
	assert_int_equal(offset, place.offset + 1);
	assert_int_equal(wmk_elf_function(elf, "_start", &place), 0);
	check_words(wmk_elf_function(elf, "probed_chekcout", &place), -ENOENT,
		    "has no function probed_chekcout: did you mean probed_checkout?");
	check_words(wmk_elf_function(elf, "qqqqqqqqqqqqqqq", &place), -ENOENT, "nm ");
	check_words(wmk_elf_function(elf, "probed_sum", &place), -EINVAL, "is not a function");
	check_words(wmk_elf_function(elf, "probed_library", &place), -ENOENT,
		    "calls probed_library but does not define it: name the library");
	assert_int_equal(wmk_elf_address(elf, "probed_sum", &address), 0);
	assert_int_equal(wmk_elf_offset(elf, address, true, &offset), -ERANGE);
	assert_int_equal(wmk_elf_offset(elf, UINT64_MAX, false, &offset), -ERANGE);
	wmk_elf_close(elf);
	elf = opened(library);
	check_words(wmk_elf_function(elf, "probed_twin", &place), -ENOTUNIQ,
		    "has 2 functions named probed_twin: give the address");
	check_words(wmk_elf_function(elf, "probed_chosen", &place), -EINVAL, "is an indirect function (IFUNC)");
	assert_int_equal(wmk_elf_address(elf, "probed_twin", &address), -ENOTUNIQ);
	wmk_elf_close(elf);
}

static void stripped_program_is_reported(void **state)
{
	struct wmk_elf *elf = opened(stripped);
	struct wmk_elf_place place;

	(void)state;
	assert_true(wmk_elf_is_stripped(elf));
	check_words(wmk_elf_function(elf, "probed_checkout", &place), -ENOENT, "it is stripped (no .symtab)");
	wmk_elf_close(elf);
}

static int list(void *data, const struct wmk_elf_sdt *note)
{
	char *names = data;

	assert_string_equal(note->provider, "wmkt");
	assert_true(note->address && (note->semaphore || strcmp(note->name, "variables") == 0));
	strcat(strcat(names, note->name), " ");
	return 0;
}

static int first(void *data, const struct wmk_elf_sdt *note)
{
	*(struct wmk_elf_sdt *)data = *note;
	return 17;
}

/* The notes claim a .stapsdt.base 16 bytes lower than the real one: all addresses must be shifted by 16 bytes. */
static void sdt_addresses_are_shifted_with_the_base_section(void **state)
{
	struct wmk_elf *elf = opened(program);
	struct wmk_elf_sdt before, after;
	size_t size;
	uint8_t *bytes = read_file(program, &size), *note = memmem(bytes, size, "stapsdt\0", 8);
	uint64_t base;

	(void)state;
	assert_non_null(note);
	memcpy(&base, note + 16, 8);
	base -= 16;
	memcpy(note + 16, &base, 8);
	assert_int_equal(wmk_elf_each_sdt(elf, first, &before), 17);
	const uint64_t address = before.address, semaphore = before.semaphore;

	wmk_elf_close(elf);
	assert_int_equal(open_bytes(bytes, size, &elf), 0);
	assert_int_equal(wmk_elf_each_sdt(elf, first, &after), 17);
	assert_int_equal(after.address, address + 16);
	assert_int_equal(after.semaphore, semaphore + 16);
	wmk_elf_close(elf);
	free(bytes);
}

static void sdt_probes_are_found_by_name(void **state)
{
	const struct wmk_probe_options options = { .group = "g", .search_path = "relative:/nowhere:/tmp" };
	struct wmk_elf *elf = opened(program);
	struct wmk_probe *probe;
	char names[256] = "", typed[512];

	(void)state;
	assert_int_equal(wmk_elf_each_sdt(elf, list, names), 0);
#ifdef __x86_64__
	assert_string_equal(names, "order order variables odd odd guarded ");
#else
	assert_string_equal(names, "order order odd odd guarded ");
#endif
	wmk_elf_close(elf);
	snprintf(typed, sizeof(typed), "sdt:%s:wmkt:gaurded", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -ENOENT,
		    "has no SDT probe wmkt:gaurded: did you mean guarded?");
	snprintf(typed, sizeof(typed), "sdt:%s:wmtk:guarded", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -ENOENT, "did you mean wmkt?");
	snprintf(typed, sizeof(typed), "sdt:%s:wmkt:guarded", library);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -ENOENT, "no SDT probes at all");
	snprintf(typed, sizeof(typed), "sdt:%s:wmkt:guarded(arg2)", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -EINVAL,
		    "the probe has 1 arguments, numbered from arg1");
	snprintf(typed, sizeof(typed), "%s:probed_checkout(id)", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -EINVAL,
		    "only kernel functions have named parameters");
	snprintf(typed, sizeof(typed), "%s:probed_checkout(%%di:symbol)", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -EINVAL, "is for kernel addresses");
	snprintf(typed, sizeof(typed), "%s:probed_checkout+100000", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -EINVAL, "has only");
	snprintf(typed, sizeof(typed), "%s:0x7fffffff", program);
	check_words(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), -EINVAL, "has no code at");
}

/* The program is found as by a shell; a variable becomes an offset from the probed address. */
static void program_is_found_in_search_path(void **state)
{
	struct wmk_elf *elf = opened(program);
	struct wmk_elf_place place;
	const char *name = strrchr(program, '/') + 1;
	char folders[512], typed[512], line[WMK_PROBE_LINE_MAX], expected[512];
	const struct wmk_probe_options options = { .group = "g", .search_path = folders };
	struct wmk_probe *probe;
	uint64_t sum;

	(void)state;
	assert_int_equal(wmk_elf_function(elf, "probed_refund", &place), 0);
	assert_int_equal(wmk_elf_address(elf, "probed_sum", &sum), 0);
	snprintf(folders, sizeof(folders), "/nowhere:%.*s", (int)(name - 1 - program), program);
	snprintf(typed, sizeof(typed), "elf:%s:probed_refund(@probed_sum:s64)", name);
	assert_int_equal(wmk_probe_make(WMK_PROBE_USER, typed, &options, &probe), 0);
	snprintf(expected, sizeof(expected), "p:g/probed_refund %s:0x%" PRIx64 " arg1=@+0x%" PRIx64 ":s64", program,
		 place.offset, sum - place.address + place.offset);
	assert_string_equal(wmk_probe_line(probe, &probe->events[0], 0, line), expected);
	wmk_probe_free(probe);
	wmk_elf_close(elf);
}

/* Opening a socket file fails with another error: the test detects that special files are opened. */
static void elf_reader_does_not_open_special_files(void **state)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct wmk_elf *elf;

	(void)state;
	assert_true(fd >= 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "/tmp/wmkt-elf-%d", (int)getpid());
	assert_int_equal(bind(fd, (const struct sockaddr *)&name, sizeof(name)), 0);
	check_words(wmk_elf_open(name.sun_path, &elf), -EINVAL, "is not a regular file");
	unlink(name.sun_path);
	close(fd);
}

/* Finds the header of a section by its name in the bytes of the file. */
static Elf64_Shdr *strings_with(uint8_t *bytes, const char *section)
{
	Elf64_Ehdr head;
	Elf64_Shdr *sections, *names;

	memcpy(&head, bytes, sizeof(head));
	sections = (Elf64_Shdr *)(void *)(bytes + head.e_shoff);
	names = &sections[head.e_shstrndx];
	for (unsigned i = 0; i < head.e_shnum; i++)
		if (strcmp((const char *)bytes + names->sh_offset + sections[i].sh_name, section) == 0)
			return &sections[i];
	return NULL;
}

/* String tables of 100 GB, most of it a hole, must not be read. Another table ends without a NUL. */
static void huge_string_tables_are_not_read(void **state)
{
	struct wmk_elf *elf;
	struct wmk_elf_sdt note;
	size_t size;
	uint64_t address;

	(void)state;
	for (unsigned way = 0; way < 3; way++) {
		uint8_t *bytes = read_file(program, &size);
		Elf64_Shdr *strings = strings_with(bytes, way == 1 ? ".shstrtab" : ".strtab");
		char path[64];
		int fd;

		assert_non_null(strings);
		if (way == 2)
			bytes[strings->sh_offset + strings->sh_size - 1] = 'x';
		else
			strings->sh_size = 100ull << 30;
		fd = as_file(bytes, size, path);
		assert_int_equal(ftruncate(fd, way == 2 ? (off_t)size : 101ll << 30), 0);
		assert_int_equal(wmk_elf_open(path, &elf), 0);
		assert_int_equal(wmk_elf_address(elf, "probed_checkout", &address), way == 1 ? 0 : -ENOENT);
		assert_int_equal(wmk_elf_each_sdt(elf, first, &note), way == 1 ? 0 : 17);
		wmk_elf_close(elf);
		close(fd);
		free(bytes);
	}
}

/* Many look-ups of a missing symbol: the limit ends them. */
static void elf_symbol_look_ups_stop_at_their_limit(void **state)
{
	struct wmk_elf *elf = opened(program);
	struct wmk_elf_place place;
	uint64_t address, n = 0;

	(void)state;
	while (wmk_elf_address(elf, "no_such_variable", &address) == -ENOENT && n < WMK_ELF_LOOKS_MAX)
		n++;
	assert_true(n > 1000 && n < WMK_ELF_LOOKS_MAX / 10);
	assert_int_equal(wmk_elf_address(elf, "probed_checkout", &address), -E2BIG);
	check_words(wmk_elf_function(elf, "probed_checkout", &place), -E2BIG,
		    "too many symbols to search for probed_checkout");
	wmk_elf_close(elf);
}

static void files_that_are_not_elf_programs_are_rejected_with_reason(void **state)
{
	struct wmk_elf *elf;
	size_t size;
	uint8_t *bytes = read_file(program, &size);
	Elf64_Ehdr head;

	(void)state;
	check_words(open_bytes("#!/bin/sh\n", 10, &elf), -ENOEXEC, "is a script");
	check_words(open_bytes("", 0, &elf), -ENOEXEC, "is not an ELF file");
	check_words(open_bytes("!<arch>\nnothing", 15, &elf), -ENOEXEC, "is not an ELF file");
	check_words(open_bytes(bytes, 32, &elf), -ENOEXEC, "is not an ELF file");
	check_words(wmk_elf_open("/dev/null", &elf), -EINVAL, "is not a regular file");
	memcpy(&head, bytes, sizeof(head));
	head.e_machine = EM_RISCV;
	memcpy(bytes, &head, sizeof(head));
	check_words(open_bytes(bytes, size, &elf), -ENOEXEC, "was built for another architecture (ELF machine 243)");
	head.e_machine = (uint16_t)wmk_elf_host();
	head.e_type = ET_REL;
	memcpy(bytes, &head, sizeof(head));
	check_words(open_bytes(bytes, size, &elf), -ENOEXEC, "perhaps an object file");
	free(bytes);
}

/* Damaged files may give any result, but nothing outside of the file may be read. */
static void look(const uint8_t *bytes, size_t size)
{
	struct wmk_elf *elf;
	struct wmk_elf_place place;
	struct wmk_elf_sdt note;
	uint64_t address;

	if (open_bytes(bytes, size, &elf) < 0)
		return;
	wmk_elf_function(elf, "probed_checkout", &place);
	wmk_elf_function(elf, "no_such_function", &place);
	wmk_elf_address(elf, "probed_sum", &address);
	wmk_elf_each_sdt(elf, first, &note);
	wmk_elf_close(elf);
}

static void damaged_elf_files_do_not_crash_the_reader(void **state)
{
	size_t size;
	uint8_t *bytes = read_file(program, &size);
	uint64_t seed = 20260101;

	(void)state;
	for (size_t len = 0; len < size; len += 97)
		look(bytes, len);
	for (unsigned round = 0; round < 3000; round++) {
		uint8_t was;
		size_t at;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		/* In turn: the ELF header, the program headers, the section headers at the end. */
		at = round % 3 == 0   ? (seed >> 33) % 64
		     : round % 3 == 1 ? (seed >> 33) % 1024
				      : size - 1 - (seed >> 33) % 2400;
		was = bytes[at];
		bytes[at] = (uint8_t)(seed >> 24);
		look(bytes, size);
		if (round % 8)
			bytes[at] = was;
	}
	free(bytes);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(function_that_cannot_be_probed_is_refused_with_advice),
		cmocka_unit_test(stripped_program_is_reported),
		cmocka_unit_test(sdt_probes_are_found_by_name),
		cmocka_unit_test(sdt_addresses_are_shifted_with_the_base_section),
		cmocka_unit_test(program_is_found_in_search_path),
		cmocka_unit_test(elf_reader_does_not_open_special_files),
		cmocka_unit_test(huge_string_tables_are_not_read),
		cmocka_unit_test(elf_symbol_look_ups_stop_at_their_limit),
		cmocka_unit_test(files_that_are_not_elf_programs_are_rejected_with_reason),
		cmocka_unit_test(damaged_elf_files_do_not_crash_the_reader),
	};

	if (argc < 4)
		return 2;
	library = realpath(argv[1], NULL);
	stripped = realpath(argv[2], NULL);
	program = realpath(argv[3], NULL);
	return library && stripped && program ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
