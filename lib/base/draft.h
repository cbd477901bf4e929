/* A file that gets its name when it is whole. Until then it has none, where the
 * system can do that (O_TMPFILE, open(2)), so that a process that is killed leaves
 * nothing behind; elsewhere it has a temporary one beside its place. */
#pragma once

enum { GPC_DRAFT_NAME_SIZE = 32 };

struct gpc_draft {
	int dir;                        /* the caller's */
	int fd;                         /* to write to; -1 once it has ended */
	char temp[GPC_DRAFT_NAME_SIZE]; /* its name in dir for now; "" = none */
};

/* In the folder dir, which has to stay open. 0 or an errno. */
int gpc_draft_open(struct gpc_draft *d, int dir, unsigned mode);
/* Gives it that name in dir, in place of what has it, and closes it. 0 or an errno;
 * then it is gone, and what had the name still has it. */
int gpc_draft_commit(struct gpc_draft *d, const char *name);
/* Closes and removes one that is still open. */
void gpc_draft_drop(struct gpc_draft *d);

/* A name that nobody else takes, for what is not complete. */
void gpc_draft_name(char ret_name[GPC_DRAFT_NAME_SIZE]);

/* --- what systems differ in ------------------------------------------------- */
/* A file of the folder without a name; -1 when it cannot be had here. */
int gpc_draft_unnamed(int dir, unsigned mode);
/* Gives it a name that nothing has. 0 or an errno. */
int gpc_draft_link(int fd, int dir, const char *name);
