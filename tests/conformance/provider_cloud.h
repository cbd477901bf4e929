/* The clouds that providers of the conformance suite are asked about. */
#pragma once

/* Starts the stand-in on first use, and makes its account as it was at the start. */
void cloud_reset(void);
void cloud_end(void);
/* Machines stay pending for as long as the test runs, from now on. */
void cloud_keep_pending(void);
