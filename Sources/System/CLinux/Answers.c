#define _GNU_SOURCE
#include "Answers.h"

#include <dlfcn.h>
#include <stddef.h>

#include "CLinux.h"

void *kassa_handle_memory_start;
int (*kassa_clock_gettime)(clockid_t, struct timespec *) = clock_gettime;

static uint64_t client_number;

uint64_t kassa_next_client_number(void) { return ++client_number; }
uint64_t kassa_last_client_number(void) { return client_number; }

/* At load, so that a query has nothing to check and a fork finds nothing half done. */
__attribute__((constructor)) static void prepare(void) {
  kassa_handle_memory_start = kassa_memory_wiped_on_fork(KASSA_HANDLE_MEMORY_SIZE);

  void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (vdso == NULL) return;
#if defined(__aarch64__)
  void *function = dlsym(vdso, "__kernel_clock_gettime");
#else
  void *function = dlsym(vdso, "__vdso_clock_gettime");
#endif
  if (function != NULL) kassa_clock_gettime = (int (*)(clockid_t, struct timespec *))function;
}
