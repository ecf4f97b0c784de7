#include "CDispatchStub.h"

#include <stdio.h>
#include <stdlib.h>

/* The types do not matter: a function that is called does not return. */
#define REFUSED(name)                                                                                      \
  _Noreturn void name(void);                                                                               \
  _Noreturn void name(void) {                                                                              \
    fputs("kassa: " #name " was called, but the library has no Dispatch; please report this\n", stderr);   \
    abort();                                                                                               \
  }

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

/* Only their addresses are taken. */
extern char _dispatch_main_q[64], _dispatch_queue_attr_concurrent[64], _dispatch_source_type_timer[64];
char _dispatch_main_q[64], _dispatch_queue_attr_concurrent[64], _dispatch_source_type_timer[64];
