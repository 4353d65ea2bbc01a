/* SPDX-License-Identifier: MIT */
/*
 * filter.h - one language that says which records are wanted: when they are recorded (the program runs in the
 * application, before anything is copied) and when they are read.
 *
 *     "amount > 100 && $ctx.procname == \"shop*\""
 *          │ wmk_filter_parse()        text ─► expression; nothing is known of events yet
 *          ▼
 *     struct wmk_filter_expr
 *          │ wmk_filter_compile()      names are looked up in one event class, types are checked; once for each class
 *          ▼
 *     struct wmk_filter_program ──wmk_filter_encode()──► bytes ──wmk_filter_decode()──► program, verified
 *          │ wmk_filter_run()          with the values that the program's inputs name
 *          ▼
 *     wanted, or not
 *
 * The language is C's expressions without assignment: || && | ^ & == != < <= > >= << >> + - * / % ! ~ - + ?: and
 * parentheses with C's precedence; `x in [1, 2, "a*"]`, as strong as <; exists(field). Operands: fields (a, a.b, a[2]),
 * $ctx.NAME, $event (the event's name), whole numbers (10, 0x1f, 0b11, 017, 'c'), decimal fractions, "text". In a text
 * that == != or `in` compares, * is any number of characters and \* is a star. A label's text compares with an
 * enumeration, "false" and "true" with a boolean.
 *
 * Values. Whole numbers have 64 bits and wrap around. They are signed, but for fields of unsigned 64 bits and literals
 * above 2^63; an operation on both kinds is unsigned, as in C, but a comparison is of what the numbers are: -1 is less
 * than every unsigned number. With a double, the other operand becomes one. Comparing text is comparing bytes.
 *
 * What has no value (a field that is not there, an element behind the end, division by zero, a shift by less than 0 or
 * more than 63) makes all that uses it have none, up to the next && or ||, for which it is false; a filter without a
 * value refuses the record. exists(x) always has one.
 *
 * Programs go forward only: every jump leads on, so that a run ends after at most `n_insns` steps. Nothing is trusted
 * in one that came from elsewhere: wmk_filter_decode() and wmk_filter_verify() check each register's type at each point
 * before it runs.
 *
 * Errors: -errno with a cause chain; what is wrong with a text is -EINVAL and names the column. parse, compile, encode,
 * decode allocate. run does not, touches nothing but its arguments, and is async-signal-safe. Programs are immutable:
 * any thread.
 */
#ifndef WMK_FILTER_FILTER_H
#define WMK_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

#define WMK_FILTER_TEXT_MAX 4096u   /* bytes of an expression */
#define WMK_FILTER_INPUTS_MAX 32u
#define WMK_FILTER_REGISTERS 64u    /* the first are the inputs */
#define WMK_FILTER_INSNS_MAX 1024u
#define WMK_FILTER_POOL_MAX 16384u  /* bytes of text that a program compares with */
#define WMK_FILTER_PATH_MAX 8u      /* names and indexes of one field */
/* of an encoded program */
#define WMK_FILTER_BYTES_MAX (8u + WMK_FILTER_INPUTS_MAX * 8u + WMK_FILTER_INSNS_MAX * 16u + WMK_FILTER_POOL_MAX)

enum wmk_filter_type {
	WMK_FILTER_ABSENT,     /* there is no such field */
	WMK_FILTER_SIGNED, WMK_FILTER_UNSIGNED,
	WMK_FILTER_DOUBLE,
	WMK_FILTER_TEXT,
};

/* ── text to expression ──────────────────────────────────────────────────────────────────────────────── */

struct wmk_filter_expr;

enum wmk_filter_scope { WMK_FILTER_FIELD, WMK_FILTER_CONTEXT, WMK_FILTER_EVENT };

/* One step of a name: a member, or (name NULL) an element. */
struct wmk_filter_step {
	const char *name;
	uint64_t index;
};

/* What stands in the expression: a.b[2] is three steps. WMK_FILTER_EVENT has none. */
struct wmk_filter_name {
	uint8_t scope;             /* enum wmk_filter_scope */
	uint8_t n_steps;
	uint16_t number;           /* among the names of its expression */
	struct wmk_filter_step steps[WMK_FILTER_PATH_MAX];
};

/* -EINVAL: it is no expression, and where. *expr is freed by wmk_filter_expr_free(). */
int wmk_filter_parse(const char *text, struct wmk_filter_expr **expr);
void wmk_filter_expr_free(struct wmk_filter_expr *expr);
/* Names in it, each as often as it stands there, and the one of a number; whether exists() asks for it somewhere. */
unsigned wmk_filter_n_names(const struct wmk_filter_expr *expr);
const struct wmk_filter_name *wmk_filter_name_of(const struct wmk_filter_expr *expr, unsigned number);
bool wmk_filter_name_asked(const struct wmk_filter_expr *expr, unsigned number);
/* Start a chain of causes about it: "column 3, 'amonut': ...". Returns -EINVAL. */
int wmk_filter_name_wrong(const struct wmk_filter_expr *expr, unsigned number, const char *what);

/* ── expression to program ───────────────────────────────────────────────────────────────────────────── */

/* What a program reads: a number that means something to whoever runs it. */
struct wmk_filter_input {
	uint8_t type;              /* enum wmk_filter_type, not ABSENT */
	uint8_t scope;             /* enum wmk_filter_scope: FIELD or CONTEXT */
	uint16_t number;           /* of the field or context */
	uint32_t index;            /* of an element of it */
};

/* Where a name led. */
struct wmk_filter_found {
	struct wmk_filter_input input; /* type ABSENT: to nothing that can be read */
	bool may_lack;             /* some records have no value: an element, something optional */
	/*
	 * It is there, and is this: "a structure". exists() asks for its input, where records may lack it; else its
	 * type is ABSENT. NULL: no such.
	 */
	const char *no_operand;
	const struct wmk_label *labels; /* texts it may be compared with: `n_labels` */
	uint32_t n_labels;
	/* the labels' bounds are, as the field is, though its values may be of the type SIGNED */
	bool is_unsigned;
	const char *text;          /* not NULL: no input, this text */
};

/* Look a name up in an event class. `found` comes zeroed. */
typedef void wmk_filter_lookup_fn(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found);

struct wmk_filter_program;

/* What is an error: ... */
enum wmk_filter_strictness {
	/* nothing: an operator on what it cannot work with gives no value, no enumeration is a label that it has not */
	WMK_FILTER_LAX,
	WMK_FILTER_TYPES,      /* types that do not fit, labels that an enumeration has not, and ... */
	/* ... names that lead nowhere, and for which their expression does not ask with exists() */
	WMK_FILTER_STRICT,
};

/*
 * Compile for the event class in which `lookup` looks: a record is wanted if one of the `n` expressions wants it.
 * -EINVAL: it does not fit the class, and where. -E2BIG: more than a program can have.
 */
int wmk_filter_compile(const struct wmk_filter_expr *const *exprs, unsigned n, wmk_filter_lookup_fn *lookup, void *data,
		       enum wmk_filter_strictness strictness, struct wmk_filter_program **program);
void wmk_filter_program_free(struct wmk_filter_program *program);

/*
 * Can the expression ever mean something in the classes there are? Begin, try each class, end. Each name must be in a
 * class that the expression fits (WMK_FILTER_TYPES), but for what exists() asks for. 0 also where no class was tried.
 * -EINVAL: no; *missing is the number of a name that is nowhere, and there is no chain of causes:
 * wmk_filter_name_wrong() starts one; else it is -1, and the chain says what does not fit.
 */
struct wmk_filter_fit {
	const struct wmk_filter_expr *expr;
	uint8_t *names;
	unsigned tried, fits;
	struct wmk_error_chain *why;
};
int wmk_filter_fit_begin(struct wmk_filter_fit *fit, const struct wmk_filter_expr *expr);
int wmk_filter_fit_try(struct wmk_filter_fit *fit, wmk_filter_lookup_fn *lookup, void *data, const char *class_name);
int wmk_filter_fit_end(struct wmk_filter_fit *fit, int *missing);

/* In what a value of this type is; ABSENT for what no operand is made of. */
enum wmk_filter_type wmk_filter_type_of(const struct wmk_type *type);
/* Set the labels: an enumeration's own; of a boolean "false" and "true", which is what traces show of it. */
void wmk_filter_found_labels(struct wmk_filter_found *found, const struct wmk_type *type);

/* ── programs ────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_filter_op {
	/* dst = a op b; b may be WMK_FILTER_IMMEDIATE */
	WMK_FILTER_CONST,      /* dst = value */
	WMK_FILTER_CONST_DOUBLE, /* likewise, of type double */
	WMK_FILTER_MOVE,       /* dst = a */
	WMK_FILTER_ADD, WMK_FILTER_SUB, WMK_FILTER_MUL, WMK_FILTER_AND, WMK_FILTER_OR, WMK_FILTER_XOR,
	WMK_FILTER_DIV, WMK_FILTER_DIV_U, WMK_FILTER_MOD, WMK_FILTER_MOD_U,   /* to `to` when there is no result */
	WMK_FILTER_SHL, WMK_FILTER_SHR, WMK_FILTER_SHR_U,                     /* likewise */
	WMK_FILTER_FADD, WMK_FILTER_FSUB, WMK_FILTER_FMUL, WMK_FILTER_FDIV,
	WMK_FILTER_TO_DOUBLE, WMK_FILTER_TO_DOUBLE_U, /* dst = a as a double */
	WMK_FILTER_COMPARE,    /* dst = -1, 0, 1: text input a with text input b, or with the pool's */
	/* to `to` if it is so; each second one: if it is not so */
	WMK_FILTER_JEQ, WMK_FILTER_JNE,
	WMK_FILTER_JLT, WMK_FILTER_JNLT,
	WMK_FILTER_JLE, WMK_FILTER_JNLE,
	WMK_FILTER_JLT_U, WMK_FILTER_JNLT_U,
	WMK_FILTER_JLE_U, WMK_FILTER_JNLE_U,
	WMK_FILTER_JFEQ, WMK_FILTER_JFNE,
	WMK_FILTER_JFLT, WMK_FILTER_JFNLT,
	WMK_FILTER_JFLE, WMK_FILTER_JFNLE,
	WMK_FILTER_JMATCH, WMK_FILTER_JNMATCH, /* text input a and the pool's pattern */
	WMK_FILTER_JHAS, WMK_FILTER_JLACKS,    /* input a has a value */
	WMK_FILTER_JUMP,
	WMK_FILTER_RETURN,     /* wanted if `value` is not 0 */
	WMK_FILTER_OPS
};

#define WMK_FILTER_IMMEDIATE 255u

struct wmk_filter_insn {
	uint8_t op, dst, a, b;
	uint32_t to;               /* an instruction behind this one */
	union {
		uint64_t u;
		int64_t i;
		double f;
		struct {
			uint32_t at, len;  /* in the pool */
		} text;
	} value;
};

struct wmk_filter_program {
	uint32_t n_inputs, n_insns, pool_bytes;
	const struct wmk_filter_input *inputs;
	const struct wmk_filter_insn *insns;
	const char *pool;
};

/* Is it one that ends, and touches nothing that it should not? -EPROTO. Fills nothing in. */
int wmk_filter_verify(const struct wmk_filter_program *program);

/* Little-endian bytes, malloc'd; their number, or -ENOMEM. */
long wmk_filter_encode(const struct wmk_filter_program *program, uint8_t **bytes);
/* Bounded and verified. -EPROTO, -ENOMEM. */
int wmk_filter_decode(const void *bytes, size_t size, struct wmk_filter_program **program);

/* ── running ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_filter_text {
	const char *text;
	size_t len;                /* SIZE_MAX: it ends with a NUL */
};

struct wmk_filter_values {
	uint64_t lacking;          /* bit i: input i has no value */
	uint64_t given;            /* bit i: texts[i] is there; wmk_filter_run() takes that for granted */
	/* input i: a number, or the bits of a double; behind the inputs the run's own */
	uint64_t numbers[WMK_FILTER_REGISTERS];
	struct wmk_filter_text texts[WMK_FILTER_INPUTS_MAX]; /* input i; only those of type TEXT are looked at */
};

/*
 * Is the record wanted? The program must be one that compile or decode made. Overwrites values->numbers behind the
 * inputs. A text that another thread changes is read no further than its length, or to the NUL that is met.
 */
bool wmk_filter_run(const struct wmk_filter_program *program, struct wmk_filter_values *values);

/*
 * The same where the instructions may be anything: 1, 0, or -1: they are no program. Touches only what `code` and
 * values->given say is there.
 */
struct wmk_filter_code {
	const struct wmk_filter_insn *insns;
	const char *pool;
	uint32_t n_insns, pool_bytes;
};
int wmk_filter_run_code(const struct wmk_filter_code *code, struct wmk_filter_values *values);

/* Does the pattern (* and \) fit the whole text? */
bool wmk_filter_match(const char *pattern, size_t pattern_len, const struct wmk_filter_text *text);

#endif
