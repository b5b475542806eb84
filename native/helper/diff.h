/*
 * What the diff of a sandbox and its export share: the walk over what was written, beside what it lies on.
 */
#pragma once
#include "files.h"

/* One path that differs from what the sandbox was made of. */
struct change {
  char kind;         /* `a` added, `m` modified, `r` removed with all below it */
  bool hides;        /* a folder under which nothing of the one before shows through */
  bool was_other;    /* a folder where there was none, or the reverse */
  const char *path;  /* below the root */
  int folder;        /* of the layer, where it is now; not when it is removed */
  const char *name;
  const struct stat *info; /* likewise */
};

/* Ends the process with UNSUPPORTED where the agent has no layer of its own. With `whole_hidden` all that lies in a hiding
   folder is told, and nothing as removed there. */
void walk_changes(uint64_t entries_max, bool whole_hidden, void (*tell)(const struct change *));
int open_content(int folder, const char *name); /* a regular file's, or -1; never waits, follows no link */
