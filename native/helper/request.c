/* Decodes a create frame: NAME=VALUE, each ended by a zero byte. Nothing in it can name a path outside the image store. */
#define _GNU_SOURCE
#include "helper.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(const char *text, const char *allowed) { return text[0] != 0 && strspn(text, allowed) == strlen(text); }

static bool copy(char *to, size_t room, const char *value) {
  if (strlen(value) >= room) return false;
  strcpy(to, value);
  return true;
}

/* Folders of the store: relative, of plain names only, so that neither `..` nor an option of the overlay can be meant. */
static bool are_lowers(const char *text) {
  const char *const allowed = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-/,";
  if (!is_word(text, allowed)) return false;
  for (const char *at = text;; at++) {
    size_t length = strcspn(at, "/,");
    if (length == 0 || at[0] == '.') return false;
    at += length;
    if (*at == 0) return true;
  }
}

static bool set_number(struct box_request *to, const char *name, const char *value) {
  const struct { const char *name; uint64_t *at; } numbers[] = {
      {"memory", &to->memory_bytes}, {"disk", &to->disk_bytes},         {"shm", &to->shm_bytes},
      {"files", &to->files_max},     {"processes", &to->processes_max}, {"cpu", &to->cpu_quota_us},
      {"lifetime", &to->lifetime_ms}};
  for (size_t at = 0; at < sizeof numbers / sizeof *numbers; at++)
    if (strcmp(name, numbers[at].name) == 0) return *numbers[at].at = strtoull(value, NULL, 10), true;
  return false;
}

/* `overlay:28` fails after the overlay's mount as ENOSPC would. */
static bool set_fault(struct box_request *to, const char *value) {
  size_t length = strcspn(value, ":");
  if (length >= sizeof to->fault || value[length] != ':') return false;
  memcpy(to->fault, value, length);
  to->fault[length] = 0;
  to->fault_error = atoi(value + length + 1);
  return to->fault_error > 0;
}

static bool set_field(struct box_request *to, const char *name, const char *value) {
  const char *const plain = "0123456789abcdefghijklmnopqrstuvwxyz"; /* it becomes a folder's name */
  if (strcmp(name, "id") == 0) return is_word(value, plain) && copy(to->id, sizeof to->id, value);
  if (strcmp(name, "lowers") == 0) return are_lowers(value) && copy(to->lowers, sizeof to->lowers, value);
  if (strcmp(name, "layers") == 0) return copy(to->layers, sizeof to->layers, value);
  if (strcmp(name, "fail") == 0) return set_fault(to, value);
  if (strcmp(name, "system") == 0) return to->binds_system = strcmp(value, "1") == 0, true;
  if (strcmp(name, "blank") == 0) return to->from_blank = strcmp(value, "1") == 0, true;
  if (strcmp(name, "top") == 0) return to->shows_top = strcmp(value, "1") == 0, true;
  if (strcmp(name, "seccomp") == 0) return to->is_strict = strcmp(value, "strict") == 0, true;
  set_number(to, name, value);
  return true;
}

bool request_parse(const char *text, size_t bytes, struct box_request *to) {
  *to = (struct box_request){0};
  for (const char *at = text; at < text + bytes;) {
    char name[16];
    const char *value = strchr(at, '=');
    if (value == NULL || (size_t)(value - at) >= sizeof name) return false;
    memcpy(name, at, (size_t)(value - at));
    name[value - at] = 0;
    if (!set_field(to, name, value + 1)) return false;
    at = value + strlen(value) + 1;
  }
  return to->id[0] != 0 && to->lowers[0] != 0 && to->memory_bytes > 0 && to->disk_bytes > 0 && to->files_max > 0 &&
         to->processes_max > 0 && to->cpu_quota_us >= 1000;
}
