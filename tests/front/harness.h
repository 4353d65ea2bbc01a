/* SPDX-License-Identifier: MIT */
/*
 * harness.h - replaces libwaymark, so that a test can inspect the unmodified output of the macros: descriptors, sites,
 * staged words and references. It can patch sites, and stores the arguments of waymark_record(), which C code
 * or waymark_enter() calls.
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

/* The number of sites of the descriptor; NULL: of all descriptors. */
unsigned harness_sites(const struct waymark_desc *desc);
/* The i-th site of all modules, or NULL. */
const struct waymark_site *harness_site(unsigned i);
struct waymark_desc *harness_desc(const struct waymark_site *site);
/* The first descriptor with that name; NULL if it does not exist. */
struct waymark_desc *harness_find(const char *provider, const char *name);
/* Enable or disable all sites of descriptors with that name (both NULL: all sites). Returns the number of sites. */
unsigned harness_switch(const char *provider, const char *name, int on);
/* Check the patchable instruction of a disabled site: returns 1 if it has the expected bytes. */
int harness_site_is_sane(const struct waymark_site *site);

#ifdef __cplusplus
}
#endif
#endif
