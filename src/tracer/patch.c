/* SPDX-License-Identifier: MIT */
/*
 * patch.c - enable and disable sites: one byte of text on x86-64, one instruction on aarch64, or a byte of data.
 *
 * Text is written through /proc/self/mem, without a change of the page protection. If the process may not write to
 * /proc/self/mem, mprotect() makes the page writable before the store. After the store, mprotect() makes the page
 * read-only and executable again. One membarrier() follows after all sites of a batch. The caller holds the lock; a
 * fork also holds the lock, so that the code and the tables of the child agree.
 *
 * The file uses raw system calls: the functions of the C library are cancellation points, and a cancelled thread would
 * never release the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <waymark/detail/pp.h>

#include "tracer/membarrier.h"
#include "tracer/patch.h"
#include "tracer/tracer.h"

#define SITE_POINTER(site, member) ((char *)((uintptr_t)&(site)->member + (uintptr_t)(intptr_t)(site)->member))

struct text_writer {
	int mem;                /* /proc/self/mem, or -1 */
	bool tried;             /* whether opening was tried */
	bool changed_text;
};

#if defined(__x86_64__)

#define INSTRUCTION 1u          /* size of the patched bytes */
#define TEST_EAX 0xa9u
#define JMP_REL32 0xe9u

static const char *check_code(const struct waymark_site *site)
{
	const unsigned char *code = (const unsigned char *)SITE_POINTER(site, code);
	int32_t displacement;

	if (code[0] != TEST_EAX && code[0] != JMP_REL32)
		return "the code at the site is not the instruction of waymark/trace.h";
	memcpy(&displacement, code + 1, sizeof(displacement));
	if (code + 5 + displacement != (const unsigned char *)SITE_POINTER(site, target))
		return "the instruction at the site does not refer to the enabled block";
	return NULL;
}

static uint32_t instruction(const struct waymark_site *site, bool on)
{
	(void)site;
	return on ? JMP_REL32 : TEST_EAX;
}

#elif defined(__aarch64__)

#define INSTRUCTION 4u
#define NOP 0xd503201fu

static uint32_t instruction(const struct waymark_site *site, bool on)
{
	intptr_t distance = SITE_POINTER(site, target) - SITE_POINTER(site, code);

	return on ? 0x14000000u | (uint32_t)((uintptr_t)distance >> 2 & 0x3ffffffu) : NOP;
}

static const char *check_code(const struct waymark_site *site)
{
	intptr_t distance = SITE_POINTER(site, target) - SITE_POINTER(site, code);
	uint32_t word;

	memcpy(&word, SITE_POINTER(site, code), sizeof(word));
	if (word != NOP && word != instruction(site, true))
		return "the code at the site is not the instruction of waymark/trace.h";
	if (distance < -(1 << 27) || distance >= 1 << 27)
		return "the enabled block is too far away for a branch";
	return NULL;
}

#else
#error "sites are patched on x86-64 and aarch64 only"
#endif

const char *wmk_patch_check(const struct waymark_site *site)
{
	if (site->version == 1)
		return "the application was compiled with version 1 of waymark/trace.h, this library requires version "
		       WMK_STR(WAYMARK_ABI_VERSION) ": compile it again";
	if (site->size < sizeof(*site) || site->version != WAYMARK_ABI_VERSION)
		return "the site has an unknown version of waymark/trace.h";
	switch (site->how) {
	case WAYMARK_HOW_PATCH:
		return check_code(site);
	case WAYMARK_HOW_BYTE:
		return NULL;
	default:
		return "the site has an unknown kind";
	}
}

static bool write_protected(char *code, const void *bytes, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *from = (char *)((uintptr_t)code & ~(page - 1));
	size_t span = (size_t)(code + len - from);

	if (mprotect(from, span, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return false;
	if (len == 1)
		__atomic_store_n(code, *(const char *)bytes, __ATOMIC_RELAXED);
	else
		__atomic_store_n((uint32_t *)(void *)code, *(const uint32_t *)bytes, __ATOMIC_RELAXED);
	__builtin___clear_cache(code, code + len);
	return mprotect(from, span, PROT_READ | PROT_EXEC) == 0;
}

static const char *write_text(struct text_writer *w, const struct waymark_site *site, bool on)
{
	char *code = SITE_POINTER(site, code);
	uint32_t word = instruction(site, on);

	if (memcmp(code, &word, INSTRUCTION) == 0)
		return NULL;
	w->changed_text = true;
	if (!w->tried)
		w->mem = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
	w->tried = true;
	if (w->mem >= 0 &&
	    syscall(SYS_pwrite64, w->mem, &word, (size_t)INSTRUCTION, (off_t)(uintptr_t)code) == (long)INSTRUCTION)
		return NULL;
	if (write_protected(code, &word, INSTRUCTION))
		return NULL;
	return "the text of the application cannot be written: neither /proc/self/mem nor mprotect() is permitted";
}

static const char *set_site(struct text_writer *w, const struct waymark_site *site, bool on)
{
	if (site->how == WAYMARK_HOW_BYTE) {
		__atomic_store_n(SITE_POINTER(site, code), (char)on, __ATOMIC_RELAXED);
		return NULL;
	}
	return write_text(w, site, on);
}

void wmk_event_untraceable(struct wmk_event *event, const char *why)
{
	if (!event->untraceable)
		event->untraceable_serial = ++wmk_tracer.n_untraceable;
	event->untraceable = why;
}

static void patch_event(struct text_writer *w, struct wmk_event *event)
{
	bool on = event->chain != NULL;

	for (uint32_t i = 0; i < event->n_sites; i++) {
		const char *why = set_site(w, event->sites[i], on);

		if (why)
			wmk_event_untraceable(event, why);
	}
	event->patched = on;
}

static void patch_guards(struct text_writer *w, struct wmk_name *name)
{
	bool on = false;

	for (const struct wmk_event *event = name->events; event && !on; event = event->next_of_name)
		on = event->chain != NULL;
	for (uint32_t i = 0; i < name->n_guards; i++) {
		const char *why = set_site(w, name->guards[i], on);

		/*
		 * If a site of wm_enabled() cannot be patched, the application skips the code that the site guards. All
		 * events of the name are then untraceable.
		 */
		for (struct wmk_event *event = why ? name->events : NULL; event; event = event->next_of_name)
			wmk_event_untraceable(event, why);
	}
}

void wmk_patch_later(struct wmk_event *event)
{
	if (event->dirty)
		return;
	event->dirty = true;
	event->next_dirty = wmk_tracer.dirty;
	wmk_tracer.dirty = event;
}

void wmk_patch_flush(void)
{
	struct text_writer w = { .mem = -1 };

	if (!wmk_tracer.dirty)
		return;
	while (wmk_tracer.dirty) {
		struct wmk_event *event = wmk_tracer.dirty;

		wmk_tracer.dirty = event->next_dirty;
		event->dirty = false;
		patch_event(&w, event);
		patch_guards(&w, event->name);
	}
	if (w.mem >= 0)
		syscall(SYS_close, w.mem);
	/*
	 * If the kernel does not have this membarrier() command, other CPUs see the new instruction slightly later.
	 * Each CPU executes the old or the new instruction, never a mixture, because the patch is one store.
	 */
	if (w.changed_text)
		wmk_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
			       MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE);
}
