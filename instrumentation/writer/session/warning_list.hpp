#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"

namespace sluice::writer {

/// The warnings of a recording, which are also messages in its file. Not thread-safe.
class warning_list {
 public:
  explicit warning_list(record_decoder& rows) : rows_(rows) {}

  /// Adds a warning, unless there are too many.
  void add(const std::string& text) {
    if (texts_.size() >= max_warnings) return;
    texts_.push_back(text);
    rows_.add_message(trace::severity::warning, text);
  }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  static constexpr std::size_t max_warnings = 100;

  record_decoder& rows_;
  std::vector<std::string> texts_;
};

}  // namespace sluice::writer
