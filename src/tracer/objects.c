/* SPDX-License-Identifier: MIT */
/*
 * objects.c - list the loaded objects (see objects.h). The listing of objects runs in the helper thread, which must not
 * call the loader, and must not access memory that a concurrent dlclose() may unmap. The helper thread reads memory
 * with a system call, which returns an error instead of a fault.
 *
 * main() waits for this list. To save time, the helper thread reads the data of an executable mapping from the mapped
 * file, if the path still refers to that file. Two reads of the file are enough: the beginning of the file (headers,
 * notes) and the end of the file (sections and their names). Other data of the file is read with separate system calls.
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

#include "base/array.h"
#include "tracer/objects.h"

#define MEMORY (-1)
#define NOT_OPENED (-2)
#define HEAD 1024u                 /* usually contains the headers and notes of an object */
#define TAIL 6144u                 /* sections, section names and debug link of a C library take 5 kB */
#define MAPS_MAX (8u << 20)
#define OBJECTS_MAX 8192
#define PHDRS_MAX 64
#define TABLE_MAX (1u << 20)       /* of sections, and of their names */
#define NOTES_MAX 4096u

static char *read_maps(void)
{
	size_t cap = 16384, len = 0;
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

/* `fd` MEMORY: the memory of this process, if /proc/self/mem cannot be opened (after setuid()) */
static bool read_at(int fd, uint64_t at, void *to, size_t size)
{
	if (fd != MEMORY)
		return pread(fd, to, size, (off_t)at) == (ssize_t)size;
	const struct iovec here = { to, size }, there = { (void *)(uintptr_t)at, size };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* A file or a memory region, with two cached windows. */
struct image {
	int fd;
	uint64_t base;                  /* of a memory region: its address */
	bool is_file;
	struct window {
		uint64_t at;
		size_t len;
		char *bytes;
	} window[2];
	/* small, because each new page costs a page fault while the application starts */
	char head[HEAD], tail[TAIL];
};

static void image_of(struct image *image, int fd, uint64_t base, bool is_file)
{
	image->fd = fd;
	image->base = base;
	image->is_file = is_file;
	image->window[0] = (struct window){ .bytes = image->head };
	image->window[1] = (struct window){ .bytes = image->tail };
}

static bool image_read(const struct image *image, uint64_t at, void *to, size_t size)
{
	for (int i = 0; i < 2; i++)
		if (size <= image->window[i].len && at >= image->window[i].at &&
		    at - image->window[i].at <= image->window[i].len - size) {
			memcpy(to, image->window[i].bytes + (at - image->window[i].at), size);
			return true;
		}
	return read_at(image->fd, image->base + at, to, size);
}

static void image_look(struct image *image, int i, uint64_t at, size_t size)
{
	struct window *window = &image->window[i];
	ssize_t n = pread(image->fd, window->bytes, size, (off_t)at);

	window->at = at;
	window->len = n > 0 ? (size_t)n : 0;
}

/* Open a regular file. O_NONBLOCK: the open of a device or a pipe does not wait, and such a file is closed at once. */
static bool image_open(struct image *image, const char *path, uint64_t *inode)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	*inode = st.st_ino;
	image_of(image, fd, 0, true);
	image_look(image, 0, 0, HEAD);
	return true;
}

static void find_build_id(const struct image *image, uint64_t at, uint64_t size, struct wmk_loaded_object *object)
{
	unsigned char notes[NOTES_MAX];
	Elf64_Nhdr note;

	if (size > sizeof(notes) || !image_read(image, at, notes, size))
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
static void take_debug_link(const struct image *file, const Elf64_Shdr *section, struct wmk_loaded_object *object)
{
	char link[sizeof(object->debug_link) + 8] = "";

	if (section->sh_size < 8 || section->sh_size > sizeof(link) - 1 ||
	    !image_read(file, section->sh_offset, link, section->sh_size))
		return;
	memcpy(&object->debug_crc, link + section->sh_size - 4, 4);
	link[section->sh_size - 4] = '\0';
	snprintf(object->debug_link, sizeof(object->debug_link), "%.*s", (int)sizeof(object->debug_link) - 1, link);
}

/*
 * Read `size` bytes at `at` into memory that the caller frees. Returns NULL if the data is not readable or is too
 * large.
 */
static void *read_all(const struct image *file, uint64_t at, uint64_t size)
{
	void *all = size && size <= TABLE_MAX ? malloc(size) : NULL;

	if (all && image_read(file, at, all, size))
		return all;
	free(all);
	return NULL;
}

/*
 * Find the debug link in the sections, which only the file contains. The sections, the section names and the debug link
 * are usually at the end of the file.
 */
static void find_debug_link(struct image *file, struct wmk_loaded_object *object)
{
	static const char wanted[] = ".gnu_debuglink";
	Elf64_Shdr *sections = NULL;
	char *names = NULL;
	Elf64_Ehdr head;

	if (image_read(file, 0, &head, sizeof(head)) && head.e_shentsize == sizeof(*sections) &&
	    head.e_shstrndx < head.e_shnum && head.e_shoff < INT64_MAX - UINT32_MAX) {
		const uint64_t end = head.e_shoff + head.e_shnum * sizeof(*sections);

		image_look(file, 1, end > TAIL ? end - TAIL : 0, TAIL);
		sections = read_all(file, head.e_shoff, head.e_shnum * sizeof(*sections));
	}
	if (sections)
		names = read_all(file, sections[head.e_shstrndx].sh_offset, sections[head.e_shstrndx].sh_size);
	for (unsigned i = 0; names && i < head.e_shnum; i++) {
		const uint64_t size = sections[head.e_shstrndx].sh_size, at = sections[i].sh_name;

		if (at < size && size - at >= sizeof(wanted) && !memcmp(names + at, wanted, sizeof(wanted))) {
			take_debug_link(file, &sections[i], object);
			break;
		}
	}
	free(names);
	free(sections);
}

/* Read the address range and the build id of the image. Returns false if the image is not a 64-bit ELF object. */
static bool take_headers(const struct image *image, struct wmk_loaded_object *object)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	uint64_t low = UINT64_MAX, high = 0;
	Elf64_Ehdr head;

	if (!image_read(image, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || (head.e_type != ET_EXEC && head.e_type != ET_DYN) ||
	    head.e_phnum == 0 || head.e_phnum > PHDRS_MAX || head.e_phentsize != sizeof(phdrs[0]) ||
	    !image_read(image, head.e_phoff, phdrs, head.e_phnum * sizeof(phdrs[0])))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++)
		if (phdrs[i].p_type == PT_LOAD) {
			low = phdrs[i].p_vaddr < low ? phdrs[i].p_vaddr : low;
			high = phdrs[i].p_vaddr + phdrs[i].p_memsz > high ? phdrs[i].p_vaddr + phdrs[i].p_memsz : high;
		}
	if (low >= high)
		return false;
	low &= ~4095ull;
	object->memsz = high - low;
	object->is_pic = head.e_type == ET_DYN;
	for (unsigned i = 0; i < head.e_phnum && !object->build_id_len; i++)
		if (phdrs[i].p_type == PT_NOTE)
			find_build_id(image, image->is_file ? phdrs[i].p_offset : phdrs[i].p_vaddr - low,
				      phdrs[i].p_filesz, object);
	return true;
}

/* A line of /proc/self/maps: "start-end perms offset dev inode   path". */
struct mapping {
	uint64_t start, offset, inode;  /* not the device: some file systems report another one in stat() */
	char perms[4];
	char *path;                     /* to the end of the line */
};

/* Parse a number in the base `base`, followed by the character `behind`. */
static bool take_number(char **at, int base, char behind, uint64_t *value)
{
	char *end;

	*value = strtoull(*at, &end, base);
	if (end == *at || *end != behind)
		return false;
	*at = end + 1;
	return true;
}

/* no sscanf(), which is slow: there are many lines, and main() waits */
static bool mapping_parse(char *line, struct mapping *m)
{
	uint64_t end;

	if (!take_number(&line, 16, '-', &m->start) || !take_number(&line, 16, ' ', &end) || strnlen(line, 5) < 5 ||
	    line[4] != ' ')
		return false;
	memcpy(m->perms, line, 4);
	line += 5;
	if (!take_number(&line, 16, ' ', &m->offset) || !(line = strchr(line, ' ')))
		return false;
	line++;
	if (!take_number(&line, 10, ' ', &m->inode))
		return false;
	m->path = line + strspn(line, " ");
	return true;
}

/* True if the line maps the beginning of a file that may be an object. The loader makes no shared mappings. */
static bool is_beginning(struct mapping *m)
{
	char *deleted = strstr(m->path, " (deleted)");

	if (deleted)
		*deleted = '\0';
	/* Skip devices, because a read of a device file or of its mapping is an access to the device. */
	if (!strncmp(m->path, "/dev/", 5) && strncmp(m->path, "/dev/shm/", 9))
		return false;
	return m->offset == 0 && m->inode != 0 && m->perms[0] == 'r' && m->perms[3] == 'p' && *m->path == '/';
}

struct object_listing {
	char *next;                     /* the current line */
	int mem;
	struct image image;             /* too large for the stack */
	struct wmk_loaded_object *objects;
	long n;
	uint32_t cap;
};

static char *line_take(char **next)
{
	char *line = *next, *end = line ? strchr(line, '\n') : NULL;

	*next = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line && *line ? line : NULL;
}

/*
 * True if `first`, or one of the following lines of the same file, is an executable mapping. A line with offset 0
 * begins the next object, so the line ends the search.
 */
static bool is_executed(const struct mapping *first, char *rest)
{
	struct mapping m = *first;

	while (m.inode == first->inode) {
		if (m.perms[2] == 'x')
			return true;
		if (!rest || !mapping_parse(rest, &m) || m.offset == 0)
			return false;
		rest = strchr(rest, '\n');
		rest = rest ? rest + 1 : NULL;
	}
	return false;
}

/*
 * Describe an object from its memory; read the debug link from the file if the address range and the build id of the
 * file agree.
 */
static bool describe_memory(struct object_listing *l, const struct mapping *m, struct wmk_loaded_object *object)
{
	struct wmk_loaded_object file;
	uint64_t inode;

	if (l->mem == NOT_OPENED)
		l->mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	image_of(&l->image, l->mem, m->start, false);
	if (!take_headers(&l->image, object))
		return false;
	if (!image_open(&l->image, m->path, &inode))
		return true;
	memset(&file, 0, sizeof(file));
	if (take_headers(&l->image, &file) && file.memsz == object->memsz &&
	    file.build_id_len == object->build_id_len && !memcmp(file.build_id, object->build_id, file.build_id_len))
		find_debug_link(&l->image, object);
	close(l->image.fd);
	return true;
}

static bool describe(struct object_listing *l, const struct mapping *m, struct wmk_loaded_object *object)
{
	uint64_t inode = 0;
	bool is_file = is_executed(m, l->next) && image_open(&l->image, m->path, &inode), found = false;

	memset(object, 0, sizeof(*object));
	object->base = m->start;
	object->inode = m->inode;
	if (is_file && inode == m->inode) {
		found = take_headers(&l->image, object);
		if (found)
			find_debug_link(&l->image, object);
	}
	if (is_file)
		close(l->image.fd);
	if (!is_file || inode != m->inode)
		found = describe_memory(l, m, object);
	object->path = found ? strdup(m->path) : NULL;
	return object->path != NULL;
}

static bool listing_room(struct object_listing *l)
{
	void *objects = wmk_array_room(l->objects, (uint32_t)l->n, &l->cap, sizeof(*l->objects));

	if (objects)
		l->objects = objects;
	return objects != NULL;
}

long wmk_objects_list(struct wmk_loaded_object **objects)
{
	struct object_listing *l = calloc(1, sizeof(*l));
	char *text = l ? read_maps() : NULL, *line;
	long n = text ? 0 : -EACCES;
	struct mapping m;

	*objects = NULL;
	if (text) {
		l->next = text;
		l->mem = NOT_OPENED;
		while ((line = line_take(&l->next)) != NULL && l->n < OBJECTS_MAX && listing_room(l))
			if (mapping_parse(line, &m) && is_beginning(&m) && describe(l, &m, &l->objects[l->n]))
				l->n++;
		if (l->mem >= 0)
			close(l->mem);
		*objects = l->objects;
		n = l->n;
	}
	free(text);
	free(l);
	return n;
}

bool wmk_object_is_same(const struct wmk_loaded_object *a, const struct wmk_loaded_object *b)
{
	return a->base == b->base && a->memsz == b->memsz && a->inode == b->inode &&
	       a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, a->build_id_len) &&
	       !strcmp(a->path, b->path);
}

void wmk_objects_free(struct wmk_loaded_object *objects, long n)
{
	for (long i = 0; i < n; i++)
		free(objects[i].path);
	free(objects);
}
