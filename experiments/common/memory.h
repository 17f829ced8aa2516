/* memory.h: how much memory this machine has, and how much of it is left. */
#ifndef COMMON_MEMORY_H
#define COMMON_MEMORY_H

/* Bytes of physical memory; 0 where the system does not say. */
double memory_physical(void);

/* Bytes that a new allocation can have now without swapping, as Linux estimates them; elsewhere the
 * physical memory; 0 where the system says neither. */
double memory_available(void);

#endif
