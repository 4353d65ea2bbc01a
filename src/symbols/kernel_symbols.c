/* SPDX-License-Identifier: MIT */
/*
 * kernel_symbols.c - functions of the kernel (see kernel_symbols.h). A line is "ffffffff81000000 T _text [module]".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "symbols/kernel_symbols.h"

struct wmk_kernel_function {
	uint64_t address;
	char *name;
	char module[64];               /* "[module]", or "" */
};

/* False: the line does not describe a function. */
static bool parse(const char *line, uint64_t *address, char *name, char *module)
{
	char type;

	*module = '\0';
	return sscanf(line, "%" SCNx64 " %c %255s %63s", address, &type, name, module) >= 3 && strchr("tTwW", type);
}

static int by_address(const void *left, const void *right)
{
	const struct wmk_kernel_function *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static int add(struct wmk_kernel_symbols *symbols, uint64_t address, const char *name, const char *module)
{
	struct wmk_kernel_function *all =
		wmk_array_room(symbols->functions, symbols->n, &symbols->cap, sizeof(*all));

	if (!all)
		return wmk_error(-ENOMEM, "no memory for %u functions of the kernel", symbols->n);
	symbols->functions = all;
	all += symbols->n;
	all->address = address;
	snprintf(all->module, sizeof(all->module), "%s", module);
	all->name = strdup(name);
	if (!all->name)
		return wmk_error(-ENOMEM, "no memory for %u functions of the kernel", symbols->n);
	symbols->n++;
	return 0;
}

int wmk_kernel_symbols_load(struct wmk_kernel_symbols *symbols, const char *path)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, name[256], module[64];
	size_t size = 0;
	uint64_t address;
	int err = 0;

	if (!file)
		return 0;
	while (err >= 0 && getline(&line, &size, file) > 0)
		if (parse(line, &address, name, module))
			err = add(symbols, address, name, module);
	free(line);
	fclose(file);
	if (symbols->n)
		qsort(symbols->functions, symbols->n, sizeof(*symbols->functions), by_address);
	return err;
}

void wmk_kernel_symbols_free(struct wmk_kernel_symbols *symbols)
{
	for (uint32_t i = 0; i < symbols->n; i++)
		free(symbols->functions[i].name);
	free(symbols->functions);
}

bool wmk_kernel_symbols_find(const struct wmk_kernel_symbols *symbols, uint64_t address, struct wmk_read_frame *frame)
{
	uint32_t low = 0, high = symbols->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (symbols->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* (the last function has no end) */
	if (!low || low == symbols->n)
		return false;
	*frame = (struct wmk_read_frame){ .function = symbols->functions[low - 1].name,
					  .offset = address - symbols->functions[low - 1].address };
	if (*symbols->functions[low - 1].module)
		frame->file = symbols->functions[low - 1].module;
	return true;
}

int wmk_kernel_symbols_save(const char *path)
{
	FILE *from = fopen("/proc/kallsyms", "re");
	/* (addresses of the kernel are hidden from other users) */
	const int fd = from ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
	char *line = NULL, name[256], module[64];
	uint64_t address, any = 0;
	size_t size = 0;
	int err = to ? 0 : -errno;

	while (to && getline(&line, &size, from) > 0)
		if (parse(line, &address, name, module)) {
			fputs(line, to);
			any |= address;
		}
	free(line);
	if (from)
		fclose(from);
	if (to && fclose(to) != 0)
		err = -errno;
	if (err < 0)
		return wmk_error(err, "cannot copy /proc/kallsyms to '%.200s'", path);
	if (any)
		return 0;
	remove(path);
	return wmk_errorx(-EPERM, "the kernel hides the addresses of its functions from this user: record as root");
}
