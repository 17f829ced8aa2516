/* version.h: the version that --version prints and every .meta file records. */
#ifndef VERSION_H
#define VERSION_H

#define SQRTDK_VERSION "0.1.0"

#endif
