#include "app/cli/page/html_page.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "app/cli/page/page_folder.hpp"
#include "app/cli/page/web_text.hpp"
#include "core/base/files/regular_file.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/export/recording/trim.hpp"
#include "core/import/import.hpp"

namespace sluice::cli::page {
namespace {

namespace fs = std::filesystem;

/// The first lines of every page that `html_format` writes.
constexpr std::string_view signature = "<!DOCTYPE html>\n<!-- A recording in the window of Sluice. -->\n";
constexpr std::string_view start_of_page = "<script src=\"page_start.js\"></script>";
/// Limit on the size of each of the page's files. The actual files have about 4 MiB.
constexpr std::uint64_t max_part_bytes = std::uint64_t{64} << 20;
constexpr std::size_t piece_bytes = std::size_t{3} << 18;  // Must be a multiple of 3: see `base64`.

/// Writes a file as base64 into an element that page_start.js reads and no browser executes.
result<void> write_part(exports::job& export_job, exports::output& to, std::string_view attribute,
                        const std::string& name, const regular_file& file) {
  to.write("<script type=\"text/plain\" data-" + std::string(attribute) + "=\"" + as_html(name) + "\">");
  std::string piece(piece_bytes, '\0');
  for (std::uint64_t at = 0; at < file.bytes();) {
    if (export_job.cancelled()) return fail(error_code::cancelled, "cancelled", name);
    const std::size_t wanted = std::min<std::uint64_t>(piece_bytes, file.bytes() - at);
    const ssize_t got = ::pread(file.descriptor(), piece.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(wanted)) return fail(error_code::io, "cannot be read completely", name);
    if (auto written = to.write(base64(std::string_view(piece).substr(0, wanted))); !written) return written;
    at += wanted;
  }
  return to.write("</script>\n");
}

result<void> write_part(exports::job& export_job, exports::output& to, std::string_view attribute,
                        const std::string& name, const std::string& path, std::uint64_t max_bytes) {
  const auto file = regular_file::open(path, max_bytes);
  if (!file) return tl::unexpected(file.error());
  return write_part(export_job, to, attribute, name, *file);
}

/// True if the recording's file can be copied into the page unchanged: it is complete, and all of it is exported.
bool is_taken_whole(const exports::job& export_job) {
  return export_job.whole() && !export_job.wanted().redact.any() && export_job.trace().complete() &&
         importing::recognise(export_job.trace().path()) == importing::format::sluice;
}

result<void> write_recording(exports::job& export_job, exports::output& to) {
  const trace::snapshot& recording = export_job.trace();
  const std::string& given = export_job.wanted().name;
  const std::string name =
      std::string(export_job.text(given.empty() ? fs::path(recording.path()).stem().string() : given,
                                  query::text_role::plain)) +
      ".sluice";
  std::string path = recording.path();
  std::optional<scratch_folder> scratch;
  if (is_taken_whole(export_job)) {
    std::uint64_t rows = 0;
    for (const trace::chunk_info& chunk : recording.chunks()) rows += chunk.rows;
    export_job.count_rows(rows);
  } else {
    auto folder = scratch_folder::make();
    if (!folder) return tl::unexpected(folder.error());
    path = folder->path() + "/recording.sluice";
    scratch.emplace(std::move(*folder));
    const auto cut = exports::trim(
        recording,
        {export_job.range(), export_job.wanted().redact, {&export_job.cancelled(), export_job.wanted().progress}},
        path);
    if (!cut) return tl::unexpected(cut.error());
    export_job.count_rows(cut->events);
  }
  const auto file = regular_file::open(path);
  if (!file) return tl::unexpected(file.error());
  if (file->bytes() > max_html_bytes)
    return fail(error_code::invalid_argument,
                "the recording is " + format_bytes(static_cast<double>(file->bytes())) + "; a page holds at most " +
                    format_bytes(static_cast<double>(max_html_bytes)),
                recording.path(), "export a part of it with --range");
  return write_part(export_job, to, "recording", printable(name), *file);
}

result<void> write_html(exports::job& export_job, exports::output& to) {
  const exports::options& wanted = export_job.wanted();
  if (!wanted.only.empty() || !wanted.tables.empty() || !wanted.measure.empty())
    return fail(error_code::invalid_argument,
                "a page holds a whole recording or a --range: --only, --table and --measure are not supported");
  const auto folder = page::folder();
  if (!folder) return tl::unexpected(folder.error());
  const auto frame = read_regular_file(*folder + "/index.html", max_part_bytes);
  const auto start = read_regular_file(*folder + "/page_start.js", max_part_bytes);
  if (!frame || !start) return tl::unexpected(frame ? start.error() : frame.error());
  const std::size_t begin = frame->find("<html"), script = frame->find(start_of_page);
  if (begin == std::string::npos || script == std::string::npos)
    return fail(error_code::corrupt, "the page has another version", *folder + "/index.html");
  to.write(signature);
  to.write(std::string_view(*frame).substr(begin, script - begin));
  for (const file& each : files) {
    if (!each.is_gzip) continue;
    const auto done =
        write_part(export_job, to, "part", std::string(each.name), *folder + "/" + each.on_disk(), max_part_bytes);
    if (!done) return done;
  }
  if (auto done = write_recording(export_job, to); !done) return done;
  to.write("<script>\n" + *start + "</script>");
  return to.write(std::string_view(*frame).substr(script + start_of_page.size()));
}

exports::output_shape shape_of_html(const exports::options&) { return exports::output_shape::stream; }

}  // namespace

const exports::format& html_format() {
  static constexpr exports::format format{
      "html", ".html", "one page with the window and the recording, for any browser", shape_of_html, write_html};
  return format;
}

bool is_html_page(const std::string& path) {
  std::string head(signature.size(), '\0');
  std::ifstream in(path, std::ios::binary);
  return static_cast<bool>(in.read(head.data(), static_cast<std::streamsize>(head.size()))) && head == signature;
}

}  // namespace sluice::cli::page
