/* Words of other tools, and what they are here. */
#pragma once

/* Of a command that is not there: ours with its first words; NULL: not known. */
const char *gpc_habit_command(const char *name);
/* Of an option (without --) that `command` does not have: what to give instead, or
 * NULL. */
const char *gpc_habit_option(const char *command, const char *name);
