/* SPDX-License-Identifier: MIT */
/*
 * count_allocations.c - a library that counts memory allocations: it interposes the C library's allocator, preloaded or
 * linked. A program that links it reads the count by counted_allocations(). The count of any other program is written
 * at its exit to the file that WMK_TEST_ALLOCATIONS names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "count_allocations.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long n_allocations;

static void count(void)
{
	__atomic_fetch_add(&n_allocations, 1, __ATOMIC_RELAXED);
}

unsigned long counted_allocations(void)
{
	return __atomic_load_n(&n_allocations, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count();
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	count();
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count();
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **to, size_t alignment, size_t size)
{
	count();
	*to = __libc_memalign(alignment, size);
	return *to ? 0 : ENOMEM;
}

static __attribute__((destructor)) void print_count(void)
{
	const char *path = getenv("WMK_TEST_ALLOCATIONS");
	const unsigned long n = counted_allocations();
	FILE *file = path ? fopen(path, "we") : NULL;

	if (file) {
		fprintf(file, "%lu\n", n);
		fclose(file);
	}
}
