#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/metrics/base/code_place.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/report/report.hpp"

/// Declarations that the files in this folder share. Each file has functions that add findings of one kind, or of a few
/// related kinds, to a `finder`. Private to core/metrics.
namespace sluice::metrics {

inline constexpr double mebi = 1024.0 * 1024.0;  ///< One MiB in bytes.

/// Returns the length of the time after start-up in ns (at least 1): the active time without one-time
/// work such as starting, compiling and saving. The three longest idle gaps of each cause and line, on
/// the device where their sum is smallest, count as one-time work. All shares of time in findings and in the verdict
/// refer to it.
[[nodiscard]] double working_time(const report& subject);

/// The report that is being analyzed, and the findings so far.
struct finder {
  const report& whole;
  const trace::tables& tables;
  code_places places;
  std::vector<finding> found{};
  trace::device_id device{};  ///< The device that is being analyzed; `none` means all devices.
  /// Length of the time after start-up in ns, at least 1.
  double working = working_time(whole);

  /// Adds a finding whose range is all of the active time and, if `device` is set, whose device is `device`.
  finding& add(finding_kind kind, std::string text, std::string advice) {
    finding& output = found.emplace_back(
        finding{kind, trace::severity::info, std::move(text), std::move(advice), whole.whole.active});
    if (device != trace::device_id::none) output.devices.push_back(device);
    return output;
  }
  [[nodiscard]] saving time(double ns, saving_basis basis) const {
    ns = std::clamp(ns, 0.0, working);  // The time can exceed `working`, because the host also loses time while the
                                        // device works.
    return {.time = static_cast<time_ns>(ns), .basis = basis, .share = ns / working};
  }
  /// Returns `ns` of one device as a share of the time after start-up, such as "12 % of the time after start-up". Shares
  /// of savings, of the verdict and of the texts of findings refer to the same time, so that they can be compared.
  [[nodiscard]] std::string share_of_time(double ns) const;
  /// Returns the share (0..1) of a peak that `bytes` are. The peak is `own`, that of the memory which holds the bytes,
  /// or the main peak if that is higher and on the same device. So a small kind of memory, of which a large part is
  /// wasted, does not rank above the memory that fills the device.
  [[nodiscard]] double peak_share(std::uint64_t bytes, std::uint64_t own, trace::device_id on_device) const;
  /// As `peak_share`, for memory that a pool or allocator holds but does not hand out: the share of `own`, or of the
  /// highest peak of any layer on the device if that is higher.
  [[nodiscard]] double reserved_share(std::uint64_t bytes, std::uint64_t own, trace::device_id on_device) const;
  /// Returns text such as ", 12 % of the time after start-up"; empty if `part` exceeds that time, as for concurrent
  /// copies on several devices.
  [[nodiscard]] std::string share_if_less(time_ns part) const;
  /// True if there is a finding of this kind. With `place`, true only if the place of such a finding is the same, or
  /// both places are unknown.
  [[nodiscard]] bool has(finding_kind kind) const;
  [[nodiscard]] bool has(finding_kind kind, const code_place& place) const;
  /// Returns the time in ns within which a program uses again what it uses in every step: twice the median step, because
  /// steps differ. 0 without steps.
  [[nodiscard]] time_ns time_of_two_steps() const;
  /// True if some memory at a peak belongs to a backward pass. Programs without a backward pass cannot recompute
  /// activations.
  [[nodiscard]] bool trains() const;
  /// Returns " on GPU 1" if there are several devices, else an empty string.
  [[nodiscard]] std::string on(trace::device_id one) const;
  /// Returns "GPU 1" if there are several devices, else "The GPU".
  [[nodiscard]] std::string gpu(trace::device_id one) const;
  /// True if a framework or a pool hands out the device's memory. Such an allocator keeps driver memory by design.
  [[nodiscard]] bool has_allocator(trace::memory_kind kind) const;
  /// Returns for which framework a fix of code at `place` is written: "PyTorch", "CuPy", "JAX" or "Numba", or "CUDA C++"
  /// for code that calls CUDA itself. Without a place, the framework of the whole recording. Empty if that is not
  /// certain. `layer`: the layer of the memory that `place` allocated, else `driver`. O(frames) without a place.
  [[nodiscard]] std::string find_framework(const code_place& place, trace::layer layer) const;
  /// The idle times of a group, as parts of a saving.
  [[nodiscard]] static saved_part part_of(const gap_group& gap) {
    return {saved_part::type::gaps, gap.device, static_cast<std::uint64_t>(gap.cause), gap.stack};
  }
  /// The copies of a group, as parts of a saving.
  [[nodiscard]] static saved_part part_of(const copy_group& copies) {
    return {saved_part::type::copies, copies.device,
            static_cast<std::uint64_t>(copies.direction) * 256 + static_cast<std::uint64_t>(copies.host_side),
            copies.stack};
  }
  /// Sets the fix as code of `of`, at its place. `when`: the case, as in `code_fix::when`.
  void set_fix(finding& of, std::span<const code_fix> fixes, std::string_view when = {},
               trace::layer layer = trace::layer::driver) const {
    of.fix_code = choose_fix(fixes, find_framework(of.where, layer), when);
  }
};

/// True if a library requested the operation on its own thread or from its own code, so that the program cannot change
/// it.
[[nodiscard]] inline bool is_of_others(const code_place& place) { return place.known && !place.line.own; }

/// Returns text such as " from train.py:12 (make_batch)"; empty if the stack is unknown.
[[nodiscard]] std::string from_place(const code_place& place);

/// Groups metrics of call stacks by the lines to which the stacks are attributed. The groups are sorted by total
/// `size`, largest first.
template <class Group, class Size>
std::vector<std::pair<code_place, std::vector<const Group*>>> by_line(const std::vector<const Group*>& groups,
                                                                      code_places& places, Size&& size) {
  std::map<std::string, std::size_t> known;
  std::vector<std::pair<code_place, std::vector<const Group*>>> pairs;
  for (const Group* each : groups) {
    const code_place& place = places.of(each->stack);
    const auto [at, fresh] = known.try_emplace(to_text(place), pairs.size());
    if (fresh) pairs.push_back({place, {}});
    pairs[at->second].second.push_back(each);
  }
  const auto sum = [&](const auto& subject) {
    double total = 0;
    for (const Group* each : subject.second) total += static_cast<double>(size(*each));
    return total;
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) { return sum(a) > sum(b); });
  return pairs;
}

}  // namespace sluice::metrics
