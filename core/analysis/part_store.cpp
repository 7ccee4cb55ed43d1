#include "core/analysis/part_store.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "core/analysis/crossing_blocks.hpp"
#include "core/analysis/tensors.hpp"
#include "core/analysis/whole_fields.hpp"
#include "core/trace/codec.hpp"

namespace sluice::analysis {
namespace {

constexpr char saved_name[] = "parts";
constexpr std::uint32_t saved_version = 1;
constexpr std::size_t rows_a_chunk = 4096;
constexpr std::size_t least_rows = 1024;  ///< Of a chunk that is cut where another boundary begins.
constexpr time_ns for_ever = latest_time;
constexpr std::size_t most_saved = trace::max_chunk_bytes / 2;

// --- blocks, as rows ------------------------------------------------------------------------------------------------

trace::crossing_block_row row_of(const block_record& b, block_category is) {
  trace::crossing_block_row row;
  row.time = b.born;
  row.end = b.freed() ? b.died : for_ever;
  row.block = b.id;
  row.parent = b.parent;
  row.alloc = b.alloc;
  row.free = b.free;
  row.process = b.process;
  row.thread = b.thread;
  row.device = b.device;
  row.stream = b.stream;
  row.pool = b.pool;
  row.stack = b.stack;
  row.name = b.name;
  row.address = b.address;
  row.bytes = b.bytes;
  row.reserved_bytes = b.reserved_bytes;
  row.flags = b.flags;
  row.level = b.level;
  row.kind = b.kind;
  row.death_inferred = b.death_inferred;
  row.category = static_cast<std::uint8_t>(is.what);
  row.reason = static_cast<std::uint8_t>(is.why);
  return row;
}

block_category category_of(std::uint8_t what, std::uint8_t why) {
  if (what >= category_count || why > static_cast<std::uint8_t>(category_reason::temporary)) return {};
  return {static_cast<category>(what), static_cast<category_reason>(why)};
}

told_block block_of(const trace::crossing_block_row& row) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 52;
  told_block made;
  block_record& b = made.block;
  b.born = bounded(row.time);
  b.died = row.end >= for_ever ? trace::unknown_time : std::max(b.born, bounded(row.end));
  b.id = row.block;
  b.parent = row.parent;
  b.alloc = row.alloc;
  b.free = row.free;
  b.process = row.process;
  b.thread = row.thread;
  b.device = row.device;
  b.stream = row.stream;
  b.pool = row.pool;
  b.stack = row.stack;
  b.name = row.name;
  b.address = row.address;
  b.bytes = std::min(row.bytes, most_bytes);
  b.reserved_bytes = std::min(row.reserved_bytes, most_bytes);
  b.flags = row.flags;
  b.level = row.level;
  b.kind = row.kind;
  b.allocated = true;
  b.death_inferred = row.death_inferred;
  made.category = category_of(row.category, row.reason);
  return made;
}

trace::block_uses_row row_of(const block_record& b, const block_touches& uses) {
  trace::block_uses_row row;
  row.time = b.born;
  row.end = b.freed() ? b.died : for_ever;
  row.block = b.id;
  row.first_time = uses.first.time;
  row.first_event = uses.first.event;
  row.last_time = uses.last.time;
  row.last_event = uses.last.event;
  row.kernels = uses.kernels;
  row.copies = uses.copies;
  row.replays = uses.replays;
  row.first_kernel = uses.first_kernel;
  row.first_arrival = uses.from_host.first;
  row.last_arrival = uses.from_host.last;
  row.arrivals = uses.from_host.count;
  row.pageable_arrivals = uses.from_host.pageable;
  return row;
}

told_slice slice_of(const trace::open_slice_row& row) {
  told_slice made;
  made.what = row.what;
  made.owner = row.owner;
  made.lane = row.lane;
  made.item.begin = bounded(row.begin);
  made.item.end = std::max(made.item.begin, bounded(row.end));
  made.item.event = row.event;
  made.item.name = row.name;
  made.item.bytes = row.bytes;
  made.item.kind = row.kind;
  made.item.tag = row.tag;
  return made;
}

time_ns bounded_if_known(time_ns time) { return time == trace::unknown_time ? time : bounded(time); }

told_uses uses_of(const trace::block_uses_row& row) {
  told_uses made;
  made.block = row.block;
  block_touches& uses = made.uses;
  uses.first = {bounded_if_known(row.first_time), row.first_event};
  uses.last = {bounded_if_known(row.last_time), row.last_event};
  uses.kernels = row.kernels;
  uses.copies = row.copies;
  uses.replays = row.replays;
  uses.first_kernel = bounded_if_known(row.first_kernel);
  uses.from_host = {bounded_if_known(row.first_arrival), bounded_if_known(row.last_arrival), row.arrivals,
                    row.pageable_arrivals};
  return made;
}

/// Writes rows of blocks in chunks that span little time each.
class saver {
 public:
  saver(const index& from, const trace::snapshot& of, std::span<const time_ns> begins, trace::file_writer& to)
      : memory_(from.memory()),
        devices_(from.devices()),
        host_(from.host()),
        counters_(from.counters()),
        touches_(from.touches()),
        tensors_(from.tensors(of)),
        begins_(begins),
        to_(to),
        told_(memory_.blocks().size(), false),
        kept_(crossing_blocks(memory_, begins)) {}

  void save() {
    save_disputed();
    save_crossing();
    save_uses();
    save_categories();
    save_open_slices();
    save_last_samples();
  }

 private:
  [[nodiscard]] block_category category_at(std::size_t block) const {
    return block < tensors_->categories.size() ? tensors_->categories[block] : block_category{};
  }

  /// Wherever rows disagree about a block may be far from where it lives: every part is told of it.
  void save_disputed() {
    std::vector<trace::crossing_block_row> rows;
    for (const trace::block_id id : memory_.disputed()) {
      const block_record* block = memory_.find(id);
      if (block == nullptr) continue;
      const auto at = static_cast<std::size_t>(block - memory_.blocks().data());
      if (told_[at]) continue;
      told_[at] = true;
      rows.push_back(row_of(*block, category_at(at)));
    }
    to_.add_summary<trace::crossing_block_row>(rows, std::pair(INT64_MIN, INT64_MAX));
  }

  template <class Row, class Made>
  void save_kept(Made&& made) {
    std::vector<Row> rows;
    std::uint32_t boundary = 0;
    const auto write = [&] {
      to_.add_summary<Row>(rows);
      rows.clear();
    };
    for (const crossing& each : kept_) {
      if (rows.size() >= (each.boundary == boundary ? rows_a_chunk : least_rows)) write();
      boundary = each.boundary;
      if (auto row = made(each.block)) rows.push_back(*row);
    }
    write();
  }

  void save_crossing() {
    save_kept<trace::crossing_block_row>([&](std::size_t at) -> std::optional<trace::crossing_block_row> {
      if (told_[at]) return std::nullopt;
      told_[at] = true;
      return row_of(memory_.blocks()[at], category_at(at));
    });
  }

  /// Uses of blocks that are told, and of those that were used in other epochs than the one they live in.
  void save_uses() {
    std::vector<bool> kept(told_.size(), false);
    for (const crossing& each : kept_) kept[each.block] = true;
    for (std::size_t at = 0; at < told_.size(); ++at) {
      const block_record& block = memory_.blocks()[at];
      if (!block.allocated) continue;
      const block_touches uses = touches_.of(block);
      if (!uses.first.known()) continue;
      const std::size_t epoch = epoch_of(begins_, block.born);
      const bool elsewhere = epoch_of(begins_, uses.first.time) != epoch || epoch_of(begins_, uses.last.time) != epoch;
      if (!kept[at] && elsewhere) kept_.push_back({at, static_cast<std::uint32_t>(epoch)});
    }
    save_kept<trace::block_uses_row>([&](std::size_t at) -> std::optional<trace::block_uses_row> {
      const block_record& block = memory_.blocks()[at];
      const block_touches uses = touches_.of(block);
      return uses.first.known() ? std::optional(row_of(block, uses)) : std::nullopt;
    });
  }

  /// What runs at the begin of each epoch but the first.
  void save_open_slices() {
    for (std::size_t i = 1; i < begins_.size(); ++i) {
      const time_ns time = begins_[i];
      std::vector<trace::open_slice_row> rows;
      const auto put = [&](trace::lane_kind what, std::size_t owner, const summaries::slice_set& set) {
        set.for_each_open(time, [&](const summaries::slice_item& item, std::uint16_t lane) {
          rows.push_back({time, what, static_cast<std::uint32_t>(owner), lane, item.begin, item.end, item.event,
                          item.name, item.bytes, item.kind, item.tag});
        });
      };
      std::size_t owner = 0;
      for (const auto& [key, set] : devices_.streams()) put(trace::lane_kind::stream, owner++, set);
      owner = 0;
      for (const auto& [key, work] : devices_.directions()) put(trace::lane_kind::direction, owner++, work.slices);
      owner = 0;
      for (const auto& [key, work] : host_.threads()) {
        put(trace::lane_kind::host_ranges, owner, work.ranges);
        put(trace::lane_kind::host_calls, owner++, work.calls);
      }
      to_.add_summary<trace::open_slice_row>(rows, std::pair(time, time));
    }
  }

  /// Samples of everything that was sampled: those in force at the times that `pick` tells of each curve of it.
  template <class Pick>
  [[nodiscard]] std::vector<trace::last_sample_row> samples_at(time_ns boundary, Pick&& pick) const {
    std::vector<trace::last_sample_row> rows;
    // One sample gives several numbers, whose times are mostly the same.
    const auto either = [](std::set<time_ns> times, const std::set<time_ns>& others) {
      times.insert(others.begin(), others.end());
      return times;
    };
    const auto add = [&](trace::sampled_thing what, const auto& step) -> trace::last_sample_row& {
      trace::last_sample_row& row = rows.emplace_back();
      row.time = boundary;
      row.what = what;
      row.sampled = step.time;
      row.event = trace::event_id{step.order};
      return row;
    };
    for (const auto& [id, tree] : counters_) {
      for (const time_ns time : pick(tree)) {
        trace::last_sample_row& row = add(trace::sampled_thing::counter, *tree.last_until(time));
        row.counter = id;
        row.value = tree.at(time);
      }
    }
    for (const auto& [id, pool] : memory_.pools()) {
      for (const time_ns time : either(pick(pool.reserved), pick(pool.used))) {
        trace::last_sample_row& row = add(trace::sampled_thing::pool, *pool.reserved.last_until(time));
        row.pool = id;
        row.reserved = static_cast<std::uint64_t>(pool.reserved.at(time));
        row.used = static_cast<std::uint64_t>(pool.used.at(time));
      }
    }
    for (const auto& [id, device] : memory_.devices()) {
      for (const time_ns time : either(pick(device.used), pick(device.recorder))) {
        const device_samples::sample& sample = *device.last_until(time);
        trace::last_sample_row& row = add(trace::sampled_thing::device, sample);
        row.device = id;
        row.free = sample.free;
        row.total = sample.total;
        row.recorder = sample.recorder;
      }
    }
    return rows;
  }

  void save_last_samples() {
    const auto first_and_highest = [](const summaries::sample_tree& tree) -> std::set<time_ns> {
      if (tree.empty()) return {};
      return {tree.first_time(), tree.over(tree.first_time(), tree.last_time() + 1).maximum_time};
    };
    to_.add_summary<trace::last_sample_row>(samples_at(0, first_and_highest), std::pair(INT64_MIN, INT64_MAX));
    for (std::size_t i = 1; i < begins_.size(); ++i) {
      const time_ns begin = begins_[i];
      const auto last_before = [&](const summaries::sample_tree& tree) -> std::set<time_ns> {
        if (tree.last_until(begin - 1) == nullptr) return {};
        return {begin - 1};
      };
      to_.add_summary<trace::last_sample_row>(samples_at(begin, last_before), std::pair(begin, begin));
    }
  }

  void save_categories() {
    std::vector<std::vector<trace::block_category_row>> by_epoch(begins_.size());
    for (std::size_t at = 0; at < told_.size(); ++at) {
      const block_category is = category_at(at);
      if (told_[at] || is.what == category::none) continue;
      const block_record& block = memory_.blocks()[at];
      by_epoch[epoch_of(begins_, block.born)].push_back(
          {block.id, static_cast<std::uint8_t>(is.what), static_cast<std::uint8_t>(is.why)});
    }
    for (std::size_t i = 0; i < by_epoch.size(); ++i) {
      std::sort(by_epoch[i].begin(), by_epoch[i].end(), [](const auto& a, const auto& b) { return a.block < b.block; });
      to_.add_summary<trace::block_category_row>(by_epoch[i], std::pair(begins_[i], begins_[i]));
    }
  }

  const memory_use& memory_;
  const device_activity_index& devices_;
  const host_activity& host_;
  const std::map<trace::counter_id, summaries::sample_tree>& counters_;
  const touch_index& touches_;
  const std::shared_ptr<const tensor_facts> tensors_;
  const std::span<const time_ns> begins_;
  trace::file_writer& to_;
  std::vector<bool> told_;  ///< By position: it has a row of its own.
  std::vector<crossing> kept_;
};

std::vector<time_ns> begins_of(std::span<const trace::epoch_row> epochs) {
  std::vector<time_ns> all;
  for (const trace::epoch_row& epoch : epochs) all.push_back(bounded(epoch.time));
  return all;
}

/// Calls `use(row)` for the rows of a kind in the chunks that overlap [from, to).
template <class Row, class Use>
result<void> rows_in(const trace::snapshot& of, time_ns from, time_ns to, Use&& use) {
  std::vector<Row> rows;
  for (const trace::chunk_info& chunk : of.summaries()) {
    if (chunk.type != trace::type_of_row<Row> || chunk.min_time >= to || chunk.max_time < from) continue;
    if (auto got = of.read_summary<Row>(chunk, rows); !got) return got;
    for (const Row& row : rows) use(row, chunk);
  }
  return {};
}

}  // namespace

void save_parts(const index& from, const trace::snapshot& of, std::span<const trace::epoch_row> epochs,
                trace::file_writer& to) {
  if (epochs.empty()) return;
  trace::saved_row saved{saved_name, saved_version, {}};
  archive::writer words(saved.bytes);
  words.put(facts_of_whole(from, of));
  if (words.failed() || saved.bytes.size() > most_saved) return;
  const std::vector<time_ns> begins = begins_of(epochs);
  saver(from, of, begins, to).save();
  to.add_summary<trace::saved_row>(std::span(&saved, 1));
}

result<std::shared_ptr<const part_store>> part_store::open(std::shared_ptr<const trace::snapshot> from,
                                                           std::shared_ptr<const step_facts> steps) {
  auto made = std::make_shared<part_store>();
  made->from_ = std::move(from);
  const trace::snapshot& of = *made->from_;
  if (auto got = rows_in<trace::epoch_row>(of, INT64_MIN, INT64_MAX,
                                           [&](const auto& row, const auto&) { made->epochs_.push_back(row); });
      !got)
    return tl::unexpected(got.error());
  std::optional<std::string> saved;
  if (auto got = rows_in<trace::saved_row>(of, INT64_MIN, INT64_MAX,
                                           [&](const auto& row, const auto&) {
                                             if (row.name == saved_name && row.version == saved_version)
                                               saved = row.bytes;
                                           });
      !got)
    return tl::unexpected(got.error());
  if (made->epochs_.empty() || !saved)
    return fail(error_code::not_found, "the file does not say what its parts are", of.path());
  made->begins_ = begins_of(made->epochs_);
  auto whole = std::make_shared<whole_facts>();
  archive::reader words(*saved, 4 * most_saved);
  words.get(*whole);
  if (words.failed() || !words.at_end() || !std::is_sorted(made->begins_.begin(), made->begins_.end()))
    return fail(error_code::corrupt, "what the file says of its parts makes no sense", of.path());
  std::erase_if(whole->chunks, [&](const chunk_reach& c) { return c.chunk >= of.chunks().size(); });
  whole->steps = steps ? std::move(steps) : std::make_shared<const step_facts>();
  made->whole_ = std::move(whole);
  return std::shared_ptr<const part_store>(std::move(made));
}

std::size_t part_store::epoch_at(time_ns time) const { return epoch_of(begins_, bounded(time)); }

time_range part_store::run_of(std::size_t first, std::size_t last) const {
  return {first == 0 ? -latest_time : begins_[first], last + 1 < begins_.size() ? begins_[last + 1] : latest_time + 1};
}

result<part> part_store::read(std::size_t first, std::size_t last, part_scope scope) const {
  part made;
  made.scope = scope;
  made.run = run_of(first, last);
  made.whole = whole_;
  const time_ns begin = made.run.begin, end = made.run.end;
  const auto everywhere = [](const trace::chunk_info& c) { return c.min_time == INT64_MIN && c.max_time == INT64_MAX; };
  const auto lives = [=](const auto& row) { return row.time < end && row.end >= begin; };
  result<void> got;
  const auto read = [&]<class Row>(time_ns from, time_ns to, auto&& use) {
    if (got) got = rows_in<Row>(*from_, from, to, use);
  };
  read.operator()<trace::crossing_block_row>(begin, end, [&](const auto& row, const auto& chunk) {
    if (lives(row) || everywhere(chunk)) made.blocks.push_back(block_of(row));
  });
  read.operator()<trace::block_category_row>(begins_[first], end, [&](const auto& row, const auto&) {
    made.categories.push_back({row.block, category_of(row.category, row.reason)});
  });
  if (scope >= part_scope::timeline) {
    read.operator()<trace::last_sample_row>(begin, begin + 1, [&](const auto& row, const auto& chunk) {
      made.samples_told = made.samples_told || everywhere(chunk);
      const bool in_run = row.sampled >= begin && row.sampled < end;
      if (!in_run) made.samples.push_back(row);
    });
  }
  if (scope >= part_scope::timeline && first > 0) {
    read.operator()<trace::open_slice_row>(begin, begin + 1, [&](const auto& row, const auto&) {
      if (row.time == begin) made.open.push_back(slice_of(row));
    });
  }
  if (scope == part_scope::everything) {
    read.operator()<trace::block_uses_row>(begin, end, [&](const auto& row, const auto&) {
      if (lives(row)) made.uses.push_back(uses_of(row));
    });
  }
  if (!got) return tl::unexpected(got.error());
  return made;
}

result<std::shared_ptr<const index>> part_store::index_of(std::size_t first, std::size_t last, part_scope scope) const {
  if (first > last || last >= epochs_.size())
    return fail(error_code::invalid_argument, "there are no such epochs", from_->path());
  auto about = read(first, last, scope);
  if (!about) return tl::unexpected(about.error());
  auto made = std::make_shared<index>();
  made->absorb_part(*from_, std::move(*about));
  return std::shared_ptr<const index>(std::move(made));
}

}  // namespace sluice::analysis
