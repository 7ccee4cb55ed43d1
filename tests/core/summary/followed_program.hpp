#pragma once

#include <memory>

#include "core/summary/passes/growing_summary.hpp"
#include "tests/core/recordings/growing_program.hpp"

namespace sluice::summary {

/// A program that is recorded part by part, and a summary that is updated after each part.
class followed_program {
 public:
  explicit followed_program(const generate::generate_options& options, time_ns settling_parts = 20)
      : subject(options), sums(settling_after(settling_parts)) {}
  /// Takes the program from the recording at `path`. Sections settle after 1 / `settling_parts` of its time.
  explicit followed_program(const char* path, time_ns settling_parts = 20)
      : subject(path), sums(settling_after(settling_parts)) {}

  [[nodiscard]] growing_summary::outcome sum_up_after(double share) {
    subject.write(share);
    if (!file_) file_ = subject.recorded.open();
    EXPECT_TRUE(file_->refresh());
    return sums.sum_up(file_->latest(), [] { return true; }).value();
  }

  testing::growing_program subject;
  growing_summary sums;

 private:
  [[nodiscard]] growing_summary_options settling_after(time_ns parts) const {
    return {.section_events = 800, .settles_after = subject.whole().length() / parts};
  }
  std::shared_ptr<trace::file> file_;
};

}  // namespace sluice::summary
