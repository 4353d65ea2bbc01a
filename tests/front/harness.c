/* SPDX-License-Identifier: MIT */
/* harness.c - see harness.h. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct harness harness;

static const void *follow(const int32_t *offset)
{
	return (const char *)offset + *offset;
}

void waymark_module_register(struct waymark_module *module)
{
	harness.n_registered++;
	for (unsigned i = 0; i < harness.n_modules; i++)
		if (harness.modules[i] == module)
			return;
	if (harness.n_modules == HARNESS_MODULES)
		abort();
	harness.modules[harness.n_modules++] = module;
}

void waymark_module_unregister(struct waymark_module *module)
{
	harness.n_unregistered++;
	for (unsigned i = 0; i < harness.n_modules; i++)
		if (harness.modules[i] == module)
			harness.modules[i] = harness.modules[--harness.n_modules];
}

static unsigned width_of(unsigned type)
{
	switch (type) {
	case WAYMARK_T_S8: case WAYMARK_T_U8: case WAYMARK_T_BOOL:
		return 1;
	case WAYMARK_T_S16: case WAYMARK_T_U16:
		return 2;
	case WAYMARK_T_S32: case WAYMARK_T_U32: case WAYMARK_T_FLOAT:
		return 4;
	default:
		return 8;
	}
}

__attribute__((used)) void waymark_record(struct waymark_desc *desc, const uint64_t *words,
					  const struct waymark_ref *refs, const void *ip)
{
	unsigned run = 0, n_words = 0, n_refs = 0;

	for (uint32_t i = 0; i < desc->n_fields; i++) {
		unsigned type = desc->fields ? desc->fields[i].type : desc->arg_types[i];

		if (type == WAYMARK_T_NONE)
			continue;
		if (type >= WAYMARK_T_STRING && type <= WAYMARK_T_ARRAY) {
			n_words += (run + 7) / 8;
			run = 0;
			n_refs++;
			continue;
		}
		run += width_of(type < WAYMARK_T_ENUM ? type : desc->fields[i].elem);
	}
	n_words += (run + 7) / 8;
	memset(harness.words, 0, sizeof(harness.words));
	memset(harness.refs, 0, sizeof(harness.refs));
	if (n_words)
		memcpy(harness.words, words, n_words * sizeof(*words));
	if (n_refs)
		memcpy(harness.refs, refs, n_refs * sizeof(*refs));
	harness.desc = desc;
	harness.ip = ip ? ip : __builtin_return_address(0);
	harness.n_records++;
}

#if defined(__x86_64__)
#if defined(__clang__)
#define ALONE __attribute__((naked, used, no_sanitize("thread", "address"), no_profile_instrument_function))
#else
#define ALONE __attribute__((naked, used, no_sanitize_thread, no_sanitize_address, no_profile_instrument_function))
#endif
/*
 * Clobbers all registers that it may clobber: those of its arguments, and the vector registers of every x86-64
 * processor.
 */
ALONE void waymark_enter(void)
{
	__asm__(
		"leaq -128(%rsp), %rsp\n\t"
		"pushq %rbp\n\tmovq %rsp, %rbp\n\t"
		"pushq %rsi\n\tpushq %rdi\n\tpushq %r8\n\tpushq %r9\n\tpushq %r10\n\tpushq %r11\n\t"
		"andq $-16, %rsp\n\t"
		"movq %rax, %rdi\n\tmovq %rdx, %rsi\n\tmovq %rcx, %rdx\n\tmovq %r11, %rcx\n\t"
		"call waymark_record\n\t"
		"leaq -48(%rbp), %rsp\n\t"
		"popq %r11\n\tpopq %r10\n\tpopq %r9\n\tpopq %r8\n\tpopq %rdi\n\tpopq %rsi\n\tpopq %rbp\n\t"
		"leaq 128(%rsp), %rsp\n\t"
		"movq $-1, %rax\n\tmovq %rax, %rcx\n\tmovq %rax, %rdx\n\t"
		"pcmpeqd %xmm0, %xmm0\n\tmovdqa %xmm0, %xmm1\n\t"
		"movdqa %xmm0, %xmm7\n\tmovdqa %xmm0, %xmm15\n\t"
		"jmp *%r11");
}
#endif

const struct waymark_site *harness_site(unsigned i)
{
	for (unsigned m = 0; m < harness.n_modules; m++) {
		size_t n = (size_t)(harness.modules[m]->end - harness.modules[m]->begin);

		if (i < n)
			return harness.modules[m]->begin + i;
		i -= (unsigned)n;
	}
	return NULL;
}

struct waymark_desc *harness_desc(const struct waymark_site *site)
{
	return (struct waymark_desc *)(uintptr_t)follow(&site->desc);
}

unsigned harness_sites(const struct waymark_desc *desc)
{
	const struct waymark_site *site;
	unsigned n = 0;

	for (unsigned i = 0; (site = harness_site(i)); i++)
		n += !desc || harness_desc(site) == desc;
	return n;
}

struct waymark_desc *harness_find(const char *provider, const char *name)
{
	const struct waymark_site *site;

	for (unsigned i = 0; (site = harness_site(i)); i++) {
		struct waymark_desc *desc = harness_desc(site);

		if (!strcmp(desc->provider, provider) && (desc->name ? name && !strcmp(desc->name, name) : !name))
			return desc;
	}
	return NULL;
}

/*
 * Two pages around the instruction become writable for the write, as a text page may not stay writable and executable.
 */
static void patch(const void *address, const void *bytes, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)address & ~(page - 1);

	if (mprotect((void *)start, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC) &&
	    mprotect((void *)start, page, PROT_READ | PROT_WRITE | PROT_EXEC)) {
		perror("mprotect");
		abort();
	}
	memcpy((void *)(uintptr_t)address, bytes, n);
	__builtin___clear_cache((char *)(uintptr_t)address, (char *)(uintptr_t)address + n);
	if (mprotect((void *)start, 2 * page, PROT_READ | PROT_EXEC))
		mprotect((void *)start, page, PROT_READ | PROT_EXEC);
}

static void site_switch(const struct waymark_site *site, int on)
{
	const unsigned char *code = follow(&site->code);

	if (site->how == WAYMARK_HOW_BYTE) {
		*(unsigned char *)(uintptr_t)code = on ? 1 : 0;
		return;
	}
#if defined(__x86_64__)
	patch(code, on ? "\xe9" : "\xa9", 1);
#elif defined(__aarch64__)
	int64_t distance = (const char *)follow(&site->target) - (const char *)code;
	uint32_t instruction = on ? 0x14000000u | ((uint32_t)(distance >> 2) & 0x3ffffff) : 0xd503201fu;

	patch(code, &instruction, 4);
#endif
}

unsigned harness_switch(const char *provider, const char *name, int on)
{
	const struct waymark_site *site;
	unsigned n = 0;

	for (unsigned i = 0; (site = harness_site(i)); i++) {
		struct waymark_desc *desc = harness_desc(site);

		if (provider && strcmp(desc->provider, provider))
			continue;
		if (name && (!desc->name || strcmp(desc->name, name)))
			continue;
		site_switch(site, on);
		n++;
	}
	return n;
}

int harness_site_is_sane(const struct waymark_site *site)
{
	const unsigned char *code = follow(&site->code);

	if (site->size != sizeof(*site) || site->version != WAYMARK_ABI_VERSION || site->reserved)
		return 0;
	if (harness_desc(site)->size != sizeof(struct waymark_desc))
		return 0;
	if (site->how == WAYMARK_HOW_BYTE)
		return *code == 0;
	if (site->how != WAYMARK_HOW_PATCH)
		return 0;
#if defined(__x86_64__)
	int32_t displacement;

	memcpy(&displacement, code + 1, sizeof(displacement));
	return *code == 0xa9 && code + 5 + displacement == (const unsigned char *)follow(&site->target);
#elif defined(__aarch64__)
	return !memcmp(code, "\x1f\x20\x03\xd5", 4);
#else
	return 0;
#endif
}
