#include "core/import/torch/stacks.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "core/trace/model/inferred_frames.hpp"

namespace sluice::importing::torch {
namespace {

constexpr std::size_t deepest = 2048;          // The most frames of a stack. Pairs of lists are walked repeatedly.
constexpr std::uint32_t nothing = UINT32_MAX;  // The value for lists and dictionaries that have no stack or no frame.

/// Returns the kind of a frame, judged by its file name: `*.py` and `<...>` are Python; anything else (a C++ source, a
/// library, "??") is native.
trace::frame_kind get_kind(std::string_view file) {
  return file.ends_with(".py") || file.starts_with("<") ? trace::frame_kind::python : trace::frame_kind::native;
}

/// True for functions that run a backward pass: `Tensor.backward`, autograd's engine and its nodes.
bool runs_backward(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  const std::string_view name = function.substr(function.rfind('.') + 1);
  return name == "backward" || name == "_engine_run_backward" || has("torch::autograd::Engine::") ||
         (has("Backward") && has("::apply"));
}

/// A frame in a Python traceback.
struct shown_frame {
  std::string_view file;
  std::uint64_t line = 0;
  std::string_view function;
};

/// Parses the next line `File "net.py", line 33, in forward` of `text`, and removes the text up to its end.
std::optional<shown_frame> next_shown(std::string_view& text) {
  constexpr std::string_view begin = "File \"", number = "\", line ", name = ", in ";
  constexpr std::size_t longest = 8192;
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin)) {
    text.remove_prefix(at + begin.size());
    const std::string_view row = text.substr(0, std::min(text.substr(0, longest).find('\n'), longest));
    const std::size_t file_end = row.find(number);
    if (file_end == std::string_view::npos) continue;
    shown_frame frame{row.substr(0, file_end), 0, {}};
    const std::string_view rest = row.substr(file_end + number.size());
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), frame.line);
    if (problem != std::errc{}) continue;
    const std::string_view after = rest.substr(static_cast<std::size_t>(end - rest.data()));
    if (after.starts_with(name)) frame.function = after.substr(name.size());
    text.remove_prefix(row.size());
    return frame;
  }
  return std::nullopt;
}

}  // namespace

stack_writer::stack_writer(const pickle_document& document, job& work)
    : from_(document),
      work_(work),
      stacks_(document.containers()),
      frames_(document.containers()),
      strings_(document.texts()),
      slots_(1 << 12) {}

trace::string_id stack_writer::text(const pickle_value& value) {
  if (!value.is(pickle_kind::text)) return trace::string_id::none;
  trace::string_id& known = strings_[value.index()];
  if (known == trace::string_id::none) known = work_.out().intern(from_.text(value));
  return known;
}

std::uint64_t stack_writer::new_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                      trace::frame_kind kind) {
  trace::frame_row row;
  row.id = static_cast<trace::frame_id>(++last_frame_);
  row.kind = kind;
  row.function = name;
  row.file = file;
  row.line = line;
  work_.out().add(row);
  return last_frame_;
}

/// Returns the id of a frame, which several dictionaries may describe.
std::uint64_t stack_writer::same_frame(trace::string_id name, trace::string_id file, std::uint64_t line,
                                       trace::frame_kind kind) {
  std::uint32_t& same = same_frames_[{name, file, line}];
  if (same == 0) same = static_cast<std::uint32_t>(new_frame(name, file, line, kind));
  return same;
}

std::uint64_t stack_writer::find_frame(const pickle_value& dictionary) {
  if (!dictionary.is(pickle_kind::dictionary)) {
    work_.not_understood("frames that are not dictionaries");
    return nothing;
  }
  std::uint32_t& known = frames_[dictionary.index()];
  if (known != 0) return known;
  trace::string_id name{}, file{};
  std::uint64_t line = 0;
  bool backward = false;
  trace::frame_kind kind = trace::frame_kind::native;
  const pickle_pairs items = from_.pairs(dictionary);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view key = from_.text(items.key(i));
    const pickle_value& v = items.value(i);
    if (key == "name") {
      name = text(v);
      backward = runs_backward(from_.text(v));
    } else if (key == "filename") {
      file = text(v);
      kind = get_kind(from_.text(v));
    } else if (key == "line") {
      line = v.is(pickle_kind::integer) ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, from_.integer(v))) : 0;
    } else if (key == "fx_original_trace") {
      if (v.is(pickle_kind::text)) original_texts_[dictionary.index()] = v;
    } else if (!key.starts_with("fx_node_")) {  // Keys that start with this text describe a line of generated code.
      work_.not_understood("values of frames under the key '" + std::string(key.substr(0, 40)) + "'");
    }
  }
  const std::uint64_t value = same_frame(name, file, line, kind);
  if (backward) backward_frames_.insert(value);
  known = static_cast<std::uint32_t>(value);
  return value;
}

void stack_writer::grow() {
  huge_vector<slot> before(slots_.size() * 2);
  before.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const slot& each : before) {
    if (each.key == 0) continue;
    std::size_t at = (each.key * 0x9e3779b97f4a7c15U) >> 20 & mask;
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = each;
  }
}

std::uint64_t stack_writer::child(std::uint64_t parent, std::uint64_t frame) {
  const std::uint64_t key = parent << 32 | frame;  // The number of a frame is never 0.
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15U) >> 20 & mask;
  while (slots_[at].key != 0) {
    if (slots_[at].key == key) return slots_[at].stack;
    at = (at + 1) & mask;
  }
  slots_[at] = {key, static_cast<std::uint32_t>(++last_stack_)};
  work_.out().add(trace::stack_row{static_cast<trace::stack_id>(last_stack_), static_cast<trace::stack_id>(parent),
                                   static_cast<trace::frame_id>(frame)});
  if (last_stack_ * 2 > slots_.size()) grow();
  return last_stack_;
}

std::span<const pickle_value> stack_writer::frames_in(std::uint32_t list) {
  const auto items = from_.list_items(list);
  if (items.size() <= deepest) return items;
  work_.not_understood("frames of stacks deeper than " + std::to_string(deepest), items.size() - deepest);
  return items.first(deepest);  // These are the innermost frames.
}

const pickle_value* stack_writer::find_original(const pickle_value& frame) const {
  if (original_texts_.empty() || !frame.is(pickle_kind::dictionary)) return nullptr;
  const auto found = original_texts_.find(frame.index());
  return found == original_texts_.end() ? nullptr : &found->second;
}

std::uint64_t stack_writer::add_shown(const pickle_value& traceback, std::uint64_t parent, std::size_t most) {
  const auto [known, fresh] = shown_frames_.try_emplace(traceback.index());
  std::string_view rest = from_.text(traceback);
  while (fresh && known->second.size() < deepest) {
    const auto next = next_shown(rest);
    if (!next) break;
    known->second.push_back(same_frame(work_.out().intern(next->function), work_.out().intern(next->file), next->line,
                                       trace::frame_kind::python));
  }
  const auto& whole = known->second;
  for (std::size_t i = whole.size() - std::min(most, whole.size()); i < whole.size(); ++i)
    parent = child(parent, whole[i]);
  return parent;
}

std::uint64_t stack_writer::add_frames(std::uint32_t list, std::uint64_t parent, originals subject) {
  const auto items = frames_in(list);
  std::size_t room = deepest - items.size();
  if (!items.empty() && items.front().is(pickle_kind::text)) {
    // The forward frames are texts, in the order of a traceback.
    for (const pickle_value& each : items)
      if (each.is(pickle_kind::text)) parent = add_shown(each, parent, 1);
    return parent;
  }
  for (std::size_t i = items.size(); i-- > 0;) {
    const std::uint64_t frame = find_frame(items[i]);
    if (frame == nothing) continue;
    parent = child(parent, frame);
    if (const pickle_value* original = find_original(items[i]); original != nullptr && subject == originals::added) {
      parent = add_shown(*original, parent, room);
      room -= std::min(room, shown_frames_[original->index()].size());
    }
  }
  return parent;
}

std::uint64_t stack_writer::add_behind(std::uint64_t forward, std::uint32_t list) {
  if (forward_frame_ == 0) {
    const auto mark = work_.out().intern(std::string(trace::inferred_mark) + "the backward of]");
    forward_frame_ = new_frame(mark, {}, 0, trace::frame_kind::unknown);
  }
  const std::uint64_t parent = forward != 0 ? child(forward, forward_frame_) : 0;
  return list == no_container ? parent : add_frames(list, parent, originals::left_out);
}

std::uint64_t stack_writer::make_stack(std::uint32_t list) {
  const pickle_value* original = nullptr;
  bool backward = false;
  const auto items = from_.list_items(list);
  for (const pickle_value& each : items.first(std::min(items.size(), deepest))) {
    if (!each.is(pickle_kind::dictionary)) continue;
    backward = backward_frames_.contains(find_frame(each)) || backward;
    if (original == nullptr) original = find_original(each);
  }
  if (original == nullptr || !backward) return add_frames(list, 0, originals::added);
  return add_behind(add_shown(*original, 0, deepest), list);
}

trace::stack_id stack_writer::find_stack(std::uint32_t frames, std::uint32_t forward) {
  if (frames == no_container && forward == no_container) return {};
  if (forward != no_container) {
    // The stack is not cached, because it is rare and depends on a pair of lists. The tree of stacks finds it again.
    return static_cast<trace::stack_id>(add_behind(add_frames(forward, 0, originals::added), frames));
  }
  std::uint32_t& known = stacks_[frames];
  if (known == 0) {
    const std::uint64_t value = make_stack(frames);
    known = value == 0 ? nothing : static_cast<std::uint32_t>(value);
  }
  return known == nothing ? trace::stack_id::none : static_cast<trace::stack_id>(known);
}

}  // namespace sluice::importing::torch
