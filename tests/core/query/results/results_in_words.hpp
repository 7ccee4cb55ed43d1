#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string>

#include "core/query/results/query_operator.hpp"

/// Results as text, for comparison.
namespace sluice::query {

/// Has only 8 digits: trees of different shapes add products in a different order and so round differently.
inline std::string number(double value) { return fmt::format("{:.8g}", value + 0.0); }

inline std::string in_words(const block_table& table) {
  std::string text = fmt::format("{} blocks, {} bytes\n", table.count, table.total_bytes);
  for (const block_row& r : table.rows)
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} used {} {} {}\n", raw(r.block), r.address, r.bytes,
                        static_cast<int>(r.layer), static_cast<int>(r.kind), raw(r.device), raw(r.stream), raw(r.pool),
                        raw(r.name), raw(r.alloc), r.born, r.died, static_cast<int>(r.category.kind),
                        static_cast<int>(r.category.why), r.uses, r.first_use, r.last_use);
  for (const std::int64_t step : table.steps) text += fmt::format("step {}\n", step);
  return text;
}

inline std::string in_words(const slice_list& list) {
  std::string text;
  for (const slice& s : list.slices)
    text += fmt::format("{}..{} depth {} kind {} count {} busy {} name {} event {} bytes {} step {}\n", s.begin, s.end,
                        s.depth, static_cast<int>(s.kind), s.count, number(static_cast<double>(s.busy)), raw(s.name),
                        raw(s.event), s.bytes, s.step);
  return text;
}

inline std::string in_words(const series& subject) {
  std::string text = "up to " + number(subject.maximum) + "\n";
  for (const band& b : subject.bands) {
    text += fmt::format("{} {} {}:", b.label, b.stacked, static_cast<int>(b.category));
    for (const bin& each : b.bins)
      text += fmt::format(" {}/{}/{}", number(each.minimum), number(each.maximum), number(each.mean));
    text += "\n";
  }
  for (const limit_line& l : subject.limits) text += l.label + "\n";
  return text;
}

inline std::string in_words(const event_details& details) {
  std::string text = fmt::format("{} {} {}..{} on {}\n", raw(details.event), details.title, details.span.begin,
                                 details.span.end, details.track);
  for (const detail& d : details.details)
    text += fmt::format("{}: {} -> {} {}\n", d.label, d.value, raw(d.link), raw(d.block));
  for (const symbols::frame_line& l : details.stack) text += l.function + " " + l.file + "\n";
  return text;
}

inline std::string in_words(const stack_view& view) {
  std::string text = fmt::format("at {}, kernels {}, choice {}\n", view.time, view.kernels_known,
                                 view.choice ? static_cast<int>(*view.choice) : -1);
  for (const memory_choice& c : view.choices) text += fmt::format("{} {} {}\n", c.label, c.peak, c.has_stacks);
  for (const metrics::stack_node& n : view.tree.nodes)
    text += fmt::format("{} {}: {} {} {} {} own {} {}\n", n.depth, n.depth == 0 ? "" : view.lines[n.line].function,
                        n.all.bytes, n.all.count, n.all.busy, n.all.alone, n.own.bytes, n.own.count);
  return text;
}

inline std::string in_words(const metrics::range_statistics& statistics) {
  std::string text;
  for (const auto& m : statistics.memory)
    text += fmt::format("memory {} {} {}: {} {} {} {} {} {} {} {} {} {}\n", raw(m.device), static_cast<int>(m.layer),
                        static_cast<int>(m.kind), m.at_begin, m.at_end, m.minimum, m.maximum, m.maximum_time,
                        number(m.mean), m.allocations, m.allocated_bytes, m.frees, m.freed_bytes);
  for (const auto& u : statistics.untracked)
    text += fmt::format("untracked {}: {} {} {} {} {} {} {}\n", raw(u.device), u.samples, u.device_bytes, u.maximum,
                        u.at_end, number(u.mean), u.recorder, u.used_maximum);
  for (const auto& p : statistics.pools)
    text += fmt::format("pool {}: {} {} {} {} {} {} {} {}\n", raw(p.pool), p.states, p.reserved_maximum,
                        p.reserved_maximum_time, p.reserved_at_end, p.used_maximum, p.used_maximum_time, p.used_at_end,
                        number(p.used_share));
  for (const auto& t : statistics.transfers) {
    text +=
        fmt::format("transfers {} {}: {} {} {} {} {} {} {} {} {} {}\n", raw(t.device), static_cast<int>(t.direction),
                    t.count, t.migrations, number(t.bytes), t.busy, t.total, number(t.mean_bandwidth),
                    number(t.maximum_bandwidth), number(t.fastest_bandwidth), raw(t.fastest), number(t.link_peak));
    for (const auto& p : t.parts)
      text += fmt::format("  {}: {} {} {} {}\n", static_cast<int>(p.host_side), p.count, number(p.bytes), p.busy,
                          number(p.fastest_bandwidth));
  }
  for (const auto& d : statistics.devices)
    text += fmt::format("device {}: {} {} {} {} {} {} {} {} {} {} {}\n", raw(d.device), d.kernels, d.kernel_total,
                        d.kernel_busy, d.copy_busy, d.copy_only, d.overlap, d.busy, d.first, d.last, d.memsets,
                        d.memset_busy);
  for (const auto* names : {&statistics.kernels, &statistics.calls, &statistics.ranges})
    for (const auto& n : *names)
      text += fmt::format("name {}: {} {} {} {}\n", raw(n.name), n.count, n.total, n.longest, raw(n.longest_event));
  for (const auto& t : statistics.threads)
    text += fmt::format("thread {}: {} {} {} {} {} {}\n", raw(t.thread), t.calls, t.call_busy, t.wait_busy,
                        t.file_operations, number(t.file_bytes), t.file_busy);
  return text + fmt::format("{} {} {} {}\n", statistics.kernel_names, statistics.failed_allocations,
                            statistics.lost_events, statistics.lost_memory_events);
}

inline std::string in_words(const memory_map& map) {
  std::string text = fmt::format("{} segments at {}\n", map.count, map.time);
  for (const address_group& g : map.groups)
    text +=
        fmt::format("group {} {} layer {} lone {}: {} of {} used {} hole {} blocks {}\n", raw(g.device), raw(g.process),
                    static_cast<int>(g.layer), g.lone, g.segments, g.bytes, g.used, g.largest_hole, g.blocks);
  for (const address_segment& s : map.segments) {
    text += fmt::format("{} on {} layer {} kind {}: {} {} used {} hole {} blocks {}\n", raw(s.block), raw(s.device),
                        static_cast<int>(s.layer), static_cast<int>(s.kind), s.address, s.bytes, s.used, s.largest_hole,
                        s.blocks);
    for (const address_item& i : s.items)
      text +=
          fmt::format("  {} {} {} {} {} {} {} {} {} {}\n", i.address, i.bytes, i.used, i.count, raw(i.block),
                      raw(i.stack), raw(i.name), static_cast<int>(i.category.kind), static_cast<int>(i.layer), i.born);
  }
  return text;
}

inline std::string in_words(const error& subject) { return subject.to_string(); }

template <class Query>
std::string ask(const Query& query, const index::event_store& store, const trace::snapshot& now) {
  const std::atomic<bool> never{false};
  symbols::frame_cache frames(symbols::options_for(now));
  bool provisional = false;
  auto found = result_to(
      query, sources{.index = store, .trace = now, .cancelled = never, .frames = frames, .provisional = provisional});
  return found ? in_words(*found) : in_words(found.error());
}

}  // namespace sluice::query
