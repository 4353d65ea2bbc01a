/* SPDX-License-Identifier: MIT */
/*
 * deferred_close.c - close descriptors of other processes in separate threads (see deferred_close.h).
 */
#include "session/apps/deferred_close.h"

#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK (256u << 10)
#define MEMORY_MAX (64 << 20)        /* bytes that are freed within milliseconds */
#define PEEK 65536u

struct deferred_close {
	struct deferred_close *next;
	int fd;
};

struct deferred_close_user {
	struct deferred_close_user *next;
	unsigned uid, n;                 /* descriptors that are not closed yet */
	unsigned busy;                   /* number of these descriptors in a close(), which may never return */
	struct deferred_close *first;              /* the waiting ones */
};

static struct {
	pthread_mutex_t lock;            /* protects all fields; held briefly */
	struct deferred_close_user *users;       /* users with descriptors that are not closed yet */
	unsigned threads, busy;          /* busy: in a close() */
	size_t all;                      /* descriptors of all users; also read without the lock: relaxed, a count */
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void thread_enough(void);

/* The caller of each function from this line to add() holds list.lock. */
static void count(struct deferred_close_user *user, int by)
{
	user->n += (unsigned)by;
	__atomic_store_n(&list.all, list.all + (size_t)by, __ATOMIC_RELAXED);
}

static struct deferred_close_user **user_find(unsigned uid)
{
	struct deferred_close_user **at = &list.users;

	while (*at && (*at)->uid != uid)
		at = &(*at)->next;
	return at;
}

static void forget_if_nothing(struct deferred_close_user *user)
{
	struct deferred_close_user **at = user_find(user->uid);

	if (user->n)
		return;
	*at = user->next;
	free(user);
}

/* Return a user that has a waiting descriptor and fewer busy threads than allowed; NULL: no such user. */
static struct deferred_close_user *user_next(void)
{
	struct deferred_close_user *user = list.users;

	while (user && (!user->first || user->busy >= WMK_DEFERRED_CLOSE_THREADS_OF_ONE))
		user = user->next;
	return user;
}

static int take(struct deferred_close_user *user)
{
	struct deferred_close *left = user->first;
	const int fd = left->fd;

	user->first = left->next;
	free(left);
	return fd;
}

static void *thread_run(void *data)
{
	struct deferred_close_user *user;

	pthread_setname_np(pthread_self(), "wmk-close");
	pthread_mutex_lock(&list.lock);
	while ((user = user_next()) != NULL) {
		const int fd = take(user);

		list.busy++;
		user->busy++;
		thread_enough();
		pthread_mutex_unlock(&list.lock);
		close(fd);
		pthread_mutex_lock(&list.lock);
		list.busy--;
		user->busy--;
		count(user, -1);
		forget_if_nothing(user);
	}
	list.threads--;
	pthread_mutex_unlock(&list.lock);
	return data;
}

/*
 * Start a thread if all threads are in a close() and a descriptor waits. After a failure, the next call tries to start
 * a thread again.
 */
static void thread_enough(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (!user_next() || list.busy < list.threads || list.threads == WMK_DEFERRED_CLOSE_THREADS)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	list.threads += wmk_thread_create(&thread, &attr, thread_run, NULL) == 0;
	pthread_attr_destroy(&attr);
}

/* False: no memory. */
static bool add(int fd, unsigned uid)
{
	struct deferred_close_user **at = user_find(uid), *user = *at;
	struct deferred_close *left = malloc(sizeof(*left));

	if (left && !user && (user = calloc(1, sizeof(*user))) != NULL) {
		user->uid = uid;
		*at = user;
	}
	if (!left || !user) {
		free(left);
		return false;
	}
	*left = (struct deferred_close){ user->first, fd };
	user->first = left;
	count(user, 1);
	thread_enough();
	return true;
}

static void leave(int fd, unsigned uid)
{
	pthread_mutex_lock(&list.lock);
	const bool is_added = add(fd, uid);

	pthread_mutex_unlock(&list.lock);
	/* without memory, close the descriptor in this thread: most descriptors do not block */
	if (!is_added)
		close(fd);
}

bool wmk_deferred_close_is_full(unsigned uid)
{
	/* relaxed: usually 0; a user that reaches the limit just now is found at the next call */
	if (__atomic_load_n(&list.all, __ATOMIC_RELAXED) < WMK_DEFERRED_CLOSE_FULL)
		return false;
	pthread_mutex_lock(&list.lock);
	thread_enough();                 /* (the latest attempt to start a thread may have failed) */
	const struct deferred_close_user *user = *user_find(uid);
	const bool is_full = user && user->n >= WMK_DEFERRED_CLOSE_FULL;

	pthread_mutex_unlock(&list.lock);
	return is_full;
}

/*
 * True for the memory of rings, because closing small sealed memory does not block. (A file on a mounted tmpfs cannot
 * have these seals; closing such a file may release a whole file system.)
 */
static bool is_small_memory(int fd)
{
	const int need = F_SEAL_SHRINK | F_SEAL_GROW, seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & need) == need && fstat(fd, &st) == 0 && st.st_blocks <= MEMORY_MAX / 512;
}

void wmk_deferred_close_expect(int socket)
{
	const int yes = 1;

	setsockopt(socket, SOL_SOCKET, SO_OOBINLINE, &yes, sizeof(yes));
}

void wmk_deferred_close_file(int fd, unsigned uid)
{
	if (is_small_memory(fd))
		close(fd);
	else
		leave(fd, uid);
}

/*
 * True if unread data contains a descriptor. The function peeks without a control buffer: MSG_CTRUNC then reports that
 * a message contains descriptors.
 */
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

void wmk_deferred_close_socket(int fd, unsigned uid)
{
	int unread;

	if (shutdown(fd, SHUT_RDWR) == 0 && ioctl(fd, FIONREAD, &unread) == 0 &&
	    (unread == 0 || !holds_descriptors(fd)))
		close(fd);
	else
		leave(fd, uid);
}
