/* SPDX-License-Identifier: MIT */
/*
 * dlopen_check.c - see dlopen_check.h. A constructor that runs in dlopen() must not wait.
 *
 * The loader does not report how a module was loaded. The modules that are loaded with the program are the executable
 * and the closure of the executable's DT_NEEDED entries. Modules of LD_PRELOAD count as loaded by dlopen(), so the
 * constructors of these modules do not wait.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "tracer/dlopen_check.h"

#define OBJECTS_MAX 512

/*
 * If the dynamic section is writable, the loader replaces the offset in DT_STRTAB by an address. In the vDSO, DT_STRTAB
 * remains an offset. With glibc, DT_STRTAB also remains an offset in every object with a read-only dynamic section.
 */
static const char *string_table(const struct link_map *map)
{
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			return (const char *)(d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr
									  : d->d_un.d_ptr);
	return NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_called(const struct link_map *map, const char *needed)
{
	const char *strings = string_table(map);

	if (!strcmp(base_name(map->l_name), base_name(needed)))
		return true;
	for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return !strcmp(strings + d->d_un.d_val, needed);
	return false;
}

static bool needs(const struct link_map *map, const struct link_map *wanted)
{
	const char *strings = string_table(map);

	for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && is_called(wanted, strings + d->d_un.d_val))
			return true;
	return false;
}

/* True if `wanted` is `first`, or is in the closure of the DT_NEEDED entries of `first`. */
static bool is_needed(const struct link_map *first, const struct link_map *wanted)
{
	const struct link_map *in[OBJECTS_MAX] = { first };
	unsigned n = 1;

	for (unsigned i = 0; i < n; i++) {
		if (in[i] == wanted)
			return true;
		for (const struct link_map *map = first->l_next; map && n < OBJECTS_MAX; map = map->l_next) {
			unsigned k = 0;

			while (k < n && in[k] != map)
				k++;
			if (k == n && map->l_ld && needs(in[i], map))
				in[n++] = map;
		}
	}
	return false;
}

bool wmk_module_is_initial(const struct waymark_module *module)
{
	struct link_map *map = NULL, *first;
	Dl_info info;

	if (!dladdr1(module->anchor ? module->anchor : module, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return true;            /* statically linked */
	for (first = map; first->l_prev; first = first->l_prev)
		;
	return first == map || is_needed(first, map);
}
