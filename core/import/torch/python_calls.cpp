#include "core/import/torch/python_calls.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "core/import/common/number.hpp"
#include "core/trace/model/inferred_frames.hpp"

namespace sluice::importing {
namespace {

struct python_name {
  std::string function, file;
  std::uint64_t line = 0;
};

/// Removes addresses such as " at 0x7f00", which differ from run to run.
std::string without_addresses(std::string_view text) {
  constexpr std::string_view mark = " at 0x";
  std::string kept;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    kept += text.substr(0, at);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789abcdefABCDEF", at + mark.size()), text.size()));
  }
  return kept += text;
}

/// Parses a name such as "net.py(33): forward". Names without a file, such as "<built-in method matmul>" and
/// "nn.Module: Linear_0", are functions.
python_name read_name(std::string_view name) {
  const std::size_t close = name.find("): ");
  const std::size_t open = close == std::string_view::npos ? close : name.rfind('(', close);
  if (open != std::string_view::npos && open != 0) {
    const auto line = parse_integer(name.substr(open + 1, close - open - 1));
    if (line && *line >= 0)
      return {std::string(name.substr(close + 3)), std::string(name.substr(0, open)),
              static_cast<std::uint64_t>(*line)};
  }
  return {without_addresses(name), {}, 0};
}

}  // namespace

bool python_calls::tells_phase(std::string_view name) {
  for (const std::string_view begin :
       {"autograd::engine::evaluate_function: ", "Optimizer.step#", "Optimizer.zero_grad#", "enumerate(DataLoader)#"})
    if (name.starts_with(begin)) return true;
  return false;
}

void python_calls::add(trace::thread_id thread, trace::time_ns begin, trace::time_ns end, std::string_view name,
                       trace::frame_kind kind) {
  if (calls_.size() == max_calls) {
    ++left_out_;
    return;
  }
  call output;
  output.begin = begin;
  output.end = end == trace::unknown_time ? std::numeric_limits<trace::time_ns>::max() : end;
  output.name = static_cast<std::uint32_t>(raw(out_.intern(name)));
  output.thread = static_cast<std::uint32_t>(raw(thread));
  calls_.push_back(output);
  names_.try_emplace(output.name, called{std::string(name), kind});
}

/// Sorts by thread, and within a thread from the outermost to the innermost call.
void python_calls::sort() {
  sorted_ = true;
  std::stable_sort(calls_.begin(), calls_.end(), [](const call& a, const call& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  for (std::size_t i = calls_.size(); i-- > 0;) walks_[calls_[i].thread].next = i;
}

trace::stack_id python_calls::at(trace::thread_id thread, trace::time_ns time) {
  if (!sorted_) sort();
  const auto number = static_cast<std::uint32_t>(raw(thread));
  const auto found = walks_.find(number);
  if (found == walks_.end()) return {};
  walk& subject = found->second;
  const auto leave = [&](trace::time_ns until) {
    while (!subject.open.empty() && subject.open.back().end < until) subject.open.pop_back();
  };
  for (; subject.next < calls_.size() && calls_[subject.next].thread == number && calls_[subject.next].begin <= time;
       ++subject.next) {
    const call& each = calls_[subject.next];
    if (each.end < time) continue;
    leave(each.begin);
    if (subject.open.size() < deepest) subject.open.push_back({each.end, each.name, {}});
  }
  leave(time);
  return subject.open.empty() ? trace::stack_id::none : find_stack(subject.open);
}

/// Returns the stack of the open calls. Its innermost frame marks the frames outside of it as inferred.
trace::stack_id python_calls::find_stack(std::vector<open_call>& open) {
  trace::stack_id stack{};
  for (open_call& each : open) {
    if (each.stack == trace::stack_id::none) each.stack = child(stack, find_frame(each.name));
    stack = each.stack;
  }
  if (mark_ == trace::frame_id::none) {
    mark_ = new_frame(trace::frame_kind::unknown, std::string(trace::inferred_mark) + "while this ran]", {}, 0);
  }
  return child(stack, mark_);
}

trace::stack_id python_calls::child(trace::stack_id parent, trace::frame_id frame) {
  const auto [known, fresh] = stacks_.try_emplace({parent, frame});
  if (fresh) {
    known->second = static_cast<trace::stack_id>(stacks_.size());
    out_.add(trace::stack_row{known->second, parent, frame});
  }
  return known->second;
}

trace::frame_id python_calls::find_frame(std::uint32_t name) {
  trace::frame_id& known = frames_[name];
  if (known != trace::frame_id::none) return known;
  const called& subject = names_[name];
  const python_name read = read_name(subject.name);
  trace::frame_id& same = same_frames_[{read.function, read.file, read.line}];
  if (same == trace::frame_id::none) same = new_frame(subject.kind, read.function, read.file, read.line);
  return known = same;
}

trace::frame_id python_calls::new_frame(trace::frame_kind kind, std::string_view function, std::string_view file,
                                        std::uint64_t line) {
  trace::frame_row row;
  row.id = static_cast<trace::frame_id>(++last_frame_);
  row.kind = kind;
  row.function = out_.intern(function);
  row.file = out_.intern(file);
  row.line = line;
  out_.add(row);
  return row.id;
}

}  // namespace sluice::importing
