#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// The memories of the active document that the memory map can show, and the user's choice of one of them.
class map_memories {
 public:
  struct memory {
    trace::device_id device{};  ///< None: host memory.
    std::uint64_t peak = 0;     ///< Peak of the layer with the highest peak, in bytes.
    time_ns when = 0;           ///< Time of the peak.
    std::string label;
  };

  /// Reads the memories from the document's report, as soon as the report is known.
  void update(const view_context& with);
  /// Discards the memories and the choice.
  void reset();
  /// The chosen memory. By default, the memory with the highest peak; null if no memory is known.
  [[nodiscard]] const memory* chosen() const;
  /// The device of the chosen memory; nullopt if no memory is known.
  [[nodiscard]] std::optional<trace::device_id> device() const;
  /// Null until known.
  [[nodiscard]] const std::shared_ptr<const metrics::report>& report() const { return report_; }
  /// True if it is known that the document has no memory.
  [[nodiscard]] bool none_recorded() const { return report_ != nullptr && memories_.empty(); }
  /// Draws the choice, if there are several memories.
  void draw_combo(const view_context& with);

 private:
  screen_slot<query::report_query> query_;
  std::shared_ptr<const metrics::report> report_;
  std::vector<memory> memories_;            ///< Sorted by peak, highest first; host memory last.
  std::optional<trace::device_id> device_;  ///< The chosen device; none: the device with the most memory.
};

}  // namespace sluice::gui
