#include "core/figures/line_use.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/figures/stack_tree.hpp"
#include "core/trace/model/inferred_frames.hpp"

namespace sluice::analysis {
namespace {

/// Groups stacks by the line that stands for them.
class line_uses_builder {
 public:
  line_uses_builder(const trace::tables& tables, const naming& names) : tables_(tables), names_(tables, names) {}

  template <class Heavier>
  line_uses gather(const stack_use& use, Heavier&& heavier) {
    line_uses made;
    std::map<symbols::line_id, group> groups;
    for (const stack_share& share : use.shares) {
      made.total.add(share.figures);
      if (!names_.knows(share.stack)) {
        made.without.add(share.figures);
        continue;
      }
      group& of = groups[names_.line_of(share.stack)];
      of.figures.add(share.figures);
      if (is_inferred(share.stack)) of.inferred.add(share.figures);
      if (of.stack == trace::stack_id::none || heavier(share.figures, of.heaviest)) {
        of.stack = share.stack;
        of.heaviest = share.figures;
      }
    }
    std::vector<std::pair<symbols::line_id, group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return heavier(a.second.figures, b.second.figures); });
    for (const auto& [line, of] : sorted) {
      if (made.lines.size() == report::line_limit) {
        made.other.add(of.figures);
        continue;
      }
      made.lines.push_back({names_.describe(line), of.figures, of.inferred, of.heaviest, names_.stack(of.stack)});
    }
    return made;
  }

 private:
  struct group {
    stack_figures figures;
    stack_figures inferred;
    trace::stack_id stack{};
    stack_figures heaviest;
  };

  [[nodiscard]] bool is_inferred(trace::stack_id stack) const {
    std::size_t left = stack_tree::most_depth;  // Parents in a damaged file may form a cycle.
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
};

bool more_bytes(const stack_figures& a, const stack_figures& b) {
  return std::pair(a.bytes, a.count) > std::pair(b.bytes, b.count);
}
bool more_waiting(const stack_figures& a, const stack_figures& b) {
  return std::tuple(a.alone, a.busy, a.bytes) > std::tuple(b.alone, b.busy, b.bytes);
}

}  // namespace

void put_lines(const report_figures& figures, const trace::tables& tables, const naming& names, report& into) {
  line_uses_builder lines(tables, names);
  for (std::size_t i = 0; i < figures.held.size(); ++i) into.peaks[i].lines = lines.gather(figures.held[i], more_bytes);
  for (std::size_t i = 0; i < figures.copied.size(); ++i) {
    const transfer_statistics& of = figures.whole.transfers[i];
    const stack_use& use = figures.copied[i];
    copying_lines copying{of.device, of.direction, use.kernels_known, lines.gather(use, more_waiting)};
    if (!copying.uses.empty()) into.copying.push_back(std::move(copying));
  }
}

}  // namespace sluice::analysis
