#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/whatif/batch_result.hpp"
#include "core/base/error.hpp"
#include "core/replay/replay.hpp"
#include "core/trace/file/reader.hpp"

/// The result of `sluice whatif`, which the MCP tool uses too.
namespace sluice::cli {

/// The arguments of `sluice whatif`.
struct whatif_wanted {
  /// The recording; with `batch`, also up to two recordings with other batch sizes. Each name may end in "@64", the
  /// batch size.
  std::vector<std::string> files;
  std::vector<std::string> policies;  ///< Each in the syntax of `replay::parse_policy`; empty: the default policies.
  std::optional<std::int64_t> device;
  std::string batch;                    ///< Batch size relative to that of the first recording, such as "2x". Empty: as
                                        ///< recorded.
  std::optional<std::uint64_t> memory;  ///< Size of the target GPU's memory in bytes; null: as recorded.
};

/// The result, and the data needed to print it.
struct whatif_result {
  std::vector<replay::allocator_requests> requests;
  std::vector<replay::policy_result> results;
  std::vector<std::optional<replay::native_error>> errors;  ///< One for each allocator.
  std::shared_ptr<const trace::snapshot> snapshot;
  std::optional<batch_result> batch;  ///< If set, `results` are those of its requests.
};

/// Replays the requests. Errors: those of opening; invalid_argument and not_found, worded for the command line.
[[nodiscard]] result<whatif_result> result_whatif(const whatif_wanted& wanted);
/// JSON as documented in `app/cli/README.md`.
[[nodiscard]] nlohmann::ordered_json whatif_json(const whatif_result& result);
[[nodiscard]] std::string whatif_text(const whatif_result& result);

}  // namespace sluice::cli
