/* SPDX-License-Identifier: MIT */
/*
 * probe.h - dynamic events: what a user types becomes lines for tracefs's dynamic_events, and a description of the
 * events and their fields.
 *
 *     wmk_probe_make(WMK_PROBE_KERNEL, "do_sys_openat2(filename:string)", &options, &probe)     grammar, symbols, ELF files, SDT notes
 *     wmk_probe_install(tracefs->dir, probe)                                              the kernel has its events, disabled
 *     probe->events[0].name                                                               events/<group>/<name>
 *     wmk_probe_remove(tracefs->dir, probe)
 *
 * What users type:
 *
 *     kernel       [MODULE:]SYMBOL[+OFFSET] | ADDRESS                         and behind it, perhaps, ( ARGUMENT, ... )
 *     user         [elf:]PATH:SYMBOL[+OFFSET] | [elf:]PATH:ADDRESS | sdt:PATH:PROVIDER:NAME
 *     ARGUMENT     [NAME=]VALUE[:TYPE]
 *     VALUE        NAME                a parameter of the kernel's function, by its name in BTF; arg1, arg2, ... of an SDT note
 *                  %REGISTER           %di, %rdi, %x0
 *                  $arg1 ...           an argument, at a function's entry (of an SDT note: anywhere)
 *                  $retval             at a return
 *                  $comm $stack $stack3
 *                  +OFFSET(VALUE)      what lies OFFSET bytes behind where VALUE points; -OFFSET; +uOFFSET: in the memory of the process
 *                  @SYMBOL[+OFFSET]    a variable; @ADDRESS
 *     TYPE         u8..u64 s8..s64 x8..x64 char symbol; string, ustring: the text that VALUE points to; bBITS@SHIFT/SIZE, bits of it;
 *                  TYPE[N]: an array of N that VALUE points to. Without one: what BTF or the note says, x64 else
 *
 * Where the value itself says where it lies (+OFFSET(...), @...), the text or array is there, and not where a pointer
 * in that place points to. A field without a name is called like its value (filename, retval, comm, di) or argN, its
 * place in the list. A function's entry and exit become `<name>_entry` and `<name>_exit`. Returns without a list have
 * one field, retval; an SDT probe without one has all arguments that the kernel can fetch. An SDT note of which there
 * are several is one event with several places, as far as their arguments have the same types, else one event for each
 * kind.
 *
 * Nothing is kept but what *probe holds. Any thread; one at a time for each probe. -errno with a cause chain: -EINVAL
 * with a column where the text is wrong; -ENOENT with what is near; -EOPNOTSUPP, what this kernel lacks.
 */
#ifndef WMK_KERNEL_PROBE_H
#define WMK_KERNEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_PROBE_TEXT_MAX 8192u       /* bytes that a user may type */
#define WMK_PROBE_LINE_MAX 4000u       /* of a line for the kernel, which takes 4095 */
#define WMK_PROBE_NAME_MAX 64u         /* of an event's name, and a group's; NUL included, as for all that follow */
#define WMK_PROBE_FIELD_MAX 32u
#define WMK_PROBE_TYPE_MAX 16u
#define WMK_PROBE_FETCH_MAX 64u        /* of how a field is fetched, with its type */
#define WMK_PROBE_ARGS_MAX 32u
#define WMK_PROBE_PLACES_MAX 1024u     /* of one SDT probe */

enum wmk_probe_kind {
	WMK_PROBE_KERNEL,              /* --probe */
	WMK_PROBE_KERNEL_RETURN,       /* --probe-return */
	WMK_PROBE_FUNCTION,            /* --function: entry and return */
	WMK_PROBE_USER,                /* --userspace-probe */
	WMK_PROBE_USER_RETURN,
};

struct wmk_probe_field {
	char name[WMK_PROBE_FIELD_MAX];
	char type[WMK_PROBE_TYPE_MAX];         /* as the kernel calls it, an array's with [N] */
};

struct wmk_probe_event {
	char name[WMK_PROBE_NAME_MAX];
	char letter;                           /* 'p', 'r' (at a return) */
	bool is_installed;
	uint32_t n_fields;
	struct wmk_probe_field fields[WMK_PROBE_ARGS_MAX];
	uint32_t n_places;
	char **places;                         /* of a line, what stands behind the event's name */
};

struct wmk_probe {
	enum wmk_probe_kind kind;
	char group[WMK_PROBE_NAME_MAX];
	bool is_named;                         /* by the user: may not be changed to make it unique */
	uint32_t n_events;
	struct wmk_probe_event *events;
	char note[256];                        /* what the user should know (arguments left out, ...); "": nothing */
};

struct wmk_probe_options {
	const char *group;                     /* letters, digits and _: waymark_<token> */
	const char *name;                      /* of the event, made fit for the kernel; NULL: from the symbol */
	const char *search_path;               /* for programs without a /, NULL: $PATH */
	/* For tests; 0, NULL: those of this machine. */
	unsigned machine;                      /* EM_..., for probes in the kernel */
	const char *kallsyms, *btf;            /* file; folder */
};

/* *probe is the caller's: wmk_probe_free(). */
int wmk_probe_make(enum wmk_probe_kind kind, const char *typed, const struct wmk_probe_options *options,
		   struct wmk_probe **probe);
void wmk_probe_free(struct wmk_probe *probe);
/* The line for one place of an event. Returns `line`. */
const char *wmk_probe_line(const struct wmk_probe *probe, const struct wmk_probe_event *event, uint32_t place,
			   char line[WMK_PROBE_LINE_MAX]);

/*
 * `tracefs`: descriptor of its root. All events or none. An event whose name is taken in its group gets a number behind
 * it, or, if the user gave the name, -EEXIST. -EOPNOTSUPP: this kernel has no such probes; -EACCES: no rights.
 */
int wmk_probe_install(int tracefs, struct wmk_probe *probe);
/* -EBUSY: an event is still enabled somewhere; those that can be are removed. It is no error if one is gone. */
int wmk_probe_remove(int tracefs, struct wmk_probe *probe);
/* All dynamic events of a group, whoever made them: what a dead daemon left. */
int wmk_probe_remove_group(int tracefs, const char *group);

#endif
