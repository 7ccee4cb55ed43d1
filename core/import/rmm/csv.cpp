// Imports logs of RMM's logging_resource_adaptor, https://github.com/rapidsai/rmm. Lines have the form
//   thread,HH:MM:SS.ffffff,ACTION,pointer,bytes,stream
// with the actions `allocate`, `allocate failure` and `free` (spdlog's pattern "%t,%H:%M:%S.%f,%v"). Pointers are
// hexadecimal; null is "(nil)", "0x0" or "0". RMM logs a free before the upstream resource frees, and an allocation
// after the upstream resource has allocated. If a thread is interrupted between taking the time and writing the line,
// it writes the line late, so the lines of one address may be out of order. Times are the host's time of day, without a
// date.
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "core/import/event_order.hpp"
#include "core/import/importers.hpp"
#include "core/import/lines.hpp"

namespace sluice::importing {
namespace {

constexpr std::size_t columns = 6;
constexpr time_ns second = 1'000'000'000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
constexpr std::int64_t out_of_memory = 2;  // CUDA_ERROR_OUT_OF_MEMORY
constexpr std::uint64_t max_bytes = std::uint64_t{1} << 62;

struct line {
  std::uint64_t thread = 0;
  time_ns time = 0;  ///< In ns since midnight, or since 1970 if `dated`.
  bool dated = false;
  std::string_view action;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
};

template <class Number>
bool parse_all(std::string_view text, Number& number, int base = 10) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
}

bool parse_handle(std::string_view text, std::uint64_t& handle) {
  handle = 0;
  if (text == "(nil)") return true;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_all(text, handle, 16);
}

/// Parses a fraction of a second of up to nine digits.
bool parse_fraction(std::string_view digits, time_ns& ns) {
  if (digits.empty() || digits.size() > 9 || !parse_all(digits, ns) || digits[0] == '-') return false;
  for (std::size_t i = digits.size(); i < 9; ++i) ns *= 10;
  return true;
}

/// Parses HH:MM:SS.ffffff, also with a colon before the fraction, or seconds since 1970 with a fraction.
bool parse_time(std::string_view text, line& into) {
  time_ns fraction = 0;
  into.dated = text.find(':') == std::string_view::npos;
  if (into.dated) {
    const auto dot = text.find('.');
    time_ns seconds = 0;
    if (!parse_all(text.substr(0, dot), seconds) || seconds < 0 || seconds > INT64_MAX / second - 1) return false;
    if (dot != std::string_view::npos && !parse_fraction(text.substr(dot + 1), fraction)) return false;
    into.time = seconds * second + fraction;
    return true;
  }
  unsigned h = 0, m = 0, s = 0;
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return false;
  if (!parse_all(text.substr(0, 2), h) || !parse_all(text.substr(3, 2), m) || !parse_all(text.substr(6, 2), s))
    return false;
  if (h > 23 || m > 59 || s > 60) return false;
  if (text.size() > 8 && ((text[8] != '.' && text[8] != ':') || !parse_fraction(text.substr(9), fraction)))
    return false;
  into.time = h * hour + m * minute + s * second + fraction;
  return true;
}

std::optional<line> parse(std::string_view text) {
  std::string_view cells[columns];
  for (std::size_t i = 0; i < columns; ++i) {
    const auto comma = text.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == columns)) return std::nullopt;
    cells[i] = text.substr(0, comma);
    if (comma != std::string_view::npos) text.remove_prefix(comma + 1);
  }
  line output;
  output.action = cells[2];
  const bool good = parse_all(cells[0], output.thread) && parse_time(cells[1], output) &&
                    parse_handle(cells[3], output.address) && parse_all(cells[4], output.bytes) &&
                    parse_handle(cells[5], output.stream) && output.bytes < max_bytes;
  return good ? std::optional(output) : std::nullopt;
}

/// Returns the number in ".devN.", which RMM puts into the names of its logs, or 0 if there is none.
std::int64_t find_device(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const auto at = name.rfind(".dev");
  std::int64_t number = 0;
  if (at == std::string::npos) return 0;
  std::from_chars(name.data() + at + 4, name.data() + name.size(), number);
  return number < 0 ? 0 : number;
}

class log_reader {
 public:
  explicit log_reader(job& work) : work_(work) {}

  result<void> run() {
    auto done = read_lines(work_, [&](std::string_view text, std::uint64_t offset) { return take(text, offset); });
    if (!done) return done;
    for (const auto& [address, at] : places_)
      if (at.before) end_unseen(address, *at.before);
    return {};
  }

 private:
  /// A block whose address was allocated again before its free was logged. The free may still follow.
  struct earlier {
    trace::block_id block{};
    std::uint64_t bytes = 0;
    time_ns next_since = 0;   ///< The time in the log at which the address was allocated again.
    time_ns next_counts = 0;  ///< The same time as adjusted by `event_order`.
    std::uint64_t offset = 0;
  };
  struct place {
    trace::block_id block{};  ///< None if the block was freed.
    std::uint64_t bytes = 0;
    std::optional<earlier> before;
  };

  result<void> take(std::string_view text, std::uint64_t offset) {
    if (text.empty() || text.starts_with("Thread,Time,")) return {};
    const auto parsed = parse(text);
    if (!parsed) {
      work_.not_understood("lines", 1, offset);
      return {};
    }
    if (!work_.began()) {
      if (auto begun = begin(*parsed); !begun) return begun;
    }
    const time_ns now = get_time(*parsed);
    if (parsed->action == "allocate") {
      allocate(*parsed, now, offset);
    } else if (parsed->action == "free" || parsed->action == "deallocate") {
      free(*parsed, now, offset);
    } else if (parsed->action == "allocate failure") {
      auto row = event<trace::alloc_failed_event>(*parsed, now);
      row.kind = trace::memory_kind::device;
      row.device = device_;
      row.stream = get_stream(*parsed);
      row.bytes = parsed->bytes;
      row.error = out_of_memory;
      row.name = name_;
      work_.out().add(row);
      work_.read("failed allocations");
    } else {
      work_.not_understood("lines with the action '" + std::string(parsed->action.substr(0, 40)) + "'", 1, offset);
    }
    return {};
  }

  result<void> begin(const line& first) {
    if (auto begun = work_.begin(first.dated ? first.time : 0); !begun) return begun;
    origin_ = last_ = first.time;
    auto& out = work_.out();
    process_ = trace::process_id{1};
    trace::process_row process;
    process.id = process_;
    process.command = out.intern("recorded by RMM's logging_resource_adaptor");
    out.add(process);
    device_ = trace::device_id{1};
    trace::device_row device;
    device.id = device_;
    device.kind = trace::device_kind::cuda;
    device.ordinal = find_device(work_.source().path());
    device.name = out.intern("GPU " + std::to_string(device.ordinal));
    out.add(device);
    name_ = out.intern("RMM");
    return {};
  }

  /// Returns a line's time on the trace's clock. If the time of day jumps back, a day has passed. A slightly late line
  /// after that still belongs to the day before.
  time_ns get_time(const line& origin) {
    if (origin.dated) return origin.time - origin_;
    time_ns days = days_;
    if (origin.time < last_ - 12 * hour) {
      days = ++days_;
      last_ = origin.time;
    } else if (days_ > 0 && origin.time > day - minute && last_ < minute) {
      --days;
    } else {
      last_ = origin.time;
    }
    return origin.time - origin_ + days * day;
  }

  template <class Row>
  Row event(const line& origin, time_ns now) {
    Row row;
    row.time = now;
    row.process = process_;
    auto& id = threads_[origin.thread];
    if (id == trace::thread_id::none) {
      id = static_cast<trace::thread_id>(threads_.size());
      trace::thread_row thread;
      thread.id = id;
      thread.process = process_;
      thread.tid = origin.thread;
      work_.out().add(thread);
    }
    row.thread = id;
    row.layer = trace::layer::framework;
    return row;
  }

  trace::stream_id get_stream(const line& origin) {
    auto& id = streams_[origin.stream];
    if (id == trace::stream_id::none) {
      id = static_cast<trace::stream_id>(streams_.size());
      trace::stream_row stream;
      stream.id = id;
      stream.process = process_;
      stream.device = device_;
      stream.handle = origin.stream;
      stream.is_default = origin.stream <= 2;  // These are 0, cudaStreamLegacy and cudaStreamPerThread.
      work_.out().add(stream);
    }
    return id;
  }

  trace::block_id add_block(const line& origin, time_ns now, std::uint64_t flags, trace::provenance source) {
    auto row = event<trace::alloc_event>(origin, now);
    row.block = static_cast<trace::block_id>(++blocks_);
    row.kind = trace::memory_kind::device;
    row.device = device_;
    row.stream = get_stream(origin);
    row.address = origin.address;
    row.bytes = origin.bytes;
    row.flags = flags;
    row.source = source;
    row.name = name_;
    work_.out().add(row);
    return row.block;
  }

  void add_free(const line& origin, time_ns now, trace::block_id block, trace::provenance source) {
    auto row = event<trace::free_event>(origin, now);
    row.block = block;
    row.address = origin.address;
    row.stream = get_stream(origin);
    row.source = source;
    work_.out().add(row);
  }

  void allocate(const line& origin, time_ns now, std::uint64_t offset) {
    work_.read("allocations");
    if (origin.address == 0) {  // An allocation of 0 bytes has no address.
      if (origin.bytes != 0) work_.not_understood("allocations without an address", 1, offset);
      return;
    }
    place& at = places_[origin.address];
    if (at.before) end_unseen(origin.address, *at.before);
    const time_ns counts = order_.allocation(now);
    std::optional<earlier> before;
    if (at.block != trace::block_id::none) before = earlier{at.block, at.bytes, now, counts, offset};
    at = {add_block(origin, counts, 0, trace::provenance::exact), origin.bytes, before};
  }

  /// Writes the inferred free of a block whose free is not in the log. Its time is that of the next allocation at the
  /// block's address.
  void end_unseen(std::uint64_t address, const earlier& which) {
    work_.not_understood("missing frees of blocks whose address was allocated again", 1, which.offset);
    trace::free_event row;
    row.time = which.next_counts;
    row.process = process_;
    row.layer = trace::layer::framework;
    row.block = which.block;
    row.address = address;
    row.source = trace::provenance::inferred;
    work_.out().add(row);
  }

  /// True if a free belongs to the earlier block at its address, because the free is older than the new allocation. If
  /// both are in the same microsecond, the size decides.
  static bool is_of_earlier(const place& at, const line& origin, time_ns now) {
    if (!at.before || now > at.before->next_since) return false;
    return now < at.before->next_since || origin.bytes == at.before->bytes;
  }

  void free(const line& origin, time_ns now, std::uint64_t offset) {
    work_.read("frees");
    if (origin.address == 0) return;
    const auto [found, fresh] = places_.try_emplace(origin.address);
    place& at = found->second;
    if (fresh) {  // The block was allocated before the log began, and the free has its size.
      work_.read("blocks from before the log");
      // This makes a block visible that is freed at the first time of the log.
      begin_ = std::min<time_ns>(begin_, now <= 0 ? now - 1 : 0);
      work_.set_begin(begin_);
      at = {add_block(origin, begin_, trace::born_before, trace::provenance::inferred), origin.bytes, {}};
    }
    if (is_of_earlier(at, origin, now)) {
      const time_ns next = at.before->next_counts;
      const time_ns counts = now < at.before->next_since ? std::min(order_.free(now), next) : next;
      add_free(origin, counts, at.before->block, trace::provenance::exact);
      at.before.reset();
      return;
    }
    if (at.block == trace::block_id::none) {
      work_.not_understood("frees of memory that is already free", 1, offset);
      return;
    }
    if (at.bytes != origin.bytes) work_.not_understood("frees with a size other than the allocation's", 1, offset);
    add_free(origin, order_.free(now), at.block, trace::provenance::exact);
    at.block = trace::block_id::none;
  }

  job& work_;
  trace::process_id process_{};
  trace::device_id device_{};
  trace::string_id name_{};
  time_ns origin_ = 0;
  time_ns last_ = 0;  ///< The time of day of the previous line.
  time_ns days_ = 0;
  time_ns begin_ = 0;  ///< The start of the recording.
  std::uint64_t blocks_ = 0;
  event_order order_;
  std::unordered_map<std::uint64_t, place> places_;  ///< Keyed by address.
  std::unordered_map<std::uint64_t, trace::thread_id> threads_;
  std::unordered_map<std::uint64_t, trace::stream_id> streams_;
};

}  // namespace

result<void> import_rmm_csv(job& work) { return log_reader(work).run(); }

}  // namespace sluice::importing
