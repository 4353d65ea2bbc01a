/* SPDX-License-Identifier: MIT */
/*
 * elf_file.c - symbols, segments and SDT notes of an ELF file (see elf_file.h).
 *
 * libelf limits its data to the size of the file; this file checks the content (addresses, names, descriptors). A file
 * of the other byte order cannot run on this machine, so the function rejects the file and never swaps bytes.
 */
#include "kernel/probe/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "kernel/event/near_names.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HOST_DATA ELFDATA2LSB
#else
#define HOST_DATA ELFDATA2MSB
#endif

struct wmk_elf {
	int fd;
	Elf *elf;
	unsigned machine, address_size;
	size_t n_segments;
	Elf_Scn *symbols;        /* .symtab, or else .dynsym; NULL: neither */
	bool is_stripped;
	size_t looks;            /* symbols that all searches have examined */
	char path[];
};

unsigned wmk_elf_host(void)
{
#if defined(__x86_64__)
	return EM_X86_64;
#elif defined(__aarch64__)
	return EM_AARCH64;
#else
	return EM_NONE;
#endif
}

static bool runs_here(unsigned machine)
{
	return machine == wmk_elf_host() || (machine == EM_386 && wmk_elf_host() == EM_X86_64);
}

/* Report why the file is not ELF. A script is the most common file that is not ELF. */
static int no_elf(const struct wmk_elf *elf)
{
	char begin[2] = "";

	if (pread(elf->fd, begin, 2, 0) == 2 && begin[0] == '#' && begin[1] == '!')
		return wmk_errorx(-ENOEXEC, "%s is a script: probe its interpreter instead",
				  elf->path);
	return wmk_errorx(-ENOEXEC, "%s is not an ELF file (a program or a shared library)", elf->path);
}

static Elf_Data *section_data(Elf_Scn *section, GElf_Shdr *header)
{
	if (!section || !gelf_getshdr(section, header) || header->sh_size > WMK_ELF_SECTION_MAX)
		return NULL;
	return elf_getdata(section, NULL);
}

struct strings {
	const char *text;
	size_t size;             /* 0: no strings; otherwise the last byte is NUL */
};

/*
 * elf_strptr() reads a string table of any size. To find the end of a string, elf_strptr() searches backwards from the
 * end of the table. elf_file.c therefore reads strings without elf_strptr().
 */
static struct strings strings_at(struct wmk_elf *elf, size_t index)
{
	GElf_Shdr header;
	const Elf_Data *data = section_data(elf_getscn(elf->elf, index), &header);

	if (!data || header.sh_type != SHT_STRTAB || !data->d_buf || !data->d_size ||
	    ((const char *)data->d_buf)[data->d_size - 1])
		return (struct strings){ .size = 0 };
	return (struct strings){ .text = data->d_buf, .size = data->d_size };
}

static const char *string_at(const struct strings *strings, size_t at)
{
	return at < strings->size ? strings->text + at : NULL;
}

static Elf_Scn *find_section(struct wmk_elf *elf, uint32_t type, const char *name, GElf_Shdr *header)
{
	struct strings names = { .size = 0 };
	size_t index;

	if (name && elf_getshdrstrndx(elf->elf, &index) < 0)
		return NULL;
	if (name)
		names = strings_at(elf, index);
	for (Elf_Scn *section = elf_nextscn(elf->elf, NULL); section; section = elf_nextscn(elf->elf, section)) {
		const char *is;

		if (!gelf_getshdr(section, header) || header->sh_type != type)
			continue;
		is = string_at(&names, header->sh_name);
		if (!name || (is && strcmp(is, name) == 0))
			return section;
	}
	return NULL;
}

static int read_header(struct wmk_elf *elf)
{
	GElf_Ehdr header;
	GElf_Shdr section;

	if (elf_kind(elf->elf) != ELF_K_ELF || !gelf_getehdr(elf->elf, &header))
		return no_elf(elf);
	if (header.e_ident[EI_DATA] != HOST_DATA || !runs_here(header.e_machine))
		return wmk_errorx(-ENOEXEC, "%s was built for another architecture (ELF machine %u)", elf->path,
				  header.e_machine);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return wmk_errorx(-ENOEXEC, "%s is neither a program nor a shared library (perhaps an object file)",
				  elf->path);
	if (elf_getphdrnum(elf->elf, &elf->n_segments) < 0)
		return wmk_error(-EPROTO, "the program headers of %s are damaged", elf->path);
	elf->machine = header.e_machine;
	elf->address_size = header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8;
	elf->symbols = find_section(elf, SHT_SYMTAB, NULL, &section);
	if (!elf->symbols) {
		elf->is_stripped = true;
		elf->symbols = find_section(elf, SHT_DYNSYM, NULL, &section);
	}
	return 0;
}

/* Opening a device can have effects (a watchdog starts), so this function checks the type first. */
static int open_regular(struct wmk_elf *elf)
{
	const int handle = open(elf->path, O_PATH | O_CLOEXEC);
	char path[40];
	struct stat st;
	int err = 0;

	if (handle < 0)
		return wmk_error(-errno, "cannot open %s", elf->path);
	if (fstat(handle, &st) < 0)
		err = wmk_error(-errno, "cannot read the type of %s", elf->path);
	else if (!S_ISREG(st.st_mode))
		err = wmk_errorx(-EINVAL, "%s is not a regular file", elf->path);
	if (err == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
		elf->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (elf->fd < 0)
			err = wmk_error(-errno, "cannot open %s", elf->path);
	}
	close(handle);
	return err;
}

static int open_file(struct wmk_elf *elf)
{
	const int err = open_regular(elf);

	if (err < 0)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return wmk_error(-ENOTSUP, "libelf is too old: it does not support the ELF version of this program");
	elf->elf = elf_begin(elf->fd, ELF_C_READ, NULL);
	return elf->elf ? read_header(elf) : no_elf(elf);
}

int wmk_elf_open(const char *path, struct wmk_elf **elf)
{
	const size_t len = strlen(path) + 1;
	struct wmk_elf *made = calloc(1, sizeof(*made) + len);
	int err;

	if (!made)
		return wmk_error(-ENOMEM, "cannot open %s", path);
	made->fd = -1;
	memcpy(made->path, path, len);
	err = open_file(made);
	if (err < 0) {
		wmk_elf_close(made);
		return err;
	}
	*elf = made;
	return 0;
}

void wmk_elf_close(struct wmk_elf *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf);
}

const char *wmk_elf_path(const struct wmk_elf *elf)
{
	return elf->path;
}

unsigned wmk_elf_machine(const struct wmk_elf *elf)
{
	return elf->machine;
}

bool wmk_elf_is_stripped(const struct wmk_elf *elf)
{
	return elf->is_stripped;
}

int wmk_elf_offset(struct wmk_elf *elf, uint64_t address, bool code, uint64_t *offset)
{
	for (size_t i = 0; i < elf->n_segments && i < INT32_MAX; i++) {
		GElf_Phdr segment;

		if (!gelf_getphdr(elf->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    (code && !(segment.p_flags & PF_X)))
			continue;
		if (address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		if (__builtin_add_overflow(address - segment.p_vaddr, segment.p_offset, offset) || *offset > INT64_MAX)
			continue;
		return 0;
	}
	return -ERANGE;
}

/* ── symbols ─────────────────────────────────────────────────────────────────────────────────────────── */

/*
 * Call `one` for each symbol with a name. Returns the first result of `one` other than 0; -E2BIG: the limit of searches
 * in one file is reached.
 */
static int each_symbol(struct wmk_elf *elf, int (*one)(void *data, const char *name, const GElf_Sym *symbol),
		       void *data)
{
	GElf_Shdr header;
	Elf_Data *table = section_data(elf->symbols, &header);
	struct strings names;
	size_t n;

	if (!table || header.sh_entsize == 0)
		return 0;
	names = strings_at(elf, header.sh_link);
	n = table->d_size / gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 1; i < n && i < WMK_ELF_SYMBOLS_MAX; i++) {
		GElf_Sym symbol;
		const char *name;
		int stop;

		if (elf->looks == WMK_ELF_LOOKS_MAX)
			return -E2BIG;
		elf->looks++;
		if (!gelf_getsym(table, (int)i, &symbol))
			break;
		name = string_at(&names, symbol.st_name);
		stop = name && name[0] ? one(data, name, &symbol) : 0;
		if (stop)
			return stop;
	}
	return 0;
}

/* The symbols of one name. A global symbol hides local symbols of the same name. */
struct meaning {
	const char *name;
	GElf_Sym symbol;           /* valid if n_local + n_global > 0 */
	unsigned n_local, n_global;   /* at different addresses */
	bool is_undefined;
	int err;                   /* of the search */
};

static int mean_one(void *data, const char *name, const GElf_Sym *symbol)
{
	struct meaning *meaning = data;
	const bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	const unsigned before = meaning->n_local + meaning->n_global;
	const unsigned kind = GELF_ST_TYPE(symbol->st_info);

	if (strcmp(name, meaning->name) != 0 || kind == STT_FILE || kind == STT_SECTION)
		return 0;
	if (symbol->st_shndx == SHN_UNDEF) {
		meaning->is_undefined = true;
		return 0;
	}
	if ((before && symbol->st_value == meaning->symbol.st_value) || (is_local && meaning->n_global))
		return 0;
	meaning->symbol = *symbol;
	meaning->n_global += !is_local;
	meaning->n_local = is_local ? meaning->n_local + 1 : 0;
	return 0;
}

static struct meaning find_meaning(struct wmk_elf *elf, const char *name)
{
	struct meaning meaning = { .name = name };

	meaning.err = each_symbol(elf, mean_one, &meaning);
	return meaning;
}

int wmk_elf_address(struct wmk_elf *elf, const char *name, uint64_t *address)
{
	const struct meaning meaning = find_meaning(elf, name);

	if (meaning.err < 0)
		return meaning.err;
	if (meaning.n_local + meaning.n_global != 1)
		return meaning.n_local + meaning.n_global ? -ENOTUNIQ : -ENOENT;
	*address = meaning.symbol.st_value;
	return 0;
}

static int offer_function(void *data, const char *name, const GElf_Sym *symbol)
{
	struct wmk_names_near *near = data;

	if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF)
		wmk_names_near_offer(near, name);
	return near->left ? 0 : 1;
}

static int no_symbol(struct wmk_elf *elf, const char *name)
{
	struct wmk_names_near near;
	char words[128];

	wmk_names_near_init(&near, name, WMK_ELF_NEAREST_MAX);
	each_symbol(elf, offer_function, &near);
	wmk_nearest_text(&near.best, words, sizeof(words));
	if (words[0])
		wmk_errorx(-ENOENT, "did you mean %s?", words);
	else if (elf->is_stripped)
		wmk_errorx(-ENOENT,
			   "it is stripped (no .symtab), so only exported functions have names: install its "
			   "debug version, or give an address");
	else
		wmk_errorx(-ENOENT, "nm %s lists its functions", elf->path);
	return wmk_error_add(-ENOENT, "%s has no function %s", elf->path, name);
}

int wmk_elf_function(struct wmk_elf *elf, const char *name, struct wmk_elf_place *place)
{
	const struct meaning meaning = find_meaning(elf, name);
	const unsigned n = meaning.n_local + meaning.n_global, kind = GELF_ST_TYPE(meaning.symbol.st_info);

	if (meaning.err < 0)
		return wmk_errorx(meaning.err, "%s has too many symbols to search for %s", elf->path,
				  name);
	if (n == 0 && meaning.is_undefined)
		return wmk_errorx(-ENOENT, "%s calls %s but does not define it: name the library that does", elf->path,
				  name);
	if (n == 0)
		return no_symbol(elf, name);
	if (n > 1)
		return wmk_errorx(-ENOTUNIQ, "%s has %u functions named %s: give the address of one (nm %s)", elf->path,
				  n, name, elf->path);
	if (kind == STT_GNU_IFUNC)
		return wmk_errorx(-EINVAL, "%s of %s is an indirect function (IFUNC): probe the function that it "
					   "selects",
				  name, elf->path);
	if ((kind != STT_FUNC && kind != STT_NOTYPE) ||
	    wmk_elf_offset(elf, meaning.symbol.st_value, true, &place->offset) < 0)
		return wmk_errorx(-EINVAL, "%s of %s is not a function", name, elf->path);
	place->address = meaning.symbol.st_value;
	place->size = meaning.symbol.st_size;
	return 0;
}

/* ── SDT notes ───────────────────────────────────────────────────────────────────────────────────────── */

static uint64_t take_address(const struct wmk_elf *elf, const uint8_t *at)
{
	return elf->address_size == 8 ? wmk_get64(at) : wmk_get32(at);
}

/* Return the next of several consecutive strings; NULL: the string has no terminating NUL. */
static const char *take_text(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *begin = *at, *nul = begin < end ? memchr(begin, 0, (size_t)(end - begin)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return (const char *)begin;
}

/*
 * Parse a descriptor: the address of the place, the address of .stapsdt.base at link time, the address of the
 * semaphore, three strings. If .stapsdt.base has another address in the file, prelink has moved all addresses by the
 * difference.
 */
static bool read_note(const struct wmk_elf *elf, const uint8_t *at, size_t len, const uint64_t *base,
		      struct wmk_elf_sdt *note)
{
	const uint8_t *end = at + len;
	const size_t size = elf->address_size;
	uint64_t moved;

	if (len < 3 * size)
		return false;
	moved = base ? *base - take_address(elf, at + size) : 0;
	note->address = take_address(elf, at) + moved;
	note->semaphore = take_address(elf, at + 2 * size);
	if (note->semaphore)
		note->semaphore += moved;
#ifdef WMK_PLANTED_BUG_ELF
	end += 8;
#endif
	at += 3 * size;
	note->provider = take_text(&at, end);
	note->name = note->provider ? take_text(&at, end) : NULL;
	note->arguments = note->name ? take_text(&at, end) : NULL;
	return note->arguments && note->provider[0] && note->name[0];
}

int wmk_elf_each_sdt(struct wmk_elf *elf, int (*one)(void *data, const struct wmk_elf_sdt *note), void *data)
{
	GElf_Shdr header, base_header;
	Elf_Data *notes = section_data(find_section(elf, SHT_NOTE, ".note.stapsdt", &header), &header);
	const bool has_base = find_section(elf, SHT_PROGBITS, ".stapsdt.base", &base_header) != NULL;
	const uint64_t base = has_base ? base_header.sh_addr : 0;
	size_t at = 0, name_at, text_at;
	GElf_Nhdr head;

	if (!notes || !notes->d_buf)
		return 0;
	while ((at = gelf_getnote(notes, at, &head, &name_at, &text_at)) > 0) {
		const uint8_t *bytes = notes->d_buf;
		struct wmk_elf_sdt note;
		int stop;

		if (name_at > notes->d_size || head.n_namesz > notes->d_size - name_at || text_at > notes->d_size ||
		    head.n_descsz > notes->d_size - text_at)
			break;
		if (head.n_type != 3 || head.n_namesz != sizeof("stapsdt") ||
		    memcmp(bytes + name_at, "stapsdt", sizeof("stapsdt")) != 0)
			continue;
		stop = read_note(elf, bytes + text_at, head.n_descsz, has_base ? &base : NULL, &note) ? one(data, &note)
												      : 0;
		if (stop)
			return stop;
	}
	return 0;
}
