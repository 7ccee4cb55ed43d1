#include "core/import/nsys/stacks.hpp"

namespace sluice::importing {

bool nsys_stacks::add_frame(const nsys::cells& row, nsys_places& places) {
  using namespace nsys::frame;
  constexpr std::int64_t deepest = 4096;
  const std::int64_t at = row.number(depth, -1);
  if (at < 0 || at >= deepest) return false;
  const bool resolved = row.number(unresolved) == 0;
  const auto key = std::tuple(row.number(symbol), row.number(module), resolved ? 0 : row.number(address));
  const auto [known, fresh] = frames_.try_emplace(key);
  if (fresh) {
    trace::frame_row frame_row;
    frame_row.id = known->second = static_cast<trace::frame_id>(frames_.size());
    frame_row.kind = trace::frame_kind::native;
    frame_row.function = places.string(row.number(symbol));
    frame_row.module = places.string(row.number(module));
    out_.add(frame_row);
  }
  auto& frames = chains_[row.number(chain)].frames;
  const auto place = static_cast<std::size_t>(at);
  if (frames.size() <= place) frames.resize(place + 1);
  frames[place] = known->second;
  return true;
}

trace::stack_id nsys_stacks::of(std::int64_t chain) {
  const auto known = chains_.find(chain);
  if (known == chains_.end()) return {};
  call_chain& subject = known->second;
  if (subject.written) return subject.stack;
  subject.written = true;
  for (auto frame = subject.frames.rbegin(); frame != subject.frames.rend(); ++frame) {
    if (*frame == trace::frame_id::none) continue;
    const auto [place, fresh] = stacks_.try_emplace({subject.stack, *frame});
    if (fresh) {
      place->second = static_cast<trace::stack_id>(stacks_.size());
      out_.add(trace::stack_row{place->second, subject.stack, *frame});
    }
    subject.stack = place->second;
  }
  subject.frames = {};
  return subject.stack;
}

}  // namespace sluice::importing
