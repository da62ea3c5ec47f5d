// SPDX-License-Identifier: MIT OR Apache-2.0
// Stands for NCCL in tests. It writes calls down, fails where a test asks for that, and lets the ranks of a
// communicator wait for each other. Without LAST_ERROR it is older than 2.13.

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  char internal[128];
} Id;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t joined = PTHREAD_COND_INITIALIZER;
static char calls[4096];
static int ranks;
static int state;
static char failing[32];
static int status;

// Writes a call down, and returns its status.
static int note(const char *name, const char *form, ...) {
  pthread_mutex_lock(&lock);
  size_t used = strlen(calls);
  used += snprintf(calls + used, sizeof calls - used, "%s", name);
  va_list values;
  va_start(values, form);
  used += vsnprintf(calls + used, sizeof calls - used, form, values);
  va_end(values);
  snprintf(calls + used, sizeof calls - used, "\n");
  int found = strcmp(failing, name) ? 0 : status;
  pthread_mutex_unlock(&lock);
  return found;
}

// Hands over the calls so far, which are forgotten.
void standInCalls(char *to, size_t most) {
  pthread_mutex_lock(&lock);
  snprintf(to, most, "%s", calls);
  calls[0] = 0;
  pthread_mutex_unlock(&lock);
}

// Lets the calls of a name return a status from now on, and none with an empty name.
void standInFail(const char *name, int code) {
  snprintf(failing, sizeof failing, "%s", name);
  status = code;
}

// The state that communicators tell from now on.
void standInState(int code) { state = code; }

const char *ncclGetErrorString(int code) {
  switch (code) {
  case 4:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case 6:
    return "remote process exited";
  default:
    return "another error";
  }
}

#ifdef LAST_ERROR
const char *ncclGetLastError(void *communicator) {
  return communicator ? "wrong" : status == 6 ? "\nlink 3 is down\n" : "";
}
#endif

int ncclGetVersion(int *version) {
  *version = 22304;
  return note("version", "");
}

int ncclGetUniqueId(Id *id) {
  for (int i = 0; i < 128; i++)
    id->internal[i] = (char)(i * 2);
  return note("id", "");
}

// Rank r is the handle 0x100 + r.
int ncclCommInitRank(void **communicator, int size, Id id, int rank) {
  int as_made = 1;
  for (int i = 0; i < 128; i++)
    as_made &= id.internal[i] == (char)(i * 2);
  int found = note("join", " %d of %d, id %d", rank, size, as_made);
  if (found)
    return found;
  *communicator = (char *)0 + 0x100 + rank;
  pthread_mutex_lock(&lock);
  ranks++;
  pthread_cond_broadcast(&joined);
  while (ranks < size)
    pthread_cond_wait(&joined, &lock);
  pthread_mutex_unlock(&lock);
  return 0;
}

int ncclCommDestroy(void *communicator) { return note("destroy", " %p", communicator); }

int ncclCommAbort(void *communicator) { return note("abort", " %p", communicator); }

int ncclCommGetAsyncError(void *communicator, int *code) {
  *code = state;
  return note("state", " %p", communicator);
}

int ncclGroupStart(void) { return note("start", ""); }

int ncclGroupEnd(void) { return note("end", ""); }

int ncclSend(const void *from, size_t count, int element, int peer, void *communicator, void *stream) {
  return note("send", " %p %zu of %d to %d, %p %p", from, count, element, peer, communicator, stream);
}

int ncclRecv(void *to, size_t count, int element, int peer, void *communicator, void *stream) {
  return note("receive", " %p %zu of %d from %d, %p %p", to, count, element, peer, communicator, stream);
}
