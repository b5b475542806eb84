/*
 * libFuzzer target: the operations on one path, over a tree full of links. Whatever the path, what is opened lies inside
 * the tree and nothing beside it changes. Built with `-D_exit=fuzz_exit`, so that the end of an operation is not the end
 * of the run. The first byte picks the operation.
 */
#define _GNU_SOURCE
#include "../files.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int upper_folder = -1, lower_folders[1], lower_count;

static jmp_buf back;
static int top, root;
static char root_path[PATH_MAX];

void fuzz_exit(int code) { longjmp(back, code + 1); }

/* Of the helper's other files: what the operations here never come to. */
void upload_tree(const struct exec_request *request, int at) { (void)request, (void)at, abort(); }
void watch_tree(int at, const char *path) { (void)at, (void)path, abort(); }
void diff_layer(uint64_t most) { (void)most, abort(); }
void export_layer(void) { abort(); }
void list_tree(int at, const char *path, bool deep, uint64_t most) { (void)at, (void)path, (void)deep, (void)most, abort(); }
void download_tree(int at, const char *path, uint64_t bytes, uint64_t most) { (void)at, (void)path, (void)bytes, (void)most, abort(); }
uint64_t clock_us(void) { return 0; }

static void put_link(const char *to, const char *name) {
  if (symlinkat(to, root, name) != 0 && errno != EEXIST) abort();
}

static void make_tree(void) {
  static const char *const links[][2] = {{"..", "up"},         {"../outside", "out"}, {"/", "top"},   {"/../outside", "abs"},
                                         {"loop", "loop"},     {"/proc/self/root", "magic"}, {"a/b", "way"}, {"/proc", "proc"}};
  mkdirat(root, "a", 0755);
  mkdirat(root, "a/b", 0755);
  close(openat(root, "a/f", O_WRONLY | O_CREAT, 0644));
  for (size_t at = 0; at < sizeof links / sizeof *links; at++) put_link(links[at][0], links[at][1]);
}

static void begin(void) {
  const char *folder = getenv("FUZZ_FOLDER");
  if (folder == NULL || (top = open(folder, O_PATH | O_DIRECTORY)) < 0) abort();
  mkdirat(top, "tree", 0755);
  mkdirat(top, "outside", 0755);
  root = openat(top, "tree", O_PATH | O_DIRECTORY);
  close(openat(top, "outside/kept", O_WRONLY | O_CREAT, 0600));
  snprintf(root_path, sizeof root_path, "/proc/self/fd/%d", root);
  char real[PATH_MAX];
  if (realpath(root_path, real) == NULL) abort();
  strcpy(root_path, real);
  dup2(open("/dev/null", O_WRONLY), 1);
}

static void check_inside(int fd) {
  char link[64], real[PATH_MAX];
  if (fd < 0) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, real, sizeof real - 1);
  size_t prefix = strlen(root_path);
  if (length < 0) abort();
  real[length] = 0;
  if (strncmp(real, root_path, prefix) != 0 || (real[prefix] != 0 && real[prefix] != '/')) abort();
}

static void check_outside(void) {
  struct stat info;
  DIR *folder = fdopendir(openat(top, "outside", O_RDONLY | O_DIRECTORY));
  int count = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  if (count != 1 || fstatat(top, "outside/kept", &info, 0) != 0 || (info.st_mode & 0777) != 0600) abort();
}

static void operate(int operation, char *path, char *other) {
  const char *name;
  if (setjmp(back) != 0) return;
  switch (operation) {
    case 0: return check_inside(open_inside(root, path, O_PATH));
    case 1: return check_inside(make_folders(root, path, 0755, 0, 0));
    case 2: return check_inside(open_parent(root, path, &name));
    case 3: rename_entry(root, path, other);
    case 4: remove_entry(root, path, false);
    case 5: chmod_entry(root, path, 0700);
    default: stat_entry(root, path);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  if (root == 0) begin();
  if (length < 1 || length > 512) return 0;
  /* As the caller sees to it: absolute, two texts. */
  char *path = calloc(1, length + 2), *other = calloc(1, length + 2);
  path[0] = other[0] = '/';
  size_t first = strnlen((const char *)bytes + 1, length - 1);
  memcpy(path + 1, bytes + 1, first);
  if (first + 2 < length) memcpy(other + 1, bytes + first + 2, strnlen((const char *)bytes + first + 2, length - first - 2));
  make_tree();
  operate(bytes[0] % 7, path, other);
  syscall(SYS_close_range, root + 1, ~0u, 0);
  check_outside();
  free(path);
  free(other);
  return 0;
}
