#include "core/summary/passes/reorder_chunks.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/sort_runs.hpp"
#include "core/base/time/time_range.hpp"
#include "core/index/event_span.hpp"
#include "core/summary/passes/recording_scan.hpp"

namespace sluice::summary {
namespace {

/// If a row type has fewer rows than this in a section, the rows wait for the rows of the next section, and are not
/// split by whether they extend beyond the section. A chunk with so few rows is read quickly anyway, and its header and
/// columns would be a large part of the chunk.
constexpr std::size_t few_rows = 256;
/// The maximum number of rows of one type in memory.
constexpr std::size_t most_waiting = std::size_t{1} << 17;

constexpr std::size_t get_parts(std::size_t whole, std::size_t part) { return (whole + part - 1) / part; }

/// The places to which rows are written.
struct destination {
  trace::file_writer& file;
  recording_scan* scan = nullptr;  ///< Also receives the events; may be null.
};

/// Copies the rows of one type from one file to another.
class moved_kind {
 public:
  virtual ~moved_kind() = default;
  void add_chunk(std::size_t chunk) { chunks_.push_back(chunk); }

  /// Called when chunks of this type were added.
  virtual void grown(const trace::snapshot&) {}
  /// Which rows are written. `many`: the rows that begin before the end of a section, unless there are only a few.
  /// `all`: all rows that begin before the end of a section. `last`: all remaining rows.
  enum class due : std::uint8_t { many, all, last };
  /// Writes rows up to `end`, the end of a section. Calls `goes_on` before reading each chunk, because without sections
  /// everything is moved in one call.
  virtual result<void> move(const trace::snapshot& recording, const destination& to, time_ns end, due which,
                            const std::function<bool()>& goes_on) = 0;

 protected:
  static tl::unexpected<error> given_up(const trace::snapshot& recording) {
    return fail(error_code::cancelled, "sorting the recording was cancelled", recording.path());
  }

  std::vector<std::size_t> chunks_;
  std::size_t next_ = 0;  ///< Index in `chunks_` of the next chunk to read.
};

template <class Row>
class moved_table final : public moved_kind {
 public:
  result<void> move(const trace::snapshot& recording, const destination& to, time_ns, due,
                    const std::function<bool()>& goes_on) override {
    std::vector<Row> rows;
    for (; next_ < chunks_.size(); ++next_) {
      if (!goes_on()) return given_up(recording);
      if (auto got = recording.read_into<Row>(chunks_[next_], rows); !got) return got;
      for (const Row& row : rows) to.file.add(row);
    }
    return to.file.flush();
  }
};

template <class Row>
class moved_events final : public moved_kind {
 public:
  void grown(const trace::snapshot& recording) override {
    if constexpr (in_order_of_time) {
      const auto begins = [&](std::size_t chunk) { return recording.chunks()[chunk].min_time; };
      std::stable_sort(chunks_.begin() + static_cast<std::ptrdiff_t>(next_), chunks_.end(),
                       [&](std::size_t a, std::size_t b) { return begins(a) < begins(b); });
    }
  }

  result<void> move(const trace::snapshot& recording, const destination& to, time_ns end, due which,
                    const std::function<bool()>& goes_on) override {
    const bool last = which == due::last;
    const auto is_due = [&](std::size_t i) {
      return i < chunks_.size() && (last || recording.chunks()[chunks_[i]].min_time < end);
    };
    std::size_t coming = waiting();
    // Reserve at most as many rows as a writer puts into a chunk, because the row count in the chunk index is checked
    // only when the chunk is read.
    for (std::size_t i = next_; is_due(i) && coming < most_waiting; ++i)
      coming += std::min<std::size_t>(recording.chunks()[chunks_[i]].rows, to.file.options().rows_per_chunk);
    rows_.reserve(written_ + coming);
    while (is_due(next_)) {
      if (!goes_on()) return given_up(recording);
      if (waiting() >= most_waiting)
        if (auto written = write_first(waiting(), end, to); !written) return written;
      if (auto got = read(recording, chunks_[next_++]); !got) return got;
    }
    sort();
    const std::size_t before = last ? waiting() : count_before(end);
    if (before == 0 || (before < few_rows && which == due::many)) return {};
    auto written = write_first(before, end, to);
    if (last) rows_ = read_ = std::vector<Row>();  // Free the memory, because the next type needs it.
    return written;
  }

 private:
  static constexpr bool in_order_of_time =
      !std::is_same_v<Row, trace::attribute_event> && !std::is_same_v<Row, trace::link_event>;

  [[nodiscard]] std::size_t waiting() const { return rows_.size() - written_; }
  [[nodiscard]] auto first_waiting() { return rows_.begin() + static_cast<std::ptrdiff_t>(written_); }

  result<void> read(const trace::snapshot& recording, std::size_t chunk) {
    if (auto got = recording.read_into<Row>(chunk, read_); !got) return got;
    rows_.insert(rows_.end(), read_.begin(), read_.end());
    sorted_ = false;
    return {};
  }

  void sort() {
    if (sorted_) return;
    sorted_ = true;
    if constexpr (in_order_of_time) {
      const auto earlier = [](const Row& a, const Row& b) {
        return std::pair(bounded(a.time), raw(a.id)) < std::pair(bounded(b.time), raw(b.id));
      };
      rows_.erase(rows_.begin(), first_waiting());
      written_ = 0;
      sort_runs(rows_, earlier);
    }
  }

  /// In types that keep their order, all rows are due.
  [[nodiscard]] std::size_t count_before(time_ns end) {
    if constexpr (!in_order_of_time) return waiting();
    const auto behind =
        std::partition_point(first_waiting(), rows_.end(), [=](const Row& row) { return bounded(row.time) < end; });
    return static_cast<std::size_t>(behind - first_waiting());
  }

  result<void> write_first(std::size_t count, time_ns end, const destination& to) {
    sort();
    const std::span<const Row> rows(rows_.data() + written_, count);
    result<void> written;
    if (count < few_rows || !in_order_of_time) {
      written = write(rows, to, [](const Row&) { return true; });
    } else {
      const auto stays_inside = [&](const Row& row) {
        const auto [first, last] = index::get_times(row);
        return first >= begin_ && last < end;
      };
      written = write(rows, to, stays_inside);
      if (written) written = write(rows, to, [&](const Row& row) { return !stays_inside(row); });
    }
    written_ += count;
    // This is done rarely, because many rows may wait for a long time.
    if (2 * written_ >= rows_.size()) {
      rows_.erase(rows_.begin(), first_waiting());
      written_ = 0;
    }
    begin_ = end;
    return written;
  }

  /// Writes the wanted rows in chunks of about equal size.
  template <class Wanted>
  static result<void> write(std::span<const Row> rows, const destination& to, Wanted&& wanted) {
    const auto count = static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), wanted));
    if (count == 0) return {};
    const std::size_t chunks = get_parts(count, to.file.options().rows_per_chunk), a_chunk = get_parts(count, chunks);
    std::size_t waiting = 0;
    const auto end_chunk = [&] {
      if (std::exchange(waiting, 0) > 0 && to.scan != nullptr) to.scan->end_chunk<Row>();
      return to.file.flush();
    };
    for (const Row& row : rows) {
      if (!wanted(row)) continue;
      to.file.add(row);
      if (to.scan != nullptr) to.scan->add(row);
      if (++waiting < a_chunk) continue;
      if (auto ended = end_chunk(); !ended) return ended;
    }
    return end_chunk();
  }

  std::vector<Row> rows_;  ///< The rows that still wait start at `written_`. Sorted if `sorted_` is true.
  std::size_t written_ = 0;
  bool sorted_ = true;
  time_ns begin_ = -latest_time;  ///< All rows that begin before this time have been written.
  std::vector<Row> read_;
};

template <class Row, trace::row_type Type>
using moved_rows = std::conditional_t<trace::is_table(Type), moved_table<Row>, moved_events<Row>>;

std::unique_ptr<moved_kind> made_for(trace::row_type type) {
  switch (type) {
#define SLUICE_MOVED(row, kind) \
  case trace::row_type::kind:   \
    return std::make_unique<moved_rows<trace::row, trace::row_type::kind>>();
    SLUICE_FOR_EACH_ROW(SLUICE_MOVED)
#undef SLUICE_MOVED
    default:
      return nullptr;  // Readers skip unknown types.
  }
}

using moved_kinds = std::map<trace::row_type, std::unique_ptr<moved_kind>>;

}  // namespace

struct reordering::state {
  destination to;
  moved_kinds tables, events;
  std::size_t known = 0;  ///< Number of chunks known so far.

  result<void> move(const trace::snapshot& snapshot, time_ns end, moved_kind::due which,
                    const std::function<bool()>& goes_on) {
    for (const auto& [type, kind] : events)
      if (auto moved = kind->move(snapshot, to, end, which, goes_on); !moved) return moved;
    return {};
  }
};

reordering::reordering(trace::file_writer& to, recording_scan* scan)
    : state_(std::make_unique<state>(state{{to, scan}, {}, {}, 0})) {}
reordering::~reordering() = default;

result<void> reordering::take(const trace::snapshot& recording, const std::function<bool()>& goes_on) {
  state& s = *state_;
  std::set<moved_kind*> grown;
  for (; s.known < recording.chunks().size(); ++s.known) {
    const trace::row_type type = recording.chunks()[s.known].type;
    moved_kinds& kinds = trace::is_table(type) ? s.tables : s.events;
    auto known = kinds.find(type);
    if (known == kinds.end()) {
      auto output = made_for(type);
      if (!output) continue;
      known = kinds.emplace(type, std::move(output)).first;
    }
    known->second->add_chunk(s.known);
    grown.insert(known->second.get());
  }
  for (moved_kind* const each : grown) each->grown(recording);
  for (const auto& [type, kind] : s.tables)
    if (auto moved = kind->move(recording, s.to, latest_time, moved_kind::due::last, goes_on); !moved) return moved;
  return {};
}

result<void> reordering::move_until(const trace::snapshot& recording, time_ns end, const std::function<bool()>& goes_on,
                                    rows_moved which) {
  return state_->move(recording, end, which == rows_moved::all ? moved_kind::due::all : moved_kind::due::many, goes_on);
}

result<void> reordering::move_rest(const trace::snapshot& recording, const std::function<bool()>& goes_on) {
  return state_->move(recording, latest_time, moved_kind::due::last, goes_on);
}

result<void> reorder_chunks(const trace::snapshot& recording, std::span<const trace::section_row> sections,
                            trace::file_writer& to, const std::function<bool()>& goes_on, recording_scan* scan) {
  reordering moves(to, scan);
  if (auto taken = moves.take(recording, goes_on); !taken) return taken;
  for (std::size_t i = 0; i + 1 < sections.size(); ++i)
    if (auto moved = moves.move_until(recording, sections[i].end, goes_on); !moved) return moved;
  return moves.move_rest(recording, goes_on);
}

}  // namespace sluice::summary
