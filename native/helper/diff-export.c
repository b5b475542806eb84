/*
 * The changes of a sandbox as a layer: a tar in the OCI layer format, with whiteouts for what was removed, that can be
 * put on the image it was made from. Files, folders and links, with mode, owner and time; a name a plain header cannot
 * hold goes into a pax header. Devices, FIFOs, sockets and names that would read as whiteouts stay out.
 */
#define _GNU_SOURCE
#include "diff.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512
#define SIZE_MAX_PLAIN 077777777777ll /* eleven octal digits */
#define WHITEOUT ".wh."
/* Beyond what the layer holds: holes and further names of a file cost a sandbox nothing, and its layer's reader all of it. */
#define EXCESS_BYTES_MAX (256ull << 20)

struct header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2];
  char user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};

/* Digits to the last byte but one, which ends them; a value too large keeps its low digits. */
static void octal(char *to, size_t room, unsigned long long value) {
  for (size_t at = room - 1; at-- > 0; value >>= 3) to[at] = (char)('0' + (value & 7));
}

static void out_header(const char *path, char type, long long size, const char *link, const struct stat *info) {
  struct header header = {.type = type, .magic = "ustar", .version = {'0', '0'}};
  memcpy(header.name, path, strnlen(path, sizeof header.name));
  memcpy(header.link, link, strnlen(link, sizeof header.link));
  long long seconds = info == NULL || info->st_mtim.tv_sec < 0 ? 0 : info->st_mtim.tv_sec;
  octal(header.mode, sizeof header.mode, info == NULL ? 0 : info->st_mode & 07777);
  octal(header.uid, sizeof header.uid, info == NULL ? 0 : info->st_uid);
  octal(header.gid, sizeof header.gid, info == NULL ? 0 : info->st_gid);
  octal(header.size, sizeof header.size, (unsigned long long)size);
  octal(header.mtime, sizeof header.mtime, seconds > SIZE_MAX_PLAIN ? SIZE_MAX_PLAIN : (unsigned long long)seconds);
  memset(header.checksum, ' ', sizeof header.checksum);
  unsigned sum = 0;
  for (size_t at = 0; at < sizeof header; at++) sum += ((const uint8_t *)&header)[at];
  octal(header.checksum, 7, sum);
  out_bytes(&header, sizeof header);
}

static void out_padding(unsigned long long size) {
  static const uint8_t zeros[BLOCK];
  if (size % BLOCK != 0) out_bytes(zeros, BLOCK - size % BLOCK);
}

/* One pax record; its length counts itself. */
static size_t add_record(char *to, const char *key, const char *value) {
  size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;
  for (int digits; (digits = snprintf(NULL, 0, "%zu", length)), length != rest + (size_t)digits;) length = rest + (size_t)digits;
  return (size_t)sprintf(to, "%zu %s=%s\n", length, key, value);
}

static bool is_plain(const char *text) {
  for (const char *each = text; *each != 0; each++)
    if ((unsigned char)*each >= 0x80) return false;
  return true;
}

static bool is_utf8(const char *text) {
  const uint8_t *at = (const uint8_t *)text;
  while (*at != 0) {
    int more = *at < 0x80 ? 0 : *at < 0xc2 ? -1 : *at < 0xe0 ? 1 : *at < 0xf0 ? 2 : *at < 0xf5 ? 3 : -1;
    if (more < 0 || (*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
        (*at == 0xf4 && at[1] > 0x8f))
      return false;
    for (at++; more > 0; more--, at++)
      if ((*at & 0xc0) != 0x80) return false;
  }
  return true;
}

static void out_entry(const char *path, char type, long long size, const char *link, const struct stat *info) {
  static char records[2 * (TREE_PATH_MAX + 64)];
  bool path_fits = is_plain(path) && strlen(path) <= sizeof ((struct header *)0)->name;
  bool link_fits = is_plain(link) && strlen(link) <= sizeof ((struct header *)0)->link;
  size_t length = 0;
  if (!is_utf8(path) || !is_utf8(link)) length += add_record(records, "hdrcharset", "BINARY");
  if (!path_fits) length += add_record(records + length, "path", path);
  if (!link_fits) length += add_record(records + length, "linkpath", link);
  if (length > 0) {
    out_header("pax", 'x', (long long)length, "", NULL);
    out_bytes(records, length);
    out_padding(length);
  }
  out_header(path, type, size, link, info);
}

/* `NAME` in the folder of `path`, or below it, as a whiteout. */
static void out_whiteout(const char *path, bool is_opaque) {
  static char to[TREE_PATH_MAX + 32];
  const char *slash = strrchr(path, '/');
  int parent = slash == NULL ? 0 : (int)(slash - path) + 1;
  if (is_opaque) snprintf(to, sizeof to, "%s/" WHITEOUT WHITEOUT ".opq", path);
  else snprintf(to, sizeof to, "%.*s" WHITEOUT "%s", parent, path, path + parent);
  out_entry(to, '0', 0, "", NULL);
}

static void count_excess(const struct stat *info) {
  static uint64_t left = EXCESS_BYTES_MAX;
  uint64_t size = (uint64_t)info->st_size, held = (uint64_t)info->st_blocks * 512 / (info->st_nlink > 1 ? info->st_nlink : 1);
  uint64_t excess = size > held ? size - held : 0;
  if (excess > left) end(TOO_LARGE);
  left -= excess;
}

/* As many bytes as the header said, whatever became of the file since. */
static void out_file(const struct change *change) {
  static uint8_t buffer[PAYLOAD_MAX];
  struct stat info;
  int fd = open_content(change->folder, change->name);
  if (fd < 0 && errno == ENOENT) return;
  if (fd < 0 || fstat(fd, &info) != 0) end(DENIED);
  if (info.st_size > SIZE_MAX_PLAIN) end(TOO_LARGE);
  count_excess(&info);
  out_entry(change->path, '0', info.st_size, "", &info);
  bool has_ended = false;
  for (long long left = info.st_size; left > 0;) {
    size_t want = left < (long long)sizeof buffer ? (size_t)left : sizeof buffer;
    ssize_t got = has_ended ? 0 : read(fd, buffer, want);
    if (got < 0) end(why(errno));
    if (got == 0) {
      has_ended = true;
      memset(buffer, 0, want);
      got = (ssize_t)want;
    }
    out_bytes(buffer, (size_t)got);
    left -= got;
  }
  out_padding((unsigned long long)info.st_size);
  close(fd);
}

static bool reads_as_whiteout(const char *path) {
  return strncmp(path, WHITEOUT, strlen(WHITEOUT)) == 0 || strstr(path, "/" WHITEOUT) != NULL;
}

static void tell_tar(const struct change *change) {
  static char text[TREE_PATH_MAX + 2];
  if (reads_as_whiteout(change->path)) return;
  if (change->kind == 'r' || change->was_other) out_whiteout(change->path, false);
  if (change->kind == 'r') return;
  if (S_ISREG(change->info->st_mode)) return out_file(change);
  if (S_ISDIR(change->info->st_mode)) {
    snprintf(text, sizeof text, "%s/", change->path);
    out_entry(text, '5', 0, "", change->info);
    if (change->hides) out_whiteout(change->path, true);
  } else if (S_ISLNK(change->info->st_mode)) {
    ssize_t length = readlinkat(change->folder, change->name, text, sizeof text - 1);
    if (length < 0) return;
    text[length] = 0;
    out_entry(change->path, '2', 0, text, change->info);
  }
}

void export_layer(void) {
  static const uint8_t end_blocks[2 * BLOCK];
  walk_changes(UINT64_MAX, true, tell_tar);
  out_bytes(end_blocks, sizeof end_blocks);
  end(DONE);
}
