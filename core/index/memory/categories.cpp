#include "core/index/memory/categories.hpp"

#include <algorithm>
#include <array>

#include "core/base/lower_case.hpp"
#include "core/base/recorded_path.hpp"

namespace sluice::analysis {

std::string_view category_name(category what) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"not categorised", "weight", "gradient", "optimizer state", "activation", "input", "workspace"});
  static_assert(names.size() == category_count);
  return names[static_cast<std::size_t>(what) % names.size()];
}

category category_of(std::string_view word) {
  for (std::size_t i = 1; i < category_count; ++i)
    if (category_name(static_cast<category>(i)) == word) return static_cast<category>(i);
  return category::none;
}

std::string_view words_of(category_reason why) {
  static constexpr auto words = std::to_array<std::string_view>({
      "",
      "the program said so",
      "first used by a copy from the host",
      "copied from the host once, then kept over the steps",
      "made by code that builds or moves a model",
      "made by code that loads data",
      "made by an optimizer",
      "made by the backward pass",
      "made on the thread of the backward pass",
      "there before the first step, and kept over the steps",
      "made in the first step, and kept over the steps",
      "named by one launch only",
      "made and freed within a step",
      "made by a hook of a module",
  });
  static_assert(words.size() == category_reason_count);
  return words[static_cast<std::size_t>(why) % words.size()];
}

// --- stacks ---------------------------------------------------------------------------------------------------------

clue stack_clues::of_frame(std::string_view file, std::string_view qualified) {
  // From Python 3.11 on names are qualified: "Linear.forward".
  const std::size_t dot = qualified.rfind('.');
  const slashed_path path(file);
  if (is_generated_code(path)) return clue::none;  // All its functions are called alike: "call", "forward".
  file = path.text();
  const std::string_view function = dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
  const auto in_file = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  const auto in_function = [&](std::string_view part) { return qualified.find(part) != std::string_view::npos; };
  if (in_file("torch/optim/") || in_file("/optimizers/") || in_file("bitsandbytes/optim") ||
      in_function("torch::optim::") || in_file("torch/nn/utils/clip_grad.py") || in_file("torch/amp/grad_scaler.py"))
    return clue::optimizer;
  if (in_file("torch/utils/data/")) return clue::data;
  if (in_file("torch/autograd/") || in_function("torch::autograd::") || function == "backward") return clue::backward;
  if (in_file("torch/nn/init.py") || in_file("torch/nn/parameter.py")) return clue::model;
  if (in_file("torch/nn/modules/module.py")) {
    // `Module._apply` implements .to() and .cuda(), with functions of its own. The others call other code.
    return function == "_apply" ? clue::moved : clue::none;
  }
  if (in_file("torch/nn/modules/"))
    return function == "__init__" || function == "reset_parameters" ? clue::model : clue::forward;
  if (in_file("torch/nn/functional.py") || function == "forward") return clue::forward;
  return clue::none;
}

clue stack_clues::of_frame(trace::frame_id id) {
  const auto [place, fresh] = frames_.try_emplace(raw(id), clue::none);
  if (!fresh) return place->second;
  if (const trace::frame_row* frame = tables_.frames.find(id))
    place->second = of_frame(tables_.text(frame->file), tables_.text(frame->function));
  return place->second;
}

namespace {

constexpr std::size_t deepest = 2048;  // In a corrupt file, parents may form a cycle.

/// True if `callee` is a hook: `Module.__call__` of PyTorch runs only these, and `forward`. Libraries have hooks too, but
/// what these make is of many kinds.
bool is_hook(const trace::frame_row& callee, const trace::frame_row& caller, const trace::tables& tables) {
  const slashed_path file(tables.text(callee.file));
  const bool called = tables.text(caller.function).find("_call_impl") != std::string_view::npos &&
                      slashed_path(tables.text(caller.file)).has("torch/nn/modules/module.py");
  return called && callee.kind == trace::frame_kind::python && !file.has("-packages/") && !file.has("torch/") &&
         !is_generated_code(file);
}

}  // namespace

clue stack_clues::of(trace::stack_id stack) {
  // Walk up to the first stack that is cached or has a clue of its own. All stacks on the way get the same clue.
  std::vector<std::uint64_t> way;
  clue found = clue::none;
  while (stack != trace::stack_id::none && way.size() < deepest) {
    if (const auto known = stacks_.find(raw(stack)); known != stacks_.end()) {
      found = known->second;
      break;
    }
    const trace::stack_row* row = tables_.stacks.find(stack);
    if (row == nullptr) break;
    way.push_back(raw(stack));
    found = of_frame(row->frame);
    if (found != clue::none) break;
    const trace::stack_row* below = tables_.stacks.find(row->parent);
    const trace::frame_row* callee = tables_.frames.find(row->frame);
    const trace::frame_row* caller = below == nullptr ? nullptr : tables_.frames.find(below->frame);
    if (callee != nullptr && caller != nullptr && is_hook(*callee, *caller, tables_)) {
      found = clue::hook;
      break;
    }
    stack = row->parent;
  }
  for (const std::uint64_t each : way) stacks_[each] = found;
  return found;
}

bool stack_clues::in_python(trace::stack_id stack) {
  std::vector<std::uint64_t> way;
  bool found = false;
  while (stack != trace::stack_id::none && way.size() < deepest) {
    if (const auto known = python_.find(raw(stack)); known != python_.end()) {
      found = known->second;
      break;
    }
    const trace::stack_row* row = tables_.stacks.find(stack);
    if (row == nullptr) break;
    way.push_back(raw(stack));
    const trace::frame_row* frame = tables_.frames.find(row->frame);
    found = frame != nullptr && frame->kind == trace::frame_kind::python;
    if (found) break;
    stack = row->parent;
  }
  for (const std::uint64_t each : way) python_[each] = found;
  return found;
}

// --- processes and threads as a whole -------------------------------------------------------------------------------

void process_clues::add(trace::process_id process, trace::thread_id thread, trace::stack_id stack, time_ns born) {
  process_facts& of = processes_[process];
  if (!of.stacks && clues_.of(stack) != clue::none) of.stacks = true;
  const bool python = clues_.in_python(stack);
  of.python = of.python || python;
  bool& in_thread = python_threads_[raw(thread)];
  in_thread = in_thread || python;
  const auto [first, fresh] = of.first_births.try_emplace(thread, born);
  if (!fresh) first->second = std::min(first->second, born);
}

bool process_clues::stacks(trace::process_id process) const {
  const auto known = processes_.find(process);
  return known != processes_.end() && known->second.stacks;
}

bool process_clues::on_backward_thread(trace::process_id process, trace::thread_id thread) const {
  if (thread == trace::thread_id::none) return false;  // Of what was there before, nobody knows the thread.
  const trace::thread_row* row = tables_.threads.find(thread);
  if (row != nullptr && tables_.text(row->name).starts_with("pt_autograd")) return true;
  const auto known = processes_.find(process);
  if (known == processes_.end() || !known->second.python) return false;
  const auto python = python_threads_.find(raw(thread));
  return python == python_threads_.end() || !python->second;
}

time_ns process_clues::backward_began(trace::process_id process) const {
  time_ns began = trace::unknown_time;
  const auto known = processes_.find(process);
  if (known == processes_.end()) return began;
  for (const auto& [thread, born] : known->second.first_births)
    if (on_backward_thread(process, thread) && (began == trace::unknown_time || born < began)) began = born;
  return began;
}

time_ns process_clues::began(trace::process_id process) const {
  time_ns first = trace::unknown_time;
  const auto known = processes_.find(process);
  if (known == processes_.end()) return first;
  for (const auto& [thread, born] : known->second.first_births)
    if (first == trace::unknown_time || born < first) first = born;
  return first;
}

std::map<trace::process_id, process_clues::verdict> process_clues::verdicts() const {
  std::map<trace::process_id, verdict> all;
  for (const auto& [process, facts] : processes_) {
    verdict& of = all[process];
    of.stacks = facts.stacks;
    of.backward_began = backward_began(process);
    of.began = began(process);
    for (const auto& [thread, born] : facts.first_births) of.backward[thread] = on_backward_thread(process, thread);
  }
  return all;
}

bool judged_alike(const std::map<trace::process_id, process_clues::verdict>& before,
                  const std::map<trace::process_id, process_clues::verdict>& now) {
  return std::all_of(before.begin(), before.end(), [&](const auto& each) {
    const auto found = now.find(each.first);
    if (found == now.end()) return false;
    const process_clues::verdict &a = each.second, &b = found->second;
    return a.stacks == b.stacks && a.backward_began == b.backward_began && a.began == b.began &&
           std::all_of(a.backward.begin(), a.backward.end(), [&](const auto& thread) {
             const auto same = b.backward.find(thread.first);
             return same != b.backward.end() && same->second == thread.second;
           });
  });
}

// --- rules ----------------------------------------------------------------------------------------------------------

namespace {

/// Born before the second step begins.
bool early(time_ns time, const step_list* steps) {
  return steps == nullptr || steps->steps.size() < 2 || time < steps->steps[1].span.begin;
}

bool names_operators_of_networks(const trace::tables& tables) {
  constexpr std::array prefixes{"aten::linear", "aten::conv", "autograd::engine:", "nn.Module:", "Optimizer.step#"};
  const auto rows = tables.strings.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const char* prefix) { return std::string_view(row.text).starts_with(prefix); });
  });
}

}  // namespace

category_judge::category_judge(const category_evidence& by)
    : by_(by), clues_(by.tables), names_operators_(names_operators_of_networks(by.tables)) {}

block_category category_judge::of(const block_record& block, const block_touches& uses) {
  if (const auto tag = by_.tags.find(raw(block.alloc)); tag != by_.tags.end()) {
    const category said = category_of(by_.tables.text(tag->second));
    if (said != category::none) return {said, category_reason::tag};
  }
  if (!holds_tensors(block.layer) || of_other_framework(block)) return {};
  return infer(block, uses);
}

const category_judge::process_facts& category_judge::facts_of(trace::process_id process) {
  const auto [place, fresh] = processes_.try_emplace(process);
  if (fresh) {
    const auto known = by_.steps.find(process);
    if (known != by_.steps.end() && !known->second.steps.empty()) place->second.steps = &known->second;
    place->second.stacks = by_.clues.stacks(process);
    place->second.backward_began = by_.clues.backward_began(process);
    const time_ns began = by_.clues.began(process);
    place->second.began = began == trace::unknown_time ? by_.span.begin : began;
  }
  return place->second;
}

bool category_judge::on_backward_thread(const block_record& block) {
  const auto [place, fresh] = backward_.try_emplace({block.process, block.thread}, false);
  if (fresh) place->second = by_.clues.on_backward_thread(block.process, block.thread);
  return place->second;
}

bool category_judge::of_other_framework(const block_record& block) {
  const auto foreign = [&](trace::string_id name) {
    const auto [place, fresh] = foreign_.try_emplace(raw(name), false);
    if (fresh) {
      const std::string lower = lower_case(by_.tables.text(name));
      for (const char* other : {"cupy", "rmm", "numba"})
        place->second = place->second || lower.find(other) != std::string::npos;
    }
    return place->second;
  };
  if (foreign(block.name)) return true;
  const trace::pool_row* pool = by_.tables.pools.find(block.pool);
  return pool != nullptr && foreign(pool->name);
}

bool category_judge::stays(const block_record& block, const process_facts& of) const {
  const time_ns died = block.freed() ? block.died : by_.span.end;
  if (of.steps != nullptr) return of.steps->begun_between(block.born, died) >= 2;
  return died - block.born > (by_.span.end - of.began) / 2;  // Doubling it instead could overflow.
}

time_ns category_judge::holds_until(const block_record& block) {
  const process_facts& of = facts_of(block.process);
  if (!holds_tensors(block.layer) || !block.freed() || of.steps != nullptr || !stays(block, of)) return latest_time;
  const time_ns lived = block.died - block.born;
  return lived < (latest_time - of.began) / 2 ? of.began + 2 * lived : latest_time;
}

block_category category_judge::infer(const block_record& block, const block_touches& used) {
  const process_facts& of = facts_of(block.process);
  const bool kept = stays(block, of);
  const clue says = clues_.of(block.stack);
  const arrivals& in = used.from_host;
  const bool lasts = kept || !block.freed();
  if (says == clue::moved) return {category::weight, category_reason::model_stack};
  if (says == clue::model) return {lasts ? category::weight : category::workspace, category_reason::model_stack};
  if (in.count > 0 && (used.first_kernel == trace::unknown_time || in.first <= used.first_kernel)) {
    const bool loaded_once = kept && early(block.born, of.steps) && early(in.last, of.steps);
    return loaded_once ? block_category{category::weight, category_reason::copied_and_stays}
                       : block_category{category::input, category_reason::copied_from_host};
  }
  if (says == clue::data) return {category::input, category_reason::data_stack};
  if (says == clue::optimizer)
    return {lasts ? category::optimizer_state : category::workspace, category_reason::optimizer_stack};
  if (says == clue::hook) return {category::activation, category_reason::hook};
  const bool once = used.count() == 1;
  const bool backward_thread = says == clue::none && on_backward_thread(block);
  if (says == clue::backward || backward_thread) {
    if (!kept && once) return {category::workspace, category_reason::one_launch};
    return {category::gradient, backward_thread ? category_reason::backward_thread : category_reason::backward_stack};
  }
  if (!is_network(of)) return {};
  if (kept && says == clue::forward) return {category::workspace, category_reason::stays_from_first_step};
  if (kept && early(block.born, of.steps)) {
    if (of.steps == nullptr || block.born < of.steps->steps.front().span.begin)
      return {category::weight, category_reason::stays_from_start};
    const bool after_backward = of.backward_began != trace::unknown_time && block.born > of.backward_began;
    const bool state = !of.stacks && after_backward;
    return {state ? category::optimizer_state : category::workspace, category_reason::stays_from_first_step};
  }
  if (once) return {category::workspace, category_reason::one_launch};
  return {category::activation, category_reason::temporary};
}

process_clues clues_of(const memory_use& memory, const trace::tables& tables) {
  process_clues clues(tables);
  for (const block_record& block : memory.blocks())
    if (block.allocated && holds_tensors(block.layer)) clues.add(block.process, block.thread, block.stack, block.born);
  return clues;
}

std::vector<block_category> categorise(const memory_use& memory, const touch_index& touches, const process_clues& clues,
                                       const std::map<trace::process_id, step_list>& steps,
                                       const std::unordered_map<std::uint64_t, trace::string_id>& tags,
                                       const trace::tables& tables, time_range span) {
  category_judge judge({clues, steps, tags, tables, span});
  std::vector<block_category> all;
  all.reserve(memory.blocks().size());
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated) {
      all.emplace_back();
    } else {
      all.push_back(judge.of(block, holds_tensors(block.layer) ? touches.of(block) : block_touches{}));
    }
  }
  return all;
}

}  // namespace sluice::analysis
