/* System calls that fail on command. The linker sends the calls of the code
 * under test through here; while a fault is armed, its nth call fails, or that
 * one and all after it. What belongs to the pretend cloud, which keeps its own
 * books in files, never fails. */
#pragma once
#include <stdbool.h>

enum io_fault {
	IO_EIO,        /* any call */
	IO_ENOSPC,     /* what needs room */
	IO_EMFILE,     /* what opens */
	IO_ENOMEM,     /* memory for what the outside world sizes */
	IO_SHORT,      /* reads and writes: half of it is done */
	IO_LOOK,       /* what only looks: stat, readdir, access, lseek */
	IO_REMOVE,     /* unlink, rmdir */
	IO_CLOSE,      /* close: it is closed, and its error comes late */
	IO_START,      /* threads and processes */
	IO__COUNT,
};
extern const char *const io_fault_names[];

void io_arm(enum io_fault fault, long nth, bool and_all_after);
/* While paused, calls neither count nor fail. */
void io_pause(bool on);
void io_disarm(void);
/* The call that it struck first; NULL = none, or it is forgotten. */
const char *io_struck(void);
void io_forget(void);
/* Open descriptors of this process. */
int io_count_fds(void);
