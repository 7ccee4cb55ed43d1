#include "core/import/torch/stacks.hpp"

#include <algorithm>
#include <string>

#include "core/trace/model/inferred_frames.hpp"

namespace sluice::importing::torch {
namespace {

constexpr std::size_t deepest = 2048;          // Frames. Pairs of lists are walked repeatedly.
constexpr std::uint32_t nothing = UINT32_MAX;  // Known to have no stack or no frame.

/// The kind of a frame by its file: C++ frames have sources, libraries or "??".
trace::frame_kind kind_of(std::string_view file) {
  return file.ends_with(".py") || file.starts_with("<") ? trace::frame_kind::python : trace::frame_kind::native;
}

}  // namespace

stack_writer::stack_writer(const pickle_document& from, job& work)
    : from_(from),
      work_(work),
      stacks_(from.containers()),
      frames_(from.containers()),
      strings_(from.texts()),
      slots_(1 << 12) {}

trace::string_id stack_writer::text(const pickle_value& of) {
  if (!of.is(pickle_kind::text)) return trace::string_id::none;
  trace::string_id& known = strings_[of.index()];
  if (known == trace::string_id::none) known = work_.out().intern(from_.text(of));
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

std::uint64_t stack_writer::frame_of(const pickle_value& dictionary) {
  if (!dictionary.is(pickle_kind::dictionary)) {
    work_.not_understood("frames that are no dictionaries");
    return nothing;
  }
  std::uint32_t& known = frames_[dictionary.index()];
  if (known != 0) return known;
  trace::string_id name{}, file{};
  std::uint64_t line = 0;
  trace::frame_kind kind = trace::frame_kind::native;
  const pickle_pairs items = from_.pairs(dictionary);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string_view key = from_.text(items.key(i));
    const pickle_value& v = items.value(i);
    if (key == "name") {
      name = text(v);
    } else if (key == "filename") {
      file = text(v);
      kind = kind_of(from_.text(v));
    } else if (key == "line") {
      line = v.is(pickle_kind::integer) ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, from_.integer(v))) : 0;
    } else {
      work_.not_understood("values of frames under the key '" + std::string(key.substr(0, 40)) + "'");
    }
  }
  // Several dictionaries may describe the same frame.
  std::uint32_t& same = same_frames_[{name, file, line}];
  if (same == 0) same = static_cast<std::uint32_t>(new_frame(name, file, line, kind));
  return known = same;
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
  const std::uint64_t key = parent << 32 | frame;  // A frame is never 0.
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

std::uint64_t stack_writer::add_frames(std::uint32_t list, std::uint64_t parent) {
  auto items = from_.items_of(list);
  if (items.size() > deepest) {
    work_.not_understood("frames of stacks that are deeper than " + std::to_string(deepest), items.size() - deepest);
    items = items.first(deepest);  // The innermost.
  }
  for (std::size_t i = items.size(); i-- > 0;) {
    const std::uint64_t frame = frame_of(items[i]);
    if (frame != nothing) parent = child(parent, frame);
  }
  return parent;
}

trace::stack_id stack_writer::stack_of(std::uint32_t frames, std::uint32_t forward) {
  if (frames == no_container && forward == no_container) return {};
  if (forward != no_container) {
    // Not cached: rare, and for a pair of lists. The tree of stacks finds it again.
    if (forward_frame_ == 0) {
      const auto mark = work_.out().intern(std::string(trace::inferred_mark) + "the backward of]");
      forward_frame_ = new_frame(mark, {}, 0, trace::frame_kind::unknown);
    }
    std::uint64_t at = add_frames(forward, 0);
    if (at != 0) at = child(at, forward_frame_);
    if (frames != no_container) at = add_frames(frames, at);
    return static_cast<trace::stack_id>(at);
  }
  std::uint32_t& known = stacks_[frames];
  if (known == 0) {
    const std::uint64_t made = add_frames(frames, 0);
    known = made == 0 ? nothing : static_cast<std::uint32_t>(made);
  }
  return known == nothing ? trace::stack_id::none : static_cast<trace::stack_id>(known);
}

}  // namespace sluice::importing::torch
