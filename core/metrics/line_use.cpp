#include "core/metrics/line_use.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/metrics/base/stack_tree.hpp"
#include "core/trace/model/inferred_frames.hpp"

namespace sluice::metrics {
namespace {

/// Groups stacks by the line to which they are attributed.
class line_uses_builder {
 public:
  line_uses_builder(const trace::tables& tables, const naming& names)
      : tables_(tables),
        names_(tables, names),
        by_(names.by),
        who_(names.book, tables, names.lookup, names.provisional) {}

  [[nodiscard]] attribution_choice choice_for(const stack_use& use) { return most_even(use, who_); }
  /// Returns the grouping of memory. This is the requested grouping or, if none was requested, the best grouping for
  /// the main peak.
  [[nodiscard]] symbols::attribution grouping(const attribution_choice& of_main_peak) const {
    return by_.value_or(of_main_peak.by);
  }
  attributed_use attribute(const stack_use& use, const memory_peak& peak, symbols::attribution by);

  template <class Heavier>
  line_uses gather(const stack_use& use, Heavier&& heavier, symbols::attribution by = symbols::attribution::line) {
    line_uses uses;
    std::map<symbols::line_id, group> groups;
    for (const stack_share& share : use.shares) {
      uses.total.add(share.metrics);
      if (!names_.knows(share.stack)) {
        uses.without.add(share.metrics);
        continue;
      }
      group& subject = groups[who_.of(share.stack, by)];
      subject.metrics.add(share.metrics);
      if (is_inferred(share.stack)) subject.inferred.add(share.metrics);
      if (subject.stack == trace::stack_id::none || heavier(share.metrics, subject.heaviest)) {
        subject.stack = share.stack;
        subject.heaviest = share.metrics;
      }
    }
    std::vector<std::pair<symbols::line_id, group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return heavier(a.second.metrics, b.second.metrics); });
    for (const auto& [line, target] : sorted) {
      if (uses.lines.size() == report::line_limit) {
        uses.other.add(target.metrics);
        continue;
      }
      uses.lines.push_back(
          {names_.describe(line), target.metrics, target.inferred, target.heaviest, names_.stack(target.stack)});
    }
    return uses;
  }

 private:
  struct group {
    stack_metrics metrics;
    stack_metrics inferred;
    trace::stack_id stack{};
    stack_metrics heaviest;
  };

  [[nodiscard]] bool is_inferred(trace::stack_id stack) const {
    std::size_t left = stack_tree::max_depth;  // Parents in a damaged file may form a cycle.
    for (; stack != trace::stack_id::none && left > 0; --left) {
      const trace::stack_row* row = tables_.stacks.find(stack);
      if (row == nullptr) return false;
      const trace::frame_row* frame = tables_.frames.find(row->frame);
      if (frame != nullptr && tables_.text(frame->function).starts_with(trace::inferred_mark)) return true;
      stack = row->parent;
    }
    return false;
  }

  const trace::tables& tables_;
  line_namer names_;
  const std::optional<symbols::attribution> by_;
  symbols::attributor who_;
};

bool more_bytes(const stack_metrics& a, const stack_metrics& b) {
  return std::pair(a.bytes, a.count) > std::pair(b.bytes, b.count);
}

attributed_use line_uses_builder::attribute(const stack_use& use, const memory_peak& peak, symbols::attribution by) {
  attributed_use output;
  output.choice = peak.asked_by.choice;
  output.chosen_by_reader = by_.has_value();
  output.by = by;
  output.groups = output.by == symbols::attribution::line ? peak.lines : gather(use, more_bytes, output.by);
  // If a framework owns the memory, its blocks have the framework's name, and their stacks have no native frames.
  const bool framework = peak.layer == trace::layer::framework && peak.holders.size() == 1;
  const std::string_view name = framework ? tables_.text(peak.holders.front().name) : std::string_view{};
  if (output.by == symbols::attribution::owner && !name.empty()) {
    const symbols::frame_line unknown = names_.describe(who_.unknown(output.by));
    for (line_use& use_of : output.groups.lines)
      if (use_of.line == unknown) use_of.line.function = name;
  }
  return output;
}

bool more_waiting(const stack_metrics& a, const stack_metrics& b) {
  return std::tuple(a.alone, a.busy, a.bytes) > std::tuple(b.alone, b.busy, b.bytes);
}

}  // namespace

void put_lines(const report_metrics& metrics, const trace::tables& tables, const naming& names, report& into) {
  line_uses_builder lines(tables, names);
  for (std::size_t i = 0; i < metrics.held.size(); ++i) {
    memory_peak& peak = into.peaks[i];
    peak.lines = lines.gather(metrics.held[i], more_bytes);
    peak.asked_by.choice = lines.choice_for(metrics.held[i]);
  }
  const memory_peak* main = main_peak(into);
  into.grouping = lines.grouping(main == nullptr ? attribution_choice{} : main->asked_by.choice);
  for (std::size_t i = 0; i < metrics.held.size(); ++i)
    into.peaks[i].asked_by = lines.attribute(metrics.held[i], into.peaks[i], into.grouping);
  for (std::size_t i = 0; i < metrics.copied.size(); ++i) {
    const transfer_statistics& statistics = metrics.whole.transfers[i];
    const stack_use& use = metrics.copied[i];
    copying_lines copying{statistics.device, statistics.direction, use.kernels_known, lines.gather(use, more_waiting)};
    if (!copying.uses.empty()) into.copying.push_back(std::move(copying));
  }
}

}  // namespace sluice::metrics
