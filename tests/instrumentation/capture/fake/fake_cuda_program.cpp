// fake_cuda_program: a "CUDA program" for machines without a GPU. It loads libcuda.so.1 (the fake one, found by the loader),
// initialises it as any program would, and replays a journal through it.
//
//   fake_cuda_program JOURNAL [--hostile HOW]... [--repeat N] [--paced] [--until SHARE]
//                     [--fork] [--end exit|_exit|abort|kill|segv|wait] [--status N]
//   fake_cuda_program --nothing          starts and ends without CUDA
//
//   --fork   in the middle, fork a child that replays the journal from its start and ends with _exit(0)
//   --end    how the process ends after (or, with --until, before the end of) the replay

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

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

void end(const std::string& how, int status) {
  if (how == "_exit") _exit(status);
  if (how == "abort") std::abort();
  if (how == "kill") kill(getpid(), SIGKILL);
  if (how == "segv") {
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
  }
  if (how == "wait") {
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
  bool nothing = false;
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
    } else if (word == "--fork") {
      a.fork = true;
    } else if (word == "--nothing") {
      a.nothing = true;
    } else {
      a.journal = word;
    }
  }
  return a;
}

int run(arguments a) {
  if (a.nothing) return a.status;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::fprintf(stderr, "fake_cuda_program: %s\n", dlerror());
    return 2;
  }
  auto* const initialize = find<CUresult (*)(unsigned)>(driver, "cuInit");
  auto& hub = *find<sluice::fake::hub* (*)()>(driver, "sluice_fake_hub")();
  sluice::journal::journal journal = sluice::journal::read(a.journal);
  for (const std::string& how : a.hostile) {
    if (!sluice::fake::make_hostile(journal, how)) {
      std::fprintf(stderr, "fake_cuda_program: --hostile %s: no such way\n", how.c_str());
      return 2;
    }
  }
  initialize(0);
  pid_t child = 0;
  if (a.fork) {
    a.replay.halfway = [&] {
      child = fork();
      if (child != 0) return;
      // Only this thread is left here; the journal's other threads are new.
      sluice::fake::replay(journal, hub, {});
      _exit(0);
    };
  }
  sluice::fake::replay(journal, hub, a.replay);
  if (child > 0) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      std::fprintf(stderr, "fake_cuda_program: the child ended with status %d\n", status);
      return 3;
    }
  }
  end(a.end, a.status);
  return a.status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "fake_cuda_program: %s\n", e.what());
    return 2;
  }
}
