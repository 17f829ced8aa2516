/* version.h: the version that --version prints and every .meta file records. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define SQRTDK_VERSION "0.2.0"

/* The commit it was built from; the Makefile asks git. */
#ifndef SQRTDK_COMMIT
#define SQRTDK_COMMIT "unknown"
#endif

#endif
