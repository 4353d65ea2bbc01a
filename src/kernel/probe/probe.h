/* SPDX-License-Identifier: MIT */
/*
 * probe.h - dynamic events: parse a probe that a user typed, create its events in tracefs (dynamic_events), and
 * describe their fields.
 *
 *     wmk_probe_make(WMK_PROBE_KERNEL, "do_sys_openat2(filename:string)", &options, &probe);
 *     wmk_probe_install(tracefs->dir, probe);                 creates its events, disabled
 *     probe->events[0].name                                   events/<group>/<name>
 *     wmk_probe_remove(tracefs->dir, probe);
 *
 * The syntax of a probe:
 *
 *     PROBE        PLACE [( ARGUMENT, ... )]
 *     PLACE        kernel: [MODULE:]SYMBOL[+OFFSET] | ADDRESS
 *                  user:   [elf:]PATH:SYMBOL[+OFFSET] | [elf:]PATH:ADDRESS | sdt:PATH:PROVIDER:NAME
 *     ARGUMENT     [NAME=]VALUE[:TYPE]
 *     VALUE        NAME                a parameter of the kernel function, by its name in BTF; arg1, arg2, ... of an
 *                                      SDT note
 *                  %REGISTER           %di, %rdi, %x0
 *                  $arg1 ...           an argument, at a function's entry (of an SDT note: anywhere)
 *                  $retval             at a return
 *                  $comm $stack $stack3
 *                  +OFFSET(VALUE)      the memory at VALUE plus OFFSET; -OFFSET; +uOFFSET: memory of the process
 *                  @SYMBOL[+OFFSET]    a variable; @ADDRESS
 *     TYPE         u8..u64 s8..s64 x8..x64 char symbol
 *                  string, ustring     the text that VALUE points to
 *                  bBITS@SHIFT/SIZE    bits of it
 *                  TYPE[N]             an array of N that VALUE points to
 *                  Default: the type in BTF or in the note, else x64
 *
 * If a value is a place in memory (+OFFSET(...), @...), the text or array begins at that place. The place does not
 * contain a pointer to the text or array. A field without a name gets the name of its value (filename, retval, comm,
 * di) or argN, where N is its place in the list. The events of a function's entry and exit are named `<name>_entry` and
 * `<name>_exit`. A return probe without a list of arguments has the field retval. An SDT probe without a list of
 * arguments has all arguments that the kernel can fetch. A program can have several SDT notes of the same name. Notes
 * with the same types of arguments become one event with several places. Each combination of types of arguments becomes
 * a separate event.
 *
 * The only state is *probe. Any thread may use a probe, but only one thread at a time. Errors are -errno with a cause
 * chain. The chain of -EINVAL contains the column of the syntax error, the chain of -ENOENT similar names, and the
 * chain of -EOPNOTSUPP the missing kernel feature.
 */
#ifndef WMK_KERNEL_PROBE_H
#define WMK_KERNEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define WMK_PROBE_TEXT_MAX 8192u       /* bytes of a probe as typed */
#define WMK_PROBE_LINE_MAX 4000u       /* bytes of a line for the kernel; the kernel's limit is 4095 */
/* bytes of the name of an event or group; this limit and the next ones include a NUL */
#define WMK_PROBE_NAME_MAX 64u
#define WMK_PROBE_FIELD_MAX 32u
#define WMK_PROBE_TYPE_MAX 16u
#define WMK_PROBE_FETCH_MAX 64u        /* bytes of a fetch argument with its type */
#define WMK_PROBE_ARGS_MAX 32u
#define WMK_PROBE_PLACES_MAX 1024u     /* places of one SDT probe */

enum wmk_probe_kind {
	WMK_PROBE_KERNEL,              /* --probe */
	WMK_PROBE_KERNEL_RETURN,       /* --probe-return */
	WMK_PROBE_FUNCTION,            /* --function: entry and return */
	WMK_PROBE_USER,                /* --userspace-probe */
	WMK_PROBE_USER_RETURN,
};

struct wmk_probe_field {
	char name[WMK_PROBE_FIELD_MAX];
	char type[WMK_PROBE_TYPE_MAX];         /* the kernel's name of the type; with [N] for an array */
};

struct wmk_probe_event {
	char name[WMK_PROBE_NAME_MAX];
	char letter;                           /* 'p', 'r' (at a return) */
	bool is_installed;
	uint32_t n_fields;
	struct wmk_probe_field fields[WMK_PROBE_ARGS_MAX];
	uint32_t n_places;
	char **places;                         /* the rest of the line after the event's name */
};

struct wmk_probe {
	enum wmk_probe_kind kind;
	char group[WMK_PROBE_NAME_MAX];
	/* the user gave the name: no number may be added to make the name unique */
	bool is_named;
	uint32_t n_events;
	struct wmk_probe_event *events;
	char note[256];                        /* a hint for the user (arguments left out, ...); "": none */
};

struct wmk_probe_options {
	const char *group;                     /* letters, digits and _: waymark_<token> */
	/* name of the event; invalid characters are replaced; NULL: the name follows from the symbol */
	const char *name;
	const char *search_path;               /* for programs without a /; NULL: $PATH */
	/* Only tests set these members; 0 or NULL selects the values of this machine. */
	unsigned machine;                      /* EM_..., for kernel probes */
	const char *kallsyms, *btf;            /* file; folder */
};

/* Parse a probe. The caller owns *probe: wmk_probe_free(). */
int wmk_probe_make(enum wmk_probe_kind kind, const char *typed, const struct wmk_probe_options *options,
		   struct wmk_probe **probe);
void wmk_probe_free(struct wmk_probe *probe);
/* Format the line that creates the event at one of its places. Returns `line`. */
const char *wmk_probe_line(const struct wmk_probe *probe, const struct wmk_probe_event *event, uint32_t place,
			   char line[WMK_PROBE_LINE_MAX]);

/*
 * Create all events, or none. `tracefs`: descriptor of its root. If the group already has an event of the same name, a
 * number is appended to a default name. For a name that the user gave, the function fails with -EEXIST. -EOPNOTSUPP:
 * this kernel has no such probes; -EACCES: no rights.
 */
int wmk_probe_install(int tracefs, struct wmk_probe *probe);
/* Remove the events. Missing events are ignored. -EBUSY: an event is still enabled; the other events are removed. */
int wmk_probe_remove(int tracefs, struct wmk_probe *probe);
/* Remove all dynamic events of a group, including events of other processes, for example of a crashed daemon. */
int wmk_probe_remove_group(int tracefs, const char *group);

#endif
