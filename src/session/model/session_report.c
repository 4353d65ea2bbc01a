/* SPDX-License-Identifier: MIT */
/* session_report.c - the first error of a session and its message. */
#include "session/model/session_report.h"

#include "base/error.h"

void wmk_session_report(struct wmk_session *session, int err, const char *what)
{
	char words[256];

	if (session->trouble)
		return;
	session->trouble = err;
	wmk_error_text(words, sizeof(words));
	wmk_error_format(session->trouble_words, sizeof(session->trouble_words), "%.200s%s%.200s", what ? what : "",
			 what ? ": " : "", words);
}

int wmk_session_trouble(const struct wmk_session *session, char *words, size_t size)
{
	if (size)
		wmk_error_format(words, size, "%s", session->trouble_words);
	return session->trouble;
}
