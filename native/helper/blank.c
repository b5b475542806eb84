/*
 * A blank: a sandbox halted when it has its groups, name spaces and ids, but no storage and no root. It belongs to nobody
 * and waits at one end of a socket pair, over which the zygote hands it, once, the request it is to serve, the channel and
 * the mounts. It then goes on like any other new sandbox.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LENT_MAX (2 + LAYERS_MAX)

union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(LENT_MAX * sizeof(int))];
};

bool blank_give(int blank, const struct box_request *request, int channel, const struct box_storage *storage) {
  union control control;
  struct iovec part = {.iov_base = (void *)(uintptr_t)request, .iov_len = sizeof *request};
  size_t bytes = (2 + (size_t)storage->layer_count) * sizeof(int);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = CMSG_SPACE(bytes)};
  memset(&control, 0, sizeof control);
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(bytes);
  int *lent = (int *)(void *)CMSG_DATA(head);
  lent[0] = channel;
  lent[1] = storage->lent;
  memcpy(lent + 2, storage->layers, (size_t)storage->layer_count * sizeof(int));
  return sendmsg(blank, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *request;
}

bool blank_await(int blank, struct box_request *request, int *channel, struct box_storage *storage) {
  union control control;
  struct iovec part = {.iov_base = request, .iov_len = sizeof *request};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control};
  char byte;
  if (recvmsg(blank, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *request) return false;
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (head == NULL || (message.msg_flags & MSG_CTRUNC) != 0 || head->cmsg_len < CMSG_LEN(2 * sizeof(int))) return false;
  size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  const int *lent = (const int *)(const void *)CMSG_DATA(head);
  *channel = lent[0];
  storage->lent = lent[1];
  storage->layer_count = (int)count - 2;
  memcpy(storage->layers, lent + 2, (count - 2) * sizeof(int));
  /* The layers below it may still be written to; the zygote tells when they are not. */
  return read(blank, &byte, 1) == 1;
}
