#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/replay/batch.hpp"
#include "core/replay/replay.hpp"
#include "core/trace/file/reader.hpp"

/// `sluice whatif --batch`: predicts the memory that a program needs with another batch size.
namespace sluice::cli {

/// A recording and its batch size.
struct batch_file {
  std::string path;
  std::optional<double> batch;  ///< The batch size given by the user; null: derived from the recording's input blocks.
};
/// Splits "train.sluice@64" into path and batch size. If a file of exactly that name exists, the whole text is the
/// path.
[[nodiscard]] batch_file parse_batch_file(const std::string& text);
/// Parses "2x", "0.5x" or "2". Error: invalid_argument.
[[nodiscard]] result<double> batch_factor(const std::string& text);

/// The batch size of one recording, and the data from which it is derived.
struct batch_source {
  std::string path;
  std::optional<double> given;
  std::shared_ptr<const trace::snapshot> snapshot;
  double batch = 1;                 ///< Batch size; relative to that of the first recording if the user gave none.
  std::uint64_t largest_input = 0;  ///< Bytes of the largest input block; 0: the recording has none.
  std::vector<replay::allocator_requests> requests;
  std::vector<std::vector<index::category>> categories;  ///< Indexed by allocator, then by block number.
  replay::by_category bytes{};                           ///< Bytes of each category at the peak of live bytes, over all
                                                         ///< allocators.
};
/// Opens a recording. `device`: use only allocators of the device with this number. Errors: those of opening; not_found
/// if the recording has no requests.
[[nodiscard]] result<batch_source> open_batch_source(const batch_file& file, std::optional<std::int64_t> device);
/// Derives the batch sizes that the user did not give. Error: invalid_argument if one of them cannot be derived.
[[nodiscard]] result<void> find_batches(std::vector<batch_source>& sources);

enum class law_kind : std::uint8_t { assumed, category, block };

/// How well the scaling law predicts one of the recordings.
struct batch_check {
  std::string path;
  double batch = 1;
  std::uint64_t recorded = 0;  ///< Peak of reserved bytes, according to the native model.
  std::uint64_t foretold = 0;  ///< The same peak, predicted from the first recording.
  [[nodiscard]] double error() const {
    return recorded == 0 ? 0 : static_cast<double>(foretold) / static_cast<double>(recorded) - 1;
  }
};

struct batch_result {
  double factor = 1;
  double from = 1;
  double to = 1;
  bool sizes_given = false;  ///< `from` and `to` are batch sizes; otherwise they are multiples of the first recording's
                             ///< batch size.
  law_kind by = law_kind::assumed;
  replay::batch_law law;
  replay::by_category recorded{};  ///< Bytes of each category at the peak of live bytes in the first recording.
  std::vector<batch_check> checks;
  bool left_out = false;  ///< `checks` come from leave-one-out predictions; otherwise they are residuals of the law.
  std::vector<replay::allocator_requests> requests;  ///< For the new batch size, without a memory limit.
  std::vector<std::uint64_t> memory;                 ///< Available memory for each element of `requests`, in bytes; 0:
                                                     ///< unknown.
  /// For each policy: false if an allocation fails within the available memory; null: the memory is unknown.
  std::vector<std::optional<bool>> fits;

  /// The largest error among `checks`; null if there is only one recording.
  [[nodiscard]] std::optional<double> error() const;
};

/// `sources`: the recording to scale, then other recordings, all with batch sizes. `memory`: overrides the size of the
/// device's memory.
[[nodiscard]] batch_result result_batch(const std::vector<batch_source>& sources, double factor,
                                        std::optional<std::uint64_t> memory);
/// Fills in `of.fits`.
void judge_batch(const std::vector<replay::policy_result>& results, batch_result& result);
[[nodiscard]] nlohmann::ordered_json batch_json(const batch_result& result);
/// A few lines of text: the prediction, the scaling law, and whether the program fits.
[[nodiscard]] std::string batch_text(const batch_result& result, const std::vector<replay::policy_result>& results);

}  // namespace sluice::cli
