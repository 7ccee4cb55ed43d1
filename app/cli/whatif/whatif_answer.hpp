#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/whatif/batch_answer.hpp"
#include "core/base/error.hpp"
#include "core/replay/replay.hpp"
#include "core/trace/file/reader.hpp"

/// What `sluice whatif` answers; the assistant's tool asks it too.
namespace sluice::cli {

/// What is asked for.
struct whatif_wanted {
  /// The recording; with `batch`, up to two more of other batch sizes. Each may end in "@64", its batch size.
  std::vector<std::string> files;
  std::vector<std::string> policies;  ///< As `replay::parse_policy` reads them; empty: the usual ones.
  std::optional<std::int64_t> device;
  std::string batch;                    ///< "2x": the batch size, in those of the first recording. Empty: as recorded.
  std::optional<std::uint64_t> memory;  ///< Bytes of the GPU to fit into; none: as recorded.
};

/// The answer, and what is needed to print it.
struct whatif_answer {
  std::vector<replay::allocator_requests> requests;
  std::vector<replay::policy_result> results;
  std::vector<std::optional<replay::native_error>> errors;  ///< For each allocator.
  std::shared_ptr<const trace::snapshot> snapshot;
  std::optional<batch_answer> batch;  ///< The results are then those of its requests.
};

/// Replays. Errors: those of opening, and invalid_argument and not_found, in words for the command line.
[[nodiscard]] result<whatif_answer> answer_whatif(const whatif_wanted& wanted);
/// As `app/cli/README.md` documents it.
[[nodiscard]] nlohmann::ordered_json whatif_json(const whatif_answer& of);
[[nodiscard]] std::string whatif_text(const whatif_answer& of);

}  // namespace sluice::cli
