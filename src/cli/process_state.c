/* SPDX-License-Identifier: MIT */
/*
 * process_state.c - see process_state.h.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cli/process_state.h"

#define FILE_MAX (4u << 20)
#define CHUNK 65536u
#define KNOWN_MAX 64u

/* Read at most FILE_MAX bytes of /proc/PID/FILE, and append a NUL byte. NULL: cannot be read. The caller frees it. */
static char *read_proc(pid_t pid, const char *file, size_t *len)
{
	char path[64], *buf = NULL;
	size_t cap = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	*len = 0;
	while (fd >= 0 && *len < FILE_MAX) {
		if (cap - *len < CHUNK) {
			char *more = realloc(buf, cap + 2 * CHUNK + 1);

			n = -1;
			if (!more)
				break;
			buf = more;
			cap += 2 * CHUNK;
		}
		n = read(fd, buf + *len, cap - *len);
		if (n <= 0)
			break;
		*len += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(buf);
		return NULL;
	}
	if (buf)
		buf[*len] = '\0';
	return buf;
}

bool wmk_proc_other_user(pid_t pid)
{
	size_t len;
	char *status = read_proc(pid, "status", &len), *line = status ? strstr(status, "\nUid:") : NULL;
	unsigned real;
	bool other = line && sscanf(line + 5, "%u", &real) == 1 && real != getuid();

	free(status);
	return other;
}

/*
 * Read a numeric field of /proc/PID/stat; fields are counted from 1, as in proc(5). The field must come after the name
 * (field 2), because the name may contain any bytes. False: no such process.
 */
static bool stat_number(pid_t pid, int number, uint64_t *value)
{
	size_t len;
	char *stat = read_proc(pid, "stat", &len), *p = stat ? strrchr(stat, ')') : NULL;

	for (int field = 2; p && field < number; field++)
		p = strchr(p + 1, ' ');
	if (p)
		*value = strtoull(p + 1, NULL, 10);
	free(stat);
	return p != NULL;
}

pid_t wmk_proc_parent(pid_t pid)
{
	uint64_t parent;

	return stat_number(pid, 4, &parent) ? (pid_t)parent : 0;
}

/*
 * Return whether the environment is readable. The end address of the environment, field 51 of /proc/PID/stat, is 0
 * during exec, and also without permission.
 */
static bool text_is_there(pid_t pid)
{
	uint64_t end;

	return stat_number(pid, 51, &end) && end != 0;
}

/* (A symbolic link in the path can resolve differently here; then the result may be false instead of true.) */
static bool hides(pid_t pid, const char *directory)
{
	struct stat ours, its;
	char path[192];

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, directory);
	if (*directory != '/' || stat(directory, &ours) != 0)
		return false;
	return stat(path, &its) == 0 ? ours.st_dev != its.st_dev || ours.st_ino != its.st_ino : errno == ENOENT;
}

bool wmk_proc_environment(pid_t pid, struct wmk_proc_environment *environment)
{
	static const char rundir[] = "WAYMARK_RUNDIR=", disable[] = "WAYMARK_DISABLE=";
	size_t len;
	char *text, *maps;
	bool mapped;

	memset(environment, 0, sizeof(*environment));
	environment->early = !text_is_there(pid);
	if (environment->early)
		return false;
	text = read_proc(pid, "environ", &len);
	environment->other_user = wmk_proc_other_user(pid);
	if (!text)
		return false;
	for (const char *p = text; p < text + len; p += strlen(p) + 1) {
		if (!environment->has_rundir && strncmp(p, rundir, sizeof(rundir) - 1) == 0) {
			environment->has_rundir = true;
			snprintf(environment->rundir, sizeof(environment->rundir), "%s", p + sizeof(rundir) - 1);
		} else if (strncmp(p, disable, sizeof(disable) - 1) == 0) {
			p += sizeof(disable) - 1;
			environment->disabled = *p && strcmp(p, "0") != 0;
		}
	}
	free(text);
	environment->hides_rundir = environment->has_rundir && hides(pid, environment->rundir);
	maps = read_proc(pid, "maps", &len);
	mapped = maps && len && (strstr(maps, "/libwaymark.so") || wmk_proc_use(pid) == WMK_PROC_USED);
	free(maps);
	return mapped;
}

enum wmk_proc_life wmk_proc_life(pid_t pid)
{
	static const char *const lines[] = { "\nUid:", "\nGid:" };
	size_t len;
	char *status = read_proc(pid, "status", &len), *line, state;
	enum wmk_proc_life life = WMK_PROC_GONE;

	line = status ? strstr(status, "\nState:") : NULL;
	if (line && sscanf(line + 7, " %c", &state) == 1 && state != 'Z' && state != 'X')
		life = WMK_PROC_PLAIN;
	for (unsigned i = 0; i < 2 && line; i++) {
		const char *p = strstr(status, lines[i]);
		unsigned real, effective;

		if (p && sscanf(p + 5, "%u %u", &real, &effective) == 2 && real != effective)
			life = WMK_PROC_SET_ID;
	}
	free(status);
	return life;
}

static bool fd_holds(int fd, const char *const *words)
{
	struct stat st;
	bool found = false;
	void *map;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return false;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return false;
	for (; *words && !found; words++)
		found = memmem(map, (size_t)st.st_size, *words, strlen(*words) + 1) != NULL;
	munmap(map, (size_t)st.st_size);
	return found;
}

enum wmk_proc_use wmk_proc_use(pid_t pid)
{
	static const char *const words[] = { "libwaymark.so.0", "libwaymark.so", "waymark_sites", NULL };
	enum wmk_proc_use use;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return WMK_PROC_UNREADABLE;
	use = fd_holds(fd, words) ? WMK_PROC_USED : WMK_PROC_UNUSED;
	close(fd);
	return use;
}

/* Return whether the ELF file has a tracepoint section. */
static bool elf_has_sites(int fd)
{
	char names[65536];
	Elf64_Ehdr head;
	Elf64_Shdr strings;
	size_t size;
	ssize_t n;

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(strings) ||
	    head.e_shoff > INT64_MAX / 2 ||
	    pread(fd, &strings, sizeof(strings), (off_t)(head.e_shoff + (uint64_t)head.e_shstrndx * sizeof(strings))) !=
	    (ssize_t)sizeof(strings) || strings.sh_offset > INT64_MAX / 2)
		return false;
	size = strings.sh_size < sizeof(names) ? (size_t)strings.sh_size : sizeof(names);
	n = pread(fd, names, size, (off_t)strings.sh_offset);
	return n > 0 && memmem(names, (size_t)n, "waymark_sites", sizeof("waymark_sites"));
}

bool wmk_proc_file_has_sites(const char *path, unsigned major, unsigned minor, uint64_t inode)
{
	/*
	 * The table `known` caches results, because scripts start the same programs repeatedly. If a file is rewritten
	 * in place, its change time (ctime) changes.
	 */
	static struct known {
		dev_t dev;
		uint64_t inode;
		struct timespec changed;
		bool sites;
	} known[KNOWN_MAX];
	struct known *one = &known[inode % KNOWN_MAX];
	struct stat st;
	bool sites = false;
	int fd;

	if (path[0] != '/')
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == inode && st.st_dev == makedev(major, minor)) {
		if (one->inode != inode || one->dev != st.st_dev || one->changed.tv_sec != st.st_ctim.tv_sec ||
		    one->changed.tv_nsec != st.st_ctim.tv_nsec)
			*one = (struct known){ st.st_dev, inode, st.st_ctim, elf_has_sites(fd) };
		sites = one->sites;
	}
	close(fd);
	return sites;
}
