#include "app/cli/mcp/picture_tool.hpp"

#ifdef SLUICE_HAVE_GUI
#include "app/cli/page/web_text.hpp"
#include "app/cli/window/screenshot.hpp"
#endif

namespace sluice::cli::mcp {

#ifdef SLUICE_HAVE_GUI

namespace {

result<json> draw_picture(const json& arguments) {
  picture_wanted wanted;
  wanted.file = arguments.at("file").get<std::string>();
  wanted.size = arguments.value("size", wanted.size);
  wanted.range = arguments.value("range", std::string());
  wanted.view = arguments.value("view", std::string());
  const auto png = picture_as_png(wanted);
  if (!png) return tl::unexpected(png.error());
  return json::array({{{"type", "image"}, {"data", base64(*png)}, {"mimeType", "image/png"}}});
}

}  // namespace

std::optional<tool> picture_tool() {
  json properties = {
      {"file", {{"type", "string"}, {"description", "Path of the recording"}}},
      {"view",
       {{"type", "string"},
        {"description", "Only this panel: timeline, summary, statistics, blocks, memory-map, stacks, messages"}}},
      {"range", {{"type", "string"}, {"description", "Only this part of the recording: FROM:TO, such as 1.5s:2s"}}},
      {"size", {{"type", "string"}, {"description", "Size in pixels, such as 1600x900"}}}};
  return tool{"screenshot", "Draws the window with a recording as a picture.",
              json{{"type", "object"},
                   {"properties", std::move(properties)},
                   {"required", json::array({"file"})},
                   {"additionalProperties", false}},
              draw_picture};
}

#else

std::optional<tool> picture_tool() { return std::nullopt; }

#endif

}  // namespace sluice::cli::mcp
