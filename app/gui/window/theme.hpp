#pragma once

#include <array>
#include <cstdint>

#include "app/gui/window/theme_kind.hpp"
#include "core/index/tensors/categories.hpp"
#include "core/metrics/idle/gap_causes.hpp"
#include "core/query/types/result_types.hpp"
#include "imgui.h"

struct ImFont;

namespace sluice::gui {

/// The groups of causes for which a GPU is idle. Causes of a group share a color, because no more colors can be told
/// apart.
enum class idle_group : std::uint8_t {
  host,     ///< Host code.
  launch,   ///< Launches.
  queued,   ///< Dependencies.
  wait,     ///< Synchronization and blocking copies.
  memory,   ///< Calls that allocate or free memory.
  loading,  ///< Loading and compiling code.
  input,    ///< Files and data loaders.
  locks     ///< Locks, Python's GIL and its garbage collector.
};
inline constexpr std::size_t idle_group_count = 8;
[[nodiscard]] idle_group get_group(metrics::gap_cause cause);

/// All colors and sizes of the window. Any two colors of layers and categories differ by 15 or more (CIEDE2000), even
/// as seen with protanopia, deuteranopia or tritanopia; so do the colors of kernels and copies, and those of causes of
/// idleness. No color has two
/// meanings, and each color has a contrast of 3:1 or more with the background. The colors were found by a search under
/// these rules, with hues near those of Okabe and Ito ("Color Universal Design", 2008); tests/gui/theme_test.cpp checks
/// the rules. No value is shown by color alone. Colors are in ImGui's packed RGBA format.
struct theme {
  theme_kind kind = theme_kind::dark;

  // Surfaces.
  ImU32 background = 0;  ///< The clear color: the background of everything.
  ImU32 raised = 0;      ///< Menus, tooltips, pop-ups.
  ImU32 header = 0;      ///< Group headings of the timeline, table headings.
  ImU32 line = 0;        ///< Separators between panels.
  ImU32 grid = 0;        ///< Faint lines behind charts.
  ImU32 hover = 0;       ///< The element under the mouse.

  // Text.
  ImU32 text = 0;
  ImU32 muted = 0;      ///< Units, axis labels, secondary text. Its contrast with the background is at least 4.5:1.
  ImU32 on_colour = 0;  ///< Text on a light box; see `text_on`.
  ImU32 on_dark = 0;    ///< Text on a dark box.

  // Colors with a meaning.
  ImU32 accent = 0;      ///< Selection and focus.
  ImU32 range_fill = 0;  ///< The selected time range; translucent.
  ImU32 warning = 0;
  ImU32 failure = 0;
  ImU32 good = 0;
  ImU32 limit = 0;  ///< Line at a link's peak or a device's memory size.

  std::array<ImU32, 15> slices{};                          ///< Indexed by query::slice_kind.
  std::array<ImU32, trace::memory_kind_count> memory{};    ///< Indexed by trace::memory_kind.
  std::array<ImU32, trace::layer_count> layers{};          ///< Indexed by trace::layer.
  std::array<ImU32, trace::direction_count> directions{};  ///< Indexed by trace::direction.
  std::array<ImU32, index::category_count> categories{};   ///< Indexed by index::category.
  std::array<ImU32, idle_group_count> idle{};              ///< Indexed by idle_group.
  ImU32 untracked = 0;                                     ///< Device memory that recorded allocations do not explain.
  ImU32 recorder = 0;                                      ///< Device memory used by the recorder itself.
  ImU32 reserved = 0;                                      ///< Outline of reserved memory.
  ImU32 pool_free = 0;                                     ///< Faint fill of memory that is reserved but unused.
  ImU32 counter = 0;

  [[nodiscard]] ImU32 slice(query::slice_kind kind_of_slice) const;
  [[nodiscard]] ImU32 of(metrics::gap_cause cause) const { return idle[static_cast<std::size_t>(get_group(cause))]; }
  /// A shade of `colour` that depends on `name`, a kernel's name: a name has the same shade everywhere.
  [[nodiscard]] ImU32 shade(ImU32 colour, std::uint64_t name) const;
  /// The color for text on `fill`: black or white, with a contrast of at least 4.5:1.
  [[nodiscard]] ImU32 text_on(ImU32 fill) const;
  [[nodiscard]] ImU32 of(const query::band& band) const;
};

[[nodiscard]] const theme& get_theme(theme_kind kind);

/// `colour` mixed with `share` (0..1) of `other`. Keeps the alpha of `colour`.
[[nodiscard]] ImU32 mix(ImU32 colour, ImU32 other, float share);

/// Sets ImGui's colors and sizes. `scale`: the display's scale times the user's text scale.
void apply_style(const theme& colours, float scale);

/// The fonts, which are embedded in the program. A size is chosen only when text is drawn.
struct typefaces {
  ImFont* regular = nullptr;  ///< Includes the icons.
  ImFont* bold = nullptr;
};
[[nodiscard]] typefaces load_typefaces();

/// Text sizes in design pixels: `small_text` next to charts and rulers, `box_text` in the boxes of timelines and flame
/// graphs.
inline constexpr float small_text = 12.0F;
inline constexpr float box_text = 12.5F;

/// Code points of the icon font.
namespace icon {
inline constexpr const char* open = "\xef\x81\xbc";  // folder-open
inline constexpr const char* play = "\xef\x81\x8b";
inline constexpr const char* stop = "\xef\x81\x8d";
inline constexpr const char* back = "\xef\x81\xa0";      // arrow-left
inline constexpr const char* forward = "\xef\x81\xa1";   // arrow-right
inline constexpr const char* fit = "\xef\x8c\xb7";       // arrows-left-right
inline constexpr const char* zoom_in = "\xef\x80\x8e";   // magnifying-glass-plus
inline constexpr const char* zoom_out = "\xef\x80\x90";  // magnifying-glass-minus
inline constexpr const char* search = "\xef\x80\x82";    // magnifying-glass
inline constexpr const char* light = "\xef\x86\x85";     // sun
inline constexpr const char* dark = "\xef\x86\x86";      // moon
inline constexpr const char* warning = "\xef\x81\xb1";   // triangle-exclamation
inline constexpr const char* info = "\xef\x81\x9a";      // circle-info
inline constexpr const char* failure = "\xef\x81\x97";   // circle-xmark
inline constexpr const char* close = "\xef\x80\x8d";     // xmark
inline constexpr const char* chip = "\xef\x8b\x9b";      // microchip
inline constexpr const char* file = "\xef\x85\x9b";      // file
inline constexpr const char* fold = "\xef\x81\x94";      // chevron-right
inline constexpr const char* unfold = "\xef\x81\xb8";    // chevron-down
inline constexpr const char* flask = "\xef\x83\x83";     // flask: simulated
inline constexpr const char* live = "\xef\x84\x91";      // circle
inline constexpr const char* previous = "\xef\x81\x88";  // backward-step
inline constexpr const char* next = "\xef\x81\x91";      // forward-step
inline constexpr const char* expand = "\xef\x81\xa5";
inline constexpr const char* chart = "\xef\x87\xbe";  // chart-area
}  // namespace icon

}  // namespace sluice::gui
