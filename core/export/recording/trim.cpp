#include "core/export/recording/trim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/id_set.hpp"
#include "core/export/recording/kept_tables.hpp"
#include "core/index/event_store.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/trace/file/visit.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::exports {
namespace {

using trace::raw;

/// The state at the start of the range, from the events before it.
struct past {
  std::map<std::uint64_t, trace::live_block_event> live;  ///< Keyed by block.
  bool exact = true;
  std::map<std::uint64_t, trace::counter_event> counters;
  std::map<std::uint64_t, trace::pool_event> pools;
  std::map<std::uint64_t, trace::device_memory_event> devices;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, trace::marker_event>
      marks;  ///< Keyed by process, thread and name.
  std::vector<trace::message_event> messages;
};

class trimmer {
 public:
  trimmer(const trace::snapshot& recording, const trim_options& options)
      : from_(recording),
        options_(options),
        begin_(bounded(options.range.begin)),
        end_(bounded(options.range.end)),
        before_(std::clamp(index::recorded_range(recording).begin, begin_ - 1, std::max(begin_, end_) - 1)),
        tables_(recording.tables()) {}

  result<trimmed> write(const std::string& path) {
    if (auto done = look_at_past(); !done) return tl::unexpected(done.error());
    if (auto done = look_at_range(); !done) return tl::unexpected(done.error());
    if (auto done = look_for_calls(); !done) return tl::unexpected(done.error());
    if (auto done = look_at_what_is_said(); !done) return tl::unexpected(done.error());
    if (auto done = look_at_future(); !done) return tl::unexpected(done.error());
    tables_.close();
    trace::writer_options options;
    options.simulated = from_.simulated();
    options.realtime_origin = from_.realtime_origin();
    options.recorded_here = from_.recorded_here();
    auto file = trace::file_writer::create_unpublished(path, options);
    if (!file) return tl::unexpected(file.error());
    redactor redact(options_.redact);
    tables_.write(*file, redact);
    write_past(*file);
    if (auto done = write_range(*file); !done) return tl::unexpected(done.error());
    write_ends(*file);
    if (auto closed = summary::finalize(*file, {.cancel = options_.task.cancelled}); !closed)
      return tl::unexpected(closed.error());
    if (auto on = options_.task.go_on(1, path); !on) return tl::unexpected(on.error());
    if (auto published = file->publish(); !published) return tl::unexpected(published.error());
    made_.bytes = file->bytes_written();
    return made_;
  }

 private:
  template <class Row>
  [[nodiscard]] bool overlaps(const Row& row) const {
    if (row.time >= begin_) return row.time < end_;
    if constexpr (requires { row.end; }) return row.end != trace::unknown_time && row.end > begin_;
    if constexpr (requires { row.length; }) return trace::detail::get_end(row) > begin_;
    return false;
  }

  /// True if the row is written unchanged, because it is in the range or something in the range needs it.
  template <class Row>
  [[nodiscard]] bool is_kept(const Row& row) const {
    if (overlaps(row)) return true;
    if constexpr (std::is_same_v<Row, trace::api_call_event>) return calls_.contains(raw(row.id));
    if constexpr (std::is_same_v<Row, trace::event_record_event>) return calls_.contains(raw(row.id));
    return false;
  }

  /// Reads the chunks of one type that start before `until` and calls `visit` for each row.
  template <class Row, class Visit>
  result<void> each(Visit&& visit, time_ns begin, time_ns until) {
    if (auto on = options_.task.go_on(0, from_.path()); !on) return on;
    return from_.for_each<Row>(visit, begin, until);
  }

  template <class Row>
  void keep(const Row& row) {
    kept_.insert(raw(row.id));
    tables_.keep(row);
    last_event_ = std::max(last_event_, raw(row.id));
  }

  result<void> look_at_past() {
    const time_ns last = begin_ - 1;
    id_set freed;
    id_set born;
    result<void> done = each<trace::free_event>(
        [&](const auto& row) {
          if (row.time < begin_) freed.insert(raw(row.block));
        },
        INT64_MIN, last);
    if (!done) return done;
    const auto add = [&](const trace::alloc_event& row, trace::event_id alloc, time_ns when) {
      if (when >= begin_ || row.block == trace::block_id::none || freed.contains(raw(row.block)) ||
          !born.insert(raw(row.block)))
        return;
      trace::live_block_event live;
      static_cast<trace::alloc_event&>(live) = row;
      live.born = when;
      live.alloc = alloc;
      if (alloc != trace::event_id::none) kept_.insert(raw(alloc));
      past_.live.emplace(raw(row.block), live);
    };
    done = each<trace::alloc_event>([&](const auto& row) { add(row, row.id, row.time); }, INT64_MIN, last);
    if (!done) return done;
    // Blocks whose allocation was lost or is older than the recording are in a checkpoint.
    done = each<trace::live_block_event>([&](const auto& row) { add(row, row.alloc, row.born); }, INT64_MIN, INT64_MAX);
    if (!done) return done;
    done = each<trace::loss_event>(
        [&](const auto& row) {
          if (row.memory_events > 0 && row.time < begin_) past_.exact = false;
        },
        INT64_MIN, last);
    if (!done) return done;
    return look_at_states(last);
  }

  result<void> look_at_states(time_ns last) {
    const auto latest = [&](auto& into, std::uint64_t key, const auto& row) {
      if (row.time >= begin_) return;
      const auto [at, fresh] = into.try_emplace(key, row);
      if (!fresh && std::tie(at->second.time, at->second.id) <= std::tie(row.time, row.id)) at->second = row;
    };
    result<void> done = each<trace::counter_event>(
        [&](const auto& row) { latest(past_.counters, raw(row.counter), row); }, INT64_MIN, last);
    if (done)
      done =
          each<trace::pool_event>([&](const auto& row) { latest(past_.pools, raw(row.pool), row); }, INT64_MIN, last);
    if (done)
      done = each<trace::device_memory_event>([&](const auto& row) { latest(past_.devices, raw(row.device), row); },
                                              INT64_MIN, last);
    if (!done) return done;
    // The range may start within a step. Find the mark that starts this step.
    done = each<trace::marker_event>(
        [&](const auto& row) {
          if (row.time >= begin_ || row.step < 0) return;
          const auto key = std::tuple(raw(row.process), raw(row.thread), raw(row.name));
          const auto [at, fresh] = past_.marks.try_emplace(key, row);
          if (!fresh && at->second.time <= row.time) at->second = row;
        },
        INT64_MIN, last);
    if (!done) return done;
    // Find the messages that are needed to understand the recording.
    done = each<trace::message_event>(
        [&](const auto& row) {
          if (row.time < begin_ && row.severity != trace::severity::info && past_.messages.size() < max_messages)
            past_.messages.push_back(row);
        },
        INT64_MIN, last);
    return done;
  }

  result<void> look_at_range() {
    // Use the last watermark of the whole recording, because it tells up to which time device times are complete.
    const auto read = each<trace::watermark_event>(
        [&](const auto& row) {
          const auto [at, fresh] = watermarks_.try_emplace(raw(row.process), row);
          if (!fresh && at->second.complete_until < row.complete_until) at->second = row;
        },
        INT64_MIN, INT64_MAX);
    if (!read) return read;
    for (auto& [process, row] : watermarks_) tables_.keep(row);
    for (auto& [block, row] : past_.live) keep(row);
    for (auto& [id, row] : past_.counters) keep(row);
    for (auto& [id, row] : past_.pools) keep(row);
    for (auto& [id, row] : past_.devices) keep(row);
    for (auto& [id, row] : past_.marks) keep(row);
    for (auto& row : past_.messages) keep(row);
    return visit_range([&](const auto& row) { note(row); }, 0, 0.5);
  }

  template <class Row>
  void note(const Row& row) {
    if (!overlaps(row)) return;
    keep(row);
    // The call that requested work in the range may have ended before it.
    if constexpr (requires { row.call; }) {
      if (row.call != trace::event_id::none) {
        asked_.insert(raw(row.call));
        if constexpr (requires { row.enqueued; }) {
          first_asked_ = std::min(first_asked_, bounded(row.enqueued == trace::unknown_time ? row.time : row.enqueued));
        } else {
          first_asked_ = std::min(first_asked_, bounded(row.time));
        }
      }
    }
    if constexpr (std::is_same_v<Row, trace::event_wait_event>) asked_.insert(raw(row.record));
    if constexpr (std::is_same_v<Row, trace::graph_launch_event>) graphs_.insert(raw(row.graph));
  }

  result<void> look_for_calls() {
    // Memset rows do not have the time of their request. Assume that it is at most a second earlier.
    constexpr time_ns longest_before_memset = 1'000'000'000;
    const time_ns begin = std::min(first_asked_, begin_) - longest_before_memset;
    const auto add = [&](const auto& row) {
      if (overlaps(row) || row.time >= begin_ || !asked_.contains(raw(row.id))) return;
      calls_.insert(raw(row.id));
      keep(row);
    };
    result<void> done = each<trace::api_call_event>(add, begin, begin_);
    if (done) done = each<trace::event_record_event>(add, begin, begin_);
    if (!done) return done;
    done = each<trace::graph_definition_event>(
        [&](const auto& row) {
          if (row.time < begin_ && graphs_.contains(raw(row.graph))) {
            keep(row);
            definitions_.push_back(row);
          }
        },
        INT64_MIN, begin_);
    if (!done) return done;
    return each<trace::touch_event>(
        [&](const auto& row) {
          if (row.graph == trace::graph_id::none || row.time >= begin_ || !graphs_.contains(raw(row.graph))) return;
          keep(row);
          nodes_.push_back(row);
        },
        graphs_seen_from(), begin_);
  }

  /// Returns the time from which to search for touches by graph nodes. Without definitions of graphs, no touches from
  /// before the range are needed.
  [[nodiscard]] time_ns graphs_seen_from() const {
    if (definitions_.empty()) return begin_;
    return INT64_MIN;
  }

  /// Reads the attributes and links of kept events, whatever their times.
  result<void> look_at_what_is_said() {
    const auto done = each<trace::attribute_event>(
        [&](const auto& row) {
          if (overlaps(row) || !kept_.contains(raw(row.target))) return;
          attributes_.push_back(row);
          keep(row);
        },
        INT64_MIN, INT64_MAX);
    if (!done) return done;
    return each<trace::link_event>(
        [&](const auto& row) {
          if (overlaps(row) || !kept_.contains(raw(row.from)) || !kept_.contains(raw(row.to))) return;
          links_.push_back(row);
          keep(row);
        },
        INT64_MIN, INT64_MAX);
  }

  result<void> look_at_future() {
    return each<trace::free_event>(
        [&](const auto& row) {
          if (row.time >= end_) freed_after_.insert(raw(row.block));
        },
        end_, INT64_MAX);
  }

  template <class Visit>
  result<void> visit_range(Visit&& visit, double from_share, double to_share) {
    const auto chunks = from_.chunks();
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (!trace::is_event(chunks[i].type) || chunks[i].max_time < earliest_kept() || chunks[i].min_time >= end_)
        continue;
      if (auto done = trace::visit_events(from_, i, visit); !done) return done;
      const double share = static_cast<double>(i + 1) / static_cast<double>(chunks.size());
      if (auto on = options_.task.go_on(from_share + share * (to_share - from_share), from_.path()); !on) return on;
    }
    return {};
  }
  /// Returns a time at or before all calls that are kept because of their work in the range.
  [[nodiscard]] time_ns earliest_kept() const { return std::min(first_asked_, begin_) - 1'000'000'000; }

  /// Moves a row to the time before the range, and marks that it was not observed there.
  template <class Row>
  Row brought_forward(Row row) {
    row.time = before_;
    row.source = trace::provenance::inferred;
    return row;
  }

  template <class Row>
  void put(trace::file_writer& file, const Row& row) {
    if constexpr (std::is_base_of_v<trace::alloc_event, Row>) {
      Row marked = row;
      if (freed_after_.contains(raw(row.block))) marked.flags |= trace::freed_after;
      file.add(marked);
    } else {
      file.add(row);
    }
    ++made_.events;
  }

  /// Writes attributes from before the range at its start, and those from after it at its end.
  template <class Row>
  void put_said(trace::file_writer& file, const std::vector<Row>& rows) {
    for (Row row : rows) {
      row.time = std::clamp(row.time, before_, std::max(before_, end_ - 1));
      put(file, row);
    }
  }

  void write_past(trace::file_writer& file) {
    const std::uint64_t last = last_event_;
    trace::checkpoint_event checkpoint;
    checkpoint.id = trace::event_id{last + 1};
    checkpoint.time = before_;
    checkpoint.blocks = past_.live.size();
    checkpoint.exact = past_.exact;
    put(file, checkpoint);
    std::uint64_t id = last + 1;
    for (auto& [block, row] : past_.live) {
      row.id = trace::event_id{++id};
      row.time = before_;
      row.checkpoint = checkpoint.id;
      put(file, row);
    }
    made_.live = past_.live.size();
    for (const auto& [key, row] : past_.counters) put(file, brought_forward(row));
    for (const auto& [key, row] : past_.pools) put(file, brought_forward(row));
    for (const auto& [key, row] : past_.devices) put(file, brought_forward(row));
    for (const auto& [key, row] : past_.marks) put(file, row);
    for (const auto& row : past_.messages) put(file, brought_forward(row));
    for (const auto& row : definitions_) put(file, brought_forward(row));
    for (const auto& row : nodes_) put(file, brought_forward(row));
    put_said(file, attributes_);
    put_said(file, links_);
    trace::message_event message;
    message.id = trace::event_id{++id};
    message.time = before_;
    message.text = tables_.free_string();
    const std::string whole = format_moment(from_.end());
    file.add(trace::string_row{message.text,
                               fmt::format("trimmed to {} to {} of a recording that ends at {}", format_moment(begin_),
                                           format_moment(std::min(end_, from_.end())), whole)});
    put(file, message);
  }

  result<void> write_range(trace::file_writer& file) {
    trace::row_type before{};
    // Where the types of rows start over, the recorder had written all pending rows. This does the same, so that late
    // rows are as late as before.
    return visit_range(
        [&](const auto& row) {
          if (!is_kept(row)) return;
          const trace::row_type type = trace::type_of_row<std::remove_cvref_t<decltype(row)>>;
          if (type < before) static_cast<void>(file.flush());
          before = type;
          put(file, row);
        },
        0.5, 1);
  }

  /// Writes watermarks. Device times in the range are as complete as those of the whole recording.
  void write_ends(trace::file_writer& file) {
    std::uint64_t id = last_event_ + past_.live.size() + 8;
    for (auto [process, row] : watermarks_) {
      if (row.complete_until < begin_) continue;
      row.id = trace::event_id{++id};
      row.complete_until = std::min(row.complete_until, end_);
      row.time = std::min({end_ - 1, row.complete_until, from_.end()});
      put(file, row);
    }
  }

  static constexpr std::size_t max_messages = 1'000;

  const trace::snapshot& from_;
  const trim_options& options_;
  time_ns begin_, end_;
  /// The time for rows from before the range. It is just before the range, but not before the start of the recording.
  time_ns before_;
  kept_tables tables_;
  past past_;
  std::map<std::uint64_t, trace::watermark_event> watermarks_;
  id_set asked_, calls_, graphs_;
  id_set kept_;         ///< The events that other rows may refer to.
  id_set freed_after_;  ///< The ids of blocks that are freed after the range.
  time_ns first_asked_ = INT64_MAX;
  std::vector<trace::graph_definition_event> definitions_;
  std::vector<trace::touch_event> nodes_;
  std::vector<trace::attribute_event> attributes_;
  std::vector<trace::link_event> links_;
  std::uint64_t last_event_ = 0;  ///< The largest id of the kept events. New events get larger ids.
  trimmed made_;
};

}  // namespace

result<trimmed> trim(const trace::snapshot& recording, const trim_options& options, const std::string& path) {
  trim_options within = options;
  within.range = bounded(options.range);
  if (within.range.length() <= 0) return fail(error_code::invalid_argument, "the range is empty", recording.path());
  std::string same = path;
  if (same == recording.path())
    return fail(error_code::invalid_argument, "cannot be trimmed into itself", path, "choose another name");
  return trimmer(recording, within).write(path);
}

}  // namespace sluice::exports
