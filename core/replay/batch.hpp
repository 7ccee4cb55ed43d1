#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/replay/requests.hpp"

/// Computes the requests that a program would make to PyTorch's allocator with another batch size.
namespace sluice::replay {

/// A number for each category of blocks.
using by_category = std::array<double, index::category_count>;

/// The categories of the blocks of a recording, collected section by section. Takes some 40 bytes of memory per block
/// that has a category and belongs to a framework.
class block_categories {
 public:
  /// Adds the blocks that were allocated in `run`. `categories` is indexed by position in `memory.blocks()`. O(blocks).
  void add(const index::memory_use& memory, std::span<const index::block_category> categories, time_range run);
  /// Returns the category of each block in `requests`, indexed by block number. O(blocks).
  [[nodiscard]] std::vector<index::category> of(const allocator_requests& requests) const;

 private:
  std::unordered_map<std::uint64_t, index::category> known_;
};

/// Returns the maximum of the live bytes of each category. `of_block` is indexed by block number. O(requests).
[[nodiscard]] by_category highest_bytes(const allocator_requests& requests, std::span<const index::category> of_block);

/// A recording as a data point for a `batch_law`: its batch size, and the maximum of the live bytes of each category.
struct batch_point {
  double batch = 1;
  by_category bytes{};
};

/// How the bytes of each category depend on the batch size n: constant + per_batch * n.
struct batch_law {
  by_category constant{};
  by_category per_batch{};
  /// False if all data points have the same batch size, which does not determine a law. Weights, gradients and
  /// optimizer state are then assumed to be constant, and all other categories to be proportional to the batch size.
  bool fitted = false;

  [[nodiscard]] double bytes(index::category wanted, double batch) const {
    const auto at = static_cast<std::size_t>(wanted);
    const double total = constant[at] + per_batch[at] * batch;
    return total > 0 ? total : 0;
  }
};

/// Computes a least-squares fit. Bytes that decrease with the batch size count as constant. Needs at least one point.
/// All points of the same batch size count as one point. O(points).
[[nodiscard]] batch_law fit_law(std::span<const batch_point> points);

/// Returns the requests for another batch size. The size of each block changes by the same factor as the bytes of its
/// category. A category for which the law has no bytes keeps its sizes. `of_block` is indexed by block number.
/// O(requests).
[[nodiscard]] allocator_requests with_batch(const allocator_requests& requests,
                                            std::span<const index::category> of_block, const batch_law& law,
                                            double begin, double to);

/// Another recording of the same program.
struct batch_recording {
  double batch = 1;
  const allocator_requests* requests = nullptr;
};

/// Returns the requests for another batch size, with a law for each block, which is more exact than a law for each
/// category. This is possible if the recorded programs make the same allocations in the same order. The allocations are
/// then compared one by one. Returns nothing if the numbers of allocations differ, if more than a twentieth of the
/// blocks shrink with the batch size, or if all recordings have the same batch size. O(requests).
[[nodiscard]] std::optional<allocator_requests> with_batch_by_block(const allocator_requests& requests, double begin,
                                                                    std::span<const batch_recording> others, double to);

}  // namespace sluice::replay
