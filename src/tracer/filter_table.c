/* SPDX-License-Identifier: MIT */
/* filter_table.c - make the table of a filter (filter_table.h). */
#include <stdlib.h>

#include "tracer/filter_table.h"

/* ── bounds ──────────────────────────────────────────────────────────────────────────────────────────── */

/* An interval of 64-bit values that may wrap around: `span` + 1 values from `low` upward, or no value. */
struct arc {
	uint64_t low, span;
	bool is_empty;
};

/*
 * Compute the values for which a comparison with a constant, or its negation, is true. Returns false if `op` is not a
 * comparison of integers.
 */
static bool arc_of_comparison(unsigned op, uint64_t value, struct arc *arc)
{
	const uint64_t least = (uint64_t)INT64_MIN;
	bool is_less = false;

	switch (op) {
	case WMK_FILTER_JEQ: case WMK_FILTER_JNE:
		*arc = (struct arc){ .low = value };
		return true;
	case WMK_FILTER_JLT: case WMK_FILTER_JNLT:
		is_less = true;
		__attribute__((fallthrough));
	case WMK_FILTER_JLE: case WMK_FILTER_JNLE:
		*arc = (struct arc){ least, value - is_less - least, is_less && value == least };
		return true;
	case WMK_FILTER_JLT_U: case WMK_FILTER_JNLT_U:
		is_less = true;
		__attribute__((fallthrough));
	case WMK_FILTER_JLE_U: case WMK_FILTER_JNLE_U:
		*arc = (struct arc){ 0, value - is_less, is_less && value == 0 };
		return true;
	default:
		return false;
	}
}

/*
 * Restrict the interval to the values that a number of `bits` (< 64) bits can have, from `least` upward. The result is
 * a single interval modulo 2^bits. If the 64-bit interval wraps around, the second part of the interval begins at
 * `least`. Modulo 2^bits, `least` follows the end of the first part, so the result has no gap.
 */
static void arc_of_number(const struct arc *arc, unsigned bits, uint64_t least, uint64_t *low, uint64_t *count)
{
	const uint64_t all = 1ull << bits, from = arc->low - least, past = from + arc->span;
	const bool is_round = past < from;

	*low = from < all ? arc->low : least;
	*count = 0;
	if (arc->is_empty)
		return;
	if (from < all)
		*count = is_round ? all - from : (past < all ? past : all - 1) - from + 1;
	if (is_round)
		*count += past < all ? past + 1 : all;
	*low &= all - 1;
}

/* ── branches ────────────────────────────────────────────────────────────────────────────────────────── */

/* A target of a branch is the number of another branch, or REFUSED or WANTED, the two results of a filter. */
#define REFUSED 254u
#define WANTED 255u

/*
 * A branch in the form before it is packed. The members have the same meanings as in struct wmk_filter_branch, with two
 * differences. `yes` and `no` are the numbers of branches. In a branch of kind WMK_BRANCH_NUMBER, `low` and `count`
 * contain the bounds in their high bits.
 */
struct branch {
	uint64_t low, count, operand;
	uint16_t at;
	uint8_t left, right, kind, yes, no, op;
	bool is_signed;
};

struct branch_table {
	uint32_t n;
	struct branch branches[WMK_FILTER_BRANCHES_MAX];
};

struct table_maker {
	const struct wmk_event *event;
	const struct wmk_filter_location *places;
	const struct wmk_filter_program *program;
	uint8_t lead[WMK_FILTER_INSNS_MAX]; /* target of an instruction: a branch or a result */
};

static bool calculates(unsigned op)
{
	return op >= WMK_FILTER_ADD && op <= WMK_FILTER_SHR_U;
}

/* True if the instruction compares a value with a constant. */
static bool compares(const struct wmk_filter_insn *insn)
{
	struct arc arc;

	return insn->op == WMK_FILTER_JMATCH || insn->op == WMK_FILTER_JNMATCH ||
	       (insn->b == WMK_FILTER_IMMEDIATE && arc_of_comparison(insn->op, 0, &arc));
}

static void swap(struct branch *branch)
{
	const uint8_t yes = branch->yes;

	branch->yes = branch->no;
	branch->no = yes;
}

/*
 * Set the eight bytes that the branch reads: a staged word or, for a number that extends over two words, the eight
 * bytes that end with the number.
 */
static bool set_number(const struct table_maker *m, unsigned input, struct branch *branch)
{
	const struct wmk_filter_location *place = &m->places[input];

	if (input >= m->program->n_inputs || place->kind != WMK_LOCATION_WORDS || place->is_double ||
	    place->is_swapped || place->at > UINT16_MAX - 8)
		return false;
	const unsigned end = place->at + place->bytes, eight = (place->at | 7) + 1;

	if (eight > 8u * m->event->n_words || end > 8u * m->event->n_words)
		return false;
	branch->at = (uint16_t)((end <= eight ? eight : end) - 8);
	branch->left = (uint8_t)(end <= eight ? 8 * (eight - end) : 0);
	branch->right = (uint8_t)(64 - 8 * place->bytes);
	branch->is_signed = place->is_signed;
	return true;
}

/*
 * Find the operation with a constant that computes register `reg` for the instruction `insn`: the last instruction
 * before `insn` that writes `reg`. -1: no such instruction, or a jump bypasses it.
 */
static int operation_before(const struct table_maker *m, uint32_t insn, unsigned reg)
{
	const struct wmk_filter_insn *insns = m->program->insns;
	int64_t w = (int64_t)insn - 1;

	while (w >= 0 && !(calculates(insns[w].op) && insns[w].dst == reg))
		w--;
	if (w < 0)
		return -1;
	for (int64_t i = 0; i < w; i++)
		if (insns[i].to > w && insns[i].to <= insn)
			return -1;
	return (int)w;
}

static bool set_value(const struct table_maker *m, uint32_t i, struct branch *branch)
{
	const unsigned reg = m->program->insns[i].a;

	if (reg < m->program->n_inputs)
		return set_number(m, reg, branch);
	const int w = operation_before(m, i, reg);

	if (w < 0 || !set_number(m, m->program->insns[w].a, branch))
		return false;
	branch->kind = WMK_BRANCH_RESULT;
	branch->op = m->program->insns[w].op;
	branch->operand = m->program->insns[w].value.u;
	return true;
}

/*
 * Set the bounds of the values for which the comparison is true. If the comparison is true for all values, the targets
 * of the branch are swapped, and the branch matches no value.
 */
static bool set_bounds(const struct wmk_filter_insn *insn, struct branch *branch)
{
	const unsigned bits = branch->kind == WMK_BRANCH_NUMBER ? 64u - branch->right : 64;
	struct arc arc;

	if (!arc_of_comparison(insn->op, insn->value.u, &arc))
		return false;
	branch->low = arc.low;
	branch->count = arc.is_empty ? 0 : arc.span + 1;
	bool all = !branch->count && !arc.is_empty;

	if (bits < 64) {
		arc_of_number(&arc, bits, branch->is_signed ? -(1ull << (bits - 1)) : 0, &branch->low, &branch->count);
		all = branch->count == 1ull << bits;
		branch->low <<= 64 - bits;
		branch->count <<= 64 - bits;
	}
	if (all) {
		branch->count = 0;
		swap(branch);
	}
	return true;
}

/* Set the text of a branch; the text has no \ and no NUL, and a * only at its end. */
static bool set_text(const struct table_maker *m, const struct wmk_filter_insn *insn, struct branch *branch)
{
	const struct wmk_filter_location *place = &m->places[insn->a];
	uint32_t len = insn->value.text.len;

	if (insn->a >= m->program->n_inputs || place->kind != WMK_LOCATION_TEXT || place->ref >= 32 ||
	    !(m->event->text_refs >> place->ref & 1))
		return false;
	const char *pattern = m->program->pool + insn->value.text.at;

	branch->kind = WMK_BRANCH_TEXT;
	if (len && pattern[len - 1] == '*') {
		branch->kind = WMK_BRANCH_PREFIX;
		len--;
	}
	for (uint32_t i = 0; i < len; i++)
		if (pattern[i] == '*' || pattern[i] == '\\' || !pattern[i])
			return false;
	branch->at = place->ref;
	branch->operand = insn->value.text.at | (uint64_t)len << 32;
	return true;
}

/* Make the branch of a comparison. Returns false if a branch cannot represent the comparison. */
static bool set_branch(const struct table_maker *m, uint32_t i, struct branch *branch)
{
	const struct wmk_filter_insn *insn = &m->program->insns[i];
	/* of each pair of opcodes, the second is the negation of the first */
	const bool is_twin = (insn->op - WMK_FILTER_JEQ) & 1;

	*branch = (struct branch){ .yes = m->lead[insn->to], .no = m->lead[i + 1] };
	if (is_twin)
		swap(branch);
	if (insn->op == WMK_FILTER_JMATCH || insn->op == WMK_FILTER_JNMATCH)
		return set_text(m, insn, branch);
	return set_value(m, i, branch) && set_bounds(insn, branch);
}

/* Process instructions from the last to the first, because all jumps lead forward. `at` is the number of branches. */
static bool make_branches(struct table_maker *m, struct branch_table *table, uint32_t at)
{
	uint64_t result;

	for (uint32_t i = m->program->n_insns; i-- > 0;) {
		const struct wmk_filter_insn *insn = &m->program->insns[i];

		if (insn->op == WMK_FILTER_RETURN) {
			m->lead[i] = insn->value.u ? WANTED : REFUSED;
		} else if (insn->op == WMK_FILTER_JUMP) {
			m->lead[i] = m->lead[insn->to];
		} else if (calculates(insn->op)) {
			/*
			 * The operand is a constant, and only the operand decides whether the operation has a result: a
			 * division by 0 has no result.
			 */
			if (insn->b != WMK_FILTER_IMMEDIATE ||
			    !wmk_filter_calculate(insn->op, 1, insn->value.u, &result))
				return false;
			m->lead[i] = m->lead[i + 1];
		} else if (compares(insn)) {
			if (!set_branch(m, i, &table->branches[--at]))
				return false;
			m->lead[i] = (uint8_t)at;
		} else {
			return false;
		}
	}
	return true;
}

/* Remove the branches before the first branch that the program executes. */
static void drop_before(struct branch_table *table, uint8_t first)
{
	table->n -= first;
	for (uint32_t i = 0; i < table->n; i++) {
		struct branch *branch = &table->branches[i];

		*branch = table->branches[i + first];
		branch->yes -= branch->yes < REFUSED ? first : 0;
		branch->no -= branch->no < REFUSED ? first : 0;
	}
}

/* ── one field ───────────────────────────────────────────────────────────────────────────────────────── */

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool table_wants(const struct branch_table *table, uint64_t value)
{
	unsigned at = 0;

	while (at < table->n)
		at = value - table->branches[at].low < table->branches[at].count ? table->branches[at].yes
										 : table->branches[at].no;
	return at == WANTED;
}

static bool is_of_one_field(const struct branch_table *table)
{
	const struct branch *first = table->branches;

	for (uint32_t i = 0; i < table->n; i++)
		if (first[i].kind != WMK_BRANCH_NUMBER || first[i].at != first->at || first[i].left != first->left ||
		    first[i].right != first->right)
			return false;
	return true;
}

/*
 * Replace the table by one branch that gives every record the result `answer`, because no value is within the bounds of
 * this branch.
 */
static void set_constant(struct branch_table *table, uint8_t answer)
{
	table->n = 1;
	table->branches[0] = (struct branch){ .kind = WMK_BRANCH_NUMBER, .yes = WANTED, .no = answer };
}

/* Store the bounds of all branches, sorted and without duplicates. Returns their number. */
static uint32_t bounds_of(const struct branch_table *table, uint64_t *cuts)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < table->n; i++) {
		cuts[n++] = table->branches[i].low;
		cuts[n++] = table->branches[i].low + table->branches[i].count;
	}
	qsort(cuts, n, sizeof(cuts[0]), by_value);
	for (uint32_t i = 0; i < n; i++)
		if (!i || cuts[i] != cuts[kept - 1])
			cuts[kept++] = cuts[i];
	return kept;
}

/*
 * Merge the branches. The bounds divide the values of the field into intervals, and each interval is accepted or
 * rejected as a whole. Adjacent accepted intervals are joined. The merged branches replace the table if they are fewer
 * than the branches of the table.
 */
static void merge(struct branch_table *table)
{
	uint64_t cuts[2 * WMK_FILTER_BRANCHES_MAX];
	bool wanted[2 * WMK_FILTER_BRANCHES_MAX];
	struct branch_table merged = { .n = 0 };
	const uint32_t n = bounds_of(table, cuts);

	for (uint32_t i = 0; i < n; i++)
		wanted[i] = table_wants(table, cuts[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t past = (i + 1) % n;

		if (!wanted[i] || wanted[(i + n - 1) % n])
			continue;
		while (wanted[past])
			past = (past + 1) % n;
		struct branch *branch = &merged.branches[merged.n++];

		*branch = table->branches[0];
		branch->low = cuts[i];
		branch->count = cuts[past] - cuts[i];
		branch->yes = WANTED;
		branch->no = (uint8_t)merged.n;
	}
	if (!merged.n) {
		set_constant(table, wanted[0] ? WANTED : REFUSED);
	} else if (merged.n < table->n || merged.n == 1) {
		merged.branches[merged.n - 1].no = REFUSED;
		*table = merged;
	}
}

/* ── the complete table ────────────────────────────────────────────────────────────────────────────────── */

static uint64_t packed_next(uint8_t next, uint32_t number)
{
	return next == REFUSED ? 0 : next == WANTED ? 1 : next - number + 1;
}

static struct wmk_filter_branch packed(const struct branch *is, uint32_t number)
{
	const uint64_t what = is->at | packed_next(is->yes, number) << 16 | packed_next(is->no, number) << 24 |
			      (uint64_t)is->kind << 32 | (uint64_t)is->op << 40 | (uint64_t)is->left << 48 |
			      (uint64_t)is->right << 56 | (is->is_signed ? WMK_BRANCH_SIGNED : 0);

	if (is->kind != WMK_BRANCH_NUMBER)
		return (struct wmk_filter_branch){ is->low, is->count, is->operand, what };
	return (struct wmk_filter_branch){ is->low >> is->left, is->count >> is->left,
					    UINT64_MAX << is->right >> is->left, what };
}

void wmk_filter_table_make(const struct wmk_event *event, const struct wmk_filter_location *places,
			   const struct wmk_filter_program *program, struct wmk_filter_table *table)
{
	struct table_maker m = { .event = event, .places = places, .program = program };
	struct branch_table made;
	uint32_t n = 0;

	table->n = 0;
	table->is_short = false;
	for (uint32_t i = 0; i < program->n_insns; i++)
		n += compares(&program->insns[i]);
	if (!event->n_words || n > WMK_FILTER_BRANCHES_MAX || !make_branches(&m, &made, n))
		return;
	made.n = n;
	if (m.lead[0] >= REFUSED)
		set_constant(&made, m.lead[0]);
	else
		drop_before(&made, m.lead[0]);
	if (is_of_one_field(&made))
		merge(&made);
	table->n = made.n;
	table->is_short = true;
	for (uint32_t i = 0; i < made.n; i++) {
		table->branches[i] = packed(&made.branches[i], i);
		table->is_short &= made.branches[i].kind == WMK_BRANCH_NUMBER;
	}
}

void wmk_filter_quicken(const struct wmk_filter_block *block, struct wmk_filter_quick *quick)
{
	const struct wmk_filter_branch *first = block->branches;
	const bool is_one = block->n_branches == 1 && block->is_short && WMK_BRANCH_YES(first->what) == 1 &&
			    WMK_BRANCH_NO(first->what) == 0;

	*quick = (struct wmk_filter_quick){ .end = 0 };
	if (is_one)
		*quick = (struct wmk_filter_quick){ first->low, first->operand, first->count,
						     WMK_BRANCH_AT(first->what) + 8u };
	else if (block->n_branches)
		quick->end = block->is_short ? WMK_FILTER_QUICK_SHORT_TABLE : WMK_FILTER_QUICK_TABLE;
}
