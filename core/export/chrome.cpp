// Chrome's trace format, with torch.profiler's categories and arguments, so that the tools that read either show it, and our own
// importer reads back what it says. Times are decimal microseconds with all their ns.
#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>

#include "core/analysis/labels.hpp"
#include "core/export/formats.hpp"
#include "core/export/memory_in_order.hpp"
#include "core/format.hpp"

namespace sluice::exports {
namespace {

/// Where the text goes: as it is, or through gzip.
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
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));  // zlib does not write to it.
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

/// `text` as a JSON string. What is not UTF-8 becomes '?'.
void append_json(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += text[i];
    } else if (c < 0x20) {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", c);
    } else if (c < 0x80) {
      to += text[i];
    } else {
      const std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
      bool whole = length > 1 && c < 0xf5 && i + length <= text.size();
      for (std::size_t k = 1; k < length && whole; ++k)
        whole = (static_cast<unsigned char>(text[i + k]) & 0xc0U) == 0x80U;
      to += whole ? text.substr(i, length) : std::string_view("?");
      if (whole) i += length - 1;
    }
  }
  to += '"';
}

/// ns as microseconds.
void append_time(std::string& to, time_ns ns) {
  const bool negative = ns < 0;
  const std::uint64_t all =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  fmt::format_to(std::back_inserter(to), "{}{}.{:03}", negative ? "-" : "", all / 1000, all % 1000);
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
  chrome_writer(job& what, output& to, bool compressed) : what_(what), to_(to, compressed) {}

  result<void> run() {
    what_.set_passes(1);
    number_processes();
    if (auto done = head(); !done) return done;
    result<void> done = collect_links();
    if (done) done = calls();
    if (done) done = kernels();
    if (done) done = copies();
    if (done) done = memsets();
    if (done) done = ranges();
    if (done) done = marks();
    if (done) done = counters();
    if (done) done = pools();
    if (done) done = memory();
    if (done) done = names();
    if (done) done = to_.write("\n]}\n");
    if (done) done = to_.finish();
    return done;
  }

 private:
  // --- pieces of the text -------------------------------------------------------------------------------------------

  /// Begins an event; `event_` is its text from here to `end`.
  void begin(char phase, std::string_view category, std::string_view name, time_ns time) {
    event_ = first_ ? "\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(event_), R"({{"ph":"{}")", phase);
    if (!category.empty()) {
      event_ += R"(,"cat":)";
      append_json(event_, category);
    }
    event_ += R"(,"name":)";
    append_json(event_, name);
    event_ += R"(,"ts":)";
    append_time(event_, time);
  }
  void duration(time_ns from, time_ns to) {
    if (to == trace::unknown_time) return;
    event_ += R"(,"dur":)";
    append_time(event_, std::max(to, from) - from);
  }
  template <class Number>
  void number(std::string_view key, Number value) {
    fmt::format_to(std::back_inserter(event_), R"(,"{}":{})", key, value);
  }
  void on_thread(trace::process_id process, trace::thread_id thread) {
    number("pid", pid_of(process));
    number("tid", tid_of(thread));
  }
  result<void> end(std::string_view tail = {}) {
    event_ += tail;
    event_ += '}';
    return to_.write(event_);
  }

  // --- numbers for processes and threads ----------------------------------------------------------------------------

  /// A process keeps its pid, and a thread its tid, unless another has it already: then it gets a number that nobody has.
  void number_processes() {
    std::set<std::uint64_t> taken;
    std::uint64_t next = std::uint64_t{1} << 32;
    // Work of a device stands under the device's number, which must be nobody's pid.
    for (const trace::device_row& row : what_.tables().devices.rows()) taken.insert(ordinal_of(row.id));
    for (const trace::process_row& row : what_.tables().processes.rows())
      pids_[row.id] = row.pid != 0 && taken.insert(row.pid).second ? row.pid : next++;
    std::set<std::pair<trace::process_id, std::uint64_t>> threads;
    for (const trace::thread_row& row : what_.tables().threads.rows())
      tids_[row.id] = threads.insert({row.process, row.tid}).second ? row.tid : next++;
    many_ = pids_.size() > 1;
  }
  [[nodiscard]] std::uint64_t pid_of(trace::process_id id) const {
    const auto known = pids_.find(id);
    return known == pids_.end() ? (std::uint64_t{1} << 31) + raw(id) : known->second;
  }
  [[nodiscard]] std::uint64_t tid_of(trace::thread_id id) const {
    const auto known = tids_.find(id);
    return known == tids_.end() ? raw(id) : known->second;
  }
  [[nodiscard]] std::uint64_t ordinal_of(trace::device_id id) const {
    const trace::device_row* row = what_.tables().devices.find(id);
    return row != nullptr && row->ordinal >= 0 ? static_cast<std::uint64_t>(row->ordinal) : raw(id);
  }
  /// Correlation ids are a process's own: with several processes the calls' ids stand for them.
  [[nodiscard]] std::uint64_t correlation_of(std::uint64_t own, trace::event_id call) const {
    return many_ && call != trace::event_id::none ? raw(call) : own;
  }

  // --- the document -------------------------------------------------------------------------------------------------

  result<void> head() {
    std::string text = R"({"schemaVersion":1,"displayTimeUnit":"ns")";
    if (what_.trace().realtime_origin() > 0) {
      fmt::format_to(std::back_inserter(text), R"(,"baseTimeNanoseconds":{})", what_.trace().realtime_origin());
    }
    for (const trace::process_row& row : what_.tables().processes.rows()) {
      if (row.rank < 0 || many_) continue;
      fmt::format_to(std::back_inserter(text), R"(,"distributedInfo":{{"rank":{}}})", row.rank);
    }
    text += R"(,"deviceProperties":[)";
    bool first = true;
    for (const trace::device_row& row : what_.tables().devices.rows()) {
      fmt::format_to(std::back_inserter(text), R"({}{{"id":{},"name":)", first ? "" : ",", ordinal_of(row.id));
      append_json(text, what_.text(row.name, text_role::plain));
      fmt::format_to(std::back_inserter(text), R"(,"totalGlobalMem":{},"computeMajor":{},"computeMinor":{}}})",
                     row.memory_bytes, row.compute_major, row.compute_minor);
      first = false;
    }
    text += R"(],"traceEvents":[)";
    return to_.write(text);
  }

  result<void> calls() {
    return what_.for_each<trace::api_call_event>([&](const trace::api_call_event& row) -> result<void> {
      begin('X', "cuda_runtime", what_.text(row.name, text_role::plain), row.time);
      duration(row.time, row.end);
      on_thread(row.process, row.thread);
      event_ += fmt::format(R"(,"args":{{"correlation":{})", correlation_of(row.correlation, row.id));
      if (row.status != 0) number("status", row.status);
      if (row.bytes != 0) number("bytes", row.bytes);
      return end("}");
    });
  }

  /// What work of a device has in common; leaves the arguments open.
  template <class Row>
  void begin_work(const Row& row, std::string_view category, std::string_view name) {
    begin('X', category, name, row.time);
    duration(row.time, row.end);
    const trace::stream_row* stream = what_.tables().streams.find(row.stream);
    const trace::context_row* context = what_.tables().contexts.find(row.context);
    const std::uint64_t handle = stream == nullptr ? 0 : stream->handle;
    number("pid", ordinal_of(row.device));
    number("tid", handle);
    event_ += fmt::format(R"(,"args":{{"device":{},"context":{},"stream":{},"correlation":{})", ordinal_of(row.device),
                          context == nullptr ? 0 : context->handle, handle, correlation_of(row.correlation, row.call));
    if (row.graph_node != 0) number("graph node id", row.graph_node);
  }

  /// The arrow from a call to its work, as torch.profiler draws it.
  template <class Row>
  result<void> arrow(const Row& row) {
    if (row.call == trace::event_id::none) return {};
    const trace::stream_row* stream = what_.tables().streams.find(row.stream);
    begin('f', "ac2g", "ac2g", row.time);
    number("id", raw(row.call));
    number("pid", ordinal_of(row.device));
    number("tid", stream == nullptr ? 0 : stream->handle);
    if (auto done = end(R"(,"bp":"e")"); !done) return done;
    time_ns asked = row.time;
    if constexpr (requires { row.enqueued; })
      if (row.enqueued != trace::unknown_time) asked = row.enqueued;
    begin('s', "ac2g", "ac2g", asked);
    number("id", raw(row.call));
    on_thread(row.process, row.thread);
    return end();
  }

  result<void> kernels() {
    return what_.for_each<trace::kernel_event>([&](const trace::kernel_event& row) -> result<void> {
      begin_work(row, "kernel", what_.text(row.name, text_role::plain));
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
        number("memory bandwidth (GB/s)", static_cast<double>(row.bytes) / static_cast<double>(row.end - row.time));
      }
      auto done = end("}");
      return done ? arrow(row) : done;
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
      return done ? arrows_of(row) : done;
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
      return counter(row.process, about == nullptr ? "counter" : std::string(what_.text(about->name, text_role::plain)),
                     row.time, fmt::format("{}", row.value));
    });
  }

  result<void> counter(trace::process_id process, std::string_view name, time_ns time, std::string_view value) {
    begin('C', {}, name, time);
    number("pid", pid_of(process));
    event_ += R"(,"args":{"value":)";
    return end(std::string(value) + "}");
  }

  /// Arrows between ranges: which begin and end where, so that they can be written beside their ranges, as torch.profiler does.
  result<void> collect_links() {
    return what_.for_each<trace::link_event>([&](const trace::link_event& row) {
      if (row.kind != trace::link_kind::flow) return;
      links_from_.emplace(row.from, row.id);
      links_to_.emplace(row.to, row.id);
    });
  }

  result<void> arrows_of(const trace::host_range_event& row) {
    const auto write = [&](const auto& links, char phase, std::string_view tail) -> result<void> {
      const auto [from, to] = links.equal_range(row.id);
      for (auto each = from; each != to; ++each) {
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
      const std::string name = analysis::pool_label(row.pool, what_.tables());
      auto done = counter(row.process, name + " reserved bytes", row.time, std::to_string(row.reserved));
      return done ? counter(row.process, name + " used bytes", row.time, std::to_string(row.used)) : done;
    });
  }

  /// Blocks of the framework's layer as torch.profiler says them; the other layers' totals as counters.
  result<void> memory() {
    std::map<std::pair<trace::memory_kind, trace::device_id>, std::uint64_t> framework;
    std::map<std::tuple<trace::layer, trace::memory_kind, trace::device_id>, std::uint64_t> others;
    return memory_in_order(what_, [&](const block_change& change) -> result<void> {
      const bool shown = !what_.wanted().range || change.time >= what_.range().begin;
      const bool is_framework = change.level == trace::layer::framework;
      std::uint64_t& total =
          is_framework ? framework[{change.kind, change.device}] : others[{change.level, change.kind, change.device}];
      total = change.born ? total + change.bytes : total - change.bytes;
      if (!shown) return {};
      if (!is_framework) {
        return counter(change.process,
                       fmt::format("{} {} bytes, {}", name_of(change.level), name_of(change.kind),
                                   analysis::device_label(change.device, what_.tables())),
                       change.time, std::to_string(total));
      }
      begin('i', "cpu_instant_event", "[memory]", change.time);
      on_thread(change.process, change.thread);
      const bool host = change.kind == trace::memory_kind::host || change.kind == trace::memory_kind::pinned;
      event_ += fmt::format(
          R"(,"s":"t","args":{{"Total Allocated":{},"Bytes":{}{},"Device Id":{},"Device Type":{},"Addr":{}}})", total,
          change.born ? "" : "-", change.bytes, host ? -1 : static_cast<std::int64_t>(ordinal_of(change.device)),
          host ? 0 : 1, change.address);
      return end();
    });
  }

  result<void> names() {
    const auto name = [&](std::string_view what, std::uint64_t pid, std::uint64_t tid, std::string_view text) {
      begin('M', {}, what, 0);
      number("pid", pid);
      number("tid", tid);
      event_ += R"(,"args":{"name":)";
      append_json(event_, text);
      return end("}");
    };
    result<void> done;
    for (const trace::process_row& row : what_.tables().processes.rows())
      if (done) done = name("process_name", pid_of(row.id), 0, what_.text(row.command, text_role::arguments));
    for (const trace::thread_row& row : what_.tables().threads.rows())
      if (done && row.name != trace::string_id::none)
        done = name("thread_name", pid_of(row.process), tid_of(row.id), what_.text(row.name, text_role::plain));
    for (const trace::stream_row& row : what_.tables().streams.rows())
      if (done)
        done = name("thread_name", ordinal_of(row.device), row.handle, analysis::stream_label(row.id, what_.tables()));
    return done;
  }

  job& what_;
  sink to_;
  std::unordered_multimap<trace::event_id, trace::event_id> links_from_, links_to_;
  std::string event_;
  bool first_ = true;
  bool many_ = false;
  std::map<trace::process_id, std::uint64_t> pids_;
  std::map<trace::thread_id, std::uint64_t> tids_;
};

}  // namespace

output_shape shape_of_chrome(const options& /*wanted*/) { return output_shape::stream; }
result<void> write_chrome(job& what, output& to) { return chrome_writer(what, to, false).run(); }
result<void> write_chrome_gz(job& what, output& to) { return chrome_writer(what, to, true).run(); }

}  // namespace sluice::exports
