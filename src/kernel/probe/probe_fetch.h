/* SPDX-License-Identifier: MIT */
/*
 * probe_fetch.h - format one argument of a probe as a fetch argument of the kernel: "+0($arg2):string". Any thread.
 * Errors are -errno with a cause chain.
 */
#ifndef WMK_KERNEL_PROBE_FETCH_H
#define WMK_KERNEL_PROBE_FETCH_H

#include "kernel/probe/btf.h"
#include "kernel/probe/elf_file.h"
#include "kernel/probe/probe_grammar.h"
#include "kernel/probe/sdt.h"

/* The properties of a probe's place that determine how values are fetched. */
struct wmk_probe_spot {
	unsigned machine;
	bool is_user, at_entry, at_return;
	/* Only KERNEL probes use these members; the function is looked up in BTF when the function is needed. */
	const char *btf, *module, *symbol;
	int btf_state;                         /* 0: not looked up yet; 1: valid; -errno */
	struct wmk_btf_function function;
	/* ELF and SDT */
	struct wmk_elf *elf;
	struct wmk_elf_place place;
	uint32_t n_sdt;
	const struct wmk_sdt_arg *sdt;         /* NULL: no SDT note */
};

/*
 * Format argument `index` (from 0) of an SDT note, and the argument's type. -ENOTSUP without a cause chain: the kernel
 * cannot fetch the argument; *why has the reason.
 */
int wmk_probe_fetch_sdt(const struct wmk_probe_spot *spot, uint32_t index, char fetch[WMK_PROBE_FETCH_MAX],
			char type[WMK_PROBE_TYPE_MAX], const char **why);
/* Format "VALUE:TYPE" of a typed argument, and the type with the array size [N]. */
int wmk_probe_fetch(struct wmk_probe_spot *spot, const struct wmk_probe_arg *arg, char fetch[WMK_PROBE_FETCH_MAX],
		    char type[WMK_PROBE_TYPE_MAX]);
/* Compose "VALUE:TYPE". False: the text exceeds the kernel's limit. */
bool wmk_probe_put_type(const char *value, const char *type, char fetch[WMK_PROBE_FETCH_MAX]);
/* Look up the function in BTF; later calls return the first result. -errno with a cause chain. */
int wmk_probe_ask_btf(struct wmk_probe_spot *spot);

#endif
