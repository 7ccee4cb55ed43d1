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

/// What the stacks under one line repeated.
struct line_group {
  repeat_figures figures;
  std::map<trace::stack_id, std::uint64_t> stacks;  ///< Bytes.
  trace::event_id largest{};
  std::uint64_t largest_bytes = 0;

  void add(const repeat_figures& one, const content_copy& copy) {
    figures.add(one);
    if (copy.bytes < largest_bytes || (largest != trace::event_id::none && copy.bytes == largest_bytes)) return;
    largest = copy.event;
    largest_bytes = copy.bytes;
  }
};

class finder {
 public:
  finder(const index& from, const trace::tables& tables, time_range range, const naming& names)
      : from_(from), lines_(tables, names), range_(range) {}

  duplicate_copies all() {
    const std::span<const content_copy> copies = from_.contents().copies();
    for (std::size_t first = 0; first < copies.size();) {
      const std::size_t count = from_.contents().same_from(first);
      one_content(copies.subspan(first, count));
      first += count;
    }
    found_.largest = whole_.largest;
    found_.graph_launches = from_.touches().launches_that_copy(range_);
    put_lines();
    return std::move(found_);
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
    whole_.add(one, copy);
    const trace::stack_id stack = from_.copies().stack_of(copy.call);
    if (!lines_.knows(stack)) {
      found_.without_stack.add(one);
      return;
    }
    line_group& of = groups_[lines_.line_of(stack)];
    of.add(one, copy);
    add_bounded(of.stacks[stack], copy.bytes);
  }

  void put_lines() {
    std::vector<std::pair<symbols::line_id, line_group>> sorted(groups_.begin(), groups_.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      const copy_figures& x = a.second.figures.all;
      const copy_figures& y = b.second.figures.all;
      return std::pair(x.bytes, x.copies) > std::pair(y.bytes, y.copies);
    });
    for (const auto& [line, of] : sorted) {
      if (found_.lines.size() == duplicate_copies::line_limit) {
        found_.other_lines.add(of.figures);
        continue;
      }
      const auto most = std::max_element(of.stacks.begin(), of.stacks.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      found_.lines.push_back({lines_.describe(line), of.figures, lines_.stack(most->first), of.largest});
    }
  }

  const index& from_;
  line_namer lines_;
  time_range range_;
  std::map<symbols::line_id, line_group> groups_;
  line_group whole_;
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

duplicate_copies find_duplicates(const index& from, const trace::tables& tables, time_range range,
                                 const naming& names) {
  return finder(from, tables, range, names).all();
}

}  // namespace sluice::analysis
