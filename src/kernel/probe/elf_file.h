/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - what a program or a library says about itself: where its functions lie in the file, and its SDT notes
 * (the probes of <sys/sdt.h>).
 *
 *     wmk_elf_open("/usr/bin/shop", &elf)
 *     wmk_elf_function(elf, "checkout", &place)       address and offset in the file, for a uprobe
 *     wmk_elf_each_sdt(elf, one, data)                provider, name, place, semaphore, arguments of every note
 *
 * With libelf; the file is read, never mapped, so that nobody who shortens it meanwhile can stop us. Nothing in it is
 * trusted. One thread at a time for each. -errno with a cause chain that says what to do.
 */
#ifndef WMK_KERNEL_ELF_FILE_H
#define WMK_KERNEL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_ELF_SECTION_MAX (1u << 30)     /* bytes of one section that is read */
#define WMK_ELF_SYMBOLS_MAX (1u << 23)
/* at symbols, of all that is looked for while a file is open */
#define WMK_ELF_LOOKS_MAX (8u * WMK_ELF_SYMBOLS_MAX)
#define WMK_ELF_NEAREST_MAX (1u << 19)     /* names that are compared with one that is not there */

struct wmk_elf;

struct wmk_elf_place {
	uint64_t address;      /* as the file says it (st_value), before a loader moves it */
	uint64_t offset;       /* of the same byte in the file */
	uint64_t size;         /* of the function, 0: unknown */
};

struct wmk_elf_sdt {
	const char *provider, *name, *arguments;     /* valid until wmk_elf_close() */
	uint64_t address;
	uint64_t semaphore;                          /* address, 0: none */
};

/*
 * -EINVAL: no regular file; -ENOEXEC: no ELF file (a script, say), or one for another machine than this; -EPROTO: a
 * damaged one. *elf is the caller's: wmk_elf_close().
 */
int wmk_elf_open(const char *path, struct wmk_elf **elf);
void wmk_elf_close(struct wmk_elf *elf);
const char *wmk_elf_path(const struct wmk_elf *elf);
unsigned wmk_elf_machine(const struct wmk_elf *elf);          /* EM_... */
bool wmk_elf_is_stripped(const struct wmk_elf *elf);          /* no .symtab: only what is exported has a name */
/* EM_... of this machine; 0: none for which registers are known */
unsigned wmk_elf_host(void);

/*
 * Where a function begins. -ENOENT: no such symbol (the nearest are named), or it is not defined here; -EINVAL: it is
 * no function; -ENOTUNIQ:
 * several local ones have that name; -E2BIG: WMK_ELF_LOOKS_MAX.
 */
int wmk_elf_function(struct wmk_elf *elf, const char *name, struct wmk_elf_place *place);
/*
 * Any symbol that is defined, once. -ENOENT; -ENOTUNIQ; -E2BIG: WMK_ELF_LOOKS_MAX. No cause chain: who asks tells it
 * otherwise.
 */
int wmk_elf_address(struct wmk_elf *elf, const char *name, uint64_t *address);
/* The byte of the file that is loaded to an address; code: it must be executable. -ERANGE: none is. */
int wmk_elf_offset(struct wmk_elf *elf, uint64_t address, bool code, uint64_t *offset);
/* Every SDT note that is whole, in the file's order. Stops at the first value other than 0 and returns it. */
int wmk_elf_each_sdt(struct wmk_elf *elf, int (*one)(void *data, const struct wmk_elf_sdt *note), void *data);

#endif
