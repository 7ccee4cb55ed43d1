#include "core/import/importers.hpp"

#include <algorithm>

#include "core/import/unread_formats.hpp"

namespace sluice::importing {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// True if it begins with the PROTO opcode of protocols 2 to 5.
bool is_pickle(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head[1] >= '\x02' && head[1] <= '\x05';
}

bool is_sqlite(std::string_view head) { return head.starts_with("SQLite format 3\0"sv); }

bool is_rmm_csv(std::string_view head) { return head.starts_with("Thread,Time,Action,Pointer,Size,Stream"); }

/// True if it begins with an object or an array: Chrome's format allows both.
bool is_json(std::string_view head) {
  if (head.starts_with(byte_order_mark)) head.remove_prefix(byte_order_mark.size());
  const auto first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || (head[first] != '{' && head[first] != '[')) return false;
  // Some writers begin each element with a comma, the first too.
  const auto second = head.find_first_not_of(head[first] == '[' ? " \t\r\n," : " \t\r\n", first + 1);
  if (second == std::string_view::npos) return false;
  return head[first] == '{' ? head[second] == '"' || head[second] == '}' : head[second] == '{' || head[second] == ']';
}

bool is_chrome_json(std::string_view head) { return is_json(head) && !is_nsys_lines(head); }

constexpr importer table[] = {
    {format::torch_snapshot, "PyTorch memory snapshot", is_pickle, import_torch_snapshot},
    {format::nsys_sqlite, "Nsight Systems export", is_sqlite, import_nsys_sqlite},
    {format::rmm_csv, "RMM log", is_rmm_csv, import_rmm_csv},
    {format::chrome_json, "Chrome trace", is_chrome_json, import_chrome_json},
};

}  // namespace

std::span<const importer> importers() { return table; }

}  // namespace sluice::importing
