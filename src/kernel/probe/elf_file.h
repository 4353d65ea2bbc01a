/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - the functions of a program or library with their offsets in the file, and its SDT notes (the probes of
 * <sys/sdt.h>).
 *
 *     wmk_elf_open("/usr/bin/shop", &elf)
 *     wmk_elf_function(elf, "checkout", &place)       address and offset in the file, for a uprobe
 *     wmk_elf_each_sdt(elf, one, data)                provider, name, place, semaphore, arguments of every note
 *
 * Uses libelf. The file is read, not mapped, so no SIGBUS occurs if another process truncates the file. The content of
 * the file is not trusted. Only one thread at a time may use an object of this type. Errors are -errno with a cause
 * chain that contains the remedy.
 */
#ifndef WMK_KERNEL_ELF_FILE_H
#define WMK_KERNEL_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WMK_ELF_SECTION_MAX (1u << 30)     /* limit of bytes of a section that is read */
#define WMK_ELF_SYMBOLS_MAX (1u << 23)
/* limit of symbols that all searches in an open file examine together */
#define WMK_ELF_LOOKS_MAX (8u * WMK_ELF_SYMBOLS_MAX)
#define WMK_ELF_NEAREST_MAX (1u << 19)     /* limit of names that are compared with an unknown name */

struct wmk_elf;

struct wmk_elf_place {
	uint64_t address;      /* as in the file (st_value), before a loader relocates it */
	uint64_t offset;       /* offset of the same byte in the file */
	uint64_t size;         /* size of the function; 0: unknown */
};

struct wmk_elf_sdt {
	const char *provider, *name, *arguments;     /* valid until wmk_elf_close() */
	uint64_t address;
	uint64_t semaphore;                          /* address, 0: none */
};

/*
 * Open a file. -EINVAL: not a regular file; -ENOEXEC: not an ELF file (a script, for example), or for another machine;
 * -EPROTO: damaged. The caller owns *elf: wmk_elf_close().
 */
int wmk_elf_open(const char *path, struct wmk_elf **elf);
void wmk_elf_close(struct wmk_elf *elf);
const char *wmk_elf_path(const struct wmk_elf *elf);
unsigned wmk_elf_machine(const struct wmk_elf *elf);          /* EM_... */
bool wmk_elf_is_stripped(const struct wmk_elf *elf);          /* no .symtab: only exported functions have names */
/* Return EM_... of this machine; 0: the registers of this machine are not supported. */
unsigned wmk_elf_host(void);

/*
 * Find the beginning of a function. -ENOENT: no such symbol (the cause chain has similar names), or this file does not
 * define the symbol; -EINVAL: the symbol is not a function; -ENOTUNIQ: several local functions have this name; -E2BIG:
 * WMK_ELF_LOOKS_MAX.
 */
int wmk_elf_function(struct wmk_elf *elf, const char *name, struct wmk_elf_place *place);
/*
 * Find the address of a defined symbol of any kind. -ENOENT; -ENOTUNIQ; -E2BIG: WMK_ELF_LOOKS_MAX. Errors have no cause
 * chain, because the caller has the context for the message.
 */
int wmk_elf_address(struct wmk_elf *elf, const char *name, uint64_t *address);
/*
 * Return the offset of the byte that is loaded to an address. code: the segment of this byte must be executable.
 * -ERANGE: no such byte.
 */
int wmk_elf_offset(struct wmk_elf *elf, uint64_t address, bool code, uint64_t *offset);
/* Call `one` for each complete SDT note in the order of the file. Returns the first result of `one` other than 0. */
int wmk_elf_each_sdt(struct wmk_elf *elf, int (*one)(void *data, const struct wmk_elf_sdt *note), void *data);

#endif
