/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Preloaded into an unmodified program: on SIGUSR2 a thread of its own forks, and the child does nothing but hold every
 * descriptor that it inherited. FORKLATER_PID names the file that gets the child's pid. So a program with a live forked
 * child can be killed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *fork_on_signal(void *set)
{
	int number;

	while (sigwait(set, &number) == 0) {
		pid_t child = fork();

		if (child == 0)
			while (1)
				pause();
		FILE *f = fopen(getenv("FORKLATER_PID"), "w");
		if (f != NULL) {
			fprintf(f, "%d\n", (int)child);
			fclose(f);
		}
	}
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	static sigset_t set;
	pthread_t thread;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL); /* threads made later inherit it: only ours takes the signal */
	if (getenv("FORKLATER_PID") != NULL)
		pthread_create(&thread, NULL, fork_on_signal, &set);
}
