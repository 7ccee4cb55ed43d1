// Imports torch.profiler's memory timelines, in the JSON that MemoryProfileTimeline of
// torch/profiler/_memory_profiler.py writes:
//   raw        [[time, action, bytes, category], ...], with the actions preexisting, create, increment version, destroy
//   coalesced  [[time, ...], [[0, bytes of each category...], ...]]
// The files do not identify blocks. In the raw format, an event destroys some block of its category and size. The
// coalesced format has only totals.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/import/event_order.hpp"
#include "core/import/grown_memory.hpp"
#include "core/import/importers.hpp"
#include "core/import/json/json_stream.hpp"

namespace sluice::importing {
namespace {

using json_token = json_stream::token;

/// The categories in the file's order, with the names that reports use.
constexpr std::array<std::string_view, 8> timeline_categories = {
    "weight", "optimizer state", "input", "workspace", "activation", "gradient", "autograd_detail", ""};
/// The events of a block, with their numbers in the file (`Action`, which starts at 1). The number 2 creates the block.
constexpr std::int64_t action_preexisting = 1, action_new_version = 3, action_destroy = 4;

constexpr std::int64_t max_bytes_at_once = std::int64_t{1} << 50;
/// Times above this number are in ns, others in us. In us, it is the year 2262, the last that a recording can have.
constexpr std::int64_t surely_ns = INT64_MAX / 1000;
/// The year 1973 in ns. Earlier times are not since 1970.
constexpr std::int64_t surely_since_1970 = 100'000'000'000'000'000;
constexpr const char* timeline_hint =
    "export it again: prof.export_memory_timeline(\"memory.raw.json.gz\"), or open the trace of export_chrome_trace";

class timeline_importer {
 public:
  explicit timeline_importer(job& work)
      : work_(work), tokens_([&work](std::span<std::byte> into) -> result<std::size_t> {
          if (auto ready = work.advance(work.source().share_read()); !ready) return tl::unexpected(ready.error());
          return work.source().read(into);
        }) {}

  result<void> run() {
    auto done = read();
    if (!done && done.error().file.empty()) {
      done.error().file = work_.source().path();
      if (work_.source().damage() != nullptr) return tl::unexpected<error>(*work_.source().damage());
    }
    if (!done) return done;
    if (auto begun = begin(0); !begun) return begun;
    return finish();
  }

 private:
  struct block {
    trace::block_id id{};
    std::uint64_t event = 0;
    std::int64_t bytes = 0;
  };
  using numbers = std::vector<std::int64_t>;

  [[nodiscard]] tl::unexpected<error> unlike(const char* subject) const {
    return fail(error_code::corrupt, subject, {}, timeline_hint, tokens_.offset());
  }

  result<void> read() {
    if (auto begun = expect(json_token::begin_array); !begun) return begun;
    if (auto begun = expect(json_token::begin_array); !begun) return begun;
    numbers first;
    if (auto got = read_numbers(first); !got) return got;
    auto next = tokens_.next();
    if (!next) return tl::unexpected<error>(next.error());
    if (*next == json_token::end_array) {
      return first.size() == 4 ? take_raw(first) : unlike("is a memory timeline without sizes");
    }
    if (*next != json_token::begin_array) return unlike("is not a memory timeline: expected a list of lists");
    next = tokens_.next();
    if (!next) return tl::unexpected<error>(next.error());
    if (*next == json_token::begin_array || (*next == json_token::end_array && first.empty())) {
      return read_coalesced(first, *next == json_token::end_array);
    }
    return read_raw(first);
  }

  result<void> expect(json_token which) {
    const auto next = tokens_.next();
    if (!next) return tl::unexpected<error>(next.error());
    if (*next != which) return unlike("is not a memory timeline: expected a list of lists");
    return {};
  }

  /// Reads the rest of a list of numbers.
  result<void> read_numbers(numbers& into) {
    into.clear();
    for (;;) {
      const auto next = tokens_.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next == json_token::end_array) return {};
      if (*next != json_token::number) return unlike("is not a memory timeline: expected lists of numbers");
      if (into.size() * sizeof into[0] >= work_.memory_bytes() / 4)
        return unlike("has more times than the memory limit allows");
      into.push_back(tokens_.integer());
    }
  }

  // --- raw -----------------------------------------------------------------------------------------------------------

  /// Reads the raw format. Call after the first number of the second event.
  result<void> read_raw(const numbers& first) {
    if (auto taken = take_raw(first); !taken) return taken;
    numbers event;
    const std::int64_t time = tokens_.integer();
    if (auto got = read_numbers(event); !got) return got;
    event.insert(event.begin(), time);
    for (;;) {
      if (auto taken = take_raw(event); !taken) return taken;
      const auto next = tokens_.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next == json_token::end_array) return expect(json_token::end);
      if (*next != json_token::begin_array) return unlike("is not a memory timeline: expected a list of lists");
      if (auto got = read_numbers(event); !got) return got;
    }
  }

  result<void> take_raw(const numbers& event) {
    const bool good = event.size() == 4 && event[1] >= action_preexisting && event[1] <= action_destroy &&
                      event[2] != 0 && event[2] > -max_bytes_at_once && event[2] < max_bytes_at_once && event[3] >= 0 &&
                      event[3] < static_cast<std::int64_t>(timeline_categories.size());
    if (!good) {
      work_.not_understood("timeline events that are not four valid numbers", 1, tokens_.offset());
      return {};
    }
    const auto category = static_cast<std::size_t>(event[3]);
    const bool before = event[0] < 0 || event[1] == action_preexisting;
    if (event[0] < 0 && !work_.began()) {
      early_.emplace_back(event[2], category);  // The block's time is that of the first event, which is still unknown.
      return {};
    }
    if (auto begun = begin(event[0]); !begun) return begun;
    const time_ns now = before ? 0 : get_time(event[0]);
    work_.read("timeline events");
    if (event[2] > 0) {
      const bool moves =
          event[1] == action_new_version && moving_ && moving_->first.bytes == event[2] && moved_at_ == now;
      if (moves) {
        live_[{category, event[2]}].push_back(std::exchange(moving_, std::nullopt)->first);
        return {};
      }
      settle();
      allocate(order_.allocation(now), event[2], category, before);
      return {};
    }
    settle();
    const auto found = live_.find({category, -event[2]});
    if (found == live_.end() || found->second.empty()) {
      work_.not_understood("frees without an allocation", 1, tokens_.offset());
      return {};
    }
    const block ended = found->second.back();
    found->second.pop_back();
    moving_ = {ended, category};
    moved_at_ = now;
    moved_counts_ = order_.free(now);
    if (event[1] != action_new_version) settle();
    return {};
  }

  /// Frees a block that was not moved to another category.
  void settle() {
    if (!moving_) return;
    release(moved_counts_, moving_->first, moving_->second);
    moving_.reset();
  }

  // --- coalesced -----------------------------------------------------------------------------------------------------

  /// Reads the coalesced format. Call after the opening bracket of the first row of sizes.
  result<void> read_coalesced(const numbers& times, bool empty) {
    numbers sizes;
    for (std::size_t row = 0; !empty; ++row) {
      if (auto got = read_numbers(sizes); !got) return got;
      if (row >= times.size()) {
        work_.not_understood("sizes without a time", 1, tokens_.offset());
      } else if (auto taken = take_sizes(times[row], sizes); !taken) {
        return taken;
      }
      const auto next = tokens_.next();
      if (!next) return tl::unexpected<error>(next.error());
      if (*next == json_token::end_array) {
        if (row + 1 < times.size()) work_.not_understood("times without sizes", times.size() - row - 1);
        break;
      }
      if (*next != json_token::begin_array) return unlike("expected a list of sizes");
    }
    if (auto ended = expect(json_token::end_array); !ended) return ended;
    return expect(json_token::end);
  }

  /// Reads a row of sizes. Each row starts with a 0, which is the base of the stacked plot.
  result<void> take_sizes(std::int64_t time, const numbers& sizes) {
    if (auto begun = begin(time); !begun) return begun;
    const time_ns now = get_time(time);
    work_.read("timeline sizes");
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      if (i > timeline_categories.size() || sizes[i] < 0 || sizes[i] >= max_bytes_at_once) {
        work_.not_understood("impossible sizes", 1, tokens_.offset());
        continue;
      }
      get_grown(i - 1).set(now, static_cast<std::uint64_t>(sizes[i]));
    }
    return {};
  }

  // --- rows ----------------------------------------------------------------------------------------------------------

  result<void> begin(std::int64_t first) {
    if (work_.began()) return {};
    first_ = first < 0 ? 0 : first;
    scale_ = first_ > surely_ns ? 1 : 1000;
    const std::int64_t first_ns = first_ * scale_;
    if (auto begun = work_.begin(first_ns > surely_since_1970 ? first_ns : 0); !begun) return begun;
    trace::process_row process;
    process.id = process_;
    process.command = work_.out().intern("recorded by torch.profiler");
    work_.out().add(process);
    trace::device_row device;
    device.id = trace::device_id{1};
    device.kind = trace::device_kind::cuda;
    device.ordinal = 0;
    device.name = work_.out().intern("device of the timeline");
    work_.out().add(device);
    for (const auto& [bytes, category] : std::exchange(early_, {})) {
      work_.read("timeline events");
      if (bytes > 0) allocate(0, bytes, category, true);
    }
    return {};
  }

  [[nodiscard]] time_ns get_time(std::int64_t time) {
    constexpr std::int64_t longest = std::int64_t{366} * 24 * 3600 * 1'000'000;
    if (time < first_ || time - first_ > longest * (1000 / scale_)) {
      if (time >= 0) work_.not_understood("times before the first or more than a year after it", 1, tokens_.offset());
      return 0;
    }
    return (time - first_) * scale_;
  }

  /// The attributes that all blocks share.
  [[nodiscard]] trace::alloc_event blank_block() const {
    trace::alloc_event allocation;
    allocation.process = process_;
    allocation.layer = trace::layer::framework;
    allocation.kind = trace::memory_kind::device;
    allocation.device = trace::device_id{1};
    return allocation;
  }

  grown_memory& get_grown(std::size_t category) {
    const auto known = grown_.find(category);
    if (known != grown_.end()) return known->second;
    return grown_.try_emplace(category, work_.out(), blank_block(), timeline_categories[category], blocks_)
        .first->second;
  }

  void allocate(time_ns now, std::int64_t bytes, std::size_t category, bool before) {
    trace::alloc_event allocation = blank_block();
    allocation.time = now;
    if (before) allocation.source = trace::provenance::inferred;
    if (before) allocation.flags = trace::born_before;
    allocation.block = static_cast<trace::block_id>(++blocks_);
    allocation.bytes = static_cast<std::uint64_t>(bytes);
    live_[{category, bytes}].push_back({allocation.block, work_.out().add(allocation), bytes});
  }

  void release(time_ns now, const block& which, std::size_t category) {
    trace::free_event gone;
    gone.time = now;
    gone.process = process_;
    gone.source = trace::provenance::inferred;
    gone.layer = trace::layer::framework;
    gone.block = which.id;
    work_.out().add(gone);
    tag(now, which, category);
  }

  /// Writes the category of a block, which is final when the block is freed.
  void tag(time_ns now, const block& which, std::size_t category) {
    if (timeline_categories[category].empty()) return;
    trace::attribute_event row;
    row.time = now;
    row.process = process_;
    row.target = trace::event_id{which.event};
    row.key = work_.out().intern("category");
    row.text = work_.out().intern(timeline_categories[category]);
    work_.out().add(row);
  }

  result<void> finish() {
    settle();
    for (const auto& [key, blocks] : live_)
      for (const block& each : blocks) tag(0, each, key.first);
    if (!grown_.empty()) {
      work_.say(trace::severity::info,
                "the timeline has totals per category instead of blocks, so each block represents a category's growth "
                "between two times. The raw form has the blocks: prof.export_memory_timeline(\"memory.raw.json.gz\")");
    }
    return {};
  }

  job& work_;
  json_stream tokens_;
  trace::process_id process_{1};
  std::int64_t first_ = 0, scale_ = 1000;
  std::uint64_t blocks_ = 0;
  std::vector<std::pair<std::int64_t, std::size_t>> early_;
  std::map<std::pair<std::size_t, std::int64_t>, std::vector<block>> live_;  ///< Keyed by category and size.
  std::map<std::size_t, grown_memory> grown_;                                ///< Keyed by category.
  std::optional<std::pair<block, std::size_t>> moving_;  ///< A block that is freed unless it changes its category.
  time_ns moved_at_ = 0;                                 ///< The end of the moving block in the file.
  time_ns moved_counts_ = 0;                             ///< The same time as adjusted by `order_`.
  event_order order_;
};

}  // namespace

result<void> import_torch_timeline(job& work) { return timeline_importer(work).run(); }

}  // namespace sluice::importing
