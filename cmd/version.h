/* Which gpucloud this is. */
#pragma once

const char *gpc_version(void);   /* "0.1.0" */
