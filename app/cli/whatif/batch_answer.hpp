#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/replay/batch.hpp"
#include "core/replay/replay.hpp"
#include "core/trace/file/reader.hpp"

/// `sluice whatif --batch`: what a program needs with batches of another size.
namespace sluice::cli {

/// A recording and its batch size.
struct batch_file {
  std::string path;
  std::optional<double> batch;  ///< As given; none: it follows from the recording's input blocks.
};
/// Divides "train.sluice@64" into path and batch size. A file of that whole name is a path alone.
[[nodiscard]] batch_file batch_file_of(const std::string& text);
/// Reads "2x", "0.5x" or "2". Error: invalid_argument.
[[nodiscard]] result<double> batch_factor(const std::string& text);

/// What one recording says about its batch size.
struct batch_source {
  std::string path;
  std::optional<double> given;
  std::shared_ptr<const trace::snapshot> snapshot;
  double batch = 1;                 ///< In units of the first recording if none was given.
  std::uint64_t largest_input = 0;  ///< Bytes of the largest input block; 0: there is none.
  std::vector<replay::allocator_requests> requests;
  std::vector<std::vector<analysis::category>> categories;  ///< By allocator and block number.
  replay::by_category bytes{};                              ///< The most live bytes, over all allocators.
};
/// Opens a recording. `device`: only the allocators of that number. Errors: those of opening; not_found without requests.
[[nodiscard]] result<batch_source> open_batch_source(const batch_file& file, std::optional<std::int64_t> device);
/// Finds the batch sizes that were not given. Error: invalid_argument if a recording shows none.
[[nodiscard]] result<void> find_batches(std::vector<batch_source>& all);

enum class law_kind : std::uint8_t { assumed, category, block };

/// How well the law foretells one of the recordings.
struct batch_check {
  std::string path;
  double batch = 1;
  std::uint64_t recorded = 0;  ///< Peak of reserved bytes that the native model gives for it.
  std::uint64_t foretold = 0;  ///< From the first recording.
  [[nodiscard]] double error() const {
    return recorded == 0 ? 0 : static_cast<double>(foretold) / static_cast<double>(recorded) - 1;
  }
};

struct batch_answer {
  double factor = 1;
  double from = 1;
  double to = 1;
  bool sizes_given = false;  ///< `from` and `to` are batch sizes; else they are in units of the first recording's.
  law_kind by = law_kind::assumed;
  replay::batch_law law;
  replay::by_category recorded{};  ///< The most live bytes of each category in the first recording.
  std::vector<batch_check> checks;
  bool left_out = false;  ///< `checks`: each was foretold without itself; else they are residuals of the law.
  std::vector<replay::allocator_requests> requests;  ///< With the new size, and without a limit.
  std::vector<std::uint64_t> memory;                 ///< What each must fit into, in bytes; 0: not known.
  /// For each policy: false if an allocation fails within the memory; none: the memory is not known.
  std::vector<std::optional<bool>> fits;

  /// The largest error of `checks`; none with one recording.
  [[nodiscard]] std::optional<double> error() const;
};

/// `all`: the recording to scale, then others; with batch sizes. `memory`: overrides the device's.
[[nodiscard]] batch_answer answer_batch(const std::vector<batch_source>& all, double factor,
                                        std::optional<std::uint64_t> memory);
/// Fills in `fits`.
void judge_batch(const std::vector<replay::policy_result>& results, batch_answer& of);
[[nodiscard]] nlohmann::ordered_json batch_json(const batch_answer& of);
/// Some lines: what is foretold by what law, and whether it fits.
[[nodiscard]] std::string batch_text(const batch_answer& of, const std::vector<replay::policy_result>& results);

}  // namespace sluice::cli
