/* SPDX-License-Identifier: MIT */
/*
 * objects.c - addresses in object files (see objects.h).
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/objects.h"

/* libdwfl maps each object here, because addresses of processes are converted to distances. */
#define BASE UINT64_C(0x100000)

struct wmk_object_file {
	struct wmk_object_file_id id;
	bool was_opened;
	Dwfl *dwfl;                    /* NULL: the object is not found */
	Dwfl_Module *module;
};

static bool has_build_id(int fd, const struct wmk_object_file_id *id)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	const void *bits;
	const ssize_t len = elf ? dwelf_elf_gnu_build_id(elf, &bits) : -1;
	const bool is_same = len == id->build_id_len && !memcmp(bits, id->build_id, (size_t)len);

	elf_end(elf);
	return is_same;
}

static int find_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
	const struct wmk_object_file *object = *data;
	const int fd = *object->id.path == '/' ? open(object->id.path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0 && (!object->id.build_id_len || has_build_id(fd, &object->id))) {
		*file_name = strdup(object->id.path);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return object->id.build_id_len ? dwfl_build_id_find_elf(module, data, name, base, file_name, elf) : -1;
}

static void open_object(struct wmk_object_file *object)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = find_elf,
						  .find_debuginfo = dwfl_standard_find_debuginfo };
	void **data;
	GElf_Addr bias;

	object->was_opened = true;
	elf_version(EV_CURRENT);
	object->dwfl = dwfl_begin(&callbacks);
	if (!object->dwfl)
		return;
	dwfl_report_begin(object->dwfl);
	object->module = dwfl_report_module(object->dwfl, object->id.path, BASE, BASE + object->id.size);
	if (object->module) {
		dwfl_module_info(object->module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
		*data = object;
		if (object->id.build_id_len)
			dwfl_module_report_build_id(object->module, object->id.build_id, object->id.build_id_len, 0);
	}
	dwfl_report_end(object->dwfl, NULL, NULL);
	if (object->module && dwfl_module_getelf(object->module, &bias))
		return;
	dwfl_end(object->dwfl);
	object->dwfl = NULL;
}

static bool is_same(const struct wmk_object_file_id *a, const struct wmk_object_file_id *b)
{
	return a->size == b->size && a->build_id_len == b->build_id_len &&
	       !memcmp(a->build_id, b->build_id, a->build_id_len) && !strcmp(a->path, b->path);
}

struct wmk_object_file *wmk_object_files_get(struct wmk_object_files *objects, const struct wmk_object_file_id *id)
{
	struct wmk_object_file **all, *made;

	for (uint32_t i = 0; i < objects->n; i++)
		if (is_same(&objects->objects[i]->id, id))
			return objects->objects[i];
	all = wmk_array_room(objects->objects, objects->n, &objects->cap, sizeof(*all));
	made = all ? calloc(1, sizeof(*made)) : NULL;
	objects->objects = all ? all : objects->objects;
	if (made) {
		made->id = *id;
		made->id.path = strdup(id->path);
	}
	if (!made || !made->id.path) {
		free(made);
		return NULL;
	}
	return all[objects->n++] = made;
}

void wmk_object_files_release(struct wmk_object_files *objects)
{
	for (uint32_t i = 0; i < objects->n; i++) {
		if (objects->objects[i]->dwfl)
			dwfl_end(objects->objects[i]->dwfl);
		free(objects->objects[i]->id.path);
		free(objects->objects[i]);
	}
	free(objects->objects);
}

/* ── functions ───────────────────────────────────────────────────────────────────────────────────────── */

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* Set frame->file and frame->line to the source line that calls the inlined function. */
static void take_call(Dwarf_Die *inlined, Dwarf_Die *unit, struct wmk_read_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	size_t n;

	frame->file = NULL;
	frame->line = 0;
	if (dwarf_getsrcfiles(unit, &files, &n) == 0 &&
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0)
		frame->file = base_name(dwarf_filesrc(files, number, NULL, NULL));
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0)
		frame->line = (int)number;
}

/* Add the inlined functions at the address. *last: place of the address in the function that is not inlined. */
static unsigned add_inlined(Dwfl_Module *module, Dwarf_Addr address, struct wmk_read_frame *frames, unsigned max,
			    struct wmk_read_frame *last)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *scopes = NULL;
	int n = unit ? dwarf_getscopes(unit, address - bias, &innermost) : 0;
	unsigned n_frames = 0;

	/* (the scopes of dwarf_getscopes() end with those of the definition of an inlined function) */
	if (n > 0)
		n = dwarf_getscopes_die(&innermost[0], &scopes);
	for (int i = 0; i < n && n_frames < max; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			break;
		if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		frames[n_frames] = *last;
		frames[n_frames].function = dwarf_diename(&scopes[i]);
		frames[n_frames].is_inlined = true;
		/* (a tracepoint consists of inlined functions of Waymark) */
		n_frames += frames[n_frames].function &&
			    (n_frames || strncmp(frames[n_frames].function, "wmk_", 4) != 0);
		take_call(&scopes[i], unit, last);
	}
	free(innermost);
	free(scopes);
	return n_frames;
}

unsigned wmk_object_file_find(struct wmk_object_file *object, uint64_t distance, struct wmk_read_frame *frames,
			      unsigned max)
{
	const Dwarf_Addr address = BASE + distance;
	struct wmk_read_frame place = { .file = NULL };
	GElf_Sym symbol;
	GElf_Off offset;
	Dwfl_Line *line;
	unsigned n;

	if (!object->was_opened)
		open_object(object);
	if (!object->dwfl || distance >= object->id.size || !max)
		return 0;
	line = dwfl_module_getsrc(object->module, address);
	if (line)
		place.file = base_name(dwfl_lineinfo(line, NULL, &place.line, NULL, NULL, NULL));
	n = add_inlined(object->module, address, frames, max - 1, &place);
	place.function = dwfl_module_addrinfo(object->module, address, &offset, &symbol, NULL, NULL, NULL);
	if (place.function)
		place.offset = offset;
	else
		place.function = base_name(object->id.path);
	if (!place.file)
		place.file = base_name(object->id.path);
	if (!n && !place.offset && place.function == base_name(object->id.path)) {
		/* (no symbol: the object, and the distance from its begin) */
		place.offset = distance;
		place.file = NULL;
	}
	frames[n++] = place;
	return n;
}
