/* What Swift's Glibc module does not show of Linux. Every descriptor made here is close-on-exec. */
#ifndef CLINUX_H
#define CLINUX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "Answers.h"

/* An eventfd, non-blocking; -1 when the process has no descriptor left. */
int kassa_eventfd(void);
void kassa_eventfd_write(int descriptor);
void kassa_eventfd_read(int descriptor);

/* A timer on CLOCK_BOOTTIME, non-blocking. `nanoseconds` is absolute; 0 disarms. */
int kassa_timerfd(void);
void kassa_timerfd_set(int descriptor, int64_t nanoseconds);
void kassa_timerfd_read(int descriptor);

/* epoll, with the descriptor itself as the event's data. `operation` is EPOLL_CTL_ADD, _MOD or _DEL. */
int kassa_epoll(void);
int kassa_epoll_control(int epoll, int operation, int descriptor, uint32_t events);
/* -1 waits without end. Returns the number of events, 0 on a signal. */
int kassa_epoll_wait(int epoll, struct epoll_event *events, int count, int timeout_ms);
int kassa_epoll_event_descriptor(const struct epoll_event *event);

/* The clocks, in nanoseconds. */
int64_t kassa_boot_nanoseconds(void);
int64_t kassa_monotonic_nanoseconds(void);
int64_t kassa_wall_milliseconds(void);

/* A joinable thread of that name, with every signal blocked. 0, or an error number. */
int kassa_thread_start(pthread_t *thread, const char *name, void *(*body)(void *), void *argument);

/* Which loop the calling thread turns at this moment; NULL for none. */
void *kassa_current_loop(void);
void kassa_set_current_loop(void *loop);

/* A mutex and a condition on CLOCK_MONOTONIC. */
void kassa_mutex_init(pthread_mutex_t *mutex, bool recursive);
void kassa_condition_init(pthread_cond_t *condition);
/* Waits until that monotonic time; false when it passed. */
bool kassa_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t nanoseconds);

/* `count` unpredictable bytes; false when the kernel has none to give. */
bool kassa_random_bytes(void *bytes, size_t count);

/* Blocks SIGPIPE for the calling thread and returns whether it was not blocked before. */
bool kassa_block_sigpipe(void);
/* Undoes it, swallowing a SIGPIPE that came meanwhile. */
void kassa_unblock_sigpipe(void);

/* Starts a program found in PATH with one argument: without a shell, its standard streams at /dev/null, its signals as a
   new process expects them, and none of our descriptors. Its process id, or -1 with errno. */
pid_t kassa_spawn(const char *program, const char *argument);
/* A descriptor that becomes readable when the child ends; -1 where the kernel has none (before 5.3). */
int kassa_process_descriptor(pid_t child);
/* Collects that child and no other; false while it runs. */
bool kassa_reap(pid_t child);

/* "ENOSPC" and so on; static, NULL for a number that is none. */
const char *kassa_error_name(int number);

/* Zeroed memory that is zeroed again in a child made by fork. Never given back. NULL when there is none. */
void *kassa_memory_wiped_on_fork(size_t size);

#endif
