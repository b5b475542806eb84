/* The helper's entry. Only the zygote is started by name; an agent is a clone of it and never a program of its own. */
#include "helper.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "zygote") == 0) return zygote_main(argc, argv);
  fprintf(stderr, "sandlot-helper is started by Sandlot: sandlot-helper zygote RUN_PARENT IMAGE_FOLDER\n");
  return 2;
}
