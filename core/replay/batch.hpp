#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/index/memory/categories.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/replay/requests.hpp"

/// What a program would ask PyTorch's allocator for with batches of another size.
namespace sluice::replay {

/// A number for each category of blocks.
using by_category = std::array<double, analysis::category_count>;

/// The category of each block number of `of`. `categories`: by position in `memory.blocks()`. O(blocks).
[[nodiscard]] std::vector<analysis::category> categories_of(const allocator_requests& of,
                                                            const analysis::memory_use& memory,
                                                            std::span<const analysis::block_category> categories);

/// The most bytes of each category that are live at a time. `of_block`: by block number. O(requests).
[[nodiscard]] by_category highest_bytes(const allocator_requests& of, std::span<const analysis::category> of_block);

/// A recording as a point of the law: its batch size, and the most live bytes of each category.
struct batch_point {
  double batch = 1;
  by_category bytes{};
};

/// How the bytes of each category depend on the batch size n: constant + per_batch * n.
struct batch_law {
  by_category constant{};
  by_category per_batch{};
  /// False: one point does not show a law. Weights, gradients and optimizer state are then taken to be constant, and all
  /// else to be proportional.
  bool fitted = false;

  [[nodiscard]] double bytes(analysis::category what, double batch) const {
    const auto at = static_cast<std::size_t>(what);
    const double all = constant[at] + per_batch[at] * batch;
    return all > 0 ? all : 0;
  }
};

/// Least squares through the points. Bytes that shrink with the batch size count as constant. At least one point, and
/// points of the same batch size count as one. O(points).
[[nodiscard]] batch_law law_of(std::span<const batch_point> points);

/// The requests with another batch size: each block grows as its category does between the two sizes. A category of which
/// the law knows no bytes keeps its sizes. `of_block`: by block number. O(requests).
[[nodiscard]] allocator_requests with_batch(const allocator_requests& of, std::span<const analysis::category> of_block,
                                            const batch_law& law, double from, double to);

/// Another recording of the same program.
struct batch_recording {
  double batch = 1;
  const allocator_requests* requests = nullptr;
};

/// The requests with another batch size, by a law for each block, which is more exact than one for each category: the
/// recordings of programs that make the same allocations in the same order are compared one by one. Nothing if they have
/// other numbers of allocations, if more than a twentieth of the blocks shrink with the batch size, or if all have the
/// same size. O(requests).
[[nodiscard]] std::optional<allocator_requests> with_batch_by_block(const allocator_requests& of, double from,
                                                                    std::span<const batch_recording> others, double to);

}  // namespace sluice::replay
