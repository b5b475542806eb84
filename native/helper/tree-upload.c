/*
 * A tree that comes in: it is built whole in a folder of its own beside its place, then moved there, so that a tree that
 * is too large, or does not fit, leaves nothing. Where the place is a folder already, the tree is laid over it: files
 * replace files, folders meet, and no link in either is followed.
 */
#define _GNU_SOURCE
#include "files.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct upload {
  int anchor; /* the folder the building stands in: the target, or the nearest folder above it that is there */
  char building[64];
  int root; /* of the building */
  int target; /* -1 where it is made at the end */
  int file;   /* that is being written, or -1 */
  mode_t mode;
  uid_t uid;
  gid_t gid;
  uint64_t bytes_left, entries_left;
  char parent_path[PATH_BYTES_MAX]; /* of `parent`, so that the files of one folder open it once */
  int parent;
};

/* The folder a member goes into, which an earlier member made; gives its name there. */
static int member_parent(struct upload *upload, const char *path, const char **name) {
  const char *slash = strrchr(path, '/');
  size_t length = slash == NULL ? 0 : (size_t)(slash - path);
  *name = slash == NULL ? path : slash + 1;
  if (length == 0) return upload->root;
  if (upload->parent >= 0 && strncmp(upload->parent_path, path, length) == 0 && upload->parent_path[length] == 0)
    return upload->parent;
  if (upload->parent >= 0) close(upload->parent);
  memcpy(upload->parent_path, path, length);
  upload->parent_path[length] = 0;
  struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                         .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
  upload->parent = (int)syscall(SYS_openat2, upload->root, upload->parent_path, &how, sizeof how);
  return upload->parent;
}

static enum answer add_folder(void *context, const char *path, mode_t mode) {
  struct upload *upload = context;
  const char *name;
  if (upload->entries_left-- == 0) return TOO_LARGE;
  int folder = member_parent(upload, path, &name);
  if (folder < 0) return why(errno);
  if (mkdirat(folder, name, mode) != 0) return errno == EEXIST ? INVALID_PATH : why(errno);
  if (upload->uid == 0 && upload->gid == 0) return DONE;
  return fchownat(folder, name, upload->uid, upload->gid, AT_SYMLINK_NOFOLLOW) == 0 ? DONE : DENIED;
}

static enum answer add_file(void *context, const char *path, mode_t mode) {
  struct upload *upload = context;
  const char *name;
  if (upload->entries_left-- == 0) return TOO_LARGE;
  int folder = member_parent(upload, path, &name);
  if (folder < 0) return why(errno);
  upload->mode = mode;
  upload->file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  return upload->file >= 0 ? DONE : errno == EEXIST ? INVALID_PATH : why(errno);
}

static enum answer add_content(void *context, const uint8_t *bytes, size_t length) {
  struct upload *upload = context;
  if (length > upload->bytes_left) return TOO_LARGE;
  upload->bytes_left -= length;
  while (length > 0) {
    ssize_t written = write(upload->file, bytes, length);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return why(errno);
    bytes += written;
    length -= (size_t)written;
  }
  return DONE;
}

static enum answer close_file(void *context) {
  struct upload *upload = context;
  bool ok = give_to(upload->file, upload->uid, upload->gid) && fchmod(upload->file, upload->mode) == 0;
  enum answer answer = ok ? DONE : why(errno);
  close(upload->file);
  upload->file = -1;
  return answer;
}

static const struct record_sink SINK = {add_folder, add_file, add_content, close_file};

static enum answer take_input(struct upload *upload) {
  static struct record_decoder decoder;
  static uint8_t buffer[PAYLOAD_MAX];
  decoder.sink = &SINK;
  decoder.context = upload;
  for (;;) {
    ssize_t got = read(0, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return DENIED;
    /* A stream that stops short is a caller that failed, and knows it. */
    if (got == 0) return decoder.state == AT_END ? DONE : INVALID_PATH;
    enum answer answer = records_take(&decoder, buffer, (size_t)got);
    if (answer != DONE) return answer;
  }
}

static enum answer lay_over(int from, int to, bool is_trial, int depth);

static enum answer lay_entry(int from, int to, const char *name, bool is_trial, int depth) {
  struct stat ours, theirs;
  if (fstatat(from, name, &ours, AT_SYMLINK_NOFOLLOW) != 0) return why(errno);
  bool is_there = fstatat(to, name, &theirs, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there && errno != ENOENT) return why(errno);
  if (is_there && S_ISDIR(ours.st_mode) && S_ISDIR(theirs.st_mode)) {
    int below_from = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int below_to = openat(to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below_from < 0 || below_to < 0) return why(errno);
    enum answer answer = lay_over(below_from, below_to, is_trial, depth + 1);
    close(below_to);
    return answer;
  }
  if (is_there && S_ISDIR(ours.st_mode)) return S_ISLNK(theirs.st_mode) ? REFUSED_LINK : NOT_FOLDER;
  if (is_there && S_ISDIR(theirs.st_mode)) return IS_FOLDER;
  return is_trial || renameat(from, name, to, name) == 0 ? DONE : why(errno);
}

/* Moves the entries of one folder into another; as a trial it only looks whether they would go. Closes `from`. */
static enum answer lay_over(int from, int to, bool is_trial, int depth) {
  char **names;
  DIR *folder = fdopendir(from);
  if (folder == NULL || depth > DEPTH_MAX) return TOO_LARGE;
  size_t count = folder_names(folder, &names, UINT64_MAX);
  enum answer answer = DONE;
  for (size_t at = 0; at < count; at++) {
    if (answer == DONE) answer = lay_entry(dirfd(folder), to, names[at], is_trial, depth);
    free(names[at]);
  }
  free(names);
  closedir(folder);
  return answer;
}

/* Opens the target, or else the nearest folder above it, cutting `path` there. */
static int open_anchor(int root, char *path, bool *is_target) {
  *is_target = true;
  for (;;) {
    int fd = open_inside(root, *path == 0 ? "/" : path, O_PATH | O_DIRECTORY);
    if (fd >= 0 || errno != ENOENT) return fd;
    *is_target = false;
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';) path[--length] = 0;
    *strrchr(path, '/') = 0;
  }
}

static enum answer place(struct upload *upload, int root, char *path) {
  const char *name;
  if (upload->target < 0) {
    if (fchmod(upload->root, 0755) != 0 || !give_to(upload->root, upload->uid, upload->gid)) return why(errno);
    int parent = open_parent(root, path, &name);
    if (parent < 0 && errno == ENOENT) {
      char *slash = strrchr(path, '/');
      *slash = 0;
      parent = make_folders(root, path, 0755, upload->uid, upload->gid);
      *slash = '/';
    }
    if (parent < 0) return why(errno);
    if (renameat(upload->anchor, upload->building, parent, name) == 0) return DONE;
    if (errno != EEXIST && errno != ENOTEMPTY) return why(errno);
    upload->target = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* made meanwhile */
    if (upload->target < 0) return why(errno);
  }
  enum answer answer = DONE;
  for (int trial = 1; trial >= 0 && answer == DONE; trial--) {
    int from = openat(upload->anchor, upload->building, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    answer = from < 0 ? why(errno) : lay_over(from, upload->target, trial == 1, 0);
  }
  return answer;
}

void upload_tree(const struct exec_request *request, int root) {
  static struct upload upload;
  char *path = request->argv[0], anchor_path[PATH_BYTES_MAX];
  bool is_target;
  if (strlen(path) >= sizeof anchor_path) end(INVALID_PATH);
  strcpy(anchor_path, path);
  upload = (struct upload){.target = -1, .file = -1, .parent = -1, .uid = request->uid, .gid = request->gid};
  upload.bytes_left = strtoull(request->argv[1], NULL, 10);
  upload.entries_left = strtoull(request->argv[2], NULL, 10);
  upload.anchor = open_anchor(root, anchor_path, &is_target);
  if (upload.anchor < 0) end(why(errno));
  if (is_target) upload.target = upload.anchor;
  temporary_name(upload.building, sizeof upload.building);
  if (mkdirat(upload.anchor, upload.building, 0700) != 0) end(why(errno));
  upload.root = openat(upload.anchor, upload.building, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  enum answer answer = upload.root < 0 ? why(errno) : take_input(&upload);
  if (answer == DONE) answer = place(&upload, root, path);
  /* What is left of the building: all of it, or the folders that met others. */
  if (answer != DONE || upload.target >= 0) remove_tree(upload.anchor, upload.building, 0);
  end(answer);
}
