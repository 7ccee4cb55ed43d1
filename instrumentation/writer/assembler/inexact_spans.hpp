#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "core/trace/model/kinds.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/record_classes.hpp"

namespace sluice::collector {

/// Where the live set of a process may be wrong because memory events were lost: in which layers, and which copy of the recorder did not
/// tell them. A program and its libraries may have one each, and each makes good what it would have told itself. Not thread-safe.
/// Every function is O(copies).
class inexact_spans {
 public:
  /// The copy lost events of `layers`, the last one at `end`. False: what lived then has been told since.
  bool add(std::uint32_t copy, layer_bits layers, trace::time_ns end) {
    bool doubted = false;
    for_each_of(copy, layers, [&](known& layer) {
      if (end <= layer.told) return;
      layer.lost = std::max(layer.lost, end);
      doubted = true;
    });
    return doubted;
  }

  /// The copy has told all that it lost of `layers` up to `when`.
  void settle(std::uint32_t copy, layer_bits layers, trace::time_ns when) {
    for_each_of(copy, layers, [&](known& layer) {
      layer.told = std::max(layer.told, when);
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
    trace::time_ns lost = never;  ///< The last that nothing has made good.
    trace::time_ns told = never;
  };

  template <class Work>
  void for_each_of(std::uint32_t copy, layer_bits layers, Work&& work) {
    auto& of_copy = copies_[copy];
    for (std::size_t i = 0; i < of_copy.size(); ++i) {
      if ((layers >> i & 1) != 0) work(of_copy[i]);
    }
  }

  std::map<std::uint32_t, std::array<known, trace::layer_count>> copies_;
};

}  // namespace sluice::collector
