/* Condition variables with a limit in milliseconds. */
#pragma once
#include <pthread.h>
#include <stdbool.h>

/* Waits for a signal of cond, at most ms; called with the lock held. True when one
 * came. cond has its default clock. */
bool gpc_cond_wait_ms(pthread_cond_t *cond, pthread_mutex_t *lock, int ms);
