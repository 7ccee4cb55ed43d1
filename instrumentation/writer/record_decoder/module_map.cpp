#include "instrumentation/writer/record_decoder/module_map.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sluice::writer {

using namespace trace;

namespace {

std::string build_id_text(const ring::module_record& record) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  const std::size_t bytes = std::min<std::uint64_t>(record.build_id_bytes, sizeof record.build_id);
  for (std::size_t i = 0; i < bytes; ++i) {
    text += digits[record.build_id[i] >> 4];
    text += digits[record.build_id[i] & 15];
  }
  return text;
}

/// True if all members except the time are equal.
bool same(const ring::module_record& a, const ring::module_record& b) {
  return a.path == b.path && a.base == b.base && a.begin == b.begin && a.end == b.end &&
         a.build_id_bytes == b.build_id_bytes && std::memcmp(a.build_id, b.build_id, sizeof a.build_id) == 0;
}

}  // namespace

bool module_map::define(process_modules& process, const ring::module_record& record) {
  if (record.begin >= record.end || (record.end & ring::frame_key_bit) != 0) return false;
  auto& modules = process.by_begin;
  auto first = modules.upper_bound(record.begin);
  if (first != modules.begin() && std::prev(first)->second.record.end > record.begin) --first;
  if (first != modules.end() && same(first->second.record, record)) return true;
  const auto last = modules.lower_bound(record.end);
  if (first != last) ++process.replaced;
  modules.erase(first, last);
  if (modules.size() >= max_modules) return false;
  modules[record.begin].record = record;
  return true;
}

module_map::location module_map::resolve(process_modules& process, process_id owner, std::uint64_t pc) {
  const auto after = process.by_begin.upper_bound(pc);
  if (after == process.by_begin.begin()) return {string_id::none, pc};
  process_modules::module& module = std::prev(after)->second;
  if (pc >= module.record.end) return {string_id::none, pc};
  if (!module.named) write_row(module, owner);
  return {module.path, pc - module.record.base};
}

void module_map::write_row(process_modules::module& module, process_id owner) {
  module_row row;
  row.id = static_cast<module_id>(++last_module_);
  row.process = owner;
  row.path = names_.text(module.record.path);
  row.build_id = file_.intern(build_id_text(module.record));
  row.base = module.record.base;
  row.bytes = module.record.end - module.record.begin;
  file_.add(row);
  module.path = row.path;
  module.named = true;
}

}  // namespace sluice::writer
