#pragma once

#include <memory>

#include "core/summary/passes/growing_summary.hpp"
#include "tests/core/recordings/growing_program.hpp"

namespace sluice::summary {

/// A program that is recorded part by part, and a summary that is updated after each part.
class followed_program {
 public:
  explicit followed_program(const generate::generate_options& how, time_ns settling_parts = 20)
      : of(how), sums(settling_after(settling_parts)) {}
  /// Takes the program from the recording at `path`. Sections settle after 1 / `settling_parts` of its time.
  explicit followed_program(const char* path, time_ns settling_parts = 20)
      : of(path), sums(settling_after(settling_parts)) {}

  [[nodiscard]] growing_summary::outcome sum_up_after(double share) {
    of.write(share);
    if (!file_) file_ = of.made.open();
    EXPECT_TRUE(file_->refresh());
    return sums.sum_up(file_->latest(), [] { return true; }).value();
  }

  testing::growing_program of;
  growing_summary sums;

 private:
  [[nodiscard]] growing_summary_options settling_after(time_ns parts) const {
    return {.section_events = 800, .settles_after = of.whole().length() / parts};
  }
  std::shared_ptr<trace::file> file_;
};

}  // namespace sluice::summary
