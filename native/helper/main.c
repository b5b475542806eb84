/*
 * The helper's entry: the zygote, which Sandlot starts, and whose agents are clones of it; or the agent alone, which a
 * container engine starts as the first process of a container.
 */
#include "helper.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "zygote") == 0) return zygote_main(argc, argv);
  if (argc > 1 && strcmp(argv[1], "agent") == 0) return container_main(argc, argv);
  if (argc > 1 && strcmp(argv[1], "inside") == 0) return maps_inside(argc, argv);
  fprintf(stderr, "sandlot-helper is started by Sandlot: sandlot-helper zygote RUN_PARENT IMAGE_FOLDER\n");
  return 2;
}
