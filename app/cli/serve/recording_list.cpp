#include "app/cli/serve/recording_list.hpp"

#include <fmt/format.h>

#include <string_view>

#include "app/cli/page/web_text.hpp"
#include "app/recordings/thumbnail_svg.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"

namespace sluice::cli::serve {
namespace {

constexpr std::string_view page_begin = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice</title>
<style>
body { background: #15181d; color: #e3e7ec; font: 15px system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em; }
a { color: #6bace4; text-decoration: none; }
a:hover { text-decoration: underline; }
h1 { font-size: 1.4em; }
h2 { color: #98a2ae; font-size: 1em; margin: 1.6em 0 0.4em; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #2f353e; color: #98a2ae; padding: 0.4em 0.8em 0.4em 0; }
td.name { overflow-wrap: anywhere; width: 32%; }
td.picture { width: 128px; }
td.number { text-align: right; white-space: nowrap; }
td.bad { color: #ff6545; }
svg { background: #1c2027; display: block; }
</style>
)";

std::string make_row(const listed_recording& each, std::int64_t now) {
  std::string picture, verdict;
  bool bad = false;
  if (each.about != nullptr) {
    picture = recordings::to_svg(each.about->picture, 120, 36);
    verdict = each.about->verdict.text;
    bad = each.about->verdict.bad;
  }
  return fmt::format(
      "<tr><td class=\"picture\">{}</td><td class=\"name\"><a href=\"{}\">{}</a></td><td{}>{}</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
      picture, as_html(each.address), as_html(printable(each.name)), bad ? " class=\"bad\"" : "",
      as_html(printable(verdict)), each.file.exists ? format_bytes(each.file.bytes) : "",
      each.file.exists ? recordings::format_date(each.file.modified, now) : "");
}

}  // namespace

std::string make_list_page(const std::vector<listed_folder>& folders, bool waiting, std::int64_t now) {
  std::string page(page_begin);
  if (waiting) page += "<meta http-equiv=\"refresh\" content=\"1\">\n";
  page += "</head>\n<body>\n<h1>Recordings</h1>\n";
  for (const listed_folder& folder : folders) {
    if (!folder.path.empty()) page += fmt::format("<h2>{}</h2>\n", as_html(printable(folder.path)));
    page += "<table>\n";
    for (const listed_recording& each : folder.recordings) page += make_row(each, now);
    page += folder.recordings.empty() ? "<tr><td>No recordings.</td></tr>\n</table>\n" : "</table>\n";
  }
  return page + "<p><a href=\"../\">The window without a recording</a></p>\n</body>\n</html>\n";
}

}  // namespace sluice::cli::serve
