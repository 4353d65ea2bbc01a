/* SPDX-License-Identifier: MIT */
/*
 * harness.h - stands where libwaymark stands, so that what the compiler made of the macros can be looked at as it is:
 * descriptors, sites, staged words and references. It can patch sites, and keeps what waymark_record() was called with,
 * from C or by way of waymark_enter().
 */
#ifndef WAYMARK_TESTS_FRONT_HARNESS_H
#define WAYMARK_TESTS_FRONT_HARNESS_H

#include <waymark/detail/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HARNESS_MODULES 8

struct harness {
	unsigned n_modules, n_registered, n_unregistered;
	struct waymark_module *modules[HARNESS_MODULES];
	unsigned n_records;
	struct waymark_desc *desc;         /* of the last record */
	const void *ip;
	uint64_t words[WAYMARK_MAX_FIELDS];
	struct waymark_ref refs[WAYMARK_MAX_FIELDS];
};
extern struct harness harness;

/* Number of sites of the descriptor, NULL: all sites. */
unsigned harness_sites(const struct waymark_desc *desc);
/* The i-th site of all modules, or NULL. */
const struct waymark_site *harness_site(unsigned i);
struct waymark_desc *harness_desc(const struct waymark_site *site);
/* The first descriptor of that name; NULL if there is none. */
struct waymark_desc *harness_find(const char *provider, const char *name);
/* Enable or disable all sites of descriptors of that name (both NULL: of all). Returns how many. */
unsigned harness_switch(const char *provider, const char *name, int on);
/* What a patchable instruction must be when it is disabled: returns 1 if it is. */
int harness_site_is_sane(const struct waymark_site *site);

#ifdef __cplusplus
}
#endif
#endif
