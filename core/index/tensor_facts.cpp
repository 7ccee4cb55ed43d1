#include "core/index/tensor_facts.hpp"

#include <algorithm>
#include <optional>

#include "core/index/event_store.hpp"
#include "core/index/recording_facts.hpp"
#include "core/index/tensors/training_steps.hpp"

namespace sluice::index {
namespace {

/// Returns the blocks from which steps are inferred, in order of allocation.
std::vector<const block_record*> blocks_for_pattern(const memory_use& memory, trace::process_id process) {
  for (const trace::layer layer : pattern_layers) {
    std::vector<const block_record*> found;
    for (const block_record& block : memory.blocks())
      if (block.allocated && block.process == process && block.layer == layer && !block.born_before())
        found.push_back(&block);
    if (found.size() < min_pattern_blocks) continue;
    std::stable_sort(found.begin(), found.end(),
                     [](const block_record* a, const block_record* b) { return a->born < b->born; });
    return found;
  }
  return {};
}

std::shared_ptr<const step_facts> find_steps(const event_store& store, const trace::snapshot& trace,
                                             const process_clues& clues) {
  auto facts = std::make_shared<step_facts>();
  step_facts& whole = *facts;
  const time_ns end = recorded_range(trace).end;
  const auto take = [&](trace::process_id process, step_list found) {
    if (!found.steps.empty()) whole.add(process, std::move(found));
  };
  for (const trace::process_id process : store.step_marks().processes())
    take(process, store.step_marks().of(process, end));
  for (const trace::process_row& row : trace.tables().processes.rows())
    if (!whole.sources().contains(row.id)) {
      const auto blocks = blocks_for_pattern(store.memory(), row.id);
      const auto launches = store.step_marks().find_launches(row.id);
      const auto kernels = store.step_marks().list_kernels(row.id);
      const auto times = store.step_marks().find_kernel_times(row.id);
      take(row.id, infer_steps({row.id, blocks, launches, kernels, times, clues, trace.tables(), end}));
    }
  return facts;
}

/// Adds the bytes of the blocks over time to `into`, which must already have the keys that are wanted.
void add_up(const memory_use& memory, const std::vector<block_category>& categories,
            std::map<memory_key, category_use>& into) {
  if (into.empty()) return;
  const std::span<const block_record> blocks = memory.blocks();
  std::vector<timeline::level_tree*> trees(blocks.size(), nullptr);
  std::optional<memory_key> last;  // The next block usually has the same key.
  auto subject = into.end();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (!block.allocated || block.imported()) continue;
    if (last != get_key(block)) subject = into.find(*(last = get_key(block)));
    if (subject == into.end()) continue;
    trees[i] = &subject->second[static_cast<std::size_t>(categories[i].kind)];
    trees[i]->add({block.born, static_cast<double>(block.bytes)});
  }
  for (const std::uint32_t i : memory.deaths())
    if (trees[i] != nullptr) trees[i]->add({blocks[i].died, -static_cast<double>(blocks[i].bytes)});
  for (auto& [key, use] : into)
    for (timeline::level_tree& tree : use) tree.settle();
}

/// Returns the categories that a section knows from the file, indexed by the block's position.
std::vector<block_category> known_categories(const memory_use& memory, const section_facts& known) {
  const std::span<const block_record> blocks = memory.blocks();
  std::vector<block_category> categories(blocks.size());
  const auto put = [&](trace::block_id id, block_category category) {
    if (const block_record* found = memory.find(id))
      categories[static_cast<std::size_t>(found - blocks.data())] = category;
  };
  for (const known_category& each : known.categories) put(each.block, each.category);
  for (const known_block& each : known.blocks) put(each.block.id, each.category);
  return categories;
}

}  // namespace

void add_slices(trace::process_id process, std::span<const step> steps, step_slices& to) {
  timeline::slice_set& set = to[process];
  set.set_known(1, INT64_MIN);
  for (const step& each : steps) {
    if (each.span.length() <= 0) continue;  // Such a slice would be invisible but would need a lane of its own.
    timeline::slice_item item;
    item.begin = each.span.begin;
    item.end = each.span.end;
    item.event = each.event;
    item.bytes = static_cast<std::uint64_t>(each.number);
    item.kind = static_cast<std::uint8_t>(timeline::slice_kind::step);
    set.add(item);
  }
  set.settle();
}

// --- steps ----------------------------------------------------------------------------------------------------------

step_facts::step_facts(std::shared_ptr<const trace::snapshot> recording,
                       std::map<trace::process_id, step_source> sources)
    : from_(std::move(recording)), sources_(std::move(sources)) {}

void step_facts::add(trace::process_id process, step_list found) {
  sources_.emplace(process, found.source);
  lists_.emplace(process, std::move(found));
}

const std::map<trace::process_id, step_list>& step_facts::lists() const {
  if (from_ != nullptr) std::call_once(was_read_, [this] { read(); });
  return lists_;
}

bool step_facts::begin_alike(const step_facts& other, time_ns until) const {
  if (sources() != other.sources()) return false;
  return std::all_of(lists().begin(), lists().end(), [&](const auto& each) {
    const std::vector<step>& a = each.second.steps;
    const std::vector<step>& b = other.lists().at(each.first).steps;
    if ((a.size() == 1) != (b.size() == 1)) return false;  // Categories depend on whether there is only one step.
    const auto before = [=](const step& one) { return one.span.begin < until; };
    const auto same_begin = [](const step& one, const step& two) { return one.span.begin == two.span.begin; };
    return std::equal(a.begin(), std::partition_point(a.begin(), a.end(), before), b.begin(),
                      std::partition_point(b.begin(), b.end(), before), same_begin);
  });
}

void step_facts::read() const {
  // The maximum number of steps, more than a server marks in five hours. The number is limited because a corrupt file
  // could claim any number of steps in a few bytes.
  constexpr std::size_t max_steps = std::size_t{1} << 24;
  std::size_t steps = 0;
  std::vector<trace::step_row> rows;
  from_->for_each_summary(trace::row_type::step, [&](const trace::chunk_info& chunk) {
    if (!from_->read_summary(chunk, rows)) return;
    for (const trace::step_row& row : rows) {
      const auto source = sources_.find(row.process);
      if (source == sources_.end() || steps == max_steps) continue;
      step_list& list = lists_.try_emplace(row.process, step_list{source->second, {}}).first->second;
      const step output = get_step(row);
      // Steps are out of order only in a corrupt file.
      if (!list.steps.empty() && list.steps.back().span.end > output.span.begin) continue;
      list.steps.push_back(output);
      ++steps;
    }
  });
}

tensor_facts find_tensor_facts(const event_store& store, const trace::snapshot& trace) {
  tensor_facts facts;
  const memory_use& memory = store.memory();
  if (const section_facts* known = store.known_from_file()) {
    facts.steps = known->whole->steps;
    facts.categories = known_categories(memory, *known);
    facts.tagged = known->whole->tagged;
    if (!is_drawn(known->scope)) return facts;
    for (const process_steps& each : known->steps) add_slices(each.process, each.steps.steps, facts.drawn_steps);
    for (const recording_facts::memory& each : known->whole->memories)
      for (const recording_facts::part_of_it& it : each.by_category)
        facts.use[each.key][static_cast<std::size_t>(it.kind)].set_highest(it.highest);
  } else {
    const process_clues clues = collect_clues(memory, trace.tables());
    facts.steps = find_steps(store, trace, clues);
    for (const auto& [process, list] : facts.steps->lists()) add_slices(process, list.steps, facts.drawn_steps);
    facts.categories = categorise(memory, store.touches(), clues, facts.steps->lists(), store.category_tags(),
                                  trace.tables(), recorded_range(trace));
    facts.tagged =
        std::any_of(facts.categories.begin(), facts.categories.end(), [](const auto& c) { return c.exact(); });
    for (std::size_t i = 0; i < facts.categories.size(); ++i)
      if (facts.categories[i].kind != category::none) facts.use.try_emplace(get_key(memory.blocks()[i]));
  }
  add_up(memory, facts.categories, facts.use);
  return facts;
}

}  // namespace sluice::index
