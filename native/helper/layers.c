/*
 * Storage of sandboxes and layers sealed from it. Each sandbox writes to a tmpfs of its own, which the zygote makes as a
 * detached mount and lends to the child as a clone. When a sealed sandbox has ended, its tmpfs lives on here, read-only,
 * as a layer that any number of sandboxes may stand on; only its folder `upper` counts.
 */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE_BYTES (16u << 20)

struct layer {
  struct layer *next;
  char name[LAYER_NAME_BYTES];
  int mount; /* until it is ready that of the sandbox it is sealed from, or -1 while a copy is being made */
  bool is_ready;
};

static struct layer *layers;
static bool can_lend;

static bool set(int context, const char *key, uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, text, 0) == 0;
}

int storage_make(uint64_t bytes, uint64_t files) {
  int context = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int mount = -1;
  bool ok = set(context, "size", bytes) && set(context, "nr_inodes", files) && set(context, "uid", maps_box_root()) &&
            set(context, "gid", maps_box_root()) && syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, "mode", "0755", 0) == 0 &&
            syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
  if (ok) mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
  int error = errno;
  close(context);
  errno = error;
  return mount;
}

/* The last one to close a tmpfs frees its pages, which takes long for a large one and would hold up every sandbox. */
void storage_free(int mount) {
  struct statfs used;
  bool is_large = fstatfs(mount, &used) == 0 &&
                  (uint64_t)(used.f_blocks - used.f_bfree) * (uint64_t)used.f_bsize > LARGE_BYTES;
  if (is_large && fork() == 0) {
    usleep(2000); /* it is to outlast the parent's close */
    _exit(0);
  }
  close(mount);
}

static int lend(int mount) {
  return (int)syscall(SYS_open_tree, mount, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
}

bool layers_open(void) {
  int mount = storage_make(65536, 16), clone = mount < 0 ? -1 : lend(mount);
  can_lend = clone >= 0;
  if (mount >= 0) close(mount);
  if (clone >= 0) close(clone);
  return can_lend;
}

static struct layer *find(const char *name) {
  struct layer *layer = layers;
  while (layer != NULL && strcmp(layer->name, name) != 0) layer = layer->next;
  return layer;
}

bool layer_announce(const char *name, int mount) {
  const char *const allowed = "0123456789abcdefghijklmnopqrstuvwxyz";
  if (name[0] == 0 || strlen(name) >= LAYER_NAME_BYTES || strspn(name, allowed) != strlen(name)) return false;
  struct layer *layer = find(name) != NULL ? NULL : calloc(1, sizeof *layer);
  if (layer == NULL) return false;
  strcpy(layer->name, name);
  layer->mount = mount;
  layer->next = layers;
  layers = layer;
  return true;
}

void layer_fill(const char *name, int mount) {
  struct layer *layer = find(name);
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
  if (layer == NULL) { /* dropped before it was there */
    storage_free(mount);
    return;
  }
  syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
  layer->mount = mount;
  layer->is_ready = true;
}

void layer_drop(const char *name) {
  for (struct layer **at = &layers; *at != NULL; at = &(*at)->next) {
    struct layer *layer = *at;
    if (strcmp(layer->name, name) != 0) continue;
    if (layer->is_ready) storage_free(layer->mount);
    *at = layer->next;
    free(layer);
    return;
  }
}

/* Walks the names of a request, separated by commas; `visit` may stop the walk with its answer. */
static enum layer_state each(const char *names, enum layer_state (*visit)(struct layer *, void *), void *with) {
  char name[LAYER_NAME_BYTES];
  for (const char *at = names; *at != 0;) {
    size_t length = strcspn(at, ",");
    if (length >= sizeof name) return LAYERS_UNKNOWN;
    memcpy(name, at, length);
    name[length] = 0;
    struct layer *layer = find(name);
    enum layer_state state = layer == NULL ? LAYERS_UNKNOWN : visit(layer, with);
    if (state != LAYERS_READY) return state;
    at += length + (at[length] == ',');
  }
  return LAYERS_READY;
}

static enum layer_state is_there(struct layer *layer, void *with) {
  (void)with;
  return layer->is_ready ? LAYERS_READY : layer->mount < 0 ? LAYERS_UNKNOWN : LAYERS_PENDING;
}

enum layer_state layers_state(const char *names) { return each(names, is_there, NULL); }

/* Also of one that is not ready yet: the child mounts it only when it is. */
static enum layer_state lend_one(struct layer *layer, void *with) {
  struct box_storage *to = with;
  struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
  errno = E2BIG;
  int clone = to->layer_count < LAYERS_MAX ? lend(layer->mount) : -1;
  if (clone < 0) return LAYERS_UNKNOWN;
  syscall(SYS_mount_setattr, clone, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
  to->layers[to->layer_count++] = clone;
  return LAYERS_READY;
}

static enum layer_state add_mount(struct layer *layer, void *with) {
  struct box_storage *to = with;
  if (!layer->is_ready || to->layer_count >= LAYERS_MAX) return LAYERS_UNKNOWN;
  to->layers[to->layer_count++] = layer->mount;
  return LAYERS_READY;
}

void layers_merge(const char *name, const char *names) {
  struct box_storage from = {0};
  bool are_there = each(names, add_mount, &from) == LAYERS_READY;
  errno = ENOENT;
  merge_start(name, from.layers, are_there ? from.layer_count : 0, -1);
}

bool storage_open(const struct box_request *request, struct box_storage *out) {
  out->own = out->lent = -1;
  out->layer_count = 0;
  if (!can_lend) return request->layers[0] == 0 || (errno = ENOSYS, false);
  out->own = storage_make(request->disk_bytes, request->files_max + STORAGE_INODES);
  out->lent = out->own < 0 ? -1 : lend(out->own);
  if (out->lent >= 0 && each(request->layers, lend_one, out) == LAYERS_READY) return true;
  int error = errno;
  storage_close(out);
  if (out->own >= 0) close(out->own);
  out->own = -1;
  errno = error;
  return false;
}

void storage_close(struct box_storage *storage) {
  if (storage->lent >= 0) close(storage->lent);
  for (int at = 0; at < storage->layer_count; at++) close(storage->layers[at]);
  storage->lent = -1;
  storage->layer_count = 0;
}

const char *storage_attach(const struct box_request *request, const struct box_storage *storage) {
  char text[160];
  if (storage->lent < 0) {
    snprintf(text, sizeof text, "mode=0755,size=%llu,nr_inodes=%llu", (unsigned long long)request->disk_bytes,
             (unsigned long long)request->files_max + STORAGE_INODES);
    if (syscall(SYS_mount, "tmpfs", "/box", "tmpfs", MS_NOSUID | MS_NODEV, text) != 0) return "mount the tmpfs of the sandbox";
    return NULL;
  }
  if (syscall(SYS_move_mount, storage->lent, "", AT_FDCWD, "/box", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return "attach the tmpfs of the sandbox";
  for (int at = 0; at < storage->layer_count; at++) {
    snprintf(text, sizeof text, "/layers/%d", at);
    if (syscall(SYS_move_mount, storage->layers[at], "", AT_FDCWD, text, MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return "attach a layer";
  }
  return NULL;
}
