#include "core/replay/batch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::replay {
namespace {

using index::category;

/// The maximum of a size in bytes, more than any real memory. Sizes in hostile files are limited so that they can be
/// added up.
constexpr double max_bytes = 1e15;

bool is_of_model(category wanted) {
  return wanted == category::weight || wanted == category::gradient || wanted == category::optimizer_state;
}

/// Fits lines by least squares, through series of points that all have the same batch sizes.
class line_fit {
 public:
  /// `batches` must not be empty.
  explicit line_fit(std::vector<double> batches) : batches_(std::move(batches)) {
    for (const double each : batches_) mean_ += each / count();
    for (const double each : batches_) spread_ += (each - mean_) * (each - mean_);
  }
  /// True if the batch sizes differ. Otherwise, no slope can be determined.
  [[nodiscard]] bool shows_slope() const { return spread_ > 0; }
  [[nodiscard]] double mean() const { return mean_; }  ///< The mean batch size.

  struct line {
    double mean = 0;   ///< The mean of the values.
    double slope = 0;  ///< 0 if the slope cannot be determined.
  };
  /// Fits a line. `value_at(i)` returns the value at the batch size at position `i`.
  template <class Value>
  [[nodiscard]] line through(Value&& value_at) const {
    line output;
    for (std::size_t i = 0; i < batches_.size(); ++i) output.mean += value_at(i) / count();
    if (!shows_slope()) return output;
    for (std::size_t i = 0; i < batches_.size(); ++i)
      output.slope += (batches_[i] - mean_) * (value_at(i) - output.mean) / spread_;
    return output;
  }

 private:
  [[nodiscard]] double count() const { return static_cast<double>(batches_.size()); }

  const std::vector<double> batches_;
  double mean_ = 0;
  double spread_ = 0;
};

}  // namespace

void block_categories::add(const index::memory_use& memory, std::span<const index::block_category> categories,
                           time_range run) {
  const auto blocks = memory.blocks();
  for (std::size_t i = 0; i < std::min(blocks.size(), categories.size()); ++i)
    if (categories[i].kind != category::none && blocks[i].layer == trace::layer::framework && run.holds(blocks[i].born))
      known_.emplace(raw(blocks[i].id), categories[i].kind);
}

std::vector<category> block_categories::of(const allocator_requests& requests) const {
  std::vector<category> items;
  items.reserve(requests.ids.size());
  for (const trace::block_id id : requests.ids) {
    const auto known = known_.find(raw(id));
    items.push_back(known == known_.end() ? category::none : known->second);
  }
  return items;
}

by_category highest_bytes(const allocator_requests& requests, std::span<const category> of_block) {
  by_category live{};
  by_category highest{};
  std::vector<std::uint64_t> size(requests.blocks);
  for (const request& each : requests.requests) {
    if (each.kind == request_kind::empty_cache) continue;
    const auto block = static_cast<std::size_t>(of_block[each.block]);
    if (each.kind == request_kind::allocate) {
      size[each.block] = each.bytes;
      live[block] += static_cast<double>(each.bytes);
      highest[block] = std::max(highest[block], live[block]);
    } else {
      live[block] -= static_cast<double>(size[each.block]);
    }
  }
  return highest;
}

batch_law fit_law(std::span<const batch_point> points) {
  batch_law law;
  std::vector<double> batches;
  for (const batch_point& each : points) batches.push_back(each.batch);
  const line_fit fit(std::move(batches));
  law.fitted = fit.shows_slope();
  for (std::size_t value = 0; value < law.constant.size(); ++value) {
    auto [bytes, slope] = fit.through([&](std::size_t i) { return points[i].bytes[value]; });
    slope = std::max(slope, 0.0);
    if (!law.fitted && !is_of_model(static_cast<category>(value)) && fit.mean() > 0) slope = bytes / fit.mean();
    law.per_batch[value] = slope;
    law.constant[value] = bytes - slope * fit.mean();
  }
  return law;
}

allocator_requests with_batch(const allocator_requests& requests, std::span<const category> of_block,
                              const batch_law& law, double begin, double to) {
  allocator_requests output = requests;
  // The recorded addresses are not valid for segments of other sizes.
  output.segment_addresses.clear();
  by_category factor{};
  for (std::size_t value = 0; value < factor.size(); ++value) {
    const double before = law.bytes(static_cast<category>(value), begin);
    factor[value] = before > 0 ? law.bytes(static_cast<category>(value), to) / before : 1;
  }
  for (request& each : output.requests) {
    if (each.kind != request_kind::allocate) continue;
    const double bytes = static_cast<double>(each.bytes) * factor[static_cast<std::size_t>(of_block[each.block])];
    each.bytes = static_cast<std::uint64_t>(std::llround(std::clamp(bytes, 1.0, max_bytes)));
  }
  return output;
}

std::optional<allocator_requests> with_batch_by_block(const allocator_requests& subject, double begin,
                                                      std::span<const batch_recording> others, double to) {
  const auto get_sizes = [](const allocator_requests& requests) {
    std::vector<double> sizes;
    for (const request& each : requests.requests)
      if (each.kind == request_kind::allocate) sizes.push_back(static_cast<double>(each.bytes));
    return sizes;
  };
  std::vector<double> batches{begin};
  std::vector<std::vector<double>> sizes{get_sizes(subject)};
  for (const batch_recording& each : others) {
    batches.push_back(each.batch);
    sizes.push_back(get_sizes(*each.requests));
    if (sizes.back().size() != sizes.front().size()) return std::nullopt;
  }
  const line_fit fit(std::move(batches));
  if (!fit.shows_slope()) return std::nullopt;
  allocator_requests output = subject;
  output.segment_addresses.clear();
  std::size_t at = 0;
  std::size_t shrinking = 0;
  for (request& each : output.requests) {
    if (each.kind != request_kind::allocate) continue;
    const auto [bytes, slope] = fit.through([&](std::size_t i) { return sizes[i][at]; });
    ++at;
    if (slope < 0) ++shrinking;
    if (slope <= 0) continue;
    each.bytes =
        static_cast<std::uint64_t>(std::llround(std::clamp(bytes + slope * (to - fit.mean()), 1.0, max_bytes)));
  }
  if (shrinking * 20 > at) return std::nullopt;
  return output;
}

}  // namespace sluice::replay
