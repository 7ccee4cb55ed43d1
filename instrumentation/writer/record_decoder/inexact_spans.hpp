#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "core/trace/model/kinds.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/record_classes.hpp"

namespace sluice::writer {

/// Tracks where the live set of a process may be wrong after losses of memory events: in which layers, and which
/// copy of the producer lost the events. A program and its libraries may each have a copy, and each copy repairs
/// its own losses. Not thread-safe. Every function is O(copies).
class inexact_spans {
 public:
  /// Call when a copy lost events of `layers`, the last at `end`. Returns false if a later live set has already
  /// repaired this loss.
  bool add(std::uint32_t copy, ring::layer_bits layers, trace::time_ns end) {
    bool doubted = false;
    for_each_of(copy, layers, [&](known& layer) {
      if (end <= layer.covered) return;
      layer.lost = std::max(layer.lost, end);
      doubted = true;
    });
    return doubted;
  }

  /// Call when a copy has sent live sets that repair all its losses in `layers` up to `when`.
  void settle(std::uint32_t copy, ring::layer_bits layers, trace::time_ns when) {
    for_each_of(copy, layers, [&](known& layer) {
      layer.covered = std::max(layer.covered, when);
      if (layer.lost <= when) layer.lost = never;
    });
  }

  [[nodiscard]] bool any() const {
    return std::any_of(copies_.begin(), copies_.end(), [](const auto& copy) {
      return std::any_of(copy.second.begin(), copy.second.end(),
                         [](const known& layer) { return layer.lost != never; });
    });
  }

 private:
  static constexpr trace::time_ns never = INT64_MIN;
  struct known {
    trace::time_ns lost = never;  ///< Latest loss that is not repaired.
    trace::time_ns covered = never;
  };

  template <class Work>
  void for_each_of(std::uint32_t copy, ring::layer_bits layers, Work&& work) {
    auto& of_copy = copies_[copy];
    for (std::size_t i = 0; i < of_copy.size(); ++i) {
      if ((layers >> i & 1) != 0) work(of_copy[i]);
    }
  }

  std::map<std::uint32_t, std::array<known, trace::layer_count>> copies_;
};

}  // namespace sluice::writer
