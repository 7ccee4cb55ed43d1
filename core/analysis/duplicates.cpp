#include "core/analysis/duplicates.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/analysis/index.hpp"
#include "core/analysis/line_use.hpp"

namespace sluice::analysis {
namespace {

template <class Number>
void add_bounded(Number& to, Number more) {
  to = more > std::numeric_limits<Number>::max() - to ? std::numeric_limits<Number>::max() : to + more;
}

copy_figures figures_of(const content_copy& copy) {
  return {1, copy.bytes, copy.end == latest_time ? 0 : copy.end - copy.begin};
}

class finder {
 public:
  finder(const index& from, time_range range) : from_(from), range_(range) {}

  duplicate_figures all() {
    const std::span<const content_copy> copies = from_.contents().copies();
    for (std::size_t first = 0; first < copies.size();) {
      const std::size_t count = from_.contents().same_from(first);
      one_content(copies.subspan(first, count));
      first += count;
    }
    found_.largest = whole_.largest;
    found_.graph_launches = from_.touches().launches_that_copy(range_);
    duplicate_figures made{std::move(found_), {}};
    for (const auto& [id, stack] : stacks_) made.stacks.push_back(stack);
    return made;
  }

 private:
  bool in_range(const content_copy& copy) const { return copy.begin >= range_.begin && copy.begin < range_.end; }

  void one_content(std::span<const content_copy> copies) {
    std::set<std::uint64_t> sources;
    std::set<std::pair<trace::block_id, std::uint64_t>> destinations;
    bool moved = false;
    for (const content_copy& copy : copies) {
      const bool overtaken = copy.hashed() && from_.contents().overtaken(copy);
      if (in_range(copy)) count(copy, overtaken);
      if (!copy.hashed() || overtaken) continue;
      const bool same_source = !sources.insert(copy.source).second;
      const bool same_destination = !destinations.insert({copy.block, copy.destination}).second;
      if (moved && in_range(copy)) repeated(copy, same_source, same_destination);
      moved = true;
    }
  }

  void count(const content_copy& copy, bool overtaken) {
    using enum trace::content_check;
    copy_figures& kind = overtaken                   ? found_.overtaken
                         : copy.check == exact       ? found_.exact
                         : copy.check == sampled     ? found_.sampled
                         : copy.check == over_budget ? found_.over_budget
                                                     : found_.unreadable;
    kind.add(figures_of(copy));
  }

  void repeated(const content_copy& copy, bool same_source, bool same_destination) {
    repeat_figures one;
    one.all = figures_of(copy);
    if (same_source) one.same_source = one.all;
    if (same_destination) one.same_destination = one.all;
    if (copy.check == trace::content_check::exact) one.exact = one.all;
    found_.repeated.add(one);
    add(whole_, one, copy);
    const trace::stack_id stack = from_.copies().stack_of(copy.call);
    repeating_stack& of = stacks_[stack];
    of.stack = stack;
    add(of, one, copy);
  }

  static void add(repeating_stack& to, const repeat_figures& one, const content_copy& copy) {
    to.figures.add(one);
    if (to.largest != trace::event_id::none && copy.bytes <= to.largest_bytes) return;
    to.largest = copy.event;
    to.largest_bytes = copy.bytes;
  }

  const index& from_;
  time_range range_;
  std::map<trace::stack_id, repeating_stack> stacks_;
  repeating_stack whole_;
  duplicate_copies found_;
};

}  // namespace

void copy_figures::add(const copy_figures& more) {
  add_bounded(copies, more.copies);
  add_bounded(bytes, more.bytes);
  add_bounded(busy, more.busy);
}

void repeat_figures::add(const repeat_figures& more) {
  all.add(more.all);
  same_source.add(more.same_source);
  same_destination.add(more.same_destination);
  exact.add(more.exact);
}

copy_figures duplicate_copies::hashed() const {
  copy_figures both = exact;
  both.add(sampled);
  return both;
}

duplicate_figures find_duplicates(const index& from, time_range range) { return finder(from, range).all(); }

duplicate_copies name_duplicates(const duplicate_figures& figures, const trace::tables& tables, const naming& names) {
  struct line_group {
    repeat_figures figures;
    const repeating_stack* most = nullptr;
    const repeating_stack* largest = nullptr;
  };
  duplicate_copies made = figures.all;
  line_namer lines(tables, names);
  std::map<symbols::line_id, line_group> groups;
  for (const repeating_stack& stack : figures.stacks) {
    if (!lines.knows(stack.stack)) {
      made.without_stack.add(stack.figures);
      continue;
    }
    line_group& of = groups[lines.line_of(stack.stack)];
    of.figures.add(stack.figures);
    if (of.most == nullptr || stack.figures.all.bytes > of.most->figures.all.bytes) of.most = &stack;
    if (of.largest == nullptr || stack.largest_bytes > of.largest->largest_bytes) of.largest = &stack;
  }
  std::vector<std::pair<symbols::line_id, line_group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const copy_figures& x = a.second.figures.all;
    const copy_figures& y = b.second.figures.all;
    return std::pair(x.bytes, x.copies) > std::pair(y.bytes, y.copies);
  });
  for (const auto& [line, of] : sorted) {
    if (made.lines.size() == duplicate_copies::line_limit) {
      made.other_lines.add(of.figures);
      continue;
    }
    made.lines.push_back({lines.describe(line), of.figures, lines.stack(of.most->stack), of.largest->largest});
  }
  return made;
}

}  // namespace sluice::analysis
