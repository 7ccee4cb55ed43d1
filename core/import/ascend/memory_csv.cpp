// Imports memory_record.csv of Ascend's PyTorch profiler, which has samples of the totals of each allocator. Lines have
// the form
//   Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type
// with components such as PTA (PyTorch's caching allocator), and devices such as NPU:0. The columns are found by name.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/import/common/number.hpp"
#include "core/import/grown_memory.hpp"
#include "core/import/importers.hpp"
#include "core/import/lines.hpp"

namespace sluice::importing {
namespace {

constexpr std::string_view whole_process = "APP";  ///< The device memory of the whole process.
constexpr double bytes_of_megabyte = 1024.0 * 1024.0;
constexpr double max_megabytes = 1e9;
constexpr time_ns longest_memory_record = time_ns{366} * 24 * 3600 * 1'000'000'000;

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\"";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::vector<std::string_view> list_cells(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::size_t comma = 0; comma != std::string_view::npos && cells.size() < 64;) {
    comma = line.find(',');
    cells.push_back(without_blanks(line.substr(0, comma)));
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  return cells;
}

/// Converts a size in MB to bytes.
std::optional<std::uint64_t> get_size(std::string_view text) {
  double megabytes = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), megabytes);
  const bool good =
      read.ec == std::errc{} && read.ptr == text.data() + text.size() && megabytes >= 0 && megabytes <= max_megabytes;
  return good ? std::optional(static_cast<std::uint64_t>(std::llround(megabytes * bytes_of_megabyte))) : std::nullopt;
}

class memory_record_reader {
 public:
  explicit memory_record_reader(job& work) : work_(work) {}

  result<void> run() {
    auto done = read_lines(work_, [&](std::string_view text, std::uint64_t offset) { return take(text, offset); });
    if (done && work_.began()) {
      work_.say(trace::severity::info,
                "the file has totals per allocator instead of blocks, so each block represents the growth between two "
                "samples");
    }
    return done;
  }

 private:
  struct allocator {
    std::optional<grown_memory> memory;
    trace::pool_id pool{};
  };

  result<void> take(std::string_view text, std::uint64_t offset) {
    if (text.empty()) return {};
    if (columns_.empty()) {
      if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
      const auto names = list_cells(text);
      columns_.assign(names.begin(), names.end());
      return {};
    }
    const std::vector<std::string_view> cells = list_cells(text);
    const auto time = parse_thousandths(cell(cells, "Timestamp(us)"));
    const std::string_view component = cell(cells, "Component");
    const auto reserved = get_size(cell(cells, "Total Reserved(MB)"));
    const auto used = component == whole_process ? reserved : get_size(cell(cells, "Total Allocated(MB)"));
    if (!time || *time < 0 || !used || cells.size() < 3) {
      work_.not_understood("lines", 1, offset);
      return {};
    }
    if (!work_.began()) {
      if (auto begun = begin(*time); !begun) return begun;
    }
    if (*time - origin_ > longest_memory_record || *time < origin_) {
      work_.not_understood("lines with a time before the first or more than a year after it", 1, offset);
      return {};
    }
    if (component.find('+') != std::string_view::npos) {
      work_.read("totals of several allocators, which also have their own lines");
      return {};
    }
    work_.read("allocator samples");
    allocator& subject = get_allocator(cell(cells, "Device Type"), component);
    const time_ns now = subject.memory->set(*time - origin_, *used);
    trace::pool_event sample;
    sample.time = now;
    sample.process = process_;
    sample.pool = subject.pool;
    sample.used = *used;
    sample.reserved = reserved.value_or(0);
    work_.out().add(sample);
    return {};
  }

  [[nodiscard]] std::string_view cell(const std::vector<std::string_view>& cells, std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size() && i < cells.size(); ++i)
      if (columns_[i] == name) return cells[i];
    return {};
  }

  result<void> begin(time_ns first) {
    origin_ = first;
    constexpr time_ns since_2001 = 1'000'000'000'000'000'000;
    if (auto begun = work_.begin(first > since_2001 ? first : 0); !begun) return begun;
    trace::process_row process;
    process.id = process_;
    process.command = work_.out().intern("recorded by Ascend's profiler");
    work_.out().add(process);
    return {};
  }

  allocator& get_allocator(std::string_view device, std::string_view component) {
    // The limit on pairs of a device and a component. An invalid file may have a new pair on each line.
    constexpr std::size_t max_allocators = 1000;
    if (allocators_.size() >= max_allocators && !allocators_.contains({std::string(device), std::string(component)})) {
      component = "others";
      device = {};
    }
    const auto [known, fresh] = allocators_.try_emplace({std::string(device), std::string(component)});
    if (!fresh) return known->second;
    trace::alloc_event like;
    like.process = process_;
    like.layer = component == whole_process ? trace::layer::driver : trace::layer::framework;
    like.kind = trace::memory_kind::device;
    like.device = find_device(device);
    like.name = work_.out().intern(component);
    known->second.memory.emplace(work_.out(), like, std::string_view(), blocks_);
    trace::pool_row pool;
    pool.id = known->second.pool = static_cast<trace::pool_id>(allocators_.size());
    pool.process = process_;
    pool.device = like.device;
    pool.layer = like.layer;
    pool.name = like.name;
    work_.out().add(pool);
    return known->second;
  }

  /// Returns the device with a name such as "NPU:0".
  trace::device_id find_device(std::string_view name) {
    const auto [known, fresh] = devices_.try_emplace(std::string(name));
    if (!fresh) return known->second;
    known->second = static_cast<trace::device_id>(devices_.size());
    trace::device_row row;
    row.id = known->second;
    row.kind = trace::device_kind::cuda;
    const std::size_t colon = name.find(':');
    row.ordinal = static_cast<std::int64_t>(devices_.size()) - 1;
    if (colon != std::string_view::npos) row.ordinal = parse_integer(name.substr(colon + 1)).value_or(row.ordinal);
    row.name = work_.out().intern("Ascend NPU");
    work_.out().add(row);
    return row.id;
  }

  job& work_;
  trace::process_id process_{1};
  std::vector<std::string> columns_;
  time_ns origin_ = 0;
  std::uint64_t blocks_ = 0;
  std::map<std::pair<std::string, std::string>, allocator> allocators_;  ///< Keyed by device and component.
  std::map<std::string, trace::device_id> devices_;
};

}  // namespace

result<void> import_ascend_memory(job& work) { return memory_record_reader(work).run(); }

}  // namespace sluice::importing
