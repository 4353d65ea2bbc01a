/* SPDX-License-Identifier: MIT */
/*
 * filter.h - the filter language: select event records while they are recorded, or while a trace is read.
 *
 * During recording, the application runs the filter program before it copies anything into a ring.
 *
 *     "amount > 100 && $ctx.procname == \"shop*\""
 *          │ wmk_filter_parse()        text ─► expression, independent of event classes
 *          ▼
 *     struct wmk_filter_expr
 *          │ wmk_filter_compile()      looks names up in one event class and checks types; once for each class
 *          ▼
 *     struct wmk_filter_program ──wmk_filter_encode()──► bytes ──wmk_filter_decode()──► program, verified
 *          │ wmk_filter_run()          with the values of the program's inputs
 *          ▼
 *     record selected: true or false
 *
 * The language is C's expressions without assignment: || && | ^ & == != < <= > >= << >> + - * / % ! ~ - + ?: and
 * parentheses with C's precedence. The filter language also has `x in [1, 2, "a*"]`, with the precedence of <, and
 * exists(field). Operands are fields (a, a.b, a[2]), $ctx.NAME, $event (the event's name), integers (10, 0x1f, 0b11,
 * 017, 'c'), decimal fractions and "text". In a literal text that == != or `in` compares, * matches any number of
 * characters; \* is a star. An enumeration is compared with the text of a label, and a boolean with "false" or "true".
 *
 * Values. Integers of the filter language have 64 bits and wrap around. Integers are signed, except unsigned 64-bit
 * fields and literals from 2^63 upward. An arithmetic operation on a signed and an unsigned operand is unsigned, as in
 * C. A comparison uses the numeric values: -1 is less than every unsigned number. If one operand is a double, the other
 * operand is converted to double. Texts are compared by bytes.
 *
 * Absent values. A missing field, an array element beyond the end, a division by zero, and a shift by less than 0 or
 * more than 63 bits are absent values. An expression that uses an absent value is absent. The nearest enclosing && or
 * || treats it as false. A filter with an absent result rejects the record. exists(x) always has a value.
 *
 * Programs have no loops: every jump is forward, so a run ends after at most `n_insns` steps. Programs from other
 * processes are not trusted: wmk_filter_decode() and wmk_filter_verify() check the type of each register at each
 * instruction before the program runs.
 *
 * Errors are -errno with a cause chain; for an error in the filter text, the function returns -EINVAL, and the cause
 * chain contains the column. parse, compile, encode and decode allocate. run does not allocate, accesses only its
 * arguments and is async-signal-safe. Programs are immutable and usable by any thread.
 */
#ifndef WMK_FILTER_FILTER_H
#define WMK_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/schema.h"

#define WMK_FILTER_TEXT_MAX 4096u   /* bytes of a filter's text */
#define WMK_FILTER_INPUTS_MAX 32u
#define WMK_FILTER_REGISTERS 64u    /* the first ones hold the inputs */
#define WMK_FILTER_INSNS_MAX 1024u
#define WMK_FILTER_POOL_MAX 16384u  /* bytes of all texts that a program compares with */
#define WMK_FILTER_PATH_MAX 8u      /* member names and indexes of one field */
/* size of an encoded program */
#define WMK_FILTER_BYTES_MAX (8u + WMK_FILTER_INPUTS_MAX * 8u + WMK_FILTER_INSNS_MAX * 16u + WMK_FILTER_POOL_MAX)

enum wmk_filter_type {
	WMK_FILTER_ABSENT,     /* the field does not exist */
	WMK_FILTER_SIGNED, WMK_FILTER_UNSIGNED,
	WMK_FILTER_DOUBLE,
	WMK_FILTER_TEXT,
};

/* ── text to expression ──────────────────────────────────────────────────────────────────────────────── */

struct wmk_filter_expr;

enum wmk_filter_scope { WMK_FILTER_FIELD, WMK_FILTER_CONTEXT, WMK_FILTER_EVENT };

/* One step of a path: a member, or an array element if `name` is NULL. */
struct wmk_filter_step {
	const char *name;
	uint64_t index;
};

/* A name in an expression. a.b[2] has three steps; WMK_FILTER_EVENT has none. */
struct wmk_filter_name {
	uint8_t scope;             /* enum wmk_filter_scope */
	uint8_t n_steps;
	uint16_t number;           /* position among the names of the expression, from 0 */
	struct wmk_filter_step steps[WMK_FILTER_PATH_MAX];
};

/* -EINVAL: syntax error; the cause names the column. The caller frees *expr with wmk_filter_expr_free(). */
int wmk_filter_parse(const char *text, struct wmk_filter_expr **expr);
void wmk_filter_expr_free(struct wmk_filter_expr *expr);
/*
 * n_names: the number of names in the expression; a name that occurs twice counts twice. name_of: the name with this
 * number. name_asked: whether exists() tests the name anywhere in the expression.
 */
unsigned wmk_filter_n_names(const struct wmk_filter_expr *expr);
const struct wmk_filter_name *wmk_filter_name_of(const struct wmk_filter_expr *expr, unsigned number);
bool wmk_filter_name_is_tested(const struct wmk_filter_expr *expr, unsigned number);
/* Start a cause chain with the place of a name, such as "column 3, 'amonut': ...". Returns -EINVAL. */
int wmk_filter_name_wrong(const struct wmk_filter_expr *expr, unsigned number, const char *what);

/* ── expression to program ───────────────────────────────────────────────────────────────────────────── */

/*
 * A value that a filter program reads. The lookup function defines `number` and `index`; the component that runs the
 * program finds the value by these two numbers.
 */
struct wmk_filter_input {
	uint8_t type;              /* enum wmk_filter_type, not ABSENT */
	uint8_t scope;             /* enum wmk_filter_scope: FIELD or CONTEXT */
	uint16_t number;           /* field or context */
	uint32_t index;            /* array element */
};

/* The result of a lookup. */
struct wmk_filter_found {
	struct wmk_filter_input input; /* type ABSENT: not readable */
	bool may_lack;             /* some records have no value: array elements, optional fields */
	/*
	 * If `no_operand` is not NULL, the event class has the name, but the name is not an operand. `no_operand`
	 * describes the named field, for example as "a structure". exists() then tests `input`, or is always true if
	 * the type of `input` is ABSENT. If `no_operand` is NULL, the name is an operand, or is unknown.
	 */
	const char *no_operand;
	const struct wmk_label *labels; /* `n_labels` texts that the value may be compared with */
	uint32_t n_labels;
	/* the field and the bounds of its labels are unsigned, even if the type of `input` is SIGNED */
	bool is_unsigned;
	const char *text;          /* not NULL: a constant text; `input` is not used */
};

/* Look up a name in an event class and fill *found; the caller has set *found to zero. */
typedef void wmk_filter_lookup_fn(void *data, const struct wmk_filter_name *name, struct wmk_filter_found *found);

struct wmk_filter_program;

/* Selects which kinds of mismatch between an expression and an event class are errors. */
enum wmk_filter_strictness {
	/* none: an operand of a wrong type is absent, and an unknown label matches no value */
	WMK_FILTER_LAX,
	WMK_FILTER_TYPES,      /* wrong operand types and unknown labels */
	/* also unknown names, unless the expression tests them with exists() */
	WMK_FILTER_STRICT,
};

/*
 * Compile expressions for the event class that `lookup` describes. The program selects a record if at least one of the
 * `n` expressions is true for the record. -EINVAL: an expression does not fit the class; the cause names the column.
 * -E2BIG: a limit of programs is exceeded.
 */
int wmk_filter_compile(const struct wmk_filter_expr *const *exprs, unsigned n, wmk_filter_lookup_fn *lookup, void *data,
		       enum wmk_filter_strictness strictness, struct wmk_filter_program **program);
void wmk_filter_program_free(struct wmk_filter_program *program);

/*
 * Check whether an expression can match in any of the known event classes: begin, try each class, end. Each name must
 * exist in a class that fits the expression (WMK_FILTER_TYPES), unless exists() tests the name.
 *
 * wmk_filter_fit_end() returns 0 if the expression can match, or if no class was tried. Otherwise it returns -EINVAL.
 * For a name that is in no class, *missing is the number of the name, and the function starts no cause chain.
 * wmk_filter_name_wrong() starts the chain for this error. For a mismatch other than an unknown name, *missing is -1,
 * and the cause chain describes the mismatch.
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

/* Return the operand type of a field of schema type `type`; ABSENT if the field cannot be an operand. */
enum wmk_filter_type wmk_filter_type_of(const struct wmk_type *type);
/* Set the labels of an enumeration. A boolean gets the labels "false" and "true", which readers print. */
void wmk_filter_found_labels(struct wmk_filter_found *found, const struct wmk_type *type);

/* ── programs ────────────────────────────────────────────────────────────────────────────────────────── */

enum wmk_filter_op {
	/* dst = a op b, unless noted; b may be WMK_FILTER_IMMEDIATE */
	WMK_FILTER_CONST,      /* dst = value */
	WMK_FILTER_CONST_DOUBLE, /* likewise, of type double */
	WMK_FILTER_MOVE,       /* dst = a */
	WMK_FILTER_ADD, WMK_FILTER_SUB, WMK_FILTER_MUL, WMK_FILTER_AND, WMK_FILTER_OR, WMK_FILTER_XOR,
	WMK_FILTER_DIV, WMK_FILTER_DIV_U, WMK_FILTER_MOD, WMK_FILTER_MOD_U,   /* jump to `to` without a result */
	WMK_FILTER_SHL, WMK_FILTER_SHR, WMK_FILTER_SHR_U,                     /* likewise */
	WMK_FILTER_FADD, WMK_FILTER_FSUB, WMK_FILTER_FMUL, WMK_FILTER_FDIV,
	WMK_FILTER_TO_DOUBLE, WMK_FILTER_TO_DOUBLE_U, /* dst = a converted to double */
	WMK_FILTER_COMPARE,    /* dst = -1, 0 or 1: order of text input a and of text input b (or a text of the pool) */
	/* jump to `to` if the condition holds; the second of each pair jumps if it does not hold */
	WMK_FILTER_JEQ, WMK_FILTER_JNE,
	WMK_FILTER_JLT, WMK_FILTER_JNLT,
	WMK_FILTER_JLE, WMK_FILTER_JNLE,
	WMK_FILTER_JLT_U, WMK_FILTER_JNLT_U,
	WMK_FILTER_JLE_U, WMK_FILTER_JNLE_U,
	WMK_FILTER_JFEQ, WMK_FILTER_JFNE,
	WMK_FILTER_JFLT, WMK_FILTER_JFNLT,
	WMK_FILTER_JFLE, WMK_FILTER_JFNLE,
	WMK_FILTER_JMATCH, WMK_FILTER_JNMATCH, /* text input a matches a pattern of the pool */
	WMK_FILTER_JHAS, WMK_FILTER_JLACKS,    /* input a has a value */
	WMK_FILTER_JUMP,
	WMK_FILTER_RETURN,     /* select the record if `value` is not 0 */
	WMK_FILTER_OPS
};

#define WMK_FILTER_IMMEDIATE 255u

struct wmk_filter_insn {
	uint8_t op, dst, a, b;
	uint32_t to;               /* index of a later instruction */
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

/*
 * Check that the program ends, and that the program accesses only its inputs, registers and pool. -EPROTO otherwise;
 * -ENOMEM.
 */
int wmk_filter_verify(const struct wmk_filter_program *program);

/* Encode the program as little-endian bytes, which the caller frees. Returns their number, or -ENOMEM. */
long wmk_filter_encode(const struct wmk_filter_program *program, uint8_t **bytes);
/* Decode and verify. -EPROTO, -ENOMEM. The caller frees *program with wmk_filter_program_free(). */
int wmk_filter_decode(const void *bytes, size_t size, struct wmk_filter_program **program);

/* ── running ─────────────────────────────────────────────────────────────────────────────────────────── */

struct wmk_filter_text {
	const char *text;
	size_t len;                /* SIZE_MAX: the text ends at its NUL */
};

struct wmk_filter_values {
	uint64_t lacking;          /* bit i: input i has no value */
	uint64_t given;            /* bit i: texts[i] is set; only wmk_filter_run_code() reads `given` */
	/* inputs: a number, or the bits of a double; a run uses the registers after the inputs as scratch space */
	uint64_t numbers[WMK_FILTER_REGISTERS];
	struct wmk_filter_text texts[WMK_FILTER_INPUTS_MAX]; /* input i; read only if its type is TEXT */
};

/*
 * Run a program that wmk_filter_compile() or wmk_filter_decode() returned. True: the record is selected. The run
 * overwrites values->given, and the elements of values->numbers after the inputs. Another thread may change a text
 * during the run. The run reads at most the length of the text, or stops at the first NUL.
 */
bool wmk_filter_run(const struct wmk_filter_program *program, struct wmk_filter_values *values);

/*
 * Run arbitrary instructions. Returns the result of the program, 1 or 0; -1 if the instructions are not a valid
 * program. The function reads only memory that `code` and values->given declare valid.
 */
struct wmk_filter_code {
	const struct wmk_filter_insn *insns;
	const char *pool;
	uint32_t n_insns, pool_bytes;
};
int wmk_filter_run_code(const struct wmk_filter_code *code, struct wmk_filter_values *values);

/* Return whether the pattern (with * and \) matches the whole text. */
bool wmk_filter_match(const char *pattern, size_t pattern_len, const struct wmk_filter_text *text);

#endif
