/* Keeps libdispatch out of libkassa.so. Swift's concurrency library starts it for `Task {}` without an executor, for
 * `Task.sleep` and for the main actor; Kassa's code does none of that, since its loop runs every task. The linker still
 * wants these 17 names, and would take 336 KB and a pool of threads with them.
 *
 * Whoever calls one after all has broken that rule: no thread is there to do the work, so waiting would never end. */
#include "CStandIns.h"

#include <stdio.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

__attribute__((noreturn)) static void refuse(const char *name) {
  fprintf(stderr, "kassa: %s: there is no Dispatch in this library, its tasks belong on the event loop\n", name);
  abort();
}

#define REFUSED(name) \
  HIDDEN void name(void); \
  HIDDEN void name(void) { refuse(#name); }

REFUSED(dispatch_activate)
REFUSED(dispatch_after_f)
REFUSED(dispatch_assert_queue)
REFUSED(dispatch_async_f)
REFUSED(dispatch_main)
REFUSED(dispatch_queue_attr_make_with_qos_class)
REFUSED(dispatch_queue_create)
REFUSED(dispatch_queue_set_width)
REFUSED(dispatch_release)
REFUSED(dispatch_set_context)
REFUSED(dispatch_source_create)
REFUSED(dispatch_source_set_event_handler_f)
REFUSED(dispatch_source_set_timer)
REFUSED(dispatch_walltime)

/* Only their addresses are ever used. */
HIDDEN extern const char _dispatch_main_q, _dispatch_queue_attr_concurrent, _dispatch_source_type_timer;
HIDDEN const char _dispatch_main_q = 0, _dispatch_queue_attr_concurrent = 0, _dispatch_source_type_timer = 0;
