/* Keeps the heap small while large buffers come and go in many threads. */
#pragma once

void gpc_heap_keep_small(void);
