/* SPDX-License-Identifier: MIT */
/*
 * probe_fetch.h - one argument of a probe as the kernel is told to fetch it: "+0($arg2):string". Any thread. -errno
 * with a cause chain.
 */
#ifndef WMK_KERNEL_PROBE_FETCH_H
#define WMK_KERNEL_PROBE_FETCH_H

#include "kernel/probe/btf.h"
#include "kernel/probe/elf_file.h"
#include "kernel/probe/probe_grammar.h"
#include "kernel/probe/sdt.h"

/* Where a probe is, as far as values depend on it. */
struct wmk_probe_spot {
	unsigned machine;
	bool is_user, at_entry, at_return;
	/* KERNEL: what BTF says, asked when it is needed. */
	const char *btf, *module, *symbol;
	int btf_state;                         /* 0: not asked yet; 1: there; -errno */
	struct wmk_btf_function function;
	/* ELF and SDT */
	struct wmk_elf *elf;
	struct wmk_elf_place place;
	uint32_t n_sdt;
	const struct wmk_sdt_arg *sdt;         /* NULL: no SDT note */
};

/*
 * How a value is fetched, and its type; for an SDT note's argument, index from 0. -ENOTSUP: the kernel cannot fetch it,
 * *why is told.
 */
int wmk_probe_fetch_sdt(const struct wmk_probe_spot *spot, uint32_t index, char fetch[WMK_PROBE_FETCH_MAX],
			char type[WMK_PROBE_TYPE_MAX], const char **why);
/* The whole of "VALUE:TYPE" for an argument that was typed, and the type with [N]. */
int wmk_probe_fetch(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, char fetch[WMK_PROBE_FETCH_MAX],
		    char type[WMK_PROBE_TYPE_MAX]);
/* "VALUE:TYPE". false: too long for the kernel. */
bool wmk_probe_put_type(const char *value, const char *type, char fetch[WMK_PROBE_FETCH_MAX]);
/* What BTF says about the function; -errno with a cause chain. */
int wmk_probe_ask_btf(struct wmk_probe_spot *spot);

#endif
