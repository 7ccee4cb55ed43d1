/* A C program that tells its recorder of itself, by sluice.h alone: nothing is linked. Its one argument says how it ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "instrumentation/capture/sluice.h"

static char memory[1 << 16]; /* Stands for device memory: a block is an address and a size. */

static void* other_thread(void* unused) {
  (void)unused;
  sluice_push("other thread");
  sluice_pop();
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t other;
  if (argc != 2) return 2;
  sluice_pop(); /* There is nothing to end. */
  sluice_block_alloc(memory, sizeof memory / 2, 0, "my pool");
  sluice_tag(memory + 100, "weight", "layer1.weight");
  sluice_tag(memory + sizeof memory - 1, "input", "nobody's"); /* In no block. */
  sluice_step(-1);
  sluice_push("outer");
  sluice_push("inner");
  pthread_create(&other, NULL, other_thread, NULL);
  pthread_join(other, NULL);
  sluice_pop();
  sluice_mark("halfway");
  sluice_pop();
  sluice_step(-1);
  sluice_block_free(memory);
  sluice_push("never ended");
  if (strcmp(argv[1], "kill") == 0) _exit(7);
  return sluice_recording() ? 0 : 9;
}
