/* glibc learns from the first large block that is freed to keep such blocks in
 * the heap of the thread; with a compressor's window in each thread that holds
 * on to half of the memory for nothing. A fixed limit gives them back at once.
 */
#define _DEFAULT_SOURCE
#include "snapshot/heap.h"

#include <malloc.h>

void gpc_heap_keep_small(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
}
