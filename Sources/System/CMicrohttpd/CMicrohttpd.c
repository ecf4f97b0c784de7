#define _GNU_SOURCE
#include "CMicrohttpd.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>

static struct kassa_mhd mhd;
static const char *failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_functions(void *library) {
#define FIND(name)                                     \
  *(void **)&mhd.name = dlsym(library, "MHD_" #name);  \
  if (!*(void **)&mhd.name) return false;
  KASSA_MHD_FUNCTIONS(FIND)
#undef FIND
  return true;
}

static void load(void) {
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    failure = "libmicrohttpd.so.12 cannot be opened";
  else if (!find_functions(library))
    failure = "libmicrohttpd is too old";
}

const struct kassa_mhd *kassa_mhd_load(const char **reason) {
  pthread_once(&once, load);
  *reason = failure;
  return failure ? NULL : &mhd;
}

struct MHD_Daemon *kassa_mhd_start(uint16_t port, unsigned timeout_seconds,
                                   void *(*begin)(void *data, const char *uri, struct MHD_Connection *),
                                   MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback end, void *data) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return mhd.start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, port, NULL, NULL, handle, data,  //
                          MHD_OPTION_SOCK_ADDR, &address,                                            //
                          MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds,                            //
                          MHD_OPTION_URI_LOG_CALLBACK, begin, data,                                  //
                          MHD_OPTION_NOTIFY_COMPLETED, end, data,                                    //
                          MHD_OPTION_END);
}

int kassa_mhd_epoll(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

uint16_t kassa_mhd_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = mhd.get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : 0;
}

int kassa_mhd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}
