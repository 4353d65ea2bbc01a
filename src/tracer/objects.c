/* SPDX-License-Identifier: MIT */
/*
 * objects.c - lists the loaded objects (see objects.h). Run by the helper, which must not call the loader and may not touch
 * memory that a dlclose() elsewhere unmaps meanwhile: it reads through the kernel, where that is an error and not a fault.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/objects.h"

#define MEMORY (-1)
#define MAPS_MAX (8u << 20)
#define OBJECTS_MAX 8192
#define PHDRS_MAX 64
#define TABLE_MAX (1u << 20)       /* of sections, and of their names */
#define NOTES_MAX 4096u

static char *read_maps(void)
{
	size_t cap = 65536, len = 0;
	char *text = malloc(cap);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (text && fd >= 0 && (n = read(fd, text + len, cap - len - 1)) > 0) {
		len += (size_t)n;
		if (cap - len > 1)
			continue;
		char *more = cap < MAPS_MAX ? realloc(text, cap *= 2) : NULL;

		if (!more)
			break;
		text = more;
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	if (text)
		text[len] = '\0';
	return text;
}

/* `fd` MEMORY: of this process, where /proc/self/mem is another's: behind a setuid(). */
static bool read_at(int fd, uint64_t at, void *to, size_t size)
{
	if (fd != MEMORY)
		return pread(fd, to, size, (off_t)at) == (ssize_t)size;
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)at, size };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

static void find_build_id(int mem, uint64_t at, uint64_t size, struct wmk_object *object)
{
	unsigned char notes[NOTES_MAX];
	Elf64_Nhdr note;

	if (size > sizeof(notes) || !read_at(mem, at, notes, size))
		return;
	for (uint64_t i = 0; i + sizeof(note) <= size;) {
		memcpy(&note, notes + i, sizeof(note));
		uint64_t name = i + sizeof(note), desc = name + (((uint64_t)note.n_namesz + 3) & ~3ull);

		if (desc > size || note.n_descsz > size - desc)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4) &&
		    note.n_descsz <= WMK_BUILD_ID_MAX) {
			memcpy(object->build_id, notes + desc, note.n_descsz);
			object->build_id_len = (uint8_t)note.n_descsz;
			return;
		}
		i = desc + (((uint64_t)note.n_descsz + 3) & ~3ull);
	}
}

/* .gnu_debuglink: a file name, padding to 4, a checksum. */
static void take_debug_link(int fd, const Elf64_Shdr *section, struct wmk_object *object)
{
	char link[sizeof(object->debug_link) + 8] = "";

	if (section->sh_size < 8 || section->sh_size > sizeof(link) - 1 || !read_at(fd, section->sh_offset, link, section->sh_size))
		return;
	memcpy(&object->debug_crc, link + section->sh_size - 4, 4);
	link[section->sh_size - 4] = '\0';
	snprintf(object->debug_link, sizeof(object->debug_link), "%.*s", (int)sizeof(object->debug_link) - 1, link);
}

/* `size` bytes at `at`, to free(); NULL: they are not there, or too many. */
static void *read_all(int fd, uint64_t at, uint64_t size)
{
	void *all = size && size <= TABLE_MAX ? malloc(size) : NULL;

	if (all && read_at(fd, at, all, size))
		return all;
	free(all);
	return NULL;
}

/* Only the file has sections. */
static void find_debug_link(const char *path, struct wmk_object *object)
{
	static const char wanted[] = ".gnu_debuglink";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Shdr *sections = NULL;
	char *names = NULL;
	Elf64_Ehdr head;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read_at(fd, 0, &head, sizeof(head)) && head.e_shentsize == sizeof(*sections) &&
	    head.e_shstrndx < head.e_shnum)
		sections = read_all(fd, head.e_shoff, head.e_shnum * sizeof(*sections));
	if (sections)
		names = read_all(fd, sections[head.e_shstrndx].sh_offset, sections[head.e_shstrndx].sh_size);
	for (unsigned i = 0; names && i < head.e_shnum; i++) {
		const uint64_t size = sections[head.e_shstrndx].sh_size, at = sections[i].sh_name;

		if (at < size && size - at >= sizeof(wanted) && !memcmp(names + at, wanted, sizeof(wanted))) {
			take_debug_link(fd, &sections[i], object);
			break;
		}
	}
	free(names);
	free(sections);
	close(fd);
}

/* An object whose first page lies at `start`? */
static bool describe(int mem, uint64_t start, const char *path, struct wmk_object *object)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t low = UINT64_MAX, high = 0;
	Elf64_Ehdr head;

	memset(object, 0, sizeof(*object));
	if (!read_at(mem, start, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    (head.e_type != ET_EXEC && head.e_type != ET_DYN) || head.e_phnum == 0 || head.e_phnum > PHDRS_MAX ||
	    head.e_phentsize != sizeof(phdrs[0]) || !read_at(mem, start + head.e_phoff, phdrs, head.e_phnum * sizeof(phdrs[0])))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD) {
			low = phdrs[i].p_vaddr < low ? phdrs[i].p_vaddr : low;
			high = phdrs[i].p_vaddr + phdrs[i].p_memsz > high ? phdrs[i].p_vaddr + phdrs[i].p_memsz : high;
		}
	if (low >= high)
		return false;
	low &= ~4095ull;
	object->base = start;
	object->memsz = high - low;
	object->is_pic = head.e_type == ET_DYN;
	for (unsigned i = 0; i < head.e_phnum && !object->build_id_len; i++)
		if (phdrs[i].p_type == PT_NOTE)
			find_build_id(mem, start + (phdrs[i].p_vaddr - low), phdrs[i].p_filesz, object);
	find_debug_link(path, object);
	object->path = strdup(path);
	return object->path != NULL;
}

/* "start-end perms offset dev inode   path": true for the beginning of a file that may hold code or lead to it. */
static bool parse_line(char *line, uint64_t *start, char **path)
{
	unsigned long long from, to, offset, inode;
	char perms[5];
	int at = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %*s %llu %n", &from, &to, perms, &offset, &inode, &at) < 5 || at == 0)
		return false;
	*path = line + at;
	*start = from;
	char *deleted = strstr(*path, " (deleted)");

	if (deleted)
		*deleted = '\0';
	/* Reading a mapped device is an access to the device. */
	if (!strncmp(*path, "/dev/", 5) && strncmp(*path, "/dev/shm/", 9))
		return false;
	return offset == 0 && inode != 0 && perms[0] == 'r' && **path == '/';
}

long wmk_objects_list(struct wmk_object **objects)
{
	char *text = read_maps(), *line, *next, *path;
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	long n = 0, cap = 0;
	uint64_t start;

	*objects = NULL;
	for (line = text; line && *line && n < OBJECTS_MAX; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(line, &start, &path))
			continue;
		if (n == cap) {
			struct wmk_object *more = realloc(*objects, (size_t)(cap = cap ? cap * 2 : 16) * sizeof(*more));

			if (!more)
				break;
			*objects = more;
		}
		if (describe(mem, start, path, &(*objects)[n]))
			n++;
	}
	free(text);
	if (mem >= 0)
		close(mem);
	return text ? n : -EACCES;
}

void wmk_objects_free(struct wmk_object *objects, long n)
{
	for (long i = 0; i < n; i++)
		free(objects[i].path);
	free(objects);
}
