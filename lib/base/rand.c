/* Random bytes for ids, tokens and temporary names. getentropy is preferred;
 * a system or sandbox without it is asked through /dev/urandom. Ids that are
 * not random could name the same machine twice, hence the abort.
 */
#define _DEFAULT_SOURCE
#include "base/rand.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"

static void from_device(void *bytes, size_t n)
{
	static const char text[] = "gpucloud: the system gives no random bytes\n";
	gpc_autofd fd = -1;
	size_t got = 0;

	if (gpc_open("/dev/urandom", O_RDONLY, 0, &fd, NULL) == 0 &&
		gpc_read_full(fd, bytes, n, "/dev/urandom", &got, NULL) == 0 &&
		got == n)
		return;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

void gpc_rand(void *bytes, size_t n)
{
	char *p = bytes;

	while (n > 0) {
		size_t part = n < 256 ? n : 256;

		if (getentropy(p, part) != 0)
			from_device(p, part);
		p += part;
		n -= part;
	}
}

uint64_t gpc_rand_below(uint64_t n)
{
	uint64_t x, cut;

	if (n < 2)
		return 0;
	/* Values from the incomplete last range would favour small results. */
	cut = -n % n;
	do
		gpc_rand(&x, sizeof(x));
	while (x < cut);
	return x % n;
}

static const char base32_digits[] = "abcdefghijklmnopqrstuvwxyz234567";

char *gpc_rand_base32(char *out, size_t n)
{
	gpc_rand(out, n);
	for (size_t i = 0; i < n; i++)
		out[i] = base32_digits[(unsigned char)out[i] & 31];
	out[n] = '\0';
	return out;
}

size_t gpc_base32_span(const char *text)
{
	return strspn(text, base32_digits);
}
