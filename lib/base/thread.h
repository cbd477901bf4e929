/* Threads that no signal finds: signals stay with whoever handles them. */
#pragma once
#include <pthread.h>

/* As pthread_create with its defaults; returns 0 or an errno value. */
int gpc_thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);
