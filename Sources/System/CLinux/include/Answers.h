/* What the queries need of the machine: where the open clients are written down, and clocks that cost little to read. */
#ifndef CLINUX_ANSWERS_H
#define CLINUX_ANSWERS_H

#include <stdint.h>
#include <time.h>

/* Room for the process's table of clients, zeroed in a child made by fork. NULL when there is no memory. */
#define KASSA_HANDLE_MEMORY_SIZE 135168
static inline void *kassa_handle_memory(void) {
  extern void *kassa_handle_memory_start __attribute__((visibility("hidden")));
  return kassa_handle_memory_start;
}

/* Numbers for clients, from 1. A child made by fork goes on where its parent was. Called under a lock. */
uint64_t kassa_next_client_number(void);
uint64_t kassa_last_client_number(void);

/* A clock in nanoseconds, read in the vDSO without the detour through glibc. */
static inline int64_t kassa_clock_nanoseconds(clockid_t clock) {
  extern int (*kassa_clock_gettime)(clockid_t, struct timespec *) __attribute__((visibility("hidden")));
  struct timespec time = {0, 0};
  kassa_clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
/* CLOCK_BOOTTIME: exact, and runs on in suspend. */
static inline int64_t kassa_exact_boot_nanoseconds(void) { return kassa_clock_nanoseconds(CLOCK_BOOTTIME); }
/* CLOCK_MONOTONIC_COARSE: a sixth of the cost, some milliseconds behind, and stands still in suspend. */
static inline int64_t kassa_coarse_nanoseconds(void) { return kassa_clock_nanoseconds(CLOCK_MONOTONIC_COARSE); }

#endif
