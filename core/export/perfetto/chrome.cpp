// Writes Chrome's trace format with torch.profiler's categories and arguments, for tools that read either, and so that
// Sluice can import the file without loss. Times are decimal microseconds with ns precision.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/saturating.hpp"
#include "core/export/device_names.hpp"
#include "core/export/formats.hpp"
#include "core/export/from_zero.hpp"
#include "core/export/kernel_names.hpp"
#include "core/export/left_out.hpp"
#include "core/export/torch/memory_in_order.hpp"
#include "core/index/labels.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::exports {
namespace {

/// Writes text to the output, either plain or compressed with gzip.
class sink {
 public:
  sink(output& to, bool compressed) : to_(to), compressed_(compressed) {
    if (compressed_) {
      constexpr int gzip = 15 + 16;
      working_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    }
  }
  ~sink() {
    if (compressed_ && working_) deflateEnd(&stream_);
  }
  sink(const sink&) = delete;
  sink& operator=(const sink&) = delete;

  result<void> write(std::string_view text) { return compressed_ ? pack(text, Z_NO_FLUSH) : to_.write(text); }
  result<void> finish() { return compressed_ ? pack({}, Z_FINISH) : result<void>{}; }

 private:
  result<void> pack(std::string_view text, int flush) {
    if (!working_) return fail(error_code::unavailable, "there is not enough memory to compress");
    // zlib does not write to `next_in`.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      std::array<char, 1 << 15> piece;
      stream_.next_out = reinterpret_cast<Bytef*>(piece.data());
      stream_.avail_out = piece.size();
      deflate(&stream_, flush);
      if (auto written = to_.write({piece.data(), piece.size() - stream_.avail_out}); !written) return written;
    } while (stream_.avail_out == 0);
    return {};
  }

  output& to_;
  bool compressed_;
  bool working_ = true;
  z_stream stream_{};
};

/// Appends a time in ns as microseconds.
void append_time(std::string& to, std::uint64_t ns) {
  fmt::format_to(std::back_inserter(to), "{}.{:03}", ns / 1000, ns % 1000);
}

const char* copy_word(trace::direction way) {
  static constexpr std::array words = {"Unknown", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
  return words[static_cast<std::size_t>(way)];
}

const char* side_word(trace::memory_kind kind) {
  switch (kind) {
    case trace::memory_kind::host:
      return "Pageable";
    case trace::memory_kind::pinned:
      return "Pinned";
    case trace::memory_kind::device:
      return "Device";
    case trace::memory_kind::managed:
      return "Managed";
    case trace::memory_kind::array:
      return "Array";
    default:
      return "Unknown";
  }
}

class chrome_writer {
 public:
  chrome_writer(job& export_job, output& to, bool compressed)
      : what_(export_job), to_(to, compressed), stamp_(export_job.trace()), kernel_names_(export_job.tables()) {}

  result<void> run() {
    what_.set_passes(1);
    number_all();
    if (auto done = head(); !done) return done;
    result<void> done = collect_links();
    if (done) done = calls();
    if (done) done = kernels();
    if (done) done = copies();
    if (done) done = migrations();
    if (done) done = memsets();
    if (done) done = ranges();
    if (done) done = marks();
    if (done) done = counters();
    if (done) done = pools();
    if (done) done = memory();
    if (done) done = failures();
    if (done) done = names();
    if (done) done = note_left_out(what_, held);
    if (done) done = to_.write("\n]}\n");
    if (done) done = to_.finish();
    return done;
  }

 private:
  static constexpr std::uint64_t no_stream = 999'999'999, first_made = 1'000'000'000;
  static constexpr std::array held = {
      trace::row_type::alloc,    trace::row_type::free,   trace::row_type::alloc_failed, trace::row_type::pool_state,
      trace::row_type::transfer, trace::row_type::memset, trace::row_type::migration,    trace::row_type::kernel,
      trace::row_type::api_call, trace::row_type::marker, trace::row_type::host_range,   trace::row_type::counter};

  // --- pieces of the text -------------------------------------------------------------------------------------------

  /// Starts an event. Its text is in `event_` until `end`.
  void begin(char phase, std::string_view category, std::string_view name, time_ns time) {
    event_ = first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(event_), R"({{"ph":"{}")", phase);
    if (!category.empty()) {
      event_ += R"(,"cat":)";
      append_json_string(event_, category);
    }
    event_ += R"(,"name":)";
    append_json_string(event_, name);
    event_ += R"(,"ts":)";
    append_time(event_, stamp_(time));
  }
  void duration(time_ns start, time_ns to) {
    if (to == trace::unknown_time) return;
    event_ += R"(,"dur":)";
    append_time(event_, static_cast<std::uint64_t>(std::max(to, start)) - static_cast<std::uint64_t>(start));
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    fmt::format_to(std::back_inserter(event_), R"(,"{}":{})", key, value);
  }
  void on_thread(trace::process_id process, trace::thread_id thread) {
    number("pid", get_pid(process));
    number("tid", get_tid(process, thread));
  }
  result<void> end(std::string_view tail = {}) {
    event_ += tail;
    event_ += '}';
    return to_.write(event_);
  }

  // --- numbers for processes and threads ----------------------------------------------------------------------------

  /// Returns `wanted` if it is not in `taken` and viewers accept it, otherwise another number. Viewers accept 32 bits,
  /// and take tid 0 for one thread of all processes.
  std::uint64_t own_number(std::uint64_t wanted, std::set<std::uint64_t>& taken, std::uint64_t least = 1) {
    const bool kept = wanted >= least && wanted < first_made && taken.insert(wanted).second;
    return kept ? wanted : next_made_++;
  }

  /// Numbers the processes, threads and streams, which keep their own numbers if possible. Device work is shown under
  /// the device's number.
  void number_all() {
    const trace::tables& tables = what_.tables();
    std::set<std::uint64_t> taken;
    for (const trace::device_row& row : tables.devices.rows())
      devices_[row.id] = own_number(find_ordinal(row.id), taken, 0);
    for (const trace::process_row& row : tables.processes.rows()) pids_[row.id] = own_number(row.pid, taken);
    std::map<trace::process_id, std::set<std::uint64_t>> threads;
    for (const trace::thread_row& row : tables.threads.rows())
      tids_[row.id] = own_number(row.tid, threads[row.process]);
    std::map<trace::device_id, std::set<std::uint64_t>> streams;
    for (const trace::stream_row& row : tables.streams.rows())
      streams_[row.id] = own_number(row.handle, streams[row.device]);
    many_ = pids_.size() > 1;
    pids_.try_emplace(trace::process_id::none, next_made_++);
  }
  template <class Row>
  void on_stream(const Row& row) {
    const auto stream = streams_.find(row.stream);
    number("pid", device_number(row.device));
    number("tid", stream == streams_.end() ? no_stream : stream->second);
  }
  [[nodiscard]] std::uint64_t device_number(trace::device_id id) const {
    const auto known = devices_.find(id);
    return known == devices_.end() ? find_ordinal(id) : known->second;
  }
  [[nodiscard]] std::uint64_t get_pid(trace::process_id id) const {
    const auto known = pids_.find(id);
    return known == pids_.end() ? (std::uint64_t{1} << 31) + raw(id) : known->second;
  }
  std::uint64_t get_tid(trace::process_id process, trace::thread_id id) {
    if (id == trace::thread_id::none) {
      const auto [output, fresh] = of_no_thread_.try_emplace(get_pid(process), next_made_);
      if (fresh) ++next_made_;
      return output->second;
    }
    const auto known = tids_.find(id);
    return known == tids_.end() ? raw(id) : known->second;
  }
  [[nodiscard]] std::uint64_t find_ordinal(trace::device_id id) const {
    const trace::device_row* row = what_.tables().devices.find(id);
    return row != nullptr && row->ordinal >= 0 ? static_cast<std::uint64_t>(row->ordinal) : raw(id);
  }
  /// Returns the correlation id of a call. Correlation ids are unique only within a process, so the call's id replaces
  /// them if there are several processes.
  [[nodiscard]] std::uint64_t get_correlation(std::uint64_t own, trace::event_id call) const {
    return many_ && call != trace::event_id::none ? raw(call) : own;
  }

  // --- the document -------------------------------------------------------------------------------------------------

  result<void> head() {
    std::string text = R"({"schemaVersion":1,"displayTimeUnit":"ns")";
    if (const std::int64_t real = what_.trace().realtime_origin();
        real > 0 && static_cast<std::uint64_t>(real) > stamp_.origin()) {
      fmt::format_to(std::back_inserter(text), R"(,"baseTimeNanoseconds":{})",
                     static_cast<std::uint64_t>(real) - stamp_.origin());
    }
    for (const trace::process_row& row : what_.tables().processes.rows()) {
      if (row.rank < 0 || many_) continue;
      fmt::format_to(std::back_inserter(text), R"(,"distributedInfo":{{"rank":{}}})", row.rank);
    }
    text += R"(,"deviceProperties":[)";
    bool first = true;
    for (const trace::device_row& row : what_.tables().devices.rows()) {
      fmt::format_to(std::back_inserter(text), R"({}{{"id":{},"name":)", first ? "" : ",", find_ordinal(row.id));
      append_json_string(text, what_.text(row.name, text_role::plain));
      fmt::format_to(std::back_inserter(text), R"(,"totalGlobalMem":{},"computeMajor":{},"computeMinor":{}}})",
                     row.memory_bytes, row.compute_major, row.compute_minor);
      first = false;
    }
    text += R"(],"traceEvents":[)";
    return to_.write(text);
  }

  result<void> calls() {
    return what_.for_each<trace::api_call_event>([&](const trace::api_call_event& row) -> result<void> {
      begin('X', "cuda_runtime", what_.text(row.name, text_role::code), row.time);
      duration(row.time, row.end);
      on_thread(row.process, row.thread);
      event_ += fmt::format(R"(,"args":{{"correlation":{})", get_correlation(row.correlation, row.id));
      if (row.status != 0) number("status", row.status);
      if (row.bytes != 0) number("bytes", row.bytes);
      auto done = end("}");
      if (!done || row.correlation == 0) return done;
      // All arrows to the call's work have one start ('s'), because a graph launch has much work.
      begin('s', "ac2g", "ac2g", row.time);
      number("id", raw(row.id));
      on_thread(row.process, row.thread);
      return end();
    });
  }

  /// Writes the fields common to all device work. Leaves the arguments open.
  template <class Row>
  void begin_work(const Row& row, std::string_view category, std::string_view name) {
    begin('X', category, name, row.time);
    duration(row.time, row.end);
    const trace::stream_row* stream = what_.tables().streams.find(row.stream);
    const trace::context_row* context = what_.tables().contexts.find(row.context);
    const std::uint64_t handle = stream == nullptr ? 0 : stream->handle;
    on_stream(row);
    event_ +=
        fmt::format(R"(,"args":{{"device":{},"context":{},"stream":{},"correlation":{})", find_ordinal(row.device),
                    context == nullptr ? 0 : context->handle, handle, get_correlation(row.correlation, row.call));
    if (row.graph_node != 0) number("graph node id", row.graph_node);
  }

  /// Ends the arrow from a call to its work, like torch.profiler.
  template <class Row>
  result<void> arrow(const Row& row) {
    if (row.call == trace::event_id::none) return {};
    begin('f', "ac2g", "ac2g", row.time);
    number("id", raw(row.call));
    on_stream(row);
    return end(R"(,"bp":"e")");
  }

  result<void> kernels() {
    return what_.for_each<trace::kernel_event>([&](const trace::kernel_event& row) -> result<void> {
      begin_work(row, "kernel", what_.text(kernel_names_(row.name), text_role::code));
      event_ += fmt::format(R"(,"grid":[{},{},{}],"block":[{},{},{}],"registers per thread":{},"shared memory":{})",
                            row.grid_x, row.grid_y, row.grid_z, row.block_x, row.block_y, row.block_z, row.registers,
                            row.static_shared + row.dynamic_shared);
      auto done = end("}");
      return done ? arrow(row) : done;
    });
  }

  result<void> copies() {
    return what_.for_each<trace::transfer_event>([&](const trace::transfer_event& row) -> result<void> {
      begin_work(row, "gpu_memcpy",
                 fmt::format("Memcpy {} ({} -> {})", copy_word(row.direction), side_word(row.source_kind),
                             side_word(row.destination_kind)));
      number("bytes", row.bytes);
      if (row.end > row.time) {
        number("memory bandwidth (GB/s)",
               static_cast<double>(row.bytes) / static_cast<double>(saturating_difference(row.end, row.time)));
      }
      auto done = end("}");
      return done ? arrow(row) : done;
    });
  }

  /// Writes migrations of managed memory, which the driver starts without a call. The format has them as copies.
  result<void> migrations() {
    return what_.for_each<trace::migration_event>([&](const trace::migration_event& row) -> result<void> {
      begin('X', "gpu_memcpy", fmt::format("Memcpy {} (Managed -> Managed)", copy_word(row.direction)), row.time);
      duration(row.time, row.end);
      number("pid", device_number(row.device));
      number("tid", no_stream);
      event_ += fmt::format(R"(,"args":{{"device":{},"bytes":{})", find_ordinal(row.device), row.bytes);
      return end("}");
    });
  }

  result<void> memsets() {
    return what_.for_each<trace::memset_event>([&](const trace::memset_event& row) -> result<void> {
      begin_work(row, "gpu_memset", fmt::format("Memset ({})", side_word(row.kind)));
      number("bytes", row.bytes);
      auto done = end("}");
      return done ? arrow(row) : done;
    });
  }

  result<void> ranges() {
    return what_.for_each<trace::host_range_event>([&](const trace::host_range_event& row) -> result<void> {
      const std::string domain(what_.text(row.domain, text_role::plain));
      begin('X', domain, what_.text(row.name, text_role::plain), row.time);
      duration(row.time, row.end);
      on_thread(row.process, row.thread);
      auto done = end();
      return done ? write_arrows(row) : done;
    });
  }

  result<void> marks() {
    return what_.for_each<trace::marker_event>([&](const trace::marker_event& row) -> result<void> {
      const std::string name(what_.text(row.name, text_role::plain));
      begin('i', {}, row.step >= 0 ? name + " #" + std::to_string(row.step) : name, row.time);
      on_thread(row.process, row.thread);
      return end(row.process == trace::process_id::none ? R"(,"s":"g")"
                 : row.thread == trace::thread_id::none ? R"(,"s":"p")"
                                                        : R"(,"s":"t")");
    });
  }

  result<void> counters() {
    return what_.for_each<trace::counter_event>([&](const trace::counter_event& row) -> result<void> {
      const trace::counter_row* about = what_.tables().counters.find(row.counter);
      const bool bytes = about != nullptr && about->unit == trace::counter_unit::bytes;
      std::string name(about == nullptr ? "counter" : what_.text(about->name, text_role::plain));
      if (constexpr std::string_view unit = " bytes"; bytes && name.size() > unit.size() && name.ends_with(unit)) {
        name.resize(name.size() - unit.size());
      }
      const bool own = about == nullptr || row.process != trace::process_id::none;
      return counter(own ? row.process : about->process, name, row.time, fmt::format("{}", row.value),
                     bytes ? "bytes" : "value");
    });
  }

  /// Writes a counter sample. Viewers show `series` after the name, which is the only place for a unit in this format.
  result<void> counter(trace::process_id process, std::string_view name, time_ns time, std::string_view value,
                       std::string_view series = "bytes") {
    begin('C', {}, name, time);
    number("pid", get_pid(process));
    fmt::format_to(std::back_inserter(event_), R"(,"args":{{"{}":{}}})", series, value);
    return end();
  }

  /// Collects the arrows that start and end at each range. They are written next to the range, as by torch.profiler.
  result<void> collect_links() {
    return what_.for_each<trace::link_event>([&](const trace::link_event& row) {
      if (row.kind != trace::link_kind::flow) return;
      links_from_.emplace(row.from, row.id);
      links_to_.emplace(row.to, row.id);
    });
  }

  result<void> write_arrows(const trace::host_range_event& row) {
    const auto write = [&](const auto& links, char phase, std::string_view tail) -> result<void> {
      const auto [source, to] = links.equal_range(row.id);
      for (auto each = source; each != to; ++each) {
        begin(phase, "flow", "flow", row.time);
        number("id", raw(each->second));
        on_thread(row.process, row.thread);
        if (auto done = end(tail); !done) return done;
      }
      return {};
    };
    auto done = write(links_from_, 's', "");
    return done ? write(links_to_, 'f', R"(,"bp":"e")") : done;
  }

  result<void> pools() {
    return what_.for_each<trace::pool_event>([&](const trace::pool_event& row) -> result<void> {
      const std::string name(what_.text(index::pool_label(row.pool, what_.tables()), text_role::plain));
      auto done = counter(row.process, name + " reserved", row.time, std::to_string(row.reserved));
      return done ? counter(row.process, name + " used", row.time, std::to_string(row.used)) : done;
    });
  }

  /// Totals are per process, layer, kind of memory and device, as in the format's counters and instants.
  using total_key = std::tuple<trace::process_id, trace::layer, trace::memory_kind, trace::device_id>;
  struct total {
    std::uint64_t bytes = 0;
    time_ns changed = 0;
    bool has_instant = false;  ///< True if an instant has written the total.
    bool written = true;  ///< False while a change has not been written. Changes at the same time are merged into one.
  };

  result<void> write_total(const total_key& key, total& now) {
    if (now.written) return {};
    now.written = true;
    const auto& [process, layer, kind, device] = key;
    const std::string where = device == trace::device_id::none ? "host" : device_name(device, what_);
    return counter(process, fmt::format("{} {}, {}", get_name(layer), get_name(kind), where), now.changed,
                   std::to_string(now.bytes));
  }

  /// Writes blocks of the framework's layer like torch.profiler, and the totals of other layers as counters.
  result<void> memory() {
    std::map<total_key, total> totals;
    auto done = memory_in_order(what_, [&](const block_change& change) -> result<void> {
      const bool shown = !what_.wanted().range || change.time >= what_.range().begin;
      const bool is_framework = change.layer == trace::layer::framework;
      const total_key key{change.process, change.layer, change.kind, change.device};
      total& now = totals[key];
      if (change.time != now.changed)
        if (auto written = write_total(key, now); !written) return written;
      now.bytes = change.born ? now.bytes + change.bytes : now.bytes - change.bytes;
      now.changed = change.time;
      now.written = is_framework || !shown;
      if (!is_framework || !shown) return {};
      // Blocks from before the recording have no instant, because the first total includes them.
      if (change.born && change.before && !now.has_instant) return {};
      now.has_instant = true;
      return instant(change, now.bytes);
    });
    for (auto& [key, now] : totals) {
      if (done) done = write_total(key, now);
      if (done) done = base(key, now);
    }
    return done;
  }

  /// Writes memory from before the recording if nothing else is written about it.
  result<void> base(const total_key& key, const total& now) {
    const auto& [process, layer, kind, device] = key;
    if (layer != trace::layer::framework || now.has_instant || now.bytes == 0) return {};
    block_change nothing;
    nothing.time = what_.range().begin;
    nothing.born = true;
    std::tie(nothing.process, nothing.layer, nothing.kind, nothing.device) = key;
    return instant(nothing, now.bytes);
  }

  result<void> instant(const block_change& change, std::uint64_t in_use) {
    begin('i', "cpu_instant_event", "[memory]", change.time);
    on_thread(change.process, change.thread);
    const bool host = index::is_host_resident(change.kind);
    event_ += fmt::format(R"(,"s":"t","args":{{"Total Allocated":{},"Bytes":{}{},"Device Id":{},"Device Type":{})",
                          in_use, change.born ? "" : "-", change.bytes,
                          host ? -1 : static_cast<std::int64_t>(find_ordinal(change.device)), host ? 0 : 1);
    // Readers identify blocks by their addresses, or by their sizes if there are none.
    if (change.address != 0) number("Addr", change.address);
    return end("}");
  }

  /// Writes failed allocations.
  result<void> failures() {
    return what_.for_each<trace::alloc_failed_event>([&](const trace::alloc_failed_event& row) -> result<void> {
      begin('i', "cpu_instant_event", "[OutOfMemory]", row.time);
      on_thread(row.process, row.thread);
      const bool host = index::is_host_resident(row.kind);
      event_ += fmt::format(R"(,"s":"t","args":{{"Bytes":{},"Device Id":{},"Device Type":{}}})", row.bytes,
                            host ? -1 : static_cast<std::int64_t>(find_ordinal(row.device)), host ? 0 : 1);
      return end();
    });
  }

  result<void> names() {
    const auto name = [&](std::string_view subject, std::uint64_t pid, std::uint64_t tid,
                          std::string_view text) -> result<void> {
      if (text.empty()) return {};  // Perfetto treats an empty text as an error.
      begin('M', {}, subject, what_.trace().begin());
      number("pid", pid);
      number("tid", tid);
      event_ += R"(,"args":{"name":)";
      append_json_string(event_, text);
      return end("}");
    };
    result<void> done;
    for (const trace::process_row& row : what_.tables().processes.rows()) {
      std::string text(what_.text(row.command, text_role::arguments));
      if (text.empty()) text = what_.text(index::process_label(row.id, what_.tables()), text_role::plain);
      if (done) done = name("process_name", get_pid(row.id), 0, text);
    }
    for (const trace::device_row& row : what_.tables().devices.rows())
      if (done) done = name("process_name", devices_.at(row.id), 0, device_name(row.id, what_));
    for (const trace::thread_row& row : what_.tables().threads.rows())
      if (done && row.name != trace::string_id::none)
        done = name("thread_name", get_pid(row.process), get_tid(row.process, row.id),
                    what_.text(row.name, text_role::plain));
    for (const trace::stream_row& row : what_.tables().streams.rows())
      if (done)
        done = name("thread_name", device_number(row.device), streams_.at(row.id),
                    what_.text(index::stream_label(row.id, what_.tables()), text_role::plain));
    return done;
  }

  job& what_;
  sink to_;
  std::unordered_multimap<trace::event_id, trace::event_id> links_from_, links_to_;
  from_zero stamp_;
  kernel_names kernel_names_;
  std::string event_;
  bool first_ = true;
  bool many_ = false;
  std::map<trace::process_id, std::uint64_t> pids_;
  std::map<trace::thread_id, std::uint64_t> tids_;
  std::map<std::uint64_t, std::uint64_t> of_no_thread_;  ///< Keyed by pid.
  std::map<trace::device_id, std::uint64_t> devices_;
  std::map<trace::stream_id, std::uint64_t> streams_;
  std::uint64_t next_made_ = first_made;
};

}  // namespace

output_shape shape_of_chrome(const options& /*wanted*/) { return output_shape::stream; }
result<void> write_chrome(job& export_job, output& to) { return chrome_writer(export_job, to, false).run(); }
result<void> write_chrome_gz(job& export_job, output& to) { return chrome_writer(export_job, to, true).run(); }

}  // namespace sluice::exports
