#include "core/export/recording/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/time/time_range.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/visit.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/row_references.hpp"

namespace sluice::exports {
namespace {

using trace::raw;

/// A chunk of one rank is long, because it has the rows of a tenth of a second. If chunks were written unchanged,
/// reading a short time range would read a chunk of each rank. Therefore, rows are written in time slices of about this
/// many events.
constexpr std::uint64_t events_a_slice = 200'000;
/// The most rows of one kind that wait in a slice. With hundreds of ranks, some fifty slices are open at once.
constexpr std::size_t rows_a_slice = 4096;

/// True for rows whose order in the file is significant.
constexpr bool keeps_order(trace::row_type rows) {
  return rows == trace::row_type::attribute || rows == trace::row_type::link;
}

template <class... Ids>
struct id_list {};
/// The kinds of ids that must be unique across parts. Ids of table rows are renumbered to follow those of the previous
/// part. Ids of events and blocks increase with time in each part. They are interleaved, so that ids of the same time
/// stay close together. This keeps the file small and lookups by id fast.
using own_ids = id_list<trace::event_id, trace::block_id, trace::process_id, trace::thread_id, trace::context_id,
                        trace::stream_id, trace::pool_id, trace::counter_id, trace::stack_id, trace::frame_id,
                        trace::module_id, trace::source_id, trace::graph_id>;

template <class Id, class... Ids>
constexpr std::size_t place_in(id_list<Ids...>) {
  std::size_t place = 0;
  std::size_t found = sizeof...(Ids);
  ((std::is_same_v<Id, Ids> ? (found = place++) : place++), ...);
  return found;
}
template <class Id>
inline constexpr std::size_t id_place = place_in<Id>(own_ids{});
constexpr std::size_t id_kinds = 13;
template <class Id>
inline constexpr bool takes_turns = std::is_same_v<Id, trace::event_id> || std::is_same_v<Id, trace::block_id>;

/// One of the recordings that are merged.
class merged_file {
 public:
  explicit merged_file(std::shared_ptr<const trace::snapshot> recording) : from_(std::move(recording)) {}

  [[nodiscard]] const trace::snapshot& from() const { return *from_; }

  /// Finds the largest id of each kind.
  result<void> look_over(const long_task& task) {
    const auto note = [&](const auto& row) {
      auto copy = row;
      trace::for_each_member(copy, [&](auto& member) {
        using type = std::remove_reference_t<decltype(member)>;
        if constexpr (id_place<type> < id_kinds) last_[id_place<type>] = std::max(last_[id_place<type>], raw(member));
      });
    };
    for (std::size_t i = 0; i < from_->chunks().size(); ++i) {
      if (auto on = task.go_on(0, from_->path()); !on) return on;
      if (auto read = trace::visit_events(*from_, i, note); !read) return read;
    }
    const auto table = [&](const auto& rows) {
      for (const auto& row : rows.rows()) note(row);
    };
    const trace::tables& all_tables = from_->tables();
    table(all_tables.processes), table(all_tables.threads), table(all_tables.contexts), table(all_tables.streams),
        table(all_tables.pools), table(all_tables.counters);
    table(all_tables.stacks), table(all_tables.frames), table(all_tables.modules), table(all_tables.sources);
    return {};
  }

  /// Makes the ids of this part unique among `parts` parts. `index` is the number of this part, and `used` has the
  /// largest ids of the parts before. Errors: invalid_argument if the ids would overflow.
  result<void> place_after(std::array<std::uint64_t, id_kinds>& used, std::size_t index, std::size_t parts) {
    index_ = index;
    parts_ = parts;
    for (std::size_t i = 0; i < id_kinds; ++i) {
      if (i == id_place<trace::event_id> || i == id_place<trace::block_id>) {
        if (last_[i] > (std::uint64_t{1} << 62) / parts)
          return fail(error_code::invalid_argument, "has ids too large to be merged", from_->path());
        used[i] = std::max(used[i], last_[i] * parts);
        continue;
      }
      first_[i] = used[i];
      if (last_[i] > (std::uint64_t{1} << 62) - used[i]) {
        return fail(error_code::invalid_argument, "has ids too large to be merged", from_->path());
      }
      used[i] += last_[i];
    }
    return {};
  }

  template <class Row>
  Row moved(Row row) const {
    trace::for_each_member(row, [&](auto& member) {
      using type = std::remove_reference_t<decltype(member)>;
      if constexpr (id_place<type> < id_kinds) {
        if (raw(member) == 0) {
          // The id `none` stays none.
        } else if constexpr (takes_turns<type>) {
          member = static_cast<type>((raw(member) - 1) * parts_ + index_ + 1);
        } else {
          member = static_cast<type>(raw(member) + first_[id_place<type>]);
        }
      }
      if constexpr (std::is_same_v<type, trace::string_id>) member = mapped(strings_, member);
      if constexpr (std::is_same_v<type, trace::host_id>) member = mapped(hosts_, member);
      if constexpr (std::is_same_v<type, trace::device_id>) member = mapped(devices_, member);
    });
    if constexpr (trace::is_event_row<Row>) {
      trace::for_each_time(row, [&](time_ns& time) { time = moved(time); });
    } else if constexpr (std::is_same_v<Row, trace::process_row>) {
      for (time_ns* time : {&row.begin, &row.end}) {
        if (*time != trace::unknown_time) *time = moved(*time);
      }
    }
    return row;
  }

  template <class Id>
  static Id mapped(const std::unordered_map<std::uint64_t, std::uint64_t>& by, Id id) {
    const auto at = by.find(raw(id));
    return at == by.end() ? Id::none : static_cast<Id>(at->second);
  }

  /// Converts a time of this part to the common clock.
  [[nodiscard]] time_ns moved(time_ns time) const { return clock.moved(bounded(time)); }

  /// Sorts the chunks of events by their first time, except those whose order is significant. Call once the clock is
  /// known.
  void order_chunks() {
    const auto chunks = from_->chunks();
    std::map<trace::row_type, time_ns> latest;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!trace::is_event(chunks[i].type)) continue;
      time_ns time = moved(chunks[i].min_time);
      if (keeps_order(chunks[i].type)) {
        const auto [known, fresh] = latest.try_emplace(chunks[i].type, time);
        time = known->second = std::max(known->second, time);
      }
      order_.emplace_back(time, i);
    }
    std::sort(order_.begin(), order_.end());
  }
  /// Returns the first time of the next chunk, or INT64_MAX if there is none.
  [[nodiscard]] time_ns next_time() const { return taken_ < order_.size() ? order_[taken_].first : INT64_MAX; }
  std::size_t take_chunk() { return order_[taken_++].second; }
  [[nodiscard]] std::size_t chunks_taken() const { return taken_; }
  [[nodiscard]] std::size_t event_chunks() const { return order_.size(); }

  clock_offset clock;
  std::unordered_map<std::uint64_t, std::uint64_t> strings_, hosts_, devices_;

 private:
  std::shared_ptr<const trace::snapshot> from_;
  std::array<std::uint64_t, id_kinds> first_{}, last_{};
  std::uint64_t index_ = 0, parts_ = 1;
  std::vector<std::pair<time_ns, std::size_t>> order_;  ///< The first time and the number of each chunk of events.
  std::size_t taken_ = 0;
};

/// The rows of one kind that wait to be written, by time slice.
template <class Row>
class sliced_rows {
 public:
  result<void> add(std::int64_t slice, const Row& row, trace::file_writer& file) {
    if (last_ == nullptr || last_slice_ != slice) {
      last_ = &slices_[slice];
      last_slice_ = slice;
    }
    last_->push_back(row);
    return last_->size() < rows_a_slice ? result<void>{} : write(*last_, file);
  }

  /// Writes the slices before `slice`, which get no more rows.
  result<void> close_before(std::int64_t slice, trace::file_writer& file) {
    while (!slices_.empty() && slices_.begin()->first < slice) {
      if (auto written = write(slices_.begin()->second, file); !written) return written;
      slices_.erase(slices_.begin());
      last_ = nullptr;
    }
    return {};
  }

 private:
  static result<void> write(std::vector<Row>& rows, trace::file_writer& file) {
    if (rows.empty()) return {};
    for (const Row& row : rows) file.add(row);
    rows.clear();
    return file.flush();
  }

  std::map<std::int64_t, std::vector<Row>> slices_;
  std::vector<Row>* last_ = nullptr;
  std::int64_t last_slice_ = 0;
};

/// The rows of all kinds that wait to be written.
class waiting_events {
 public:
  /// `slice`: the length of a slice in ns.
  waiting_events(trace::file_writer& file, time_ns slice) : file_(file), slice_(std::max<time_ns>(slice, 1)) {}

  template <class Row>
  result<void> add(const Row& row) {
    if constexpr (keeps_order(trace::type_of_row<Row>)) {
      file_.add(row);
      return {};
    } else {
      return std::get<sliced_rows<Row>>(kinds_).add(slice_at(bounded(row.time)), row, file_);
    }
  }

  /// Writes the rows of the slices that end at or before `time`.
  result<void> close_before(time_ns time) { return close_before_slice(slice_at(time)); }
  result<void> close() { return close_before_slice(INT64_MAX); }

 private:
  [[nodiscard]] std::int64_t slice_at(time_ns time) const {
    return time >= 0 ? time / slice_ : -((-time + slice_ - 1) / slice_);
  }

  result<void> close_before_slice(std::int64_t slice) {
    if (slice <= open_from_) return {};
    open_from_ = slice;
    result<void> done;
    const auto close = [&](auto& rows) {
      if constexpr (requires { rows.close_before(slice, file_); })
        if (done) done = rows.close_before(slice, file_);
    };
    std::apply([&](auto&... each) { (close(each), ...); }, kinds_);
    return done;
  }

  trace::file_writer& file_;
  time_ns slice_;
  std::int64_t open_from_ = INT64_MIN;
  using all_kinds = std::tuple<
#define SLUICE_SLICED(row, kind) sliced_rows<trace::row>,
      SLUICE_FOR_EACH_ROW(SLUICE_SLICED)
#undef SLUICE_SLICED
          std::monostate>;
  all_kinds kinds_;
};

class merger {
 public:
  merger(const std::vector<std::shared_ptr<const trace::snapshot>>& parts, const long_task& task) : task_(task) {
    for (const auto& each : parts) parts_.emplace_back(each);
  }

  result<merged> write(const std::string& path) {
    std::array<std::uint64_t, id_kinds> used{};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (auto seen = parts_[i].look_over(task_); !seen) return tl::unexpected(seen.error());
      if (auto placed = parts_[i].place_after(used, i, parts_.size()); !placed) return tl::unexpected(placed.error());
    }
    if (auto aligned = align_clocks(); !aligned) return tl::unexpected(aligned.error());
    trace::writer_options options;
    options.simulated =
        std::all_of(parts_.begin(), parts_.end(), [](const merged_file& each) { return each.from().simulated(); });
    options.realtime_origin = origin_;
    options.recorded_here =
        std::all_of(parts_.begin(), parts_.end(), [](const merged_file& each) { return each.from().recorded_here(); });
    auto file = trace::file_writer::create_unpublished(path, options);
    if (!file) return tl::unexpected(file.error());
    for (merged_file& each : parts_) add_tables(each, *file);
    last_event_ = used[id_place<trace::event_id>];
    for (const std::string& line : made_.said) {
      trace::message_event message;
      message.id = trace::event_id{++last_event_};
      message.text = file->intern(line);
      file->add(message);
      ++made_.events;
    }
    if (auto added = add_events(*file); !added) return tl::unexpected(added.error());
    if (auto closed = summary::finalize(*file, {.cancel = task_.cancelled}); !closed)
      return tl::unexpected(closed.error());
    if (auto on = task_.go_on(1, path); !on) return tl::unexpected(on.error());
    if (auto published = file->publish(); !published) return tl::unexpected(published.error());
    made_.bytes = file->bytes_written();
    return made_;
  }

 private:
  result<void> align_clocks() {
    std::vector<std::int64_t> realtimes;
    std::vector<collective_ends> collectives;
    for (const merged_file& each : parts_) {
      realtimes.push_back(realtime_at_zero(each.from()));
      auto ends = find_collectives(each.from());
      if (!ends) return tl::unexpected(ends.error());
      collectives.push_back(std::move(*ends));
    }
    // The clock of the recording that started first makes no time negative.
    std::size_t first = 0;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      if (realtimes[i] != 0 && (realtimes[first] == 0 || realtimes[i] < realtimes[first])) first = i;
    }
    origin_ = realtimes[first];
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      clock_offset clock;
      if (i == first) {
        clock.from = origin_ != 0 ? clock_offset::basis::realtime : clock_offset::basis::none;
      } else {
        clock = align(realtimes[first], collectives[first], realtimes[i], collectives[i]);
      }
      parts_[i].clock = clock;
      made_.clocks.push_back(clock);
      made_.said.push_back(describe_offset(clock, i, first));
    }
    return {};
  }

  std::string describe_offset(const clock_offset& clock, std::size_t index, std::size_t first) const {
    const std::string name = fmt::format("recording {} of {}", index + 1, parts_.size());
    if (index == first) return name + ": its clock is the common clock";
    const std::string by = (clock.offset < 0 ? "-" : "+") + format_time(std::abs(clock.offset));
    switch (clock.from) {
      case clock_offset::basis::collectives: {
        const std::string rate =
            clock.drift == 0 ? "" : fmt::format(" and {:+.2f} us a second (its clock drifts)", clock.drift * 1e6);
        return fmt::format(
            "{}: times {}{}, aligned by {} collectives, nine of ten of which end within {} (CLOCK_REALTIME alone "
            "was {} off)",
            name, by, rate, clock.matched, format_time(clock.error), format_time(std::abs(clock.corrected)));
      }
      case clock_offset::basis::realtime:
        return fmt::format(
            "{}: times {}, aligned by CLOCK_REALTIME; the remaining error is that of the machines' clocks, which the "
            "recordings do not show",
            name, by);
      case clock_offset::basis::none:
        break;
    }
    return name + ": it has no common clock, so its time 0 is assumed to be the common time 0";
  }

  void add_tables(merged_file& source, trace::file_writer& file) {
    const trace::tables& all_tables = source.from().tables();
    for (const trace::string_row& row : all_tables.strings.rows())
      source.strings_[raw(row.id)] = raw(file.intern(row.text));
    for (trace::host_row row : all_tables.hosts.rows()) {
      const auto key = std::tuple(std::string(all_tables.text(row.name)), std::string(all_tables.text(row.boot_id)));
      const auto [at, fresh] = hosts_.try_emplace(key, hosts_.size() + 1);
      source.hosts_[raw(row.id)] = at->second;
      if (fresh) file.add(source.moved(row));
    }
    for (trace::device_row row : all_tables.devices.rows()) {
      // Devices without a UUID are never merged.
      const bool known = row.uuid_high != 0 || row.uuid_low != 0;
      const auto key = known ? std::tuple(row.uuid_high, row.uuid_low, std::uint64_t{0})
                             : std::tuple(std::uint64_t{0}, std::uint64_t{0}, ++nameless_);
      const auto [at, fresh] = devices_.try_emplace(key, devices_.size() + 1);
      source.devices_[raw(row.id)] = at->second;
      if (fresh) file.add(source.moved(row));
    }
    const auto add = [&](const auto& table) {
      for (const auto& row : table.rows()) file.add(source.moved(row));
    };
    add(all_tables.processes), add(all_tables.threads), add(all_tables.contexts), add(all_tables.streams),
        add(all_tables.pools), add(all_tables.counters);
    add(all_tables.frames), add(all_tables.stacks), add(all_tables.modules), add(all_tables.sources);
  }

  /// The length of a time slice.
  [[nodiscard]] time_ns slice_length() const {
    std::uint64_t events = 0;
    time_ns begin = INT64_MAX, end = INT64_MIN;
    for (const merged_file& each : parts_) {
      for (const trace::chunk_info& chunk : each.from().chunks()) {
        if (!trace::is_event(chunk.type)) continue;
        events += chunk.rows;
        begin = std::min(begin, each.moved(chunk.min_time));
        end = std::max(end, each.moved(chunk.max_time));
      }
    }
    if (begin >= end) return 1;
    return (end - begin) / static_cast<time_ns>(std::clamp<std::uint64_t>(events / events_a_slice, 1, 1U << 20)) + 1;
  }

  /// Adds the events by time slice, so that events of the same time are close together in the file.
  result<void> add_events(trace::file_writer& file) {
    waiting_events waiting(file, slice_length());
    for (merged_file& each : parts_) each.order_chunks();
    while (true) {
      merged_file* next = nullptr;
      time_ns earliest = INT64_MAX;
      for (merged_file& each : parts_) {
        const time_ns time = each.next_time();
        if (time >= earliest) continue;
        next = &each;
        earliest = time;
      }
      if (next == nullptr) return waiting.close();
      if (auto on = task_.go_on(share_read(), next->from().path()); !on) return on;
      if (auto written = waiting.close_before(earliest); !written) return written;
      result<void> added;
      auto read = trace::visit_events(next->from(), next->take_chunk(), [&](const auto& row) {
        if (!added) return;
        added = waiting.add(next->moved(row));
        ++made_.events;
      });
      if (!read) return read;
      if (!added) return added;
    }
  }

  [[nodiscard]] double share_read() const {
    std::size_t done = 0, all = 0;
    for (const merged_file& each : parts_) {
      done += each.chunks_taken();
      all += each.event_chunks();
    }
    return static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(all, 1));
  }

  const long_task& task_;
  std::vector<merged_file> parts_;
  std::int64_t origin_ = 0;
  std::map<std::tuple<std::string, std::string>, std::uint64_t> hosts_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::uint64_t> devices_;
  std::uint64_t nameless_ = 0;
  std::uint64_t last_event_ = 0;
  merged made_;
};

}  // namespace

result<merged> merge(const std::vector<std::shared_ptr<const trace::snapshot>>& parts, const std::string& path,
                     const long_task& task) {
  if (parts.size() < 2)
    return fail(error_code::invalid_argument, "a single recording cannot be merged", path, "pass at least two");
  for (const auto& each : parts) {
    if (each->path() == path)
      return fail(error_code::invalid_argument, "is one of the recordings to be merged", path, "choose another name");
  }
  return merger(parts, task).write(path);
}

}  // namespace sluice::exports
