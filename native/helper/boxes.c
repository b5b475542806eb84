/*
 * The sandboxes of this zygote, from their clone until their groups are removed. One past its lifetime is killed here,
 * whatever its owner does; the storage of a sealed one becomes a layer the moment its last process has ended.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLANK_IDLE_US 30000000 /* since one was asked for; then they go */
#define OTHER_LIMITS_US 1000000 /* so long unasked for, blanks give way to those of other limits */

struct box {
  struct box *next;
  char id[64]; /* empty: of a blank */
  char groups[64]; /* the name of its control groups */
  pid_t pid;
  int channel, status;
  int storage; /* -1: none of its own here */
  int go; /* where it waits for its layers, or -1 */
  char *layers; /* those it waits for */
  char seals[LAYER_NAME_BYTES]; /* the layer its storage becomes; empty: none */
  uint64_t deadline_us; /* 0: none */
  bool is_dead, is_expired, is_blank;
};

static struct box *boxes;
static struct box_request wanted; /* whose limits the blanks have */
static uint64_t asked_us;         /* for one of them, last; 0: none are wanted */
static unsigned blanks_max;

static void tell_error(int channel, const char *step, int error) {
  char text[256];
  int bytes = snprintf(text, sizeof text, "%s: %s", step, strerror(error));
  frame_send_now(channel, 0, FRAME_ERROR, text, (uint32_t)bytes);
}

static void add_box(const struct box_request *request, int channel) {
  struct box_storage storage = {.own = -1, .lent = -1};
  struct box *box = calloc(1, sizeof *box);
  const char *step = "allocate";
  int go = -1;
  pid_t pid = box == NULL ? -1 : box_clone(request, channel, &storage, &go, &step);
  if (pid < 0 && channel >= 0) tell_error(channel, step, errno);
  if (box == NULL) {
    if (channel >= 0) zygote_say_gone(channel, 0, false);
    return;
  }
  /* One that failed is dead from the start: its groups go when they can. */
  *box = (struct box){.next = boxes, .pid = pid, .channel = channel, .storage = storage.own, .is_dead = pid < 0,
                      .go = go, .is_blank = channel < 0,
                      .layers = go < 0 || channel < 0 ? NULL : strdup(request->layers)};
  if (request->lifetime_ms > 0) box->deadline_us = clock_us() + request->lifetime_ms * 1000;
  if (channel >= 0) strcpy(box->id, request->id);
  strcpy(box->groups, request->id);
  boxes = box;
}

static void settle_storage(struct box *box) {
  if (box->storage < 0) return;
  if (box->seals[0] != 0) layer_fill(box->seals, box->storage);
  else storage_free(box->storage);
  box->storage = -1;
}

/* Storage that nobody will seal any more is let go of first: it is then freed by the end of the sandbox itself. */
void box_kill(const char *id) {
  for (struct box *box = boxes; box != NULL; box = box->next) {
    if (box->is_dead || (id != NULL && strcmp(box->id, id) != 0)) continue;
    if (box->seals[0] == 0 && box->storage >= 0) {
      close(box->storage);
      box->storage = -1;
    }
    kill(box->pid, SIGKILL);
  }
}

static struct box *find(const char *id) {
  struct box *box = boxes;
  while (box != NULL && strcmp(box->id, id) != 0) box = box->next;
  return box;
}

pid_t box_pid(const char *id) {
  const struct box *box = id[0] == 0 ? NULL : find(id);
  return box == NULL || box->is_dead ? 0 : box->pid;
}

void box_copy(const char *id, const char *layer) {
  struct box *box = find(id);
  errno = ESRCH;
  int freezer = box == NULL || box->is_dead || box->storage < 0 ? -1 : groups_freezer(box->groups);
  merge_start(layer, box == NULL ? NULL : &box->storage, freezer < 0 ? 0 : 1, freezer);
}

bool box_seal(const char *id, const char *layer) {
  struct box *box = find(id);
  if (box == NULL || box->storage < 0 || box->seals[0] != 0 || !layer_announce(layer, box->storage)) return false;
  strcpy(box->seals, layer);
  return true;
}

static void stop_waiting(struct box *box) {
  if (box->go >= 0) close(box->go);
  free(box->layers);
  box->layers = NULL;
  box->go = -1;
}

/* Lets those go on whose layers have been sealed meanwhile, and ends those whose layers will never be. */
static void release_waiting(void) {
  for (struct box *box = boxes; box != NULL; box = box->next) {
    if (box->go < 0 || box->is_blank) continue;
    enum layer_state state = box->layers == NULL ? LAYERS_UNKNOWN : layers_state(box->layers);
    if (state == LAYERS_PENDING) continue;
    if (state == LAYERS_UNKNOWN || write(box->go, "g", 1) != 1) tell_error(box->channel, "find the layers", ENOENT);
    stop_waiting(box); /* one that was not told to go on ends by itself */
  }
}

void boxes_reap(void) {
  int status;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    merge_reaped(pid, status);
    for (struct box *box = boxes; box != NULL; box = box->next)
      if (box->pid == pid && !box->is_dead) {
        box->is_dead = true;
        box->status = status;
        if (box->is_blank && !box->is_expired) asked_us = 0; /* it could not even wait */
        stop_waiting(box);
        settle_storage(box); /* PID 1 is reaped after every other process of its namespace: nobody writes any more */
      }
  }
  release_waiting();
}

bool boxes_clear(void) {
  bool is_left = false;
  for (struct box **at = &boxes; *at != NULL;) {
    struct box *box = *at;
    if (!box->is_dead || !groups_remove(box->groups)) {
      is_left = is_left || box->is_dead;
      at = &box->next;
      continue;
    }
    if (box->channel >= 0) zygote_say_gone(box->channel, box->status, box->is_expired);
    *at = box->next;
    free(box);
  }
  return !is_left;
}

void box_expire(const char *id, uint64_t ms) {
  struct box *box = find(id);
  if (box != NULL) box->deadline_us = clock_us() + ms * 1000;
}

int boxes_expire(void) {
  uint64_t now = 0, next = UINT64_MAX;
  for (struct box *box = boxes; box != NULL; box = box->next) {
    if (box->deadline_us == 0 || box->is_dead || box->is_expired) continue;
    if (now == 0) now = clock_us();
    if (box->deadline_us <= now) {
      box->is_expired = true;
      kill(box->pid, SIGKILL);
    } else if (box->deadline_us < next) {
      next = box->deadline_us;
    }
  }
  if (next == UINT64_MAX) return -1;
  uint64_t wait_ms = (next - now + 999) / 1000;
  return wait_ms > 3600000 ? 3600000 : (int)wait_ms;
}

bool boxes_are_left(void) { return boxes != NULL; }

void boxes_blanks(unsigned most) { blanks_max = most; }

static bool is_usable(const struct box *box) { return box->is_blank && !box->is_dead && !box->is_expired; }

static void end_blank(struct box *box) {
  box->is_expired = true;
  kill(box->pid, SIGKILL);
}

static bool has_wanted_limits(const struct box_request *request) {
  return request->memory_bytes == wanted.memory_bytes && request->disk_bytes == wanted.disk_bytes &&
         request->shm_bytes == wanted.shm_bytes && request->processes_max == wanted.processes_max &&
         request->cpu_quota_us == wanted.cpu_quota_us;
}

/* Their groups are made with the limits, so blanks serve those of one kind only. False: not now. */
static bool want_blanks(const struct box_request *request) {
  uint64_t now = clock_us();
  bool fits = has_wanted_limits(request);
  if (blanks_max == 0 || (!fits && asked_us != 0 && now < asked_us + OTHER_LIMITS_US)) return false;
  wanted = *request;
  asked_us = now;
  for (struct box *box = boxes; box != NULL; box = box->next) {
    if (!is_usable(box)) continue;
    if (fits) box->deadline_us = now + BLANK_IDLE_US;
    else end_blank(box);
  }
  return true;
}

/* The channel and the mounts of the request go to a blank, which then is this sandbox. */
static bool take_blank(const struct box_request *request, int channel) {
  struct box_storage storage;
  struct box *box = boxes;
  while (box != NULL && !is_usable(box)) box = box->next;
  if (box == NULL || !storage_open(request, &storage)) return false;
  bool is_held = layers_state(request->layers) == LAYERS_PENDING;
  char *layers = is_held ? strdup(request->layers) : NULL;
  bool ok = is_held == (layers != NULL) && machine_pin(box->pid, request) &&
            blank_give(box->go, request, channel, &storage) && (is_held || write(box->go, "g", 1) == 1);
  storage_close(&storage);
  if (!ok) {
    close(storage.own);
    free(layers);
    end_blank(box);
    return false;
  }
  box->is_blank = false;
  strcpy(box->id, request->id);
  box->channel = channel;
  box->storage = storage.own;
  box->layers = layers;
  box->deadline_us = request->lifetime_ms > 0 ? clock_us() + request->lifetime_ms * 1000 : 0;
  if (!is_held) stop_waiting(box);
  return true;
}

void box_create(const struct box_request *request, int channel) {
  bool is_taken = request->from_blank && request->fault[0] == 0 && want_blanks(request) && take_blank(request, channel);
  if (!is_taken) add_box(request, channel);
}

bool boxes_want_blank(void) {
  unsigned count = 0;
  if (asked_us == 0) return false;
  for (const struct box *box = boxes; box != NULL; box = box->next) count += is_usable(box);
  return count < blanks_max && clock_us() < asked_us + BLANK_IDLE_US;
}

void boxes_make_blank(void) {
  static unsigned made;
  struct box_request request = wanted;
  snprintf(request.id, sizeof request.id, "blank%u", made++);
  request.layers[0] = 0;
  request.lifetime_ms = BLANK_IDLE_US / 1000;
  add_box(&request, -1);
  if (boxes != NULL && boxes->is_blank && boxes->is_dead) asked_us = 0; /* one that cannot be made is not tried for again and again */
}
