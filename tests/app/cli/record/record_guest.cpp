// The program that tests of `sluice record` record: it sends events as the capture library would, and its first
// argument selects its behaviour.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/ring.hpp"

namespace {

using namespace sluice::ring;

void allocate(std::uint64_t address, std::uint64_t bytes = 4096) {
  alloc_record record{};
  record.header.time = now();
  record.address = address;
  record.bytes = bytes;
  record.device = no_device;
  record.kind = 1;  // Driver layer, device memory.
  emit(record);
}

/// Waits while the ring is full, so that the next event is not lost. All calls together wait for at most a minute.
void wait_for_room() {
  static int waits = 60'000;
  for (; !has_room(maximum_record_bytes) && waits > 0; --waits) usleep(1000);
}

/// Allocates and frees blocks for about `turns` milliseconds, with 10 more blocks live from the start.
void churn(int turns, std::uint64_t blocks_a_turn = 200) {
  for (std::uint64_t i = 0; i < 10; ++i) allocate(0x10'0000 + i * 0x1000);
  std::uint64_t random = 1;  // Generates sizes that do not compress.
  int waits = 200;
  for (int turn = 0; turn < turns; ++turn) {
    for (std::uint64_t i = 0; i < blocks_a_turn; ++i) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      allocate(0x20'0000 + i * 0x1000, 1 + (random >> 40));
      free_record record{};
      record.header.time = now();
      record.address = 0x20'0000 + i * 0x1000;
      // A full ring drops events, and a dropped free leaves its block live. If nothing is recorded, every event is
      // dropped.
      while (!emit(record) && waits > 0) {
        --waits;
        usleep(1000);
      }
    }
    usleep(1000);
  }
}

void forever() {
  for (;;) pause();
}

/// Prints each signal that arrives, until SIGTERM.
int print_signals() {
  sigset_t whole;
  sigfillset(&whole);
  sigprocmask(SIG_BLOCK, &whole, nullptr);
  printf("ready\n");
  for (;;) {
    fflush(stdout);
    siginfo_t came{};
    const int number = sigwaitinfo(&whole, &came);
    if (number == SIGCHLD || number < 0) continue;
    printf("signal %d", number);
    if (came.si_code == SI_QUEUE) printf(" value %d", came.si_value.sival_int);
    printf("\n");
    if (number == SIGTERM) return 3;
  }
}

/// Prints what a program inherits from the process that starts it.
int print_inheritance() {
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    printf("signal %d: blocked %d, ignored %d\n", number, sigismember(&blocked, number), action.sa_handler == SIG_IGN);
  }
  for (int number = 0; number < 1000; ++number) {
    if (fcntl(number, F_GETFD) >= 0) printf("descriptor %d: flags %x\n", number, fcntl(number, F_GETFL));
  }
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(resource), &limit);
    printf("limit %d: %ju %ju\n", resource, std::uintmax_t{limit.rlim_cur}, std::uintmax_t{limit.rlim_max});
  }
  printf("group %d, session %d, terminal %d, priority %d, mask %o\n", getpgrp(), getsid(0), tcgetpgrp(0),
         getpriority(PRIO_PROCESS, 0), umask(0));
  return 0;
}

int behave(const std::string& method) {                           // NOLINT(misc-no-recursion)
  if (method == "print-inheritance") return print_inheritance();  // Must run before our own producer exists.
  if (method == "no-descriptors") {
    const rlimit none{3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    start();
    for (int i = 0; i < 5; ++i) allocate(0x1000);
    stop();
    return 0;
  }
  start();
  allocate(0x1000);
  if (method == "succeed") return 0;
  if (method == "churn") {
    churn(1500);
    return 0;
  }
  if (method == "trickle") {  // So few events that a ring holds them all, however busy the machine is.
    churn(3000, 10);
    return 0;
  }
  if (method == "churn-much") {
    churn(400, 4000);
    return 5;
  }
  if (method == "hoard") {  // Four million blocks that are never freed.
    for (std::uint64_t i = 1; i <= 4'000'000; ++i) {
      allocate(i << 12);
      if (i % 2000 == 0) usleep(500);
    }
    return 0;
  }
  if (method == "name") {  // Two and a half million names of 104 letters, and as many streams.
    for (std::uint64_t i = 1; i <= 2'500'000; ++i) {
      wait_for_room();
      const std::string name = std::to_string(i) + std::string(104 - std::to_string(i).size(), 'x');
      stream_record record{};
      record.header.time = now();
      record.stream = i;
      record.name = intern(name.c_str(), name.size());
      emit(record);
    }
    wait_for_room();
    allocate(0x2000);
    return 6;
  }
  if (method == "fail-to-allocate") {
    churn(300);
    alloc_failed_record record{};
    record.header.time = now();
    record.bytes = 1 << 30;
    emit(record);
    usleep(300'000);
    return 0;
  }
  if (method == "run-out") {  // Holds ten blocks from the start, fills a ring of 1 MiB, then fails to allocate.
    churn(300, 4000);
    usleep(500'000);  // The writer catches up; otherwise a full ring would lose what follows.
    alloc_failed_record record{};
    record.header.time = now();
    record.bytes = 1 << 30;
    record.name = intern("cuMemAlloc");
    record.status = 2;
    record.device = no_device;
    record.kind = 1;
    emit(record);
    return 9;
  }
  if (method == "run-out-and-go-on") {  // As "run-out", but handles the failure and then fills the ring again.
    behave("run-out");
    churn(400, 4000);
    return 0;
  }
  if (method == "retry") {  // Fails to allocate, frees its cached memory and tries again.
    alloc_failed_record record{};
    record.header.time = now();
    record.bytes = 4096;
    record.status = 2;
    record.device = no_device;
    record.kind = 1;
    emit(record);
    allocate(0x3000);
    return 0;
  }
  if (method == "fail") return 7;
  if (method == "die") return kill(getpid(), SIGKILL);
  if (method == "close-all") {
    close_range(3, ~0U, 0);
    allocate(0x2000);
    return 0;
  }
  if (method == "setsid") {
    setsid();
    allocate(0x2000);
    return 0;
  }
  if (method == "child-outlives") {  // The child runs only for a moment longer.
    if (fork() != 0) return 0;
    usleep(300'000);
    allocate(0x2000);
    return 0;
  }
  if (method == "daemon") {
    if (fork() != 0) return 0;
    setsid();
    allocate(0x2000);
    const int nowhere = open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; ++standard) dup2(nowhere, standard);
    usleep(20'000'000);
    return 0;
  }
  if (method == "wait-for-signal") {  // Waits until a signal ends the process.
    printf("ready\n");
    fflush(stdout);
    forever();
  }
  if (method == "handle-interrupt") {
    signal(SIGINT, [](int) {
      allocate(0x3000);
      _exit(9);
    });
    printf("ready\n");
    fflush(stdout);
    forever();
  }
  if (method == "print-signals") return print_signals();
  if (method == "signals") {  // The signal state must be the same as without the recorder.
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, nullptr, &blocked);
    for (int number = 1; number < 32; ++number) {
      struct sigaction action {};
      sigaction(number, nullptr, &action);
      if (sigismember(&blocked, number) == 1 || action.sa_handler != SIG_DFL) return number;
    }
    return 0;
  }
  if (method == "descriptors") {
    for (int number = 3; number < 1000; ++number) {
      if (fcntl(number, F_GETFD) >= 0) return 1;
    }
    return 0;
  }
  return 99;
}

}  // namespace

int main(int argc, char** argv) { return behave(argc > 1 ? argv[1] : ""); }
