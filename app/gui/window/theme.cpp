#include "app/gui/window/theme.hpp"

#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "app/gui/window/embedded.hpp"
#include "imgui_internal.h"

namespace sluice::gui {
namespace {

constexpr ImU32 rgb(std::uint32_t hex) { return IM_COL32((hex >> 16) & 0xFF, (hex >> 8) & 0xFF, hex & 0xFF, 0xFF); }
constexpr ImU32 rgba(std::uint32_t hex, std::uint32_t alpha) { return (rgb(hex) & ~IM_COL32_A_MASK) | (alpha << 24); }

// kernel, h2d, d2h, d2d, p2p, h2h, memset, migration, api_call, sync, range, file_io, marker, graph, step
theme make_dark() {
  theme t;
  t.kind = theme_kind::dark;
  t.background = rgb(0x15181D);
  t.raised = rgb(0x20252C);
  t.header = rgb(0x1C2027);
  t.line = rgb(0x2F353E);
  t.grid = rgb(0x23282F);
  t.hover = rgb(0x262C35);
  t.text = rgb(0xE3E7EC);
  t.muted = rgb(0x98A2AE);
  t.on_colour = rgb(0x000000);
  t.on_dark = rgb(0xFFFFFF);
  t.accent = rgb(0x6BACE4);
  t.range_fill = rgba(0x6BACE4, 0x2A);
  t.warning = rgb(0xB59413);
  t.failure = rgb(0xFF6545);
  t.good = rgb(0x23B67B);
  t.limit = rgb(0xE3E7EC);  // without a hue, as a limit belongs to no direction
  t.slices = {rgb(0x598A68), rgb(0x33C3FF), rgb(0xFE8F23), rgb(0xA86DAE), rgb(0xD5480A),
              rgb(0xBBB39C), rgb(0xAAB96C), rgb(0xB171FE), rgb(0xA9B2C5), rgb(0xA4918B),
              rgb(0xA39BCA), rgb(0xBA8A4C), rgb(0xE3E7EC), rgb(0x46A8A4), rgb(0x3A434F)};
  t.memory = {rgb(0xACADAA), rgb(0x899EFF), rgb(0x8A74C9), rgb(0xB8745C), rgb(0xC0AE57),
              rgb(0x61827F), rgb(0x666E79), rgb(0x9EA995), rgb(0x7F93B8)};
  t.layers = {rgb(0x899EFF), rgb(0x4EE1EC), rgb(0xBADDAD), rgb(0x9F84A8)};
  t.directions = {rgb(0xA9B2C5), rgb(0x33C3FF), rgb(0xFE8F23), rgb(0xA86DAE), rgb(0xD5480A), rgb(0xBBB39C)};
  // none, weight, gradient, optimizer state, activation, input, workspace
  t.categories = {rgb(0xACADAA), rgb(0xE61073), rgb(0x9A6920), rgb(0x7361EA),
                  rgb(0x008170), rgb(0xE2C90E), rgb(0xD58C5C)};
  // host, launch, queued, wait, memory, loading, input, locks
  t.idle = {rgb(0xB75F77), rgb(0x5866AC), rgb(0x756527), rgb(0xA49F11),
            rgb(0xECB7A1), rgb(0xCCF401), rgb(0x43AAC3), rgb(0x41FCF6)};
  t.untracked = rgb(0x7C8794);
  t.recorder = rgb(0xE2A3B4);
  t.reserved = rgb(0x98A2AE);
  t.pool_free = rgb(0x262D35);
  t.counter = rgb(0x558FD8);
  return t;
}

theme make_light() {
  theme t;
  t.kind = theme_kind::light;
  t.background = rgb(0xFBFBFA);
  t.raised = rgb(0xFFFFFF);
  t.header = rgb(0xF1F2F3);
  t.line = rgb(0xD5D9DD);
  t.grid = rgb(0xE9EBED);
  t.hover = rgb(0xE6EEF5);
  t.text = rgb(0x1D232A);
  t.muted = rgb(0x5B6570);
  t.on_colour = rgb(0x000000);
  t.on_dark = rgb(0xFFFFFF);
  t.accent = rgb(0x1E7097);
  t.range_fill = rgba(0x1E7097, 0x24);
  t.warning = rgb(0x714200);
  t.failure = rgb(0xD5161F);
  t.good = rgb(0x067E3D);
  t.limit = rgb(0x1D232A);
  t.slices = {rgb(0x13635B), rgb(0x288EDB), rgb(0xD86C00), rgb(0x87319B), rgb(0x7E2A25),
              rgb(0x858569), rgb(0x6F5800), rgb(0x305AF2), rgb(0x534F6F), rgb(0x607568),
              rgb(0x7979A5), rgb(0xA55C39), rgb(0x39424C), rgb(0x3A8181), rgb(0xDCE1E6)};
  t.memory = {rgb(0x5D6275), rgb(0x5E8AFF), rgb(0x785FC3), rgb(0xAA702C), rgb(0x546140),
              rgb(0x597D8E), rgb(0x8A929B), rgb(0x7D7771), rgb(0x6277A6)};
  t.layers = {rgb(0x5E8AFF), rgb(0x1F433C), rgb(0x7E9874), rgb(0x512E72)};
  t.directions = {rgb(0x534F6F), rgb(0x288EDB), rgb(0xD86C00), rgb(0x87319B), rgb(0x7E2A25), rgb(0x858569)};
  // none, weight, gradient, optimizer state, activation, input, workspace
  t.categories = {rgb(0x5D6275), rgb(0xAE7EA5), rgb(0x8C5C0E), rgb(0x793DD7),
                  rgb(0x2D7358), rgb(0x929613), rgb(0x692303)};
  // host, launch, queued, wait, memory, loading, input, locks
  t.idle = {rgb(0xE35A4A), rgb(0x356D7C), rgb(0x000E31), rgb(0x389F8E),
            rgb(0x560F20), rgb(0xC046F2), rgb(0x3A04CD), rgb(0xB00108)};
  t.untracked = rgb(0x7A8591);
  t.recorder = rgb(0xB0486B);
  t.reserved = rgb(0x5B6570);
  t.pool_free = rgb(0xE4E9ED);
  t.counter = rgb(0x5876B4);
  return t;
}

ImVec4 vec(ImU32 colour) { return ImGui::ColorConvertU32ToFloat4(colour); }
ImVec4 vec(ImU32 colour, float alpha) {
  ImVec4 value = vec(colour);
  value.w = alpha;
  return value;
}

}  // namespace

const theme& get_theme(theme_kind kind) {
  static const theme dark = make_dark();
  static const theme light = make_light();
  return kind == theme_kind::dark ? dark : light;
}

ImU32 mix(ImU32 colour, ImU32 other, float share) {
  ImU32 mixed = colour & IM_COL32_A_MASK;
  for (int shift = 0; shift < 24; shift += 8) {
    const float a = static_cast<float>((colour >> shift) & 0xFF);
    const float b = static_cast<float>((other >> shift) & 0xFF);
    mixed |= static_cast<ImU32>(a + (b - a) * share + 0.5F) << shift;
  }
  return mixed;
}

idle_group get_group(metrics::gap_cause cause) {
  using metrics::gap_cause;
  switch (cause) {
    case gap_cause::launch:
      return idle_group::launch;
    case gap_cause::queued:
      return idle_group::queued;
    case gap_cause::wait:
    case gap_cause::blocking_copy:
      return idle_group::wait;
    case gap_cause::allocation:
    case gap_cause::release:
      return idle_group::memory;
    case gap_cause::loading:
    case gap_cause::compilation:
      return idle_group::loading;
    case gap_cause::file:
    case gap_cause::data:
      return idle_group::input;
    case gap_cause::lock:
    case gap_cause::gil:
    case gap_cause::garbage:
      return idle_group::locks;
    case gap_cause::host:
      break;
  }
  return idle_group::host;
}

ImU32 theme::slice(query::slice_kind kind_of_slice) const {
  return slices[std::min<std::size_t>(static_cast<std::size_t>(kind_of_slice), slices.size() - 1)];
}

ImU32 theme::shade(ImU32 colour, std::uint64_t name) const {
  // Fibonacci hashing gives adjacent ids different shades. There are only a few shades, because no more can be
  // distinguished side by side.
  const auto step = static_cast<float>((name * 0x9E3779B97F4A7C15ULL) >> 61) / 7.0F;
  return step < 0.5F ? mix(colour, background, (0.5F - step) * 0.42F) : mix(colour, text, (step - 0.5F) * 0.30F);
}

ImU32 theme::text_on(ImU32 fill) const {
  // The relative luminance of WCAG 2. Above 0.179, black has a higher contrast with the colour than white.
  const auto linear = [](ImU32 channel) {
    const double v = static_cast<double>(channel & 0xFF) / 255.0;
    return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(fill >> IM_COL32_R_SHIFT) + 0.7152 * linear(fill >> IM_COL32_G_SHIFT) +
                           0.0722 * linear(fill >> IM_COL32_B_SHIFT);
  return luminance > 0.179 ? on_colour : on_dark;
}

ImU32 theme::of(const query::band& band) const {
  switch (band.role) {
    case query::band_role::untracked:
      return untracked;
    case query::band_role::recorder:
      return recorder;
    case query::band_role::reserved:
      return reserved;
    case query::band_role::total:
      return muted;
    case query::band_role::value:
      return band.direction == trace::direction::unknown ? counter
                                                         : directions[static_cast<std::size_t>(band.direction)];
    case query::band_role::used:
      break;
  }
  if (band.by_category) return categories[static_cast<std::size_t>(band.category)];
  if (band.layer == trace::layer::driver && band.kind != trace::memory_kind::unknown &&
      band.kind != trace::memory_kind::device)
    return memory[static_cast<std::size_t>(band.kind)];
  return layers[static_cast<std::size_t>(band.layer)];
}

namespace {

/// Returns the content of a zstd frame that is embedded in the program.
std::vector<unsigned char> unpack(std::span<const unsigned char> packed) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  std::vector<unsigned char> bytes(packed.size() * 4);
  ZSTD_inBuffer from{packed.data(), packed.size(), 0};
  ZSTD_outBuffer to{bytes.data(), bytes.size(), 0};
  for (;;) {
    const std::size_t left = ZSTD_decompressStream(context.get(), &to, &from);
    IM_ASSERT(ZSTD_isError(left) == 0U);
    if (left == 0 || ZSTD_isError(left) != 0U) break;
    bytes.resize(bytes.size() * 2);
    to = {bytes.data(), bytes.size(), to.pos};
  }
  bytes.resize(to.pos);
  return bytes;
}

}  // namespace

typefaces load_typefaces() {
  static const std::vector<unsigned char> regular = unpack(embedded::font_regular());
  static const std::vector<unsigned char> bold = unpack(embedded::font_bold());
  static const std::vector<unsigned char> icons = unpack(embedded::font_icons());
  ImFontAtlas* atlas = ImGui::GetIO().Fonts;
  const auto add = [atlas](std::span<const unsigned char> bytes, bool merge, const char* name) {
    ImFontConfig config;
    config.FontDataOwnedByAtlas = false;
    config.MergeMode = merge;
    config.OversampleH = 2;
    if (merge) {
      config.GlyphOffset = ImVec2(0, 1);
      config.SizePixels = 12.0F;
    } else {
      config.SizePixels = 15.0F;
    }
    ImFormatString(config.Name, sizeof config.Name, "%s", name);
    // ImGui does not modify the data of a font that ImGui does not own.
    return atlas->AddFontFromMemoryTTF(const_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()),
                                       config.SizePixels, &config);
  };
  typefaces output;
  output.regular = add(regular, false, "Roboto Regular");
  add(icons, true, "Icons");
  output.bold = add(bold, false, "Roboto Bold");
  add(icons, true, "Icons");
  return output;
}

void apply_style(const theme& colours, float scale) {
  ImGuiStyle& style = ImGui::GetStyle();
  style = ImGuiStyle();
  style.FontSizeBase = 15.0F;
  style.WindowPadding = ImVec2(10, 8);
  style.FramePadding = ImVec2(8, 4);
  style.CellPadding = ImVec2(8, 3);
  style.ItemSpacing = ImVec2(8, 6);
  style.ItemInnerSpacing = ImVec2(6, 4);
  style.IndentSpacing = 16;
  style.ScrollbarSize = 11;
  style.GrabMinSize = 10;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;
  style.PopupBorderSize = 1;
  style.FrameBorderSize = 1;
  style.TabBorderSize = 0;
  style.TabBarBorderSize = 1;
  style.TabBarOverlineSize = 2;
  style.WindowRounding = 4;
  style.ChildRounding = 0;
  style.FrameRounding = 4;
  style.PopupRounding = 6;
  style.ScrollbarRounding = 6;
  style.GrabRounding = 4;
  style.TabRounding = 3;
  style.DockingSeparatorSize = 1;
  style.WindowMenuButtonPosition = ImGuiDir_None;
  style.SeparatorTextBorderSize = 1;
  style.HoverDelayShort = 0.05F;
  // With software GL, painting pixels twice is the main cost of a frame, so windows have no background of their own and
  // show the clear color.
  style.AntiAliasedFill = false;
  style.ScaleAllSizes(scale);
  style.FontScaleDpi = scale;
  // Names of panels stay readable; tabs that do not fit are reached by the arrows beside them.
  style.TabMinWidthShrink = FLT_MAX;

  ImVec4* c = style.Colors;
  const ImVec4 none(0, 0, 0, 0);
  const ImVec4 text = vec(colours.text);
  const ImVec4 muted = vec(colours.muted);
  const ImVec4 accent = vec(colours.accent);
  for (int i = 0; i < ImGuiCol_COUNT; ++i) c[i] = none;
  c[ImGuiCol_Text] = text;
  c[ImGuiCol_TextDisabled] = muted;
  c[ImGuiCol_TextLink] = accent;
  c[ImGuiCol_TextSelectedBg] = vec(colours.accent, 0.35F);
  c[ImGuiCol_PopupBg] = vec(colours.raised);
  c[ImGuiCol_Border] = vec(colours.line);
  c[ImGuiCol_FrameBg] = vec(colours.header);
  c[ImGuiCol_FrameBgHovered] = vec(colours.hover);
  c[ImGuiCol_FrameBgActive] = vec(colours.hover);
  c[ImGuiCol_ScrollbarGrab] = vec(colours.line);
  c[ImGuiCol_ScrollbarGrabHovered] = muted;
  c[ImGuiCol_ScrollbarGrabActive] = accent;
  c[ImGuiCol_CheckMark] = accent;
  c[ImGuiCol_SliderGrab] = accent;
  c[ImGuiCol_SliderGrabActive] = accent;
  c[ImGuiCol_ButtonHovered] = vec(colours.hover);
  c[ImGuiCol_ButtonActive] = vec(colours.line);
  c[ImGuiCol_Header] = vec(colours.accent, 0.22F);
  c[ImGuiCol_HeaderHovered] = vec(colours.hover);
  c[ImGuiCol_HeaderActive] = vec(colours.accent, 0.30F);
  c[ImGuiCol_Separator] = vec(colours.line);
  c[ImGuiCol_SeparatorHovered] = accent;
  c[ImGuiCol_SeparatorActive] = accent;
  c[ImGuiCol_ResizeGripHovered] = vec(colours.line);
  c[ImGuiCol_ResizeGripActive] = accent;
  c[ImGuiCol_TabHovered] = vec(colours.hover);
  c[ImGuiCol_TabSelectedOverline] = accent;
  c[ImGuiCol_TabDimmedSelectedOverline] = vec(colours.line);
  c[ImGuiCol_InputTextCursor] = text;
  c[ImGuiCol_DockingPreview] = vec(colours.accent, 0.35F);
  c[ImGuiCol_PlotHistogram] = accent;
  c[ImGuiCol_TableHeaderBg] = vec(colours.header);
  c[ImGuiCol_TableBorderStrong] = vec(colours.line);
  c[ImGuiCol_TableBorderLight] = vec(colours.grid);
  c[ImGuiCol_DragDropTarget] = accent;
  c[ImGuiCol_NavCursor] = accent;
  c[ImGuiCol_ModalWindowDimBg] = vec(colours.background, 0.6F);
}

}  // namespace sluice::gui
