/*
 * What the files of the file operations share. An operation is a child process of its own that ends with an answer as
 * its exit code; what it reads comes by standard input, what it gives out goes by standard output.
 */
#pragma once
#include "agent.h"
#include <dirent.h>
#include <sys/stat.h>

/* The order is that of `ERRORS` in `src/sandbox/sandbox-files-job.ts`, after DONE. */
enum answer {
  DONE, MISSING, DENIED, TOO_LARGE, NOT_REGULAR, IS_FOLDER, NOT_FOLDER, REFUSED_LINK, NO_SPACE, INVALID_PATH, UNSUPPORTED
};

#define PATH_BYTES_MAX 4096
#define TREE_PATH_MAX 8192 /* of a path below a folder; a deeper tree is too large */
#define DEPTH_MAX 1000
#define TEMPORARY ".sandlot-" /* begins every name that stands only while an operation runs */

/* files.c */
void end(enum answer answer) __attribute__((noreturn));
enum answer why(int error);
int open_inside(int root, const char *path, uint64_t flags);
bool is_proc(int fd);
bool give_to(int fd, uid_t uid, gid_t gid); /* false with errno */
int make_folders(int root, const char *path, mode_t mode, uid_t uid, gid_t gid); /* of the folders it makes */
int open_parent(int root, char *path, const char **name); /* of an entry that need not be there; cuts `path` */
void temporary_name(char *to, size_t room);

/* files-out.c: standard output, buffered */
void out_bytes(const void *bytes, size_t length);
void out_flush(void);

/* files-entry.c: each ends the process */
void stat_entry(int root, const char *path) __attribute__((noreturn));
void rename_entry(int root, char *from, char *to) __attribute__((noreturn));
void remove_entry(int root, char *path, bool is_recursive) __attribute__((noreturn));
void chmod_entry(int root, const char *path, mode_t mode) __attribute__((noreturn));
bool remove_tree(int folder, const char *name, int depth); /* false with errno */

/* tree.c: a walk, depth first and sorted by name, that follows no link and does not enter /proc */
struct walk {
  char path[TREE_PATH_MAX]; /* of the entry, below the folder the walk began in */
  size_t length;
  uint64_t entries_left;
  int depth;
  /* Called for every entry; true to go on below it, if it is a folder. */
  bool (*visit)(struct walk *walk, int folder, const char *name, const struct stat *info);
  void *context;
};
void walk_folder(struct walk *walk, int fd); /* closes fd; ends the process with TOO_LARGE at a bound */
size_t folder_names(DIR *folder, char ***names, uint64_t most);
void list_tree(int root, const char *path, bool is_recursive, uint64_t entries_max) __attribute__((noreturn));
void download_tree(int root, const char *path, uint64_t bytes_max, uint64_t entries_max) __attribute__((noreturn));

/* tree-records.c: the stream of a tree, in both directions: per entry u8 kind, u8 0, u16 bytes of the path, u32 mode, the
   path; after a file's head its content in chunks of u32 bytes each, the last of them empty; at the end one `e`. */
#define RECORD_HEAD 8
struct record_sink {
  enum answer (*folder)(void *context, const char *path, mode_t mode);
  enum answer (*file)(void *context, const char *path, mode_t mode);
  enum answer (*content)(void *context, const uint8_t *bytes, size_t length);
  enum answer (*file_end)(void *context);
};
struct record_decoder {
  const struct record_sink *sink;
  void *context;
  enum { AT_HEAD, AT_PATH, AT_CHUNK_HEAD, AT_CHUNK, AT_END } state;
  uint8_t head[RECORD_HEAD];
  char path[PATH_BYTES_MAX];
  size_t have; /* bytes of the head, path or chunk head so far */
  uint32_t chunk_left;
};
enum answer records_take(struct record_decoder *decoder, const uint8_t *bytes, size_t length);
bool is_path_below(const char *path, size_t length); /* relative, and never up or out, whatever it names */
void record_head(uint8_t *to, char kind, size_t path_bytes, mode_t mode);

/* tree-upload.c */
void upload_tree(const struct exec_request *request, int root) __attribute__((noreturn));

/* diff.c, diff-export.c: over the agent's own layer */
void diff_layer(uint64_t entries_max) __attribute__((noreturn));
void export_layer(void) __attribute__((noreturn));

/* watch.c */
void watch_tree(int root, const char *path) __attribute__((noreturn));

/* sha256.c */
struct sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
};
void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
void sha256_end(struct sha256 *hash, uint8_t digest[32]);
