/* SPDX-License-Identifier: MIT */
/*
 * closer.c - descriptors that came from others are closed where nobody waits for it (see closer.h).
 */
#include "session/closer.h"

#include "base/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK (256u << 10)
#define FDS_MAX (1u << 20)
#define USERS 63u                    /* with an account of their own; all others share one */
#define MEMORY_MAX (64 << 20)        /* bytes that go back in some milliseconds */
#define PEEK 65536u

struct left {
	int fd;
	unsigned next;                   /* in its user's list, or of those that are unused; 0: the last */
};

static struct {
	pthread_mutex_t lock;            /* of all below; held for moments only */
	struct left *left;               /* 1 + FDS_MAX, the first nobody's; NULL: none was left yet */
	unsigned fresh, unused;          /* how many were ever used; those of them that are free again */
	unsigned threads, busy;          /* busy: in a close(), from which they may never return */
	struct {
		unsigned uid, n;         /* not closed yet; 0: nobody's */
		unsigned first, busy;    /* of `left`; threads that are in a close() for him */
	} users[USERS + 1];
	size_t all;                      /* of all users; also read without the lock: relaxed, a count */
} closer = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void thread_enough(void);

/* Locked. */
static void count(unsigned user, int by)
{
	closer.users[user].n += (unsigned)by;
	__atomic_store_n(&closer.all, closer.all + (size_t)by, __ATOMIC_RELAXED);
}

/* Locked. Whose account it is; USERS: that of those who have none. */
static unsigned user_of(unsigned uid)
{
	for (unsigned i = 0; i < USERS; i++)
		if (closer.users[i].n && closer.users[i].uid == uid)
			return i;
	return USERS;
}

/* The same, and one is opened if there is room. */
static unsigned user_with_account(unsigned uid)
{
	unsigned user = user_of(uid), i = 0;

	while (user == USERS && i < USERS && closer.users[i].n)
		i++;
	if (user != USERS || i == USERS)
		return user;
	closer.users[i].uid = uid;
	return i;
}

/* Locked. Of whom one may be closed: nobody has all threads wait for him. Above USERS: there is no such. */
static unsigned user_next(void)
{
	unsigned user = 0;

	while (user <= USERS && (!closer.users[user].first || closer.users[user].busy >= WMK_CLOSER_THREADS_OF_ONE))
		user++;
	return user;
}

/* Locked. */
static int take(unsigned user)
{
	const unsigned at = closer.users[user].first;
	struct left *left = &closer.left[at];

	closer.users[user].first = left->next;
	left->next = closer.unused;
	closer.unused = at;
	return left->fd;
}

static void *thread_run(void *data)
{
	unsigned user;

	pthread_setname_np(pthread_self(), "wmk-close");
	pthread_mutex_lock(&closer.lock);
	while ((user = user_next()) <= USERS) {
		const int fd = take(user);

		closer.busy++;
		closer.users[user].busy++;
		thread_enough();
		pthread_mutex_unlock(&closer.lock);
		close(fd);
		pthread_mutex_lock(&closer.lock);
		closer.busy--;
		closer.users[user].busy--;
		count(user, -1);
	}
	closer.threads--;
	pthread_mutex_unlock(&closer.lock);
	return data;
}

/* Locked. Is somebody left for those that wait? (Where no thread can be had, the next who comes tries again.) */
static void thread_enough(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	if (user_next() > USERS || closer.busy < closer.threads || closer.threads == WMK_CLOSER_THREADS)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	wmk_signals_of_others(&all);                /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	closer.threads += pthread_create(&thread, &attr, thread_run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
}

/* Locked. Room for one more, of memory that costs nothing until it is used, as it mostly never is. 0: there is none. */
static unsigned room(void)
{
	const unsigned at = closer.unused;
	void *all;

	if (!closer.left) {
		all = mmap(NULL, (1 + FDS_MAX) * sizeof(*closer.left), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		closer.left = all == MAP_FAILED ? NULL : all;
	}
	if (!closer.left || (!at && closer.fresh == FDS_MAX))
		return 0;
	if (!at)
		return ++closer.fresh;
	closer.unused = closer.left[at].next;
	return at;
}

static void leave(int fd, unsigned uid)
{
	pthread_mutex_lock(&closer.lock);
	const unsigned at = room();

	if (at) {
		const unsigned user = user_with_account(uid);

		closer.left[at] = (struct left){ fd, closer.users[user].first };
		closer.users[user].first = at;
		count(user, 1);
		thread_enough();
	}
	pthread_mutex_unlock(&closer.lock);
	/* There is no room to remember it: most do not wait. */
	if (!at)
		close(fd);
}

bool wmk_closer_is_full(unsigned uid)
{
	/* relaxed: mostly 0, and then nobody's; who is about to be full is found so the next time */
	if (__atomic_load_n(&closer.all, __ATOMIC_RELAXED) < WMK_CLOSER_FULL)
		return false;
	pthread_mutex_lock(&closer.lock);
	thread_enough();                 /* (there may have been none for those that were left last) */
	const unsigned user = user_of(uid);
	/* The account that many share tells nothing of one of them, until they are too many for the table of descriptors. */
	const bool is_full = closer.users[user].n >= (user < USERS ? WMK_CLOSER_FULL : WMK_CLOSER_FULL_OTHERS);

	pthread_mutex_unlock(&closer.lock);
	return is_full;
}

/* What rings are: sealed memory has nobody who could keep us waiting. (A file of tmpfs cannot be sealed so; with the last one a whole file system may go.) */
static bool is_small_memory(int fd)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW, seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & need) == need && fstat(fd, &st) == 0 && st.st_blocks <= MEMORY_MAX / 512;
}

void wmk_closer_expect(int socket)
{
	const int yes = 1;

	setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
}

void wmk_closer_file(int fd, unsigned uid)
{
	if (is_small_memory(fd))
		close(fd);
	else
		leave(fd, uid);
}

/* Is a descriptor in what is unread? Looked for without taking it: the kernel says that it had no room to tell. */
static bool holds_descriptors(int socket)
{
	static const int from = 0;
	char bytes[PEEK];
	ssize_t n;

	if (setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) != 0)
		return true;
	do {
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

		n = recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT);
		if (msg.msg_flags & MSG_CTRUNC)
			return true;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 && errno != EAGAIN;
}

void wmk_closer_socket(int fd, unsigned uid)
{
	int unread;

	if (shutdown(fd, SHUT_RDWR) == 0 && ioctl(fd, FIONREAD, &unread) == 0 && (unread == 0 || !holds_descriptors(fd)))
		close(fd);
	else
		leave(fd, uid);
}
