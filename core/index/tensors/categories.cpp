#include "core/index/tensors/categories.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "core/base/lower_case.hpp"
#include "core/base/recorded_path.hpp"
#include "core/base/sort_runs.hpp"
#include "core/trace/model/inferred_frames.hpp"

namespace sluice::index {

std::string_view category_name(category wanted) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"not categorised", "weight", "gradient", "optimizer state", "activation", "input", "workspace"});
  static_assert(names.size() == category_count);
  return names[static_cast<std::size_t>(wanted) % names.size()];
}

category find_category(std::string_view word) {
  for (std::size_t i = 1; i < category_count; ++i)
    if (category_name(static_cast<category>(i)) == word) return static_cast<category>(i);
  return category::none;
}

std::string_view get_words(category_reason why) {
  static constexpr auto words = std::to_array<std::string_view>({
      "",
      "set by the program",
      "first used by a copy from the host",
      "copied from the host once, then kept across steps",
      "allocated by code that builds or moves a model",
      "allocated by code that loads data",
      "allocated by an optimizer",
      "allocated by the backward pass",
      "allocated on the thread of the backward pass",
      "already present before the first step, and kept across steps",
      "allocated in the first step, and kept across steps",
      "used by only one launch",
      "allocated and freed within a step",
      "allocated by a module's hook",
      "allocated by a library as its workspace",
      "kept, and used only by matrix products or convolutions",
      "live only during one matrix product or convolution",
      "kept, with the size of a workspace",
  });
  static_assert(words.size() == category_reason_count);
  return words[static_cast<std::size_t>(why) % words.size()];
}

// --- stacks ---------------------------------------------------------------------------------------------------------

namespace {

/// True for native code that requests workspaces for cuBLAS and cuDNN:
/// aten/src/ATen/cuda/{CublasHandlePool,CUDABlas}.cpp and aten/src/ATen/native/cudnn/{Conv_v7,Conv_v8,ConvShared}.cpp.
/// Other code allocates the results of these libraries.
bool makes_workspace(std::string_view function) {
  for (const std::string_view part :
       {"at::cuda::blas::", "CurrentCUDABlasHandle", "CUDABlasLtWorkspace", "getNewWorkspace",
        "at::native::Workspace::", "::run_conv_plan", "::get_plans_from_find", "::generate_and_filter_plans",
        "::try_plans", "::raw_cudnn_convolution_"})
    if (function.find(part) != std::string_view::npos) return true;
  return false;
}

/// True for native autograd code that only runs in backward passes. `VariableType` and `THPVariable` are in the same
/// namespace, but they occur in every call. `Function<...>::apply` is the forward pass of a custom operator.
bool runs_backward_natively(std::string_view function) {
  for (const std::string_view part :
       {"torch::autograd::Engine::", "autograd::python::PythonEngine::", "torch::autograd::AccumulateGrad",
        "torch::autograd::Node::", "torch::autograd::PyNode::", "torch::autograd::CppNode<",
        "torch::autograd::CopySlices", "autograd::engine::evaluate_function"})
    if (function.find(part) != std::string_view::npos) return true;
  // Matches "torch::autograd::generated::MmBackward0::apply(", and the name of the node alone.
  constexpr std::string_view word = "Backward";
  for (std::size_t at = function.find(word); at != std::string_view::npos; at = function.find(word, at + 1)) {
    const std::size_t behind = function.find_first_not_of("0123456789", at + word.size());
    if (behind == std::string_view::npos) return function.find("autograd::") != std::string_view::npos;
    if (function.substr(behind).starts_with("::apply(")) return true;
  }
  return false;
}

/// True for the marker frame of a stack whose outer frames are those of the forward operator.
bool is_mark_of_backward(std::string_view function) {
  return function.starts_with(trace::inferred_mark) && function.ends_with("the backward of]");
}

bool runs_backward(std::string_view file, std::string_view qualified, std::string_view function) {
  if (function == "backward" || is_mark_of_backward(qualified)) return true;
  if (file.find("torch/autograd/") == std::string_view::npos) return runs_backward_natively(qualified);
  // torch/autograd also contains code other than the passes: modes without gradients, the profiler, `Function.apply`.
  return file.ends_with("autograd/__init__.py") || function.find("backward") != std::string_view::npos ||
         qualified.find("Backward") != std::string_view::npos;
}

}  // namespace

clue stack_clues::of_frame(std::string_view file, std::string_view qualified) {
  // Since Python 3.11, names are qualified: "Linear.forward".
  const std::size_t dot = qualified.rfind('.');
  const slashed_path path(file);
  if (is_generated_code(path)) return clue::none;  // All its functions have the same names: "call", "forward".
  file = path.text();
  const std::string_view function = dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
  const auto in_file = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
  const auto in_function = [&](std::string_view part) { return qualified.find(part) != std::string_view::npos; };
  if (in_file("torch/optim/") || in_file("/optimizers/") || in_file("bitsandbytes/optim") ||
      in_function("torch::optim::") || in_file("torch/nn/utils/clip_grad.py") || in_file("torch/amp/grad_scaler.py") ||
      qualified.starts_with("Optimizer.step") || qualified.starts_with("Optimizer.zero_grad"))
    return clue::optimizer;
  if (in_file("torch/utils/data/") || qualified.starts_with("enumerate(DataLoader)")) return clue::data;
  if (runs_backward(file, qualified, function)) return clue::backward;
  if (in_file("torch/nn/init.py") || in_file("torch/nn/parameter.py")) return clue::model;
  if (in_file("torch/nn/modules/module.py")) {
    // `Module._apply` implements .to() and .cuda(). The other functions in this file call other code.
    return function == "_apply" ? clue::moved : clue::none;
  }
  if (in_file("torch/nn/modules/"))
    return function == "__init__" || function == "reset_parameters" ? clue::model : clue::forward;
  if (in_file("torch/nn/functional.py") || function == "forward" || qualified.starts_with("nn.Module: "))
    return clue::forward;
  return clue::none;
}

stack_clues::meaning stack_clues::of_frame(trace::frame_id id) {
  const auto [place, fresh] = frames_.try_emplace(raw(id));
  if (!fresh) return place->second;
  if (const trace::frame_row* frame = tables_.frames.find(id)) {
    const std::string_view function = tables_.text(frame->function);
    place->second = {of_frame(tables_.text(frame->file), function), makes_workspace(function)};
  }
  return place->second;
}

namespace {

constexpr std::size_t deepest = 2048;  // In a corrupt file, the parents of a stack may form a cycle.

/// True if `callee` is a hook, because PyTorch's `Module.__call__` runs only hooks and `forward`. Hooks of libraries
/// are excluded, because they allocate for various purposes.
bool is_hook(const trace::frame_row& callee, const trace::frame_row& caller, const trace::tables& tables) {
  const slashed_path file(tables.text(callee.file));
  const bool called = tables.text(caller.function).find("_call_impl") != std::string_view::npos &&
                      slashed_path(tables.text(caller.file)).has("torch/nn/modules/module.py");
  return called && callee.kind == trace::frame_kind::python && !file.has("-packages/") && !file.has("torch/") &&
         !is_generated_code(file);
}

}  // namespace

stack_clues::meaning stack_clues::find_meaning(trace::stack_id stack) {
  // Walk outwards to the first stack that is cached or has a clue. All stacks on the way get that clue.
  std::vector<std::pair<std::uint64_t, bool>> way;
  meaning found;
  while (stack != trace::stack_id::none && way.size() < deepest) {
    if (const auto known = stacks_.find(raw(stack)); known != stacks_.end()) {
      found = known->second;
      break;
    }
    const trace::stack_row* row = tables_.stacks.find(stack);
    if (row == nullptr) break;
    const meaning own = of_frame(row->frame);
    way.emplace_back(raw(stack), own.library);
    found.says = own.says;
    if (found.says != clue::none) break;
    const trace::stack_row* below = tables_.stacks.find(row->parent);
    const trace::frame_row* callee = tables_.frames.find(row->frame);
    const trace::frame_row* caller = below == nullptr ? nullptr : tables_.frames.find(below->frame);
    if (callee != nullptr && caller != nullptr && is_hook(*callee, *caller, tables_)) {
      found.says = clue::hook;
      break;
    }
    stack = row->parent;
  }
  for (auto each = way.rbegin(); each != way.rend(); ++each) {
    found.library = found.library || each->second;
    stacks_[each->first] = found;
  }
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

namespace {

/// True for the sizes of the workspaces that PyTorch gives to cuBLAS (`parseChosenWorkspaceSize` in
/// CublasHandlePool.cpp): one size on Hopper and later GPUs, another on earlier GPUs.
bool has_workspace_size(std::uint64_t bytes) {
  return bytes == (4096 << 10) * 8 || bytes == (4096 << 10) * 2 + (16 << 10) * 8;
}

template <class Key>
void keep_earlier(std::map<Key, time_ns>& in, const Key& key, time_ns born) {
  const auto [first, fresh] = in.try_emplace(key, born);
  if (!fresh) first->second = std::min(first->second, born);
}

}  // namespace

void process_clues::add(const birth& block) {
  process_facts& facts = processes_[block.process];
  if (!facts.stacks || !facts.backward_stack) {
    const clue says = clues_.of(block.stack);
    facts.stacks = facts.stacks || says != clue::none;
    facts.backward_stack = facts.backward_stack || says == clue::backward;
  }
  const bool python = clues_.in_python(block.stack);
  facts.python = facts.python || python;
  bool& in_thread = python_threads_[raw(block.thread)];
  in_thread = in_thread || python;
  const requester by = find_requester(block, clues_);
  keep_earlier(facts.first_births, by, block.born);
  if (has_workspace_size(block.bytes) && !block.before)
    keep_earlier(facts.workspaces, {by, block.stream, block.bytes}, block.born);
}

bool process_clues::stacks(trace::process_id process) const {
  const auto known = processes_.find(process);
  return known != processes_.end() && known->second.stacks;
}

bool process_clues::is_first_of_workspace_size(const birth& subject, const requester& by) const {
  if (!has_workspace_size(subject.bytes) || subject.before) return false;
  const auto known = processes_.find(subject.process);
  if (known == processes_.end()) return false;
  const auto first = known->second.workspaces.find({by, subject.stream, subject.bytes});
  return first != known->second.workspaces.end() && first->second == subject.born;
}

bool process_clues::on_backward_thread(trace::process_id process, const requester& by) const {
  const trace::thread_row* row = tables_.threads.find(by.thread);
  if (row != nullptr && tables_.text(row->name).starts_with("pt_autograd")) return true;
  const auto known = processes_.find(process);
  if (known == processes_.end() || !known->second.python) return false;
  if (by.thread == trace::thread_id::none) return by.without_python && known->second.backward_stack;
  const auto python = python_threads_.find(raw(by.thread));
  return python == python_threads_.end() || !python->second;
}

time_ns process_clues::backward_began(trace::process_id process) const {
  time_ns began = trace::unknown_time;
  const auto known = processes_.find(process);
  if (known == processes_.end()) return began;
  for (const auto& [by, born] : known->second.first_births)
    if (on_backward_thread(process, by) && (began == trace::unknown_time || born < began)) began = born;
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
  std::map<trace::process_id, verdict> table;
  for (const auto& [process, facts] : processes_) {
    verdict& subject = table[process];
    subject.stacks = facts.stacks;
    subject.backward_began = backward_began(process);
    subject.began = began(process);
    for (const auto& [by, born] : facts.first_births) subject.backward[by] = on_backward_thread(process, by);
    subject.workspaces = facts.workspaces;
  }
  return table;
}

bool judged_alike(const std::map<trace::process_id, process_clues::verdict>& before,
                  const std::map<trace::process_id, process_clues::verdict>& now) {
  return std::all_of(before.begin(), before.end(), [&](const auto& each) {
    const auto found = now.find(each.first);
    if (found == now.end()) return false;
    const process_clues::verdict &a = each.second, &b = found->second;
    const auto has_all = [](const auto& earlier, const auto& later) {
      return std::all_of(earlier.begin(), earlier.end(), [&](const auto& one) {
        const auto same = later.find(one.first);
        return same != later.end() && same->second == one.second;
      });
    };
    return a.stacks == b.stacks && a.backward_began == b.backward_began && a.began == b.began &&
           has_all(a.backward, b.backward) && has_all(a.workspaces, b.workspaces);
  });
}

// --- allocation order -----------------------------------------------------------------------------------------------

void birth_order::add(const block_record& block) {
  const thread_key key{block.process, block.thread};
  if (last_ == nullptr || last_key_ != key) {
    last_ = &threads_[key];
    last_key_ = key;
  }
  last_->here.emplace_back(block.born, block.id);
}

void birth_order::settle() {
  last_ = nullptr;
  for (auto& [key, subject] : threads_) sort_runs(subject.here, std::less<>());
}

bool birth_order::is_alone(const block_record& block) const {
  const auto found = threads_.find({block.process, block.thread});
  if (found == threads_.end() || !block.freed()) return false;
  const of_thread& thread = found->second;
  const birth own{block.born, block.id};
  if (own < thread.before) return false;
  const auto next = std::upper_bound(thread.here.begin(), thread.here.end(), own);
  return next == thread.here.end() || next->first >= block.died;
}

void birth_order::next_section() {
  for (auto& [key, subject] : threads_) {
    if (!subject.here.empty()) subject.before = std::max(subject.before, subject.here.back());
    subject.here.clear();
  }
}

// --- rules ----------------------------------------------------------------------------------------------------------

namespace {

/// True if `time` is before the second step starts.
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

block_category category_judge::of(const block_record& block, const block_touches& uses, bool alone) {
  if (const auto tag = by_.tags.find(raw(block.alloc)); tag != by_.tags.end()) {
    const category said = find_category(by_.tables.text(tag->second));
    if (said != category::none) return {said, category_reason::tag};
  }
  if (!holds_tensors(block.layer) || of_other_framework(block)) return {};
  return infer(block, uses, alone && !uses.as_data && uses.products > 0 && uses.count() > 1);
}

bool category_judge::asks_if_alone(const block_record& block, const block_touches& uses) {
  return holds_tensors(block.layer) && block.freed() && !uses.as_data;
}

const category_judge::process_facts& category_judge::get_facts(trace::process_id process) {
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
  // If a block was allocated before the recording, its requester is unknown.
  if (block.thread == trace::thread_id::none && block.born_before()) return false;
  const process_clues::requester by = process_clues::find_requester(find_birth(block), clues_);
  const auto [place, fresh] = backward_.try_emplace({block.process, by}, false);
  if (fresh) place->second = by_.clues.on_backward_thread(block.process, by);
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

bool category_judge::stays(const block_record& block, const process_facts& facts) const {
  const time_ns died = block.freed() ? block.died : by_.span.end;
  if (facts.steps != nullptr && facts.steps->steps.size() == 1) {
    const time_range only = facts.steps->steps.front().span;
    return block.born < only.begin && (!block.freed() || died >= only.end);
  }
  if (facts.steps != nullptr) return facts.steps->begun_between(block.born, died) >= 2;
  return died - block.born > (by_.span.end - facts.began) / 2;  // Doubling the left side instead could overflow.
}

time_ns category_judge::holds_until(const block_record& block) {
  const process_facts& facts = get_facts(block.process);
  if (!holds_tensors(block.layer) || !block.freed() || facts.steps != nullptr || !stays(block, facts))
    return latest_time;
  const time_ns lived = block.died - block.born;
  return lived < (latest_time - facts.began) / 2 ? facts.began + 2 * lived : latest_time;
}

/// Returns why a block of a forward or backward pass is a workspace of a library; `none` if it is not a workspace.
/// `lasts`: the block stays, or is never freed.
category_reason category_judge::is_of_library(const block_record& block, const block_touches& used, bool alone,
                                              bool lasts) {
  constexpr std::uint64_t min_products = 8;  // A result is written by one product and read by only a few.
  if (clues_.in_library(block.stack)) return category_reason::library_stack;
  if (used.as_data || used.replays > 0) return category_reason::none;
  if (lasts && used.products >= min_products) return category_reason::products_only;
  const process_clues::birth born = find_birth(block);
  if (lasts && by_.uses_known && used.count() == 0 && has_workspace_size(block.bytes))
    return category_reason::workspace_size;
  if (lasts && by_.clues.is_first_of_workspace_size(born, process_clues::find_requester(born, clues_)))
    return category_reason::workspace_size;
  return alone ? category_reason::lived_alone : category_reason::none;
}

block_category category_judge::infer(const block_record& block, const block_touches& used, bool alone) {
  const process_facts& facts = get_facts(block.process);
  const bool kept = stays(block, facts);
  const clue says = clues_.of(block.stack);
  const arrivals& in = used.from_host;
  const bool lasts = kept || !block.freed();
  if (says == clue::moved) return {category::weight, category_reason::model_stack};
  if (says == clue::model) return {lasts ? category::weight : category::workspace, category_reason::model_stack};
  if (in.count > 0 && (used.first_kernel == trace::unknown_time || in.first <= used.first_kernel)) {
    const bool loaded_once = kept && early(block.born, facts.steps) && early(in.last, facts.steps);
    return loaded_once ? block_category{category::weight, category_reason::copied_and_stays}
                       : block_category{category::input, category_reason::copied_from_host};
  }
  if (says == clue::data) return {category::input, category_reason::data_stack};
  if (says == clue::optimizer)
    return {lasts ? category::optimizer_state : category::workspace, category_reason::optimizer_stack};
  if (says == clue::hook) return {category::activation, category_reason::hook};
  const bool once = used.count() == 1;
  const bool backward_thread = says == clue::none && on_backward_thread(block);
  const bool backward = says == clue::backward || backward_thread;
  if (backward || says == clue::forward || (clues_.in_library(block.stack) && is_network(facts)))
    if (const category_reason why = is_of_library(block, used, alone, lasts); why != category_reason::none)
      return {category::workspace, why};
  if (backward) {
    if (!kept && once) return {category::workspace, category_reason::one_launch};
    return {category::gradient, backward_thread ? category_reason::backward_thread : category_reason::backward_stack};
  }
  if (!is_network(facts)) return {};
  if (kept && says == clue::forward && facts.steps != nullptr)
    return {category::workspace, category_reason::stays_from_first_step};
  if (kept && says != clue::forward && early(block.born, facts.steps)) {
    if (facts.steps == nullptr || block.born_before() || block.born < facts.steps->steps.front().span.begin)
      return {category::weight, category_reason::stays_from_start};
    const bool after_backward = facts.backward_began != trace::unknown_time && block.born > facts.backward_began;
    const bool state = !facts.stacks && after_backward;
    return {state ? category::optimizer_state : category::workspace, category_reason::stays_from_first_step};
  }
  if (once) return {category::workspace, category_reason::one_launch};
  if (alone) return {category::workspace, category_reason::lived_alone};
  return {category::activation, category_reason::temporary};
}

process_clues collect_clues(const memory_use& memory, const trace::tables& tables) {
  process_clues clues(tables);
  for (const block_record& block : memory.blocks())
    if (block.allocated && holds_tensors(block.layer)) clues.add(find_birth(block));
  return clues;
}

std::vector<block_category> categorise(const memory_use& memory, const touch_index& touches, const process_clues& clues,
                                       const std::map<trace::process_id, step_list>& steps,
                                       const std::unordered_map<std::uint64_t, trace::string_id>& tags,
                                       const trace::tables& tables, time_range span) {
  category_judge judge({clues, steps, tags, tables, span, !touches.empty()});
  birth_order births;
  for (const block_record& block : memory.blocks())
    if (!touches.empty() && block.allocated && holds_tensors(block.layer)) births.add(block);
  births.settle();
  std::vector<block_category> categories;
  categories.reserve(memory.blocks().size());
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated) {
      categories.emplace_back();
      continue;
    }
    const block_touches uses = holds_tensors(block.layer) ? touches.of(block) : block_touches{};
    const bool alone = !touches.empty() && judge.asks_if_alone(block, uses) && births.is_alone(block);
    categories.push_back(judge.of(block, uses, alone));
  }
  return categories;
}

}  // namespace sluice::index
