/* Other allocators need no advice. */
#include "snapshot/heap.h"

void gpc_heap_keep_small(void)
{
}
