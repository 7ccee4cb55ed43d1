#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/metrics/report/report.hpp"

/// The words of the header of the window, without their drawing.
namespace sluice::gui {

/// A part of the header's second line.
struct header_phrase {
  enum class tone : std::uint8_t {
    plain,
    saving,  ///< What can be saved.
    good     ///< What would solve the problem.
  };
  std::string text;
  tone said = tone::plain;
};

/// A number of the header, with a short label below it.
struct header_figure {
  std::string value;
  std::string label;
  bool alarming = false;
};

/// The verdict on a recording, as the header shows it.
struct header_text {
  std::string headline;
  std::vector<header_phrase> below;    ///< The most important first.
  std::vector<header_figure> figures;  ///< The most important first; at most `max_figures`.
  bool failed = false;                 ///< An allocation failed because memory ran out.

  static constexpr std::size_t max_figures = 4;
  /// All of `below` in one line.
  [[nodiscard]] std::string get_line() const;
};

/// Makes the header of a report. The largest opportunity comes first, then what is not a problem, and then what was not
/// recorded. Memory that fills less than half of its GPU is no problem: then the largest saving of time comes before a
/// larger saving of memory.
[[nodiscard]] header_text make_header(const metrics::report& of);

/// Returns how many of the figures with these widths to draw. The headline comes first, but it leaves at least a third
/// of `room` to the figures. All lengths are in pixels; `gap` precedes each figure.
[[nodiscard]] std::size_t count_figures(std::span<const float> widths, float headline, float room, float gap);

}  // namespace sluice::gui
