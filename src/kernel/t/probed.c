/* SPDX-License-Identifier: MIT */
/*
 * probed.c - the program that test_probes_live probes: functions, and SDT probes with arguments in many kinds of
 * places, one of them with a semaphore. It prints the expected records: "NAME FIELD=VALUE ...".
 *
 *     probed ROUNDS
 */
#define _SDT_HAS_SEMAPHORES 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif
#define IN_PROBES __attribute__((section(".probes")))

/* An operand for a variable: gcc for aarch64 can use a symbol in it, which the kernel cannot read. */
#ifdef __aarch64__
#define VARIABLE(x) ({ __typeof__(x) value_ = (x); __asm__ volatile("" : "+r"(value_)); value_; })
#else
#define VARIABLE(x) (x)
#endif

long probed_library(long amount, const char *who);
int probed_checkout(int id, const char *who, unsigned long amount);
void probed_refund(int id, const char *who);
void probed_variables(void);
void probed_odd(unsigned char odd);

unsigned short wmkt_order_semaphore IN_PROBES, wmkt_guarded_semaphore IN_PROBES, wmkt_odd_semaphore IN_PROBES;
static int counter = 5;             /* .data */
long probed_sum;                    /* .bss */

/* Arguments in a register, through a pointer, of 64 bits, in variables, constants, on the stack. */
APART int probed_checkout(int id, const char *who, unsigned long amount)
{
	volatile short here = (short)(-id - 100);

	counter += 3 << 15;
	probed_sum -= id;
	STAP_PROBE8(wmkt, order, id, who, amount, VARIABLE(counter), VARIABLE(probed_sum), here, -7, 'x');
	printf("order arg1=%d who=\"%s\" arg3=%lu arg4=%d arg5=%ld arg6=%d arg7=-7 arg8=120\n", id, who, amount,
	       counter, probed_sum, here);
	return id * 2 - 9;
}

/* The same probe at another place. */
APART void probed_refund(int id, const char *who)
{
	volatile short here = 12;

	STAP_PROBE8(wmkt, order, id + 1000, who, 3ul, VARIABLE(counter), VARIABLE(probed_sum), here, -8, 'y');
	printf("order arg1=%d who=\"%s\" arg3=3 arg4=%d arg5=%ld arg6=12 arg7=-8 arg8=121\n", id + 1000, who, counter,
	       probed_sum);
}

/* Variables, written by hand as <sys/sdt.h> would: otherwise the compiler chooses the operands. */
APART void probed_variables(void)
{
#ifdef __x86_64__
	__asm__ volatile("990: nop\n"
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"
			 ".balign 4\n"
			 ".4byte 992f - 991f, 994f - 993f, 3\n"
			 "991: .asciz \"stapsdt\"\n"
			 "992: .balign 4\n"
			 "993: .8byte 990b, _.stapsdt.base, 0\n"
			 ".asciz \"wmkt\"\n"
			 ".asciz \"variables\"\n"
			 ".asciz \"-4@counter(%%rip) -8@probed_sum(%%rip) 2@2+counter(%%rip)\"\n"
			 "994: .balign 4\n"
			 ".popsection"
			 : : "m"(counter), "m"(probed_sum));
	printf("variables arg1=%d arg2=%ld arg3=%u\n", counter, probed_sum, (unsigned)counter >> 16);
#endif
}

/* Two notes of one name with different arguments. */
APART void probed_odd(unsigned char odd)
{
	STAP_PROBE1(wmkt, odd, odd);
	STAP_PROBE2(wmkt, odd, odd, 77);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 0;

	for (int i = 0; i < rounds; i++) {
		const char *who = i % 2 ? "Ada" : "Grace Hopper";
		const int got = probed_checkout(i, who, 1ul << (i + 40));

		printf("checkout who=\"%s\" amount=%lu\ncheckout_return retval=%d\n", who, 1ul << (i + 40), got);
		probed_refund(i, who);
		probed_variables();
		probed_odd((unsigned char)(200 + i));
		printf("odd arg1=%d\nodd_2 arg1=%d arg2=77\n", 200 + i, 200 + i);
		printf("forms first=%d bytes={%d,%d,%d} hex=0x%x low=%d text=\"%s\" comm=\"%.15s\" again=\"%s\" "
		       "signed=%d\n",
		       who[0], who[0], who[1], who[2], (unsigned)who[1], -i & 15, who, program_invocation_short_name,
		       who + 1, (signed char)-i);
		printf("library amount=%d who=\"%s\"\nlibrary_return retval=%ld\n", -i, who, probed_library(-i, who));
		if (wmkt_guarded_semaphore) {
			STAP_PROBE1(wmkt, guarded, i);
			printf("guarded arg1=%d\n", i);
		}
	}
	return 0;
}
