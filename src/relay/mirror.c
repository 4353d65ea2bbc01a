/* SPDX-License-Identifier: MIT */
/* mirror.c - the connection, directory and thread of a mirror (see mirror.h). */
#include "relay/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "net/certificates.h"
#include "net/tls.h"
#include "relay/mirror_files.h"
#include "relay/server.h"
#include "store/directory_removal.h"

#define RENEW_MS 20
#define TRIES_MAX 200                /* lists before the first copy fails */
#define URL_BYTES 600u

struct wmk_mirror {
	char url[URL_BYTES];         /* a copy, cut into the parts below */
	char *name, *port, *host, *session;
	bool tls;
	char path[PATH_MAX];
	struct wmk_tls *keys;
	struct wmk_relay_call call;
	struct wmk_mirror_files files;
	pid_t remover;               /* the process that removes the directory */
	int alive;                   /* a pipe to `remover`: its end makes `remover` remove the directory */
	pthread_t thread;
	int stop[2];                 /* a pipe: its end stops the thread; -1: no thread */
	struct wmk_error_chain *failure;     /* the error that ended the thread */
	int err;
};

/* ── the URL ─────────────────────────────────────────────────────────────────────────────────────────── */

bool wmk_mirror_is_url(const char *text)
{
	return strncmp(text, "tls://", 6) == 0 || strncmp(text, "tcp://", 6) == 0;
}

/* Terminate a part of the path at the next '/'. Returns the next part of the path, or "" if there is no next part. */
static char *cut_part(char *part)
{
	char *next = part + strcspn(part, "/");

	if (*next)
		*next++ = '\0';
	return next;
}

static int split(struct wmk_mirror *mirror, const char *url)
{
	static char standard[8];
	char *at = mirror->url + 6;

	if (snprintf(mirror->url, sizeof(mirror->url), "%s", url) >= (int)sizeof(mirror->url))
		return wmk_errorx(-EINVAL, "the address of a session is longer than %u bytes", URL_BYTES - 1);
	mirror->tls = mirror->url[1] == 'l';
	mirror->name = at;
	mirror->host = cut_part(at);
	mirror->session = cut_part(mirror->host);
	if (!at[0] || cut_part(mirror->session)[0] || (mirror->session[0] && !mirror->host[0]))
		return wmk_errorx(-EINVAL, "invalid address '%.200s': the form is "
				  "tls://RELAY[:PORT][/HOST[/SESSION]]", url);
	snprintf(standard, sizeof(standard), "%u", WMK_RELAY_PORT);
	mirror->port = strrchr(at, ':');
	if (at[0] == '[') {
		mirror->name = at + 1;
		at = strchr(at, ']');
		if (!at)
			return wmk_errorx(-EINVAL, "invalid address '%.200s': a ']' is missing", url);
		*at++ = '\0';
		mirror->port = at[0] == ':' ? at : NULL;
	}
	if (mirror->port)
		*mirror->port++ = '\0';
	else
		mirror->port = standard;
	return 0;
}

static int connect_to(const struct wmk_mirror *mirror)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	int rc = getaddrinfo(mirror->name, mirror->port, &hints, &found), fd = -1, err = -ECONNREFUSED;

	if (rc)
		return wmk_error(-EHOSTUNREACH, "cannot find the relay '%.200s': %s", mirror->name, gai_strerror(rc));
	for (const struct addrinfo *to = found; to && fd < 0; to = to->ai_next) {
		if (!mirror->tls && !wmk_relay_address_is_loopback(to->ai_addr)) {
			err = wmk_errorx(-EINVAL, "'%.200s' is not a loopback address: use tls://", mirror->name);
			break;
		}
		fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0)
			break;
		err = -errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd >= 0 || err == -EINVAL)
		return fd >= 0 ? fd : err;
	return wmk_error(err, "cannot connect to the relay %.200s, port %.10s: %s", mirror->name, mirror->port,
			 strerror(-err));
}

static int begin_call(struct wmk_mirror *mirror)
{
	char pem[PATH_MAX];
	int err = 0, fd;

	if (mirror->tls) {
		err = wmk_peer_file(pem, sizeof(pem));
		if (err == 0)
			err = wmk_tls_open_client(pem, &mirror->keys);
		if (err < 0)
			return wmk_error_add(err, "a viewer needs a certificate (at the relay: waymark relay enroll "
					     "NAME --viewer)");
	}
	fd = connect_to(mirror);
	return fd < 0 ? fd : wmk_relay_call_begin(&mirror->call, fd, mirror->keys, mirror->tls ? mirror->name : NULL);
}

/* ── the directory ───────────────────────────────────────────────────────────────────────────────────── */

/* Runs in a separate process: remove the directory when the viewer closes the pipe or exits in any way. */
static void wait_and_remove(const char *path, int alive)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Close all other pipes and files that this process has inherited from the viewer. */
	dup2(alive, 0);
	close_range(1, ~0u, 0);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	wmk_directory_remove(AT_FDCWD, path);
	_exit(0);
}

static int make_directory(struct wmk_mirror *mirror)
{
	const char *top = getenv("TMPDIR");
	int alive[2], err = 0;

	if (snprintf(mirror->path, sizeof(mirror->path), "%s/waymark-view-XXXXXX", top && top[0] == '/' ? top : "/tmp")
			    >= (int)sizeof(mirror->path) || !mkdtemp(mirror->path))
		return wmk_error(-errno, "cannot make a temporary directory for the copy of a session (set TMPDIR)");
	if (pipe2(alive, O_CLOEXEC) < 0) {
		err = wmk_error(-errno, "cannot make a pipe");
		rmdir(mirror->path);
		return err;
	}
	mirror->remover = fork();
	if (mirror->remover == 0)
		wait_and_remove(mirror->path, alive[0]);
	close(alive[0]);
	mirror->alive = alive[1];
	if (mirror->remover < 0) {
		err = wmk_error(-errno, "cannot start a process that removes the copy of a session");
		rmdir(mirror->path);
		return err;
	}
	mirror->files.dir = open(mirror->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return mirror->files.dir < 0 ? wmk_error(-errno, "cannot open %.200s", mirror->path) : 0;
}

/* ── life ────────────────────────────────────────────────────────────────────────────────────────────── */

static void *run(void *data)
{
	struct wmk_mirror *mirror = data;
	struct pollfd stop = { .fd = mirror->stop[0], .events = POLLIN };
	int err = 0;

	while (err >= 0 && poll(&stop, 1, RENEW_MS) <= 0)
		err = wmk_mirror_files_renew(&mirror->files, &mirror->call);
	if (err < 0) {
		mirror->err = err;
		mirror->failure = wmk_error_take();
	}
	wmk_mirror_files_release(&mirror->files);
	return NULL;
}

static int copy(struct wmk_mirror *mirror, bool follow)
{
	int got = 0;

	mirror->files.host = mirror->host;
	mirror->files.session = mirror->session;
	mirror->files.follow = follow;
	for (int i = 0; i < TRIES_MAX && got == 0; i++)
		got = wmk_mirror_files_renew(&mirror->files, &mirror->call);
	if (got == 0)
		got = wmk_error(-EAGAIN, "cannot copy the session: its files were moved during each attempt");
	if (got < 0 || !follow)
		return got < 0 ? got : 0;
	if (pipe2(mirror->stop, O_CLOEXEC) < 0)
		return wmk_error(-errno, "cannot make a pipe");
	got = wmk_thread_create(&mirror->thread, NULL, run, mirror);
	if (got == 0)
		return 0;
	close(mirror->stop[0]);
	close(mirror->stop[1]);
	mirror->stop[0] = -1;
	return wmk_error(-got, "cannot start the thread of a mirror");
}

int wmk_mirror_open(const char *url, bool follow, struct wmk_mirror **result)
{
	struct wmk_mirror *mirror = calloc(1, sizeof(*mirror));
	struct wmk_error_chain *chain;
	int err;

	if (!mirror)
		return wmk_error(-ENOMEM, "no memory for a mirror");
	mirror->files.dir = mirror->alive = mirror->stop[0] = -1;
	err = split(mirror, url);
	if (err == 0)
		err = begin_call(mirror);
	if (err == 0)
		err = make_directory(mirror);
	if (err == 0)
		err = copy(mirror, follow);
	if (err == 0) {
		*result = mirror;
		return 0;
	}
	chain = wmk_error_take();
	wmk_mirror_close(mirror);
	wmk_error_give(chain);
	return wmk_error_add(err, "cannot view %.200s", url);
}

const char *wmk_mirror_path(const struct wmk_mirror *mirror)
{
	return mirror->path;
}

int wmk_mirror_close(struct wmk_mirror *mirror)
{
	int err;

	if (mirror->stop[0] >= 0) {
		close(mirror->stop[1]);
		pthread_join(mirror->thread, NULL);
		close(mirror->stop[0]);
	}
	wmk_mirror_files_free(&mirror->files);
	wmk_relay_call_end(&mirror->call);
	wmk_tls_close(mirror->keys);
	if (mirror->files.dir >= 0)
		close(mirror->files.dir);
	if (mirror->alive >= 0)
		close(mirror->alive);
	if (mirror->remover > 0)
		waitpid(mirror->remover, NULL, 0);
	err = mirror->err;
	if (err < 0)
		wmk_error_give(mirror->failure);
	free(mirror);
	return err;
}
