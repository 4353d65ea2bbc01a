/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf.c - arbitrary bytes as an ELF file or, without the ELF magic, as the arguments of an SDT note for the
 * machine that the first byte selects. Nothing is read after the end, texts are terminated, and results lie in the
 * file.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "kernel/probe/elf_file.h"
#include "kernel/probe/sdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool so)
{
	if (!so)
		abort();
}

static void check_args(unsigned machine, const char *text)
{
	struct wmk_sdt_arg args[WMK_SDT_ARGS_MAX];
	const unsigned n = wmk_sdt_args(machine, text, args);

	must(n <= WMK_SDT_ARGS_MAX && n <= strlen(text));
	for (unsigned i = 0; i < n; i++) {
		must(memchr(args[i].symbol, 0, sizeof(args[i].symbol)) &&
		     memchr(args[i].base, 0, sizeof(args[i].base)));
		switch (args[i].kind) {
		case WMK_SDT_UNREADABLE:
			must(args[i].why && args[i].why[0]);
			break;
		case WMK_SDT_REGISTER:
		case WMK_SDT_MEMORY:
			must(args[i].base[0] && args[i].type[0]);
			break;
		case WMK_SDT_VARIABLE:
			must(args[i].symbol[0] && args[i].type[0]);
			break;
		case WMK_SDT_CONSTANT:
			must(args[i].type[0] != 0);
		}
	}
}

static int one(void *data, const struct wmk_elf_sdt *note)
{
	unsigned *n = data;

	must(note->provider[0] && note->name[0]);
	must(note->name == note->provider + strlen(note->provider) + 1 &&
	     note->arguments == note->name + strlen(note->name) + 1);
	check_args(EM_X86_64, note->arguments);
	return ++*n == 1000;
}

static void check_elf(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct wmk_elf *elf;
	struct wmk_elf_place place;
	unsigned n = 0;
	uint64_t address, offset;
	char path[64];

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (wmk_elf_open(path, &elf) == 0) {
		wmk_elf_each_sdt(elf, one, &n);
		if (wmk_elf_function(elf, "checkout", &place) == 0)
			must(wmk_elf_offset(elf, place.address, true, &offset) == 0 && offset == place.offset);
		wmk_elf_function(elf, "chekcout", &place);
		wmk_elf_address(elf, "counter", &address);
		wmk_elf_close(elf);
	}
	wmk_error_clear();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned machines[] = { EM_X86_64, EM_386, EM_AARCH64, EM_NONE };
	char *text;

	if (size == 0)
		return 0;
	if (data[0] == 0x7f) {
		check_elf(data, size);
		return 0;
	}
	text = malloc(size);
	must(text != NULL);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	check_args(machines[data[0] % 4], text);
	free(text);
	return 0;
}
