// The cost of a recorder event in a program that has just run other code on other data. As in a real program, and
// unlike in a loop, little of the recorder is then in the processor's caches.
//   ./dev bench cold
// Needs a Python built as a shared library: python3, or the one that PYTHON names. Each time is the median of single
// events.
//
// bench_cold --lines=SUBJECT generates marked events for `count-lines`, which counts the cache lines that each touches.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/writer/session/session.hpp"
#include "tests/bench/cold_subject.hpp"

namespace {

// --- evicting the recorder's lines from the caches -------------------------------------------------------------------

/// Dummy code and data: in each line of 64 bytes a jump to the next, and words that are read and written.
class other_work {
 public:
  void run(std::size_t data_bytes, std::size_t code_bytes) {
    if (data_.size() * sizeof(std::uint64_t) < data_bytes) data_.resize(data_bytes / sizeof(std::uint64_t));
    for (std::size_t i = 0; i < data_bytes / sizeof(std::uint64_t); i += 8) data_[i] += i;
    benchmark::ClobberMemory();
#if defined(__x86_64__)
    if (code_bytes != code_bytes_) make_code(code_bytes);
    if (code_bytes != 0) reinterpret_cast<void (*)()>(code_)();
#endif
  }

 private:
  void make_code(std::size_t bytes) {
    if (code_ != nullptr) munmap(code_, code_bytes_);
    code_ = nullptr;
    code_bytes_ = bytes;
    if (bytes == 0) return;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    code_ = static_cast<unsigned char*>(memory);
    for (std::size_t i = 0; i + 64 < bytes; i += 64) {
      code_[i] = 0xEB;  // jmp +62
      code_[i + 1] = 62;
    }
    code_[bytes - 64] = 0xC3;  // ret
    if (mprotect(memory, bytes, PROT_READ | PROT_EXEC) != 0) std::abort();
  }
  std::vector<std::uint64_t> data_;
  unsigned char* code_ = nullptr;
  std::size_t code_bytes_ = 0;
};

// --- a recording, blocks, and a Python ------------------------------------------------------------------------------

struct block {
  std::uint64_t address;
  std::int64_t bytes;
};

/// Several hundred live tensors and as many short-lived tensors, side by side in PyTorch's segments.
std::vector<block> make_blocks() {
  std::mt19937_64 random(1);
  std::vector<block> blocks;
  std::uint64_t at = 0x7f00'0000'0000;
  for (int i = 0; i < 512; ++i) {
    const std::int64_t bytes = std::int64_t{512} << random() % 12;
    blocks.push_back({at, bytes});
    at += static_cast<std::uint64_t>(bytes);
  }
  std::shuffle(blocks.begin(), blocks.end(), random);
  return blocks;
}

void report(const block& b, bool born) {
  c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(b.address), born ? b.bytes : -b.bytes, 1, 2, {1, 0});
}

std::string said_by(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char part[512];
  while (pipe != nullptr && fgets(part, sizeof part, pipe) != nullptr) text += part;
  if (pipe != nullptr) pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

struct interpreter {
  int (*run)(const char*, void*) = nullptr;
  bool start() {
    const char* named = getenv("PYTHON");
    const std::string python = named == nullptr ? "python3" : named;
    const std::string where =
        said_by(python +
                " -c 'import sys, sysconfig as s; print(sys.base_prefix); "
                "print(s.get_config_var(\"LIBDIR\") + \"/\" + s.get_config_var(\"INSTSONAME\"))'");
    const std::size_t line = where.find('\n');
    if (line == std::string::npos) return false;
    setenv("PYTHONHOME", where.substr(0, line).c_str(), 1);
    void* library = dlopen(where.substr(line + 1).c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return false;
    if (auto* no_site = static_cast<int*>(dlsym(library, "Py_NoSiteFlag"))) *no_site = 1;  // Starts faster.
    reinterpret_cast<void (*)(int)>(dlsym(library, "Py_InitializeEx"))(0);
    version = reinterpret_cast<const char* (*)()>(dlsym(library, "Py_GetVersion"))();
    run = reinterpret_cast<int (*)(const char*, void*)>(dlsym(library, "PyRun_SimpleStringFlags"));
    return true;
  }
  std::string version;
};

struct recording {
  interpreter python;
  std::unique_ptr<sluice::writer::session> session;
  std::vector<block> blocks = make_blocks();
  std::string path;
  bool ready = false;

  recording() {
    if (!python.start()) return;
    path = (std::filesystem::temp_directory_path() / ("sluice-bench-" + std::to_string(getpid()))).string();
    auto started = sluice::writer::session::start(path);
    if (!started) return;
    session = std::make_unique<sluice::writer::session>(std::move(*started));
    ready = cold_start(session->socket_name().c_str());
    for (std::size_t i = 0; i < blocks.size() / 2; ++i) report(blocks[i], true);
  }
  ~recording() {
    cold_stop();
    if (session) (void)session->stop();
    std::filesystem::remove(path);
  }
};
recording& the_recording() {
  static recording whole;
  return whole;
}

// --- the events -----------------------------------------------------------------------------------------------------

/// The work at the innermost Python frame. `before` and `after` are not measured and run with warm caches.
struct subject {
  const char* name;
  void (*before)(const block&);
  void (*event)(const block&);
  void (*after)(const block&);
  bool needs_python;
};

std::uint64_t pointers[8];
void choose_pointers(const block&) {
  static std::size_t at = 0;
  for (std::uint64_t& pointer : pointers) pointer = the_recording().blocks[at++ * 37 % 256].address;
}
void nothing(const block&) {}
const subject subjects[] = {
    {"stack", nothing, [](const block&) { benchmark::DoNotOptimize(cold_python_stack()); }, nothing, true},
    {"alloc", nothing, [](const block& b) { report(b, true); }, [](const block& b) { report(b, false); }, true},
    {"free", [](const block& b) { report(b, true); }, [](const block& b) { report(b, false); }, nothing, false},
    {"launch", choose_pointers, [](const block&) { cold_launch(pointers, 8); }, nothing, false},
    {"launch_by_cupti", choose_pointers, [](const block&) { cold_launch_by_cupti(pointers, 8); }, nothing, false},
    {"emit", nothing, [](const block& b) { cold_emit(b.address); }, nothing, false},
};
const subject no_subject = {"", nothing, nothing, nothing, false};  ///< The overhead of measuring.

/// The moment at which the caches are evicted: never; before the inner half of the Python frames is entered, so that
/// only data that the interpreter has just used is cached; or right before the event.
enum class when : long { never, before_inner_frames, before_event };

struct run_state {
  const subject* kind = nullptr;
  when stirs = when::never;
  std::size_t data_bytes = 0, code_bytes = 0;
  other_work other;
  std::vector<double> samples;
  std::size_t turn = 0;
  volatile char* marks = nullptr;  ///< Touched before and after an event, for `count-lines`.

  void stir() { other.run(data_bytes, code_bytes); }
  void at_inner_frames() {
    if (stirs == when::before_inner_frames) stir();
  }
  void at_event() {
    const recording& r = the_recording();
    const block& b = r.blocks[r.blocks.size() / 2 + turn++ % (r.blocks.size() / 2)];
    kind->before(b);
    if (stirs == when::before_event) stir();
    if (marks != nullptr) marks[0];
#if defined(__x86_64__)
    _mm_lfence();
    const std::uint64_t begin = sluice::ring::read_tsc();
    _mm_lfence();
    kind->event(b);
    _mm_lfence();
    const std::uint64_t end = sluice::ring::read_tsc();
    _mm_lfence();
#else
    const std::uint64_t begin = 0, end = 0;
    what->event(b);
#endif
    if (marks != nullptr) marks[4096];
    samples.push_back(static_cast<double>(end - begin));
    kind->after(b);
  }
};
run_state present;

/// Functions that call one another, each with its own code: `outer` of them around a loop, which calls varying chains
/// out of eight chains of `inner` more.
std::string program(int outer, int inner, int turns) {
  std::ostringstream text;
  text << "import ctypes\n"
       << "scattered = []\n"  // Spreads the code in memory, like that of many modules.
       << "event = ctypes.PYFUNCTYPE(None)(" << reinterpret_cast<std::uintptr_t>(+[] { present.at_event(); }) << ")\n"
       << "stir = ctypes.PYFUNCTYPE(None)(" << reinterpret_cast<std::uintptr_t>(+[] { present.at_inner_frames(); })
       << ")\n";
  int scattered = 0;
  const auto function = [&](const std::string& name, const std::string& body) {
    text << "def " << name << "(n):\n  a = n + 1\n  b = [a, n]\n  c = {'a': a, 'b': b}\n"
         << body << "\n"
         << "scattered.append(bytearray(" << 1000 + 700 * (scattered++ % 17) << "))\n";
  };
  constexpr int chains = 8;
  for (int chain = 0; chain < chains; ++chain) {
    for (int i = inner - 1; i >= 0; --i) {
      const std::string name = "inner_" + std::to_string(chain) + "_";
      function(name + std::to_string(i),
               i + 1 < inner ? "  return " + name + std::to_string(i + 1) + "(b[0])" : std::string("  event()"));
    }
  }
  std::string loop = "  for _ in range(" + std::to_string(turns) + "):\n";
  for (int chain = 0; chain < chains; ++chain) loop += "    stir()\n    inner_" + std::to_string(chain) + "_0(a)\n";
  function("outer_0", loop);
  for (int i = 1; i < outer; ++i) {
    function("outer_" + std::to_string(i), "  return outer_" + std::to_string(i - 1) + "(b[0])");
  }
  text << "outer_" << outer - 1 << "(1)\n";
  return text.str();
}

double nanoseconds_a_tick() {
  static const double found = [] {
    const std::uint64_t begin = sluice::ring::read_clock(CLOCK_MONOTONIC), ticks = sluice::ring::read_tsc();
    while (sluice::ring::read_clock(CLOCK_MONOTONIC) - begin < 50'000'000) {
    }
    const std::uint64_t elapsed = sluice::ring::read_clock(CLOCK_MONOTONIC) - begin;
    return static_cast<double>(elapsed) / static_cast<double>(sluice::ring::read_tsc() - ticks);
  }();
  return found;
}

/// `frames` including the module's own.
void run(int frames, int turns) {
  const int outer = frames / 2;
  the_recording().python.run(program(outer, frames - outer - 1, turns).c_str(), nullptr);
}

/// The median time in ns of 800 events, without first-time events.
double compute_median(const subject& topic, int frames) {
  present.kind = &topic;
  present.samples.clear();
  run(frames, 100);
  auto& samples = present.samples;
  samples.erase(samples.begin(), samples.begin() + 100);
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle * nanoseconds_a_tick();
}

void measure(benchmark::State& state, const subject& topic) {
  if (!the_recording().ready) return state.SkipWithError("no writer, or no Python that is a shared library");
  present.stirs = static_cast<when>(state.range(1));
  present.data_bytes = static_cast<std::size_t>(state.range(2)) << 10;
  present.code_bytes = present.data_bytes / 4;
  const int frames = static_cast<int>(state.range(0));
  for (auto _ : state) {
    state.SetIterationTime((compute_median(topic, frames) - compute_median(no_subject, frames)) * 1e-9);
  }
}

void add_benchmarks() {
  for (const subject& s : subjects) {
    auto* added = benchmark::RegisterBenchmark((std::string("cold/") + s.name).c_str(),
                                               [&s](benchmark::State& state) { measure(state, s); });
    added->UseManualTime()->Iterations(1)->Repetitions(9)->ArgNames({"frames", "stirred", "KiB"});
    added->ReportAggregatesOnly();
    for (const long frames : s.needs_python ? std::vector<long>{12, 25} : std::vector<long>{3}) {
      added->Args({frames, 0, 0})->Args({frames, 2, 4096});
      if (s.needs_python) added->Args({frames, 1, 4096});
    }
  }
}

/// Marks the start and end of each event for `count-lines`; warm, because only the touched lines count.
int mark_events(const std::string& name, int frames) {
  for (const subject& s : subjects) {
    if (name != s.name || !the_recording().ready) continue;
    void* place = mmap(reinterpret_cast<void*>(0x5'1000'0000), 8192, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (place == MAP_FAILED) return 1;
    present.kind = &s;
    run(frames, 4);
    present.marks = static_cast<volatile char*>(place);
    run(frames, 4);
    return 0;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], "--lines=", 8) == 0) return mark_events(argv[i] + 8, i + 1 < argc ? atoi(argv[i + 1]) : 12);
  }
  add_benchmarks();
  benchmark::Initialize(&argc, argv);
  benchmark::AddCustomContext("python", the_recording().python.version);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
