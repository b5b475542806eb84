/*
 * Expected: ended by its time limit with the process limit hit. Every process forks as fast as it can, for ever, ignores
 * what asks it to end, and leaves its session.
 */
#include <signal.h>
#include <unistd.h>

int main(void) {
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  for (;;)
    if (fork() == 0) setsid();
}
