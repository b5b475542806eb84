/*
 * The network relay, the sandbox's only way out: where a policy allows one, the agent listens on the sandbox's loopback
 * and carries each connection over its channel to the proxy of the owner, which decides. The agent opens these channels,
 * numbered from 0x80000000. Memory is bounded by credit: what the owner sends ahead waits here, what a command sends
 * ahead waits in its socket, and a connection that is not read holds up no other.
 */
#define _GNU_SOURCE
#include "agent.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 256 /* more wait in the backlog */
#define CREDIT_FIRST 262144 /* bytes each side may send ahead of the other's credit */
#define SOCKET_BUFFER 131072
#define LISTENERS 2 /* 127.0.0.1 and ::1 */
#define EVENTS_MAX 8 /* bounds what one round adds to the channel's buffer */

struct connection {
  int fd; /* -1: free */
  uint32_t channel, credit, watched;
  bool has_ended; /* the command has sent its last byte */
  bool is_ending; /* the owner has */
  struct chunk *first, *last;
};

/* All of it exists only while the relay listens: a sandbox without a network pays nothing. */
static struct relay {
  int epoll, listeners[LISTENERS];
  int spare; /* given up to accept, and refuse, one connection when no descriptor is left */
  bool accepts;
  int count;
  struct connection connections[CONNECTIONS_MAX];
} *relay;
static uint32_t sequence; /* goes on over a restart, so that no late frame meets a new connection */

static void watch(int fd, uint32_t *watched, uint32_t wanted, uint32_t index) {
  if (*watched == wanted) return;
  struct epoll_event event = {.events = wanted, .data.u32 = index};
  int operation = wanted == 0 ? EPOLL_CTL_DEL : *watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  epoll_ctl(relay->epoll, operation, fd, &event);
  *watched = wanted;
}

static void watch_connection(struct connection *one) {
  uint32_t wanted = (!one->has_ended && one->credit > 0 ? EPOLLIN : 0) | (one->first != NULL ? EPOLLOUT : 0);
  watch(one->fd, &one->watched, wanted, (uint32_t)(one - relay->connections));
}

static void accept_more(bool accepts) {
  if (relay->accepts == accepts) return;
  relay->accepts = accepts;
  for (uint32_t at = 0; at < LISTENERS; at++) {
    uint32_t watched = accepts ? 0 : EPOLLIN;
    if (relay->listeners[at] >= 0) watch(relay->listeners[at], &watched, accepts ? EPOLLIN : 0, CONNECTIONS_MAX + at);
  }
}

static void release(struct connection *one, bool is_told) {
  if (!is_told) send_frame(one->channel, FRAME_RELAY_CLOSED, 0, NULL, 0);
  watch(one->fd, &one->watched, 0, 0);
  /* A closed connection must not read as a whole answer: cut short, the command sees a reset. */
  struct linger now = {.l_onoff = 1, .l_linger = 0};
  if (!one->has_ended || !one->is_ending) setsockopt(one->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(one->fd);
  one->fd = -1;
  for (struct chunk *chunk; (chunk = one->first) != NULL;) {
    one->first = chunk->next;
    free(chunk);
  }
  relay->count--;
  accept_more(true);
#ifdef __GLIBC__
  if (relay->count == 0) malloc_trim(0); /* what a crowd of slow readers took goes back */
#endif
}

static void release_if_over(struct connection *one) {
  if (one->has_ended && one->is_ending && one->first == NULL) release(one, true);
  else watch_connection(one);
}

/* Gives the owner credit for what the socket has taken. */
static void write_connection(struct connection *one) {
  uint32_t taken = 0;
  while (one->first != NULL) {
    struct chunk *chunk = one->first;
    ssize_t sent = send(one->fd, chunk->data + chunk->at, chunk->bytes - chunk->at, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return release(one, false);
    taken += (uint32_t)sent;
    chunk->at += (uint32_t)sent;
    if (chunk->at < chunk->bytes) break;
    one->first = chunk->next;
    free(chunk);
  }
  if (taken > 0) send_frame(one->channel, FRAME_RELAY_TAKEN, 0, &taken, sizeof taken);
  if (one->first == NULL && one->is_ending) shutdown(one->fd, SHUT_WR);
  release_if_over(one);
}

static void read_connection(struct connection *one) {
  uint32_t room = one->credit < PAYLOAD_MAX ? one->credit : PAYLOAD_MAX;
  ssize_t got = recv(one->fd, reserve_payload(), room, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return release(one, false);
  if (got == 0) {
    one->has_ended = true;
    send_frame(one->channel, FRAME_RELAY_CLOSED, RELAY_HALF, NULL, 0);
    return release_if_over(one);
  }
  commit_payload(one->channel, FRAME_RELAY_DATA, 0, (uint32_t)got);
  one->credit -= (uint32_t)got;
  watch_connection(one);
}

static void accept_connection(int listener) {
  uint32_t slot = 0;
  while (slot < CONNECTIONS_MAX && relay->connections[slot].fd >= 0) slot++;
  if (slot == CONNECTIONS_MAX) return accept_more(false);
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    close(relay->spare);
    close(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    relay->spare = fcntl(relay->epoll, F_DUPFD_CLOEXEC, 0);
  }
  if (fd < 0) return;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sequence = (sequence + 1) & 0x7fffff;
  struct connection *one = &relay->connections[slot];
  *one = (struct connection){.fd = fd, .channel = 0x80000000u | sequence << 8 | slot, .credit = CREDIT_FIRST};
  send_frame(one->channel, FRAME_RELAY_OPENED, 0, NULL, 0);
  watch_connection(one);
  if (++relay->count == CONNECTIONS_MAX) accept_more(false);
}

static int listen_at(const struct sockaddr *address, socklen_t size) {
  int on = 1, buffer = SOCKET_BUFFER;
  int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  /* Accepted sockets inherit these; left to the kernel, 256 of them could hold gigabytes. */
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  if (address->sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd, address, size) == 0 && listen(fd, CONNECTIONS_MAX) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* 0, or why not. A sandbox without IPv6 is served on 127.0.0.1 alone. */
static int start(uint16_t port) {
  if (relay != NULL) return 0;
  relay = calloc(1, sizeof *relay);
  if (relay == NULL) return ENOMEM;
  for (uint32_t at = 0; at < CONNECTIONS_MAX; at++) relay->connections[at].fd = -1;
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  relay->epoll = epoll_create1(EPOLL_CLOEXEC);
  relay->listeners[1] = -1;
  relay->listeners[0] = relay->epoll < 0 ? -1 : listen_at((struct sockaddr *)&four, sizeof four);
  if (relay->listeners[0] < 0) {
    int error = errno;
    if (relay->epoll >= 0) close(relay->epoll);
    free(relay);
    relay = NULL;
    return error;
  }
  relay->listeners[1] = listen_at((struct sockaddr *)&six, sizeof six);
  relay->spare = fcntl(relay->epoll, F_DUPFD_CLOEXEC, 0);
  accept_more(true);
  watch_relay(relay->epoll, true);
  return 0;
}

void relay_stop(void) {
  if (relay == NULL) return;
  for (uint32_t at = 0; at < LISTENERS; at++)
    if (relay->listeners[at] >= 0) close(relay->listeners[at]);
  relay->listeners[0] = relay->listeners[1] = -1;
  for (uint32_t at = 0; at < CONNECTIONS_MAX; at++)
    if (relay->connections[at].fd >= 0) release(&relay->connections[at], false);
  watch_relay(relay->epoll, false);
  close(relay->spare);
  close(relay->epoll);
  free(relay);
  relay = NULL;
}

void relay_ready(void) {
  struct epoll_event events[EVENTS_MAX];
  int count = relay == NULL ? 0 : epoll_wait(relay->epoll, events, EVENTS_MAX, 0);
  for (int at = 0; at < count; at++) {
    uint32_t index = events[at].data.u32;
    if (index >= CONNECTIONS_MAX) {
      if (relay->accepts) accept_connection(relay->listeners[index - CONNECTIONS_MAX]);
      continue;
    }
    /* An event of a connection that ended a moment ago may name a new one: harmless, as nothing here blocks. */
    struct connection *one = &relay->connections[index];
    if (one->fd >= 0 && one->first != NULL) write_connection(one);
    if (one->fd >= 0 && !one->has_ended && one->credit > 0) read_connection(one);
  }
}

static void take_data(struct connection *one, const uint8_t *payload, uint32_t bytes) {
  if (bytes == 0 || one->is_ending) return;
  struct chunk *chunk = malloc(sizeof *chunk + bytes);
  if (chunk == NULL) return release(one, false);
  *chunk = (struct chunk){.bytes = bytes};
  memcpy(chunk->data, payload, bytes);
  if (one->first == NULL) one->first = chunk;
  else one->last->next = chunk;
  one->last = chunk;
  if (one->first == chunk) write_connection(one);
}

void relay_frame(uint32_t channel, uint16_t type, uint16_t flags, const uint8_t *payload, uint32_t bytes) {
  if (type == FRAME_RELAY) {
    uint32_t error = 0;
    if (flags == 0) relay_stop();
    else error = (uint32_t)start(flags);
    return send_frame(channel, FRAME_REPLY, 0, &error, sizeof error);
  }
  struct connection *one = relay == NULL ? NULL : &relay->connections[channel & 0xff];
  if (one == NULL || one->fd < 0 || one->channel != channel) return; /* it ended while this was on its way */
  if (type == FRAME_RELAY_SEND) return take_data(one, payload, bytes);
  if (type == FRAME_RELAY_CREDIT && bytes == 4) {
    uint32_t more;
    memcpy(&more, payload, 4);
    one->credit += more;
    return watch_connection(one);
  }
  if (type != FRAME_RELAY_CLOSE) return;
  if (flags == 0) return release(one, true);
  if (flags == RELAY_DONE) one->has_ended = true;
  one->is_ending = true;
  if (one->first == NULL) shutdown(one->fd, SHUT_WR);
  release_if_over(one);
}
