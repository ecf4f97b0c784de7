#define _GNU_SOURCE
#include "CCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

static struct kassa_curl curl;
static const char *failure;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool find_functions(void *library) {
#define FIND(name)                                              \
  *(void **)&curl.name = dlsym(library, "curl_" #name);         \
  if (!*(void **)&curl.name) return false;
  KASSA_CURL_FUNCTIONS(FIND)
#undef FIND
  return true;
}

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    failure = "neither libcurl.so.4 nor libcurl-gnutls.so.4 can be opened";
  else if (!find_functions(library))
    failure = "libcurl is older than 7.62";
  else if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    failure = "libcurl cannot be initialized";
}

const struct kassa_curl *kassa_curl_load(const char **reason) {
  pthread_once(&once, load);
  *reason = failure;
  return failure ? NULL : &curl;
}

CURLcode kassa_curl_set_number(CURL *easy, CURLoption option, long value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode kassa_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode kassa_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode kassa_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode kassa_curl_set_buffer(CURL *easy, CURLoption option, const void *value) {
  return curl.easy_setopt(easy, option, value);
}

CURLcode kassa_curl_set_receiver(CURL *easy, CURLoption option, curl_write_callback receive) {
  return curl.easy_setopt(easy, option, receive);
}

CURLcode kassa_curl_get_number(CURL *easy, CURLINFO info, long *value) {
  return curl.easy_getinfo(easy, info, value);
}

CURLMcode kassa_curl_multi_on_socket(CURLM *multi, curl_socket_callback call, void *data) {
  CURLMcode code = curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, call);
  return code == CURLM_OK ? curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, data) : code;
}

CURLMcode kassa_curl_multi_on_timer(CURLM *multi, curl_multi_timer_callback call, void *data) {
  CURLMcode code = curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, call);
  return code == CURLM_OK ? curl.multi_setopt(multi, CURLMOPT_TIMERDATA, data) : code;
}

static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)data;
  (void)purpose;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode kassa_curl_restrict(CURL *easy) {
  CURLcode code = curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  if (code == CURLE_UNKNOWN_OPTION) {
    code = curl.easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  }
  return code == CURLE_OK ? curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) : code;
}

CURLcode kassa_curl_forget_request(CURL *easy) {
  static const CURLoption pointers[] = {
      CURLOPT_URL,        CURLOPT_CUSTOMREQUEST, CURLOPT_POSTFIELDS,  CURLOPT_HTTPHEADER,
      CURLOPT_HEADERDATA, CURLOPT_WRITEDATA,     CURLOPT_ERRORBUFFER, CURLOPT_RESOLVE,
  };
  CURLcode code = CURLE_OK;
  for (size_t i = 0; code == CURLE_OK && i < sizeof pointers / sizeof *pointers; i++) {
    code = curl.easy_setopt(easy, pointers[i], NULL);
  }
  if (code == CURLE_OK) code = curl.easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)-1);
  /* Last, since CURLOPT_POSTFIELDS makes it a POST; it also ends HEAD. */
  return code == CURLE_OK ? curl.easy_setopt(easy, CURLOPT_HTTPGET, 1L) : code;
}
