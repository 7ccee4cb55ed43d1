#include "core/query/results/event_details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/format.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/query/results/rows_about.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using trace::event_id;
using trace::unknown_time;

/// The description of one use of a block.
struct use_in_words {
  std::string text;
  event_id link{};
};

class tensor_words {
 public:
  tensor_words(const index::block_record& block, const sources& source)
      : block_(block), from_(source), tables_(source.trace.tables()), facts_(source.index.tensors(source.trace)) {}

  std::vector<detail> all() {
    category();
    tagged_name();
    uses();
    steps();
    return std::move(made_);
  }

 private:
  void put(std::string label, std::string value, event_id link = {}) {
    made_.push_back({std::move(label), std::move(value), link, {}});
  }

  void category() {
    const auto blocks = from_.index.memory().blocks();
    const auto position = static_cast<std::size_t>(&block_ - blocks.data());
    if (position >= facts_->categories.size()) return;
    const index::block_category block_category = facts_->categories[position];
    if (block_category.kind == index::category::none) return;
    put("Category", block_category.exact() ? std::string(index::category_name(block_category.kind))
                                           : fmt::format("{} (inferred: {})", index::category_name(block_category.kind),
                                                         index::get_words(block_category.why)));
  }

  void tagged_name() {
    const trace::string_id name = get_name_tag(block_.alloc, from_);
    if (name != trace::string_id::none) put("Called", std::string(tables_.text(name)));
  }

  void uses() {
    const index::touch_index& touches = from_.index.touches();
    const index::block_touches used = touches.of(block_);
    if (!used.first.known()) {
      if (!touches.empty() && index::is_device_resident(block_.kind) && !holds_others())
        put("Touched", "never: no launch or copy used it");
      return;
    }
    use_in_words first = get_words(used.first, true);
    put("First touch", std::move(first.text), first.link);
    if (used.last != used.first) {
      use_in_words last = get_words(used.last, false);
      put("Last touch", std::move(last.text), last.link);
    }
    put("Touched", format_uses(used));
    const trace::time_ns end = block_.freed() ? block_.died : index::recorded_range(from_.trace).end;
    if (end > used.last.time)
      put(block_.freed() ? "Held after that" : "Not used since", format_time(end - used.last.time));
  }

  static std::string format_uses(const index::block_touches& used) {
    std::string parts;
    const auto part = [&](std::uint64_t count, std::string_view noun) {
      if (count > 0) parts += (parts.empty() ? "" : ", ") + format_some(count, noun);
    };
    part(used.kernels, "kernel");
    part(used.copies, "copy");
    part(used.replays, "graph replay");
    return used.count() == 1 ? parts : fmt::format("{} times: {}", format_count(used.count()), parts);
  }

  /// True for a segment, whose uses are those of its inner blocks.
  [[nodiscard]] bool holds_others() const { return holds_blocks(block_.id, from_); }

  [[nodiscard]] use_in_words get_words(const index::touch& use, bool first) const {
    if (const auto row = find_row<trace::touch_event>(use.event, from_)) return get_words(*row);
    if (const auto copy = find_row<trace::transfer_event>(use.event, from_))
      return {
          fmt::format("copy {}, {}{}", get_name(copy->direction), enqueued(use.time), on_device(copy->time, copy->end)),
          copy->id};
    if (const auto part = find_row<trace::transfer_part_event>(use.event, from_))
      return {fmt::format("copy {} in a batch of {}, {}", get_name(part->direction), format_count(part->count),
                          enqueued(use.time)),
              part->transfer != event_id::none ? part->transfer : part->id};
    if (const auto fill = find_row<trace::memset_event>(use.event, from_))
      return {fmt::format("memset, {}{}", enqueued(use.time), on_device(fill->time, fill->end)), fill->id};
    if (const auto launch = find_row<trace::graph_launch_event>(use.event, from_)) {
      std::string node;
      for (const index::graph_use& graph : from_.index.touches().find_graphs(block_.id)) {
        if (graph.graph != launch->graph) continue;
        const auto named = find_row<trace::touch_event>(first ? graph.first : graph.last, from_);
        if (named) node = name_or(named->name, "a node");
      }
      return {fmt::format("{} of graph {}, launched at {}", node.empty() ? "a node" : node, raw(launch->graph),
                          format_moment(use.time)),
              launch->id};
    }
    return {format_moment(use.time), use.event};
  }

  [[nodiscard]] use_in_words get_words(const trace::touch_event& row) const {
    const std::string name = name_or(row.name, "a launch");
    const auto kernel =
        find_soon_after<trace::kernel_event>(bounded(row.time), from_, [&](const trace::kernel_event& k) {
          return k.process == row.process &&
                 (row.work != event_id::none ? k.id == row.work
                                             : k.correlation == row.correlation && row.correlation != 0);
        });
    if (!kernel) return {fmt::format("{}, {}", name, enqueued(row.time)), row.id};
    return {fmt::format("{}, {}{}", name, enqueued(row.time), on_device(kernel->time, kernel->end)), kernel->id};
  }

  [[nodiscard]] static std::string enqueued(trace::time_ns time) {
    return fmt::format("enqueued at {}", format_moment(bounded(time)));
  }
  [[nodiscard]] static std::string on_device(trace::time_ns begin, trace::time_ns end) {
    const trace::time_ns start = bounded(begin);
    if (end == unknown_time) return fmt::format(", on the device from {}", format_moment(start));
    return fmt::format(", on the device at {} for {}", format_moment(start),
                       format_time(std::max<trace::time_ns>(0, bounded(end) - start)));
  }
  [[nodiscard]] std::string name_or(trace::string_id id, std::string_view otherwise) const {
    const std::string_view name = tables_.text(id);
    return shortened(name.empty() ? std::string(otherwise) : readable_name(name), 120);
  }

  void steps() {
    const index::step_list* list = facts_->get_steps(block_.process);
    if (list == nullptr) return;
    const auto where = [&](trace::time_ns time) -> std::string {
      const index::step* in = list->at(time);
      if (in != nullptr) return fmt::format("step {}", in->number);
      return time < list->steps.front().span.begin ? "before the first step" : "between steps";
    };
    const std::string born = where(block_.born);
    std::string text = born;
    if (!block_.freed()) {
      text += block_.freed_after() ? ", freed after the recording's end" : ", never freed";
    } else if (const std::string died = where(block_.died); died != born) {
      text += " to " + died;
    }
    const std::size_t crossed =
        list->begun_between(block_.born, block_.freed() ? block_.died : index::recorded_range(from_.trace).end);
    if (crossed > 1) text += fmt::format(", live when {} started", format_some(crossed, "step"));
    if (list->inferred()) text += " (inferred)";
    put("Steps", std::move(text));
  }

  const index::block_record& block_;
  const sources& from_;
  const trace::tables& tables_;
  std::shared_ptr<const index::tensor_facts> facts_;
  std::vector<detail> made_;
};

}  // namespace

void put_tensor_details(const index::block_record& block, const sources& source, event_details& into) {
  std::vector<detail> first = tensor_words(block, source).all();
  if (!into.stack.empty()) {
    std::vector<const symbols::frame_line*> lines;
    for (const symbols::frame_line& each : into.stack) lines.push_back(&each);
    const symbols::frame_line& line = into.stack[std::min(symbols::line_to_name(lines), lines.size() - 1)];
    first.insert(first.begin() + (first.empty() ? 0 : 1),
                 {"Allocated at", symbols::format_place_and_name(line), {}, {}});
  }
  into.details.insert(into.details.begin(), std::make_move_iterator(first.begin()),
                      std::make_move_iterator(first.end()));
}

void put_touched_blocks(const trace::kernel_event& kernel, const sources& source, event_details& into) {
  constexpr std::size_t most = 24;
  if (source.index.touches().empty() || kernel.correlation == 0) return;
  constexpr trace::time_ns longest_queue = 1'000'000'000;
  const trace::time_ns begin = bounded(kernel.time);
  const bool known = kernel.enqueued != unknown_time;
  const trace::time_ns first = known ? bounded(kernel.enqueued) - 1'000'000 : begin - longest_queue;
  std::set<trace::block_id> blocks;
  static_cast<void>(source.trace.for_each<trace::touch_event>(
      [&](const trace::touch_event& row) {
        if (row.correlation == kernel.correlation && row.process == kernel.process &&
            row.graph == trace::graph_id::none && blocks.size() < most)
          blocks.insert(row.block);
      },
      first, begin));
  for (const trace::block_id id : blocks) {
    const auto block = find_block(id, source);
    if (!block) continue;
    into.details.push_back(
        {"Touches", fmt::format("{} at {}", format_bytes(block->bytes), format_address(block->address)), {}, id});
  }
}

}  // namespace sluice::query
