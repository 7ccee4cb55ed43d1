#include "core/import/importers.hpp"

#include <algorithm>

#include "core/import/nsys/database.hpp"
#include "core/import/rocm/tables.hpp"
#include "core/import/torch/sqlite_pickle.hpp"
#include "core/import/unread_formats.hpp"
#include "core/import/xla/xla_formats.hpp"

namespace sluice::importing {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// True if the content starts with the PROTO opcode of the protocols 2 to 5.
bool is_pickle(std::string_view head, const std::string& /*path*/) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= '\x02' && head[1] <= '\x05';
}

bool is_sqlite(std::string_view head, const std::string& /*path*/) { return head.starts_with("SQLite format 3\0"sv); }

bool is_rmm_csv(std::string_view head, const std::string& /*path*/) {
  return head.starts_with("Thread,Time,Action,Pointer,Size,Stream");
}

/// True if the content starts with an object or an array, because Chrome's format allows both.
bool is_json(std::string_view head) {
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  // Some writers put a comma before each element, including the first.
  const auto second = head.find_first_not_of(head[first] == '[' ? " \t\r\n," : " \t\r\n", first + 1);
  if (second == std::string_view::npos) return false;
  return head[first] == '{' ? head[second] == '"' || head[second] == '}' : head[second] == '{' || head[second] == ']';
}

bool is_chrome_json(std::string_view head, const std::string& /*path*/) {
  return is_json(head) && !is_nsys_lines(head);
}

/// Returns `head` without the byte order mark and blanks at its start.
std::string_view get_solid(std::string_view head) {
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
}

/// True if `head` starts with these characters, possibly with blanks between them.
bool begins_with(std::string_view head, std::string_view characters) {
  for (const char each : characters) {
    head = get_solid(head);
    if (!head.starts_with(each)) return false;
    head.remove_prefix(1);
  }
  return true;
}

/// True for an object with the members of a snapshot, and for a list of segments.
bool is_torch_snapshot_json(std::string_view head, const std::string& /*path*/) {
  if (begins_with(head, "[{")) {
    return head.find("\"total_size\"") != std::string_view::npos && head.find("\"ph\"") == std::string_view::npos;
  }
  if (!begins_with(head, "{\"")) return false;
  const std::string_view member = head.substr(head.find('"') + 1);
  for (const std::string_view name : {"segments\"", "device_traces\"", "host_segments\"", "host_traces\"",
                                      "allocator_settings\"", "external_annotations\""})
    if (member.starts_with(name)) return true;
  return false;
}

/// True for a list of lists, which contain numbers or lists of numbers.
bool is_torch_timeline(std::string_view head, const std::string& /*path*/) {
  if (!begins_with(head, "[[")) return false;
  const std::string_view inside = get_solid(head.substr(head.find('[', head.find('[') + 1) + 1));
  return !inside.empty() &&
         (inside[0] == '-' || inside[0] == '[' || inside[0] == ']' || (inside[0] >= '0' && inside[0] <= '9'));
}

bool is_torch_snapshot_sqlite(std::string_view head, const std::string& path) {
  if (!is_sqlite(head, path)) return false;
  const auto source = nsys_database::open(path);
  return source && torch::is_snapshot_database(*source);
}

bool is_pprof(std::string_view head, const std::string& /*path*/) { return is_pprof_head(head); }
bool is_xspace(std::string_view head, const std::string& /*path*/) { return is_xspace_head(head); }

bool is_rocpd(std::string_view head, const std::string& path) {
  if (!is_sqlite(head, path)) return false;
  const auto source = nsys_database::open(path);
  return source && rocm::is_rocpd(*source);
}

bool is_rpd(std::string_view head, const std::string& path) {
  if (!is_sqlite(head, path)) return false;
  const auto source = nsys_database::open(path);
  return source && rocm::is_rpd(*source);
}

bool is_rocprofv3_json(std::string_view head, const std::string& /*path*/) {
  return begins_with(head, "{\"") && head.substr(head.find('"') + 1).starts_with("rocprofiler-sdk-tool\"");
}

/// True for a CSV header with these columns.
bool is_ascend_memory(std::string_view head, const std::string& /*path*/) {
  return get_solid(head).starts_with("Component,Timestamp(us),Total Allocated(MB)");
}

constexpr importer table[] = {
    {format::torch_snapshot, "PyTorch memory snapshot", is_pickle, import_torch_snapshot},
    {format::torch_snapshot_json, "PyTorch memory snapshot as JSON", is_torch_snapshot_json,
     import_torch_snapshot_json},
    {format::torch_snapshot_sqlite, "PyTorch memory snapshot in SQLite", is_torch_snapshot_sqlite,
     import_torch_snapshot_sqlite},
    {format::torch_timeline, "PyTorch memory timeline", is_torch_timeline, import_torch_timeline},
    {format::pprof, "pprof heap profile", is_pprof, import_pprof},
    {format::xspace, "XLA profile (xplane.pb)", is_xspace, import_xspace},
    {format::rocpd, "ROCm profile (rocpd)", is_rocpd, import_rocpd},
    {format::rpd, "rocmProfileData (.rpd)", is_rpd, import_rpd},
    {format::rocprofv3_json, "rocprofv3's JSON", is_rocprofv3_json, import_rocprofv3_json},
    {format::nsys_sqlite, "Nsight Systems export", is_sqlite, import_nsys_sqlite},
    {format::rmm_csv, "RMM log", is_rmm_csv, import_rmm_csv},
    {format::ascend_memory, "Ascend memory record", is_ascend_memory, import_ascend_memory},
    {format::chrome_json, "Chrome trace", is_chrome_json, import_chrome_json},
};

}  // namespace

std::span<const importer> importers() { return table; }

}  // namespace sluice::importing
