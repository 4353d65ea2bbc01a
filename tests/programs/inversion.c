/* SPDX-License-Identifier: MIT */
/*
 * inversion.c - priority inversion on one CPU: a thread of high priority waits for a lock. A thread of low priority
 * holds the lock, and does not run while a thread of medium priority computes for 60 ms. Prints the numbers of the
 * threads of high and low priority. Exit status 77: real-time priorities are not permitted.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <waymark/trace.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t is_locked, is_wanted;

static void compute(long ms)
{
	struct timespec now;
	long begun;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	begun = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < begun + ms)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void *low(void *tid)
{
	*(int *)tid = gettid();
	pthread_mutex_lock(&lock);
	sem_post(&is_locked);          /* the thread of high priority runs until it waits for the lock */
	compute(5);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *medium(void *unused)
{
	while (sem_wait(&is_wanted))
		;
	compute(60);
	return unused;
}

static int start(pthread_t *thread, int priority, void *(*run)(void *), void *arg)
{
	const struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	return pthread_create(thread, &attr, run, arg);
}

static void request(void)
{
	waymark_begin(inversion, request);
	sem_post(&is_wanted);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	waymark_end(inversion, request);
}

int main(void)
{
	const struct sched_param high = { .sched_priority = 3 };
	pthread_t threads[2];
	cpu_set_t cpus;
	int cpu = 0, tid = 0;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) || sem_init(&is_locked, 0, 0) || sem_init(&is_wanted, 0, 0))
		return 1;
	if (sched_setscheduler(0, SCHED_FIFO, &high))
		return 77;
	if (start(&threads[0], 2, medium, NULL) || start(&threads[1], 1, low, &tid))
		return 1;
	while (sem_wait(&is_locked))
		;
	request();
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%d %d\n", (int)getpid(), tid);
	return 0;
}
