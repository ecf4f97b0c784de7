/* libmicrohttpd, opened on first use: most programs never listen. */
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>

#define KASSA_MHD_FUNCTIONS(FUNCTION)     \
  FUNCTION(start_daemon)                  \
  FUNCTION(stop_daemon)                   \
  FUNCTION(quiesce_daemon)                \
  FUNCTION(run)                           \
  FUNCTION(get_timeout)                   \
  FUNCTION(get_daemon_info)               \
  FUNCTION(get_connection_info)           \
  FUNCTION(get_connection_values)         \
  FUNCTION(suspend_connection)            \
  FUNCTION(resume_connection)             \
  FUNCTION(create_response_from_buffer)   \
  FUNCTION(create_response_from_callback) \
  FUNCTION(add_response_header)           \
  FUNCTION(queue_response)                \
  FUNCTION(destroy_response)

/* libmicrohttpd's functions under their names without `MHD_`; nothing changes once they are found. */
struct __attribute__((swift_attr("@Sendable"))) kassa_mhd {
#define KASSA_MHD_MEMBER(name) __typeof__(MHD_##name) *_Nonnull name;
  KASSA_MHD_FUNCTIONS(KASSA_MHD_MEMBER)
#undef KASSA_MHD_MEMBER
};

/* The functions, or NULL when this machine has no libmicrohttpd; `reason` then says what was tried. From any thread. */
const struct kassa_mhd *_Nullable kassa_mhd_load(const char *_Nullable *_Nonnull reason);

/* A server on 127.0.0.1 without a thread: `kassa_mhd_epoll` becomes readable when there is something to run. `begin`
   is told of each request's path and query as they were sent and gives the request's own data, `handle` and `end` are
   libmicrohttpd's access and completion handlers. Port 0 takes a free one. NULL with errno on failure. */
struct MHD_Daemon *_Nullable kassa_mhd_start(
    uint16_t port, unsigned timeout_seconds,
    void *_Nullable (*_Nonnull begin)(void *_Nullable data, const char *_Nonnull uri, struct MHD_Connection *_Nonnull),
    MHD_AccessHandlerCallback _Nonnull handle, MHD_RequestCompletedCallback _Nonnull end, void *_Nonnull data);
int kassa_mhd_epoll(struct MHD_Daemon *_Nonnull daemon);
uint16_t kassa_mhd_port(struct MHD_Daemon *_Nonnull daemon);

/* The connection's socket; -1 when it has none. */
int kassa_mhd_socket(struct MHD_Connection *_Nonnull connection);

#endif
