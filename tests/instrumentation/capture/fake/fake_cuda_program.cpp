// fake_cuda_program: a "CUDA program" for machines without a GPU. It loads libcuda.so.1 (the loader finds the fake
// one), initializes it as any program would, and replays a journal through it.
//
//   fake_cuda_program JOURNAL [--hostile HOW]... [--repeat N] [--paced] [--until SHARE]
//                     [--fork] [--signals] [--late-free] [--rival HOW] [--end exit|_exit|abort|kill|segv|wait|exec] [--status N]
//   fake_cuda_program --nothing          starts and exits without CUDA
//
//   --signals    deliver a timer signal every 200 us; status 4 if a thread other than the program's own receives one
//   --kill-after kill -9 this process after this many microseconds, whatever it is doing then
//   --dlclose    close the injected library more often than it was opened
//   --late-free  allocate 4 KiB, and free it in the destructor of a static object
//   --end exec   replace the program by one that replays the journal again
//   --rival      replay the journal once alone, once beside another profiler in this process, and once after it. HOW:
//                subscribe (it takes CUPTI's callbacks), records (it also takes CUPTI's records), finalize (it also
//                shuts CUPTI down at its end)
//   --fork   in the middle, fork a child that replays the journal from the start and ends with _exit(0)
//   --end    how the process ends after the replay (with --until: before its end)

#include <dlfcn.h>
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

#include "tests/instrumentation/capture/fake/flush_thread.hpp"
#include "tests/instrumentation/capture/fake/replay.hpp"

namespace {

template <class Function>
Function find(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(library, name));
  if (found == nullptr) {
    std::fprintf(stderr, "fake_cuda_program: %s is missing: this is not the fake driver\n", name);
    std::exit(2);
  }
  return found;
}

/// Frees a block after everything else, like a program's global objects.
struct late_free {
  CUresult (*free)(CUdeviceptr) = nullptr;
  CUdeviceptr address = 0;
  ~late_free() {
    if (free != nullptr) free(address);
  }
};
late_free at_the_very_end;

void free_late(void* driver) {
  CUcontext context = nullptr;
  find<CUresult (*)(CUcontext*, CUdevice)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0);
  find<CUresult (*)(CUcontext)>(driver, "cuCtxSetCurrent")(context);
  find<CUresult (*)(CUdeviceptr*, std::size_t)>(driver, "cuMemAlloc_v2")(&at_the_very_end.address, 4096);
  at_the_very_end.free = find<CUresult (*)(CUdeviceptr)>(driver, "cuMemFree_v2");
}

std::atomic<int> taken_by_others{0};
std::atomic<int> taken{0};

/// Identifies the recorder's thread by its name.
void on_signal(int) {
  const int keep_errno = errno;
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  ++taken;
  if (std::string_view(name).starts_with("sluice")) ++taken_by_others;
  errno = keep_errno;
}

void send_signals() {
  signal(SIGALRM, on_signal);
  const itimerval every{{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &every, nullptr);
}

void end(const std::string& method, int status, char** argv) {
  if (method == "exec") {
    char* arguments[] = {argv[0], argv[1], nullptr};
    execv(argv[0], arguments);
  }
  if (method == "_exit") _exit(status);
  if (method == "abort") std::abort();
  if (method == "kill") kill(getpid(), SIGKILL);
  if (method == "segv") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (method == "wait") {
    std::puts("waiting");
    std::fflush(stdout);
    for (;;) pause();
  }
  std::exit(status);
}

struct arguments {
  std::string journal;
  std::vector<std::string> hostile;
  sluice::fake::replay_options replay;
  bool fork = false;
  bool signals = false;
  bool late_free = false;
  bool nothing = false;
  bool dlclose = false;
  long kill_after = 0;
  std::string rival;
  std::string end = "exit";
  int status = 0;
};

arguments parse(int argc, char** argv) {
  arguments a;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--hostile") {
      a.hostile.push_back(value), ++i;
    } else if (word == "--repeat") {
      a.replay.repeat = std::stoi(value), ++i;
    } else if (word == "--until") {
      a.replay.until = std::stod(value), ++i;
    } else if (word == "--end") {
      a.end = value, ++i;
    } else if (word == "--status") {
      a.status = std::stoi(value), ++i;
    } else if (word == "--paced") {
      a.replay.paced = true;
    } else if (word == "--rival") {
      a.rival = value, ++i;
    } else if (word == "--fork") {
      a.fork = true;
    } else if (word == "--signals") {
      a.signals = true;
    } else if (word == "--kill-after") {
      a.kill_after = std::stol(value), ++i;
    } else if (word == "--dlclose") {
      a.dlclose = true;
    } else if (word == "--late-free") {
      a.late_free = true;
    } else if (word == "--nothing") {
      a.nothing = true;
    } else {
      a.journal = word;
    }
  }
  return a;
}

/// Calls `play` once before, once during and once after another profiler's use of CUPTI.
template <class Play>
int beside_a_rival(const std::string& method, Play&& play) {
  void* const rival = dlopen("libfake_rival.so", RTLD_NOW | RTLD_LOCAL);  // Loaded as Python loads PyTorch.
  if (rival == nullptr) {
    std::fprintf(stderr, "fake_cuda_program: %s\n", dlerror());
    return 2;
  }
  play();
  sluice::fake::wait_for_flush(200'000);  // Meanwhile the recorder flushes its records.
  find<int (*)(const char*)>(rival, "rival_start")(method.c_str());
  play();
  find<void (*)(const char*)>(rival, "rival_stop")(method.c_str());
  std::printf("rival records: %llu\n",
              static_cast<unsigned long long>(find<std::uint64_t (*)()>(rival, "rival_records")()));
  if (method != "subscribe")
    sluice::fake::wait_for_flush(1'500'000);  // Meanwhile the recorder makes sure that the other profiler has stopped.
  play();
  return 0;
}

int run(arguments a, char** argv) {
  if (a.nothing) return a.status;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::fprintf(stderr, "fake_cuda_program: %s\n", dlerror());
    return 2;
  }
  auto* const initialize = find<CUresult (*)(unsigned)>(driver, "cuInit");
  auto& hub = *find<sluice::fake::hub* (*)()>(driver, "sluice_fake_hub")();
  sluice::journal::journal journal = sluice::journal::read(a.journal);
  for (const std::string& method : a.hostile) {
    if (!sluice::fake::make_hostile(journal, method)) {
      std::fprintf(stderr, "fake_cuda_program: --hostile %s: no such way\n", method.c_str());
      return 2;
    }
  }
  initialize(0);
  if (a.late_free) free_late(driver);
  if (a.signals) send_signals();
  if (a.kill_after != 0) {
    std::thread([after = a.kill_after] {
      usleep(static_cast<useconds_t>(after));
      kill(getpid(), SIGKILL);
    }).detach();
  }
  if (a.dlclose) {  // Closes the library often enough to unload any library that can be unloaded.
    for (int i = 0; i < 16; ++i) {
      void* const library = dlopen(std::getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_NOLOAD);
      if (library == nullptr) break;
      dlclose(library);
      dlclose(library);
    }
  }
  pid_t child = 0;
  if (a.fork) {
    a.replay.halfway = [&] {
      child = fork();
      if (child != 0) return;
      // A forked child has only this thread; the journal's other threads start again.
      sluice::fake::replay(journal, hub, {});
      _exit(0);
    };
  }
  const auto play = [&] { sluice::fake::replay(journal, hub, a.replay); };
  if (a.rival.empty()) {
    play();
  } else if (const int failed = beside_a_rival(a.rival, play); failed != 0) {
    return failed;
  }
  if (child > 0) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      std::fprintf(stderr, "fake_cuda_program: the child ended with status %d\n", status);
      return 3;
    }
  }
  if (a.signals) {
    while (taken < 50) pause();
    if (taken_by_others != 0) return 4;
  }
  end(a.end, a.status, argv);
  return a.status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv), argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fake_cuda_program: %s\n", e.what());
    return 2;
  }
}
