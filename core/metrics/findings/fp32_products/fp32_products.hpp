#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/report/waste/fp32_products.hpp"
#include "core/trace/model/model.hpp"

/// Finds matrix products that compute in FP32 without tensor cores, although the device could compute them in TF32, and
/// estimates what TF32 would save. Times are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Returns true if a kernel of this name (demangled) is a matrix product of cuBLAS, or of another library built with
/// CUTLASS, that multiplies FP32 numbers without tensor cores. The names are those that profiles of A100 to B200 show:
///
/// - `ampere_sgemm_128x64_tn`, and the same with `volta`, `maxwell` or another architecture in front;
/// - `cutlass_80_simt_sgemm_256x128_8x4_nn_align1`, `cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_...`;
/// - `sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_...` (H100 has these, too);
/// - `magma_sgemmEx_kernel<float, float, float, ...>`.
///
/// Not meant are products in TF32 (`..._f32f32_tf32f32_...`, `..._tensorop_s1688gemm_...`, `nvjet_...`), from half
/// precision (`volta_fp16_sgemm_fp16_...`), with vectors (gemv, `gemmSN_TN_kernel`: memory is their limit), and
/// convolutions (cuDNN's `..._fprop_implicit_gemm_f32f32_f32f32_...`, `implicit_convolve_sgemm`, `..._scudnn_...`):
/// cuDNN may use TF32 by default and chooses FP32 where that is faster, so their names show no setting to change.
[[nodiscard]] bool is_fp32_product(std::string_view kernel);

/// Returns the framework whose own kernel has this name (demangled).
[[nodiscard]] product_maker find_product_maker(std::string_view kernel);

/// A context takes 1024 launches that have not started; then a launch waits until one starts. (CUDA does not document
/// the number, which is the same for all devices so far.) A little less is assumed, because copies and memsets of the
/// program may not be recorded.
inline constexpr std::size_t full_launch_queue = 1000;

/// Finds the products section by section, in order of time.
///
/// What they would save is found by replaying each process on each device. The device gains time with each product. The
/// gain lasts while work is queued: work that was requested before its predecessor ended starts earlier by it, but not
/// before its request. Work that was requested later starts no earlier, because it waited for the host, unless the host
/// itself came earlier: each wait for the device, each copy that blocks, and each launch that found
/// `full_launch_queue` others waiting returns earlier by what the device has gained. So in a program whose host is
/// slower than its device, faster products save nothing. If the recording has no times of requests, as some imports,
/// all of the gain counts.
///
/// The idea is that of `gain_of_running_ahead`, with shorter work instead of shorter waits. All streams of a process
/// count as one, and all of its threads as one.
class fp32_products_builder {
 public:
  explicit fp32_products_builder(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds the events in `run`, the time range that `store` covers. O(events * log events).
  void add(const index::event_store& store, time_range run);
  /// Returns the products of each process and device that has any. Sorted by process and device.
  [[nodiscard]] std::vector<fp32_products> metrics() const;

 private:
  struct name_kind {
    bool product = false;
    product_maker maker = product_maker::unknown;
  };
  /// A work item of the device that may still have been waiting when later work was requested.
  struct started {
    time_ns begin = 0;
    time_ns requested = 0;
    time_ns gain = 0;  ///< `replayed::device_gain` at `begin`.
  };
  /// The state of the replay of one process on one device, and the products so far.
  struct replayed {
    fp32_products products;
    std::map<trace::string_id, time_ns> names;
    time_ns until = -latest_time;  ///< End of the work so far.
    time_ns device_gain = 0;       ///< How much earlier the device ends its work so far.
    time_ns host_gain = 0;         ///< How much earlier the host requests its next work.
    bool requests_known = false;
    std::deque<started> latest;  ///< In order of start; at most `full_launch_queue`.
  };
  /// A work item of the device, or a call in which the host waits.
  struct step {
    time_range span;
    trace::string_id name{};
    time_ns queued = 0;  ///< From the request to the start; 0: unknown.
    bool waits = false;
  };
  const name_kind& get_kernel(trace::string_id name);
  bool blocks(trace::string_id call);
  static void add_wait(replayed& subject, time_range wait);
  static void start_work(replayed& subject, const step& work);
  static void add_work(replayed& subject, const step& work, const name_kind& kind);

  const metrics_scope& scope_;
  std::map<trace::string_id, name_kind> kernels_;
  std::map<trace::string_id, bool> calls_;
  std::map<std::pair<trace::process_id, trace::device_id>, replayed> all_;
};

}  // namespace sluice::metrics
