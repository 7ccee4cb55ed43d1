#pragma once

#include <string>

#include "core/trace/model/ids.hpp"
#include "core/trace/model/tables.hpp"

/// Display names of devices, streams, threads, processes and pools. If the file has no name for an object, the label is
/// built from its number.
namespace sluice::index {

// If several GPUs have the same number, the label also names their machine, rank or process: "GPU 0 of node7", "GPU 0
// of rank 3".
[[nodiscard]] std::string device_label(trace::device_id id, const trace::tables& tables);  ///< "NVIDIA H200 (GPU 0)"
[[nodiscard]] std::string short_label(trace::device_id id, const trace::tables& tables);   ///< "GPU 0", or "host"
/// The short label for display next to a rank label: omits the rank, for example "GPU 0".
[[nodiscard]] std::string label_beside_rank(trace::device_id id, const trace::tables& tables);
/// The names of all devices, with counts: "64 x NVIDIA H200, NVIDIA A100". Includes simulated devices only if
/// `simulated` is true.
[[nodiscard]] std::string device_names(const trace::tables& tables, bool simulated);
[[nodiscard]] std::string stream_label(trace::stream_id id, const trace::tables& tables);    ///< "Stream 7"
[[nodiscard]] std::string thread_label(trace::thread_id id, const trace::tables& tables);    ///< "main (4711)"
[[nodiscard]] std::string process_label(trace::process_id id, const trace::tables& tables);  ///< "python (4710)"
[[nodiscard]] std::string pool_label(trace::pool_id id, const trace::tables& tables);        ///< "default pool"

}  // namespace sluice::index
