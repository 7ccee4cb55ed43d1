#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/format.hpp"
#include "core/figures/attribution_choice.hpp"
#include "core/index/labels.hpp"
#include "core/query/engine/figure_source.hpp"
#include "core/query/engine/section_answer.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

constexpr std::string_view no_stack = "(no stack recorded)";

memory_wanted wanted_of(const stacks_question& question) { return {question.layer, question.device, question.kind}; }

/// Adds up the memory of stacks in a range.
class use_of_range {
 public:
  explicit use_of_range(const stacks_question& question)
      : question_(question), range_(analysis::bounded(question.range)) {}

  void add(const sources& from, time_range part) {
    const bool first = part.begin == range_.begin;
    if (first) about_.choices = list_choices(from);
    if (question_.measure == stack_measure::transferred) {
      use_.join(
          analysis::copying_stacks(from.index, {question_.device, question_.direction}, range_, from.cancelled, part));
      if (first) use_.time = range_.begin;
      return;
    }
    if (first) about_.choice = choose(about_.choices, wanted_of(question_));
    if (!about_.choice) return;
    const memory_choice& chosen = about_.choices[*about_.choice];
    const analysis::block_filter filter{chosen.layer, chosen.device, chosen.kind};
    const analysis::memory_use& memory = from.index.memory();
    if (question_.measure == stack_measure::allocated) {
      use_.join(analysis::allocating_stacks(memory, filter, part, from.cancelled));
      if (first) use_.time = range_.begin;
      return;
    }
    const time_ns highest = analysis::peak_time(memory, filter, part, from.cancelled);
    analysis::stack_use held = analysis::live_stacks(memory, filter, highest, from.cancelled);
    if (first || held.bytes() > use_.bytes()) use_ = std::move(held);
  }

  [[nodiscard]] const analysis::stack_use& use() const { return use_; }
  /// The choices, and the one that is shown.
  [[nodiscard]] const stack_view& about() const { return about_; }

 private:
  const stacks_question question_;
  const time_range range_;
  analysis::stack_use use_;
  stack_view about_;
};

std::uint64_t hash_of(const symbols::frame_line& line) {
  return std::hash<std::string>()(fmt::format("{}\x1f{}\x1f{}", symbols::name_of(line), line.file, line.line));
}

/// Keeps only the lines that the tree uses, and sets each node's id.
void put_lines(const sources& from, stack_view& view) {
  std::unordered_map<std::uint32_t, std::uint32_t> places;
  std::vector<symbols::line_id> used;
  for (analysis::stack_node& node : view.tree.nodes) {
    if (node.depth == 0) continue;
    const auto [place, fresh] = places.try_emplace(node.line, static_cast<std::uint32_t>(used.size()));
    if (fresh) used.push_back(node.line);
    node.line = place->second;
  }
  view.lines = from.frames.describe(used, from.trace.tables());
  std::vector<std::uint64_t> hashes;
  for (const symbols::frame_line& line : view.lines) hashes.push_back(hash_of(line));
  view.ids.reserve(view.tree.nodes.size());
  for (const analysis::stack_node& node : view.tree.nodes) {
    // Mix with the parent's id like boost::hash_combine, for 64 bits.
    std::uint64_t id = node.depth == 0 ? 0 : view.ids[node.parent];
    if (node.depth != 0) id ^= hashes[node.line] + 0x9e3779b97f4a7c15ULL + (id << 12) + (id >> 4);
    view.ids.push_back(id);
  }
}

/// Completes `view` with its choices and tree.
result<stack_view> view_of(const stacks_question& question, const analysis::stack_use& use, const sources& from,
                           stack_view view) {
  const trace::tables& tables = from.trace.tables();
  view.recorded = !tables.stacks.rows().empty();
  view.time = use.time;
  view.kernels_known = use.kernels_known;
  for (const analysis::stack_share& share : use.shares)
    if (share.stack == trace::stack_id::none) view.without = share.figures;
  analysis::stack_lines lines;
  lines.none = from.frames.remark(no_stack);
  lines.cut = from.frames.remark(symbols::cut_remark);
  lines.of = [&](trace::frame_id frame) {
    auto found = from.frames.lines_of(frame, tables, from.lookup);
    view.symbols_pending |= found.provisional;
    return std::move(found.ids);
  };
  if (question.fold) lines.folded = [&](symbols::line_id line) { return !from.frames.is_own(line); };
  symbols::attributor who(from.frames, tables, from.lookup, &view.symbols_pending);
  if (question.grouping.grouped) {
    view.grouped_by = question.grouping.by.value_or(analysis::most_even(use, who).by);
    lines.group = [&](trace::stack_id stack) {
      return stack == trace::stack_id::none ? lines.none : who.of(stack, *view.grouped_by);
    };
  }
  view.tree = analysis::merge_stacks(use, tables, lines, question.order, question.weight, from.cancelled);
  if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
  from.provisional |= view.symbols_pending;
  put_lines(from, view);
  return view;
}

class stacks_of_parts final : public section_answer<stack_view> {
 public:
  explicit stacks_of_parts(const stacks_question& question) : question_(question), range_(question) {}

  result<void> add(const sources& from, time_range part) override {
    range_.add(from, part);
    if (from.cancelled) return fail(error_code::cancelled, "the question was withdrawn");
    return {};
  }
  result<stack_view> answer(const sources& from) override {
    return query::view_of(question_, range_.use(), from, range_.about());
  }

 private:
  const stacks_question question_;
  use_of_range range_;
};

/// The stacks of memory that is live at the requested moment.
result<stack_view> live_at(const stacks_question& question, const sources& from) {
  stack_view view;
  view.choices = list_choices(from);
  view.choice = choose(view.choices, wanted_of(question));
  if (!view.choice) return view_of(question, {}, from, std::move(view));
  const memory_choice& chosen = view.choices[*view.choice];
  const analysis::stack_use use = analysis::live_stacks(from.index.memory(), {chosen.layer, chosen.device, chosen.kind},
                                                        analysis::bounded(question.at), from.cancelled);
  return view_of(question, use, from, std::move(view));
}

}  // namespace

section_answer_for<stacks_question> gather(const stacks_question& question) {
  return std::make_unique<stacks_of_parts>(question);
}

result<stack_view> answer_to(const stacks_question& question, const sources& from) {
  if (question.measure == stack_measure::live) return live_at(question, from);
  stacks_of_parts all(question);
  if (const auto added = all.add(from, analysis::bounded(question.range)); !added) return tl::unexpected(added.error());
  return all.answer(from);
}

std::optional<result<stack_view>> answer_from_figures(const stacks_question& question, const sources& from) {
  const analysis::stored_figures& stored_figures = *from.stored->figures;
  if (question.measure == stack_measure::live || !has_figures_of(question.range, from)) return {};
  stack_view view;
  for (const analysis::memory_stacks& memory : stored_figures.memory)
    view.choices.push_back(choice_of(memory.memory, from.trace.tables()));
  if (question.measure == stack_measure::transferred) {
    if (!question.device && !question.direction)
      return view_of(question, stored_figures.all_copies, from, std::move(view));
    for (const analysis::copy_stacks& copies : stored_figures.copies)
      if (question.device == copies.device && question.direction == copies.direction)
        return view_of(question, copies.use, from, std::move(view));
    return {};
  }
  view.choice = choose(view.choices, wanted_of(question));
  if (!view.choice) return view_of(question, {}, from, std::move(view));
  const analysis::memory_stacks& chosen = stored_figures.memory[*view.choice];
  const bool peak = question.measure == stack_measure::peak;
  return view_of(question, peak ? chosen.at_peak : chosen.allocated, from, std::move(view));
}

}  // namespace sluice::query
