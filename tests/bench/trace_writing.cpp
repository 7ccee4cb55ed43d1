// The write throughput of one core. trace_writing rows FILE adds the rows of a trace, kept in memory, to a new one;
// trace_writing rings EVENTS puts the records of a training's threads into rings and writes them from there to a file.
// Prints events per second of processor time, of the writer's side alone, and bytes per event. Files are in memory, so
// that the disk is not measured.
//
// trace_writing live FILE RATE SECONDS writes FILE while a program generates RATE events per second. trace_writing
// session FILE EVENTS RATE records itself, like a program with a session, at RATE events per second, and prints the
// time that ending the session takes. From REORDER_FROM events on, the file is sorted while it is written.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/generate/random.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_emit.hpp"
#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/ring/ring.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/session/session.hpp"
#include "tests/bench/processor_time.hpp"

namespace sluice {
namespace {

class memory_file {
 public:
  memory_file() : path_("/dev/shm/sluice-bench-" + std::to_string(::getpid())) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void print(const char* subject, double seconds, std::uint64_t events, std::uint64_t bytes) {
  std::printf("%s: %.2f million events/s, %.2f bytes/event, %llu events\n", subject,
              static_cast<double>(events) / seconds / 1e6, static_cast<double>(bytes) / static_cast<double>(events),
              static_cast<unsigned long long>(events));
}

// --- rows -----------------------------------------------------------------------------------------------------------

/// The rows of a chunk, kept to be added later.
struct kept_chunk {
  virtual ~kept_chunk() = default;
  virtual std::uint64_t add_to(trace::file_writer& file) const = 0;
};

template <class Row>
struct kept_rows final : kept_chunk {
  explicit kept_rows(std::shared_ptr<const std::vector<Row>> items) : rows(std::move(items)) {}
  std::uint64_t add_to(trace::file_writer& file) const override {
    for (const Row& row : *rows) file.add(row);
    return trace::is_event_row<Row> ? rows->size() : 0;
  }
  std::shared_ptr<const std::vector<Row>> rows;
};

int write_rows(const std::string& path) {
  const auto opened = trace::file::open(path);
  if (!opened) {
    std::fprintf(stderr, "trace_writing: %s\n", opened.error().to_string().c_str());
    return 1;
  }
  const auto now = (*opened)->latest();
  std::vector<std::unique_ptr<kept_chunk>> chunks;
  for (std::size_t i = 0; i < now->chunks().size(); ++i) {
    switch (now->chunks()[i].type) {
#define SLUICE_KEEP(row, kind)                                                                                        \
  case trace::row_type::kind:                                                                                         \
    if (const auto rows = now->read<trace::row>(i)) chunks.push_back(std::make_unique<kept_rows<trace::row>>(*rows)); \
    break;
      SLUICE_FOR_EACH_ROW(SLUICE_KEEP)
#undef SLUICE_KEEP
      default:
        break;
    }
  }
  std::vector<double> seconds;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  for (int round = 0; round < 5; ++round) {
    const memory_file file;
    const double begin = processor_seconds();
    auto writer = std::move(trace::file_writer::create(file.path()).value());
    events = 0;
    for (const auto& chunk : chunks) events += chunk->add_to(writer);
    if (!writer.close()) return 1;
    seconds.push_back(processor_seconds() - begin);
    bytes = writer.bytes_written();
  }
  std::sort(seconds.begin(), seconds.end());
  print("rows", seconds[seconds.size() / 2], events, bytes);
  return 0;
}

// --- rings ----------------------------------------------------------------------------------------------------------

using namespace ring;
using namespace writer;

constexpr std::int64_t origin = 1'000'000'000'000;

/// One thread's ring, mapped as if two processes shared it.
struct local_ring {
  explicit local_ring(std::size_t capacity, writer::recorded_process& process) {
    const std::size_t bytes = ring::ring_data_offset + capacity;
    const int file = ::memfd_create("bench-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (::ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
        ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
      std::abort();
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    producer.format(memory, capacity, ring::clock_kind::monotonic_ns);
    reader = std::make_unique<writer::ring_reader>(std::move(writer::ring_reader::adopt(file).value()));
    source.process = &process;
    source.clock = ring::clock_kind::monotonic_ns;
  }
  template <class Record>
  void put(std::int64_t time, Record record, const void* extra = nullptr, std::size_t extra_bytes = 0) {
    record.header.time = static_cast<std::uint64_t>(origin + time);
    if (!producer.put(&record.header, ring::type_of_record<Record>::value, sizeof record, extra, extra_bytes))
      std::abort();
  }
  ring::ring_producer producer;
  std::unique_ptr<writer::ring_reader> reader;
  writer::ring_source source;
};

/// Emits launches of a training. Each launch allocates one block and frees one, and consists of touches, the call, and
/// the kernel, whose record comes later.
class speaker {
 public:
  speaker(local_ring& host, local_ring& device) : host_(host), device_(device) {
    for (std::uint64_t i = 0; i < 64; ++i) {
      const std::string name =
          "void at::native::vectorized_elementwise_kernel<4, functor_" + std::to_string(i) + ">(int)";
      ring::string_record record{};
      record.key = names_[i] = ring::detail::hash_text(name.data(), name.size());
      record.length = name.size();
      host_.put(0, record, name.data(), name.size());
      device_.put(0, record, name.data(), name.size());
    }
    for (std::uint64_t i = 0; i < 256; ++i) born(i);
  }

  /// Emits one launch. Returns its number of events.
  std::uint64_t launch() {
    const std::uint64_t which = launches_++;
    now_ += chance_.around(2'500, 80, 60);
    const std::uint64_t slot = chance_.below(256);
    ring::free_record died{};
    died.address = address(slot);
    died.layer = static_cast<std::uint8_t>(trace::layer::framework);
    died.kind = static_cast<std::uint8_t>(trace::memory_kind::device);
    host_.put(now_, died);
    now_ += chance_.around(1'500, 80);
    born(slot);
    now_ += chance_.around(6'500, 80, 60);
    std::uint64_t touched[5];
    for (std::uint64_t i = 0; i < 5; ++i) touched[i] = address((slot + 13 * i) % 256);
    ring::touch_record touch{};
    touch.name = names_[which % 64];
    touch.correlation = ++correlation_;
    touch.count = 5;
    host_.put(now_, touch, touched, sizeof touched);
    ring::api_call_record call{};
    call.end = static_cast<std::uint64_t>(origin + now_ + chance_.around(6'500, 40));
    call.name = names_[0];
    call.correlation = correlation_;
    call.context = 1;
    host_.put(now_, call);
    ring::kernel_record kernel{};
    const std::int64_t start = now_ + chance_.around(10'000, 40);
    kernel.end = static_cast<std::uint64_t>(origin + start +
                                            chance_.around(static_cast<std::int64_t>(2'000 + which % 64 * 300), 8));
    kernel.name = names_[which % 64];
    kernel.device = ring::no_device;
    kernel.correlation = correlation_;
    kernel.grid[0] = 512;
    kernel.grid[1] = kernel.grid[2] = 1;
    kernel.block[0] = 128;
    kernel.block[1] = kernel.block[2] = 1;
    device_.put(start, kernel);
    now_ += 6'000;
    return 9;
  }
  [[nodiscard]] std::int64_t now() const { return now_; }

 private:
  static std::uint64_t address(std::uint64_t slot) { return 0x7f00'0000'0000 + (slot << 21); }
  void born(std::uint64_t slot) {
    ring::alloc_record alloc{};
    alloc.address = address(slot);
    alloc.bytes = std::uint64_t{512} << (slot % 12);
    alloc.device = ring::no_device;
    alloc.layer = static_cast<std::uint8_t>(trace::layer::framework);
    alloc.kind = static_cast<std::uint8_t>(trace::memory_kind::device);
    host_.put(now_, alloc);
  }

  generate::random chance_{7};
  local_ring& host_;
  local_ring& device_;
  std::uint64_t names_[64] = {};
  std::int64_t now_ = 1'000;
  std::uint64_t launches_ = 0;
  std::uint32_t correlation_ = 0;
};

/// A program with its rings, and the writer that moves their records to a file.
struct recording_program {
  explicit recording_program(trace::file_writer& writer) : rows(writer, clock_anchor{0, origin, 0}, {}) {
    writer::producer_identity who;
    who.pid = who.start_time = who.image = 1;
    writer::recorded_process& process = rows.add_process(who, 1);
    host = std::make_unique<local_ring>(std::size_t{1} << 23, process);
    device = std::make_unique<local_ring>(std::size_t{1} << 23, process);
    ring::thread_record introduction{};
    introduction.tid = 1;
    host->put(0, introduction);
    introduction.tid = 2;
    device->put(0, introduction);
    says = std::make_unique<speaker>(*host, *device);
  }
  /// Drains the rings. Returns false on failure.
  bool take() {
    if (!rows.take(host->source, *host->reader) || !rows.take(device->source, *device->reader)) return false;
    rows.advance({0, origin + says->now(), 0});
    return true;
  }
  writer::record_decoder rows;
  std::unique_ptr<local_ring> host, device;
  std::unique_ptr<speaker> says;
};

/// Writes a file like a recorder while a program generates `rate` events per second.
int write_live(const char* path, double rate, double seconds) {
  auto created = trace::file_writer::create(path);
  if (!created) {
    std::fprintf(stderr, "trace_writing: %s\n", created.error().to_string().c_str());
    return 1;
  }
  trace::file_writer& writer = *created;
  recording_program program(writer);
  const auto begin = std::chrono::steady_clock::now();
  const auto flush_period = session_options{}.flush_period;
  auto flushed = begin;
  double said = 0;
  for (double now = 0; now < seconds;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // Emits at most what the rings hold, however long this process slept.
    for (int i = 0; i < 10'000 && said < now * rate; ++i) said += static_cast<double>(program.says->launch());
    if (!program.take()) return 1;
    if (std::chrono::steady_clock::now() - flushed < flush_period) continue;
    flushed = std::chrono::steady_clock::now();
    if (!writer.flush()) return 1;
  }
  program.rows.finish({0, origin + program.says->now(), 0});
  if (!writer.close()) return 1;
  print("live", seconds, writer.events(), writer.bytes_written());
  return 0;
}

int write_from_rings(std::uint64_t events) {
  const memory_file file;
  auto writer = std::move(trace::file_writer::create(file.path()).value());
  recording_program program(writer);
  double seconds = 0;
  std::uint64_t said = 256;
  // Flushes as often as an idle recorder.
  const double flush_period = std::chrono::duration<double>(session_options{}.flush_period).count();
  double flushed = 0;
  // About as much as a busy program emits in a pass of 20 ms.
  constexpr int launches_a_turn = 2'000;
  while (said < events) {
    for (int i = 0; i < launches_a_turn; ++i) said += program.says->launch();
    const double begin = processor_seconds();
    if (!program.take()) return 1;
    double taken = processor_seconds() - begin;
    if (seconds + taken - flushed >= flush_period) {
      if (!writer.flush()) return 1;
      taken = processor_seconds() - begin;
      flushed = seconds + taken;
    }
    seconds += taken;
  }
  const double begin = processor_seconds();
  program.rows.finish({0, origin + program.says->now(), 0});
  if (!writer.close()) return 1;
  seconds += processor_seconds() - begin;
  print("rings", seconds, writer.events(), writer.bytes_written());
  return 0;
}

/// Emits a training's records, one launch after another.
class emitter {
 public:
  emitter() {
    for (std::uint64_t i = 0; i < 64; ++i)
      names_[i] = ring::intern(
          ("void at::native::vectorized_elementwise_kernel<4, functor_" + std::to_string(i) + ">(int)").c_str());
    for (std::uint64_t i = 0; i < 256; ++i) born(i);
  }
  /// Emits one launch. Returns its number of events.
  std::uint64_t launch() {
    const std::uint64_t which = launches_++, slot = chance_.below(256);
    emit_framework_free(ring::now(), address(slot));
    born(slot);
    auto touch = record_at<ring::touch_record>(ring::now());
    touch.name = names_[which % 64];
    touch.correlation = static_cast<std::uint32_t>(launches_);
    touch.count = 5;
    std::uint64_t touched[5];
    for (std::uint64_t i = 0; i < 5; ++i) touched[i] = address((slot + 13 * i) % 256);
    emit_touch(touch, touched);
    auto call = record_at<ring::api_call_record>(touch.header.time);
    call.end = ring::now();
    call.name = names_[0];
    call.correlation = touch.correlation;
    call.context = 1;
    emit(call);
    auto kernel = record_at<ring::kernel_record>(call.end);
    kernel.end = ring::now();
    kernel.name = names_[which % 64];
    kernel.device = ring::no_device;
    kernel.correlation = touch.correlation;
    kernel.grid[0] = 512;
    kernel.grid[1] = kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
    kernel.block[0] = 128;
    emit(kernel);
    return 9;
  }

 private:
  static std::uint64_t address(std::uint64_t slot) { return 0x7f00'0000'0000 + (slot << 21); }
  static void born(std::uint64_t slot) {
    emit_framework_alloc(ring::now(), address(slot), std::uint64_t{512} << (slot % 12), 0, 0, no_device);
  }
  generate::random chance_{7};
  std::uint64_t names_[64] = {};
  std::uint64_t launches_ = 0;
};

int write_session(const char* path, double events, double rate, std::uint64_t reorder_from) {
  writer::session_options options;
  if (reorder_from != 0) options.reorder_from = reorder_from;
  auto begun = writer::session::start(path, options);
  if (!begun || !ring::start(begun->socket_name().c_str(),
                             {.clock = ring::clock_kind::monotonic_ns, .ring_bytes = std::size_t{1} << 24})) {
    std::fprintf(stderr, "trace_writing: %s\n", begun ? "no connection" : begun.error().to_string().c_str());
    return 1;
  }
  const auto seconds_since = [](auto then) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
  };
  const auto begin = std::chrono::steady_clock::now();
  double said = 0;
  emitter says;
  while (said < events) {
    const double due = std::min(events, seconds_since(begin) * rate);
    while (said < due && ring::has_room(std::size_t{1} << 12)) said += static_cast<double>(says.launch());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ring::stop();
  timespec own{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
  const double own_seconds = static_cast<double>(own.tv_sec) + 1e-9 * static_cast<double>(own.tv_nsec);
  const double recorded = seconds_since(begin), recorder = processor_seconds() - own_seconds;
  const auto end = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  const auto summary = begun->stop();
  const double wall = seconds_since(end), processor = processor_seconds() - before;
  if (!summary) return 1;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  print("session", recorded, summary->events, summary->bytes);
  std::printf(
      "recorder: %.2f s of processor time in %.2f s, %llu events lost\nend: %.2f s, %.2f s of processor time\nmemory: "
      "%.0f MiB\n",
      recorder, recorded, static_cast<unsigned long long>(summary->lost_events), wall, processor,
      static_cast<double>(used.ru_maxrss) / 1024);
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "rows") == 0) return sluice::write_rows(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "rings") == 0)
    return sluice::write_from_rings(std::strtoull(argv[2], nullptr, 10));
  if (argc == 5 && std::strcmp(argv[1], "live") == 0)
    return sluice::write_live(argv[2], std::strtod(argv[3], nullptr), std::strtod(argv[4], nullptr));
  if ((argc == 5 || argc == 6) && std::strcmp(argv[1], "session") == 0)
    return sluice::write_session(argv[2], std::strtod(argv[3], nullptr), std::strtod(argv[4], nullptr),
                                 argc == 6 ? std::strtoull(argv[5], nullptr, 10) : 0);
  std::fprintf(stderr,
               "usage: trace_writing rows FILE | trace_writing rings EVENTS | trace_writing live FILE RATE SECONDS | "
               "trace_writing session FILE EVENTS RATE [REORDER_FROM]\n");
  return 2;
}
