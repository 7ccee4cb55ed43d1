#include "core/export/parquet/string_table.hpp"

#include "core/base/format.hpp"
#include "core/base/utf8.hpp"

namespace sluice::exports {
namespace {

constexpr std::size_t recent_places = 1024;

}  // namespace

string_table::string_table(job& export_job) : what_(export_job), recent_(recent_places) {}

string_table::number string_table::of(std::string_view text, query::text_role role) {
  const std::string readable = text.starts_with("_Z") ? readable_name(text) : std::string();
  std::string written = mended_utf8(what_.text(readable.empty() ? text : readable, role));
  const auto [found, fresh] = numbers_.try_emplace(std::move(written), static_cast<number>(texts_.size()));
  if (fresh) texts_.push_back(&found->first);
  return found->second;
}

string_table::number string_table::of_lasting(std::string_view text, query::text_role role) {
  const place at{text.data(), text.size(), role};
  recent_place& recent = recent_[hash()(at) >> 7U & (recent_places - 1)];
  if (recent.at == at && at.begin != nullptr) return recent.assigned;
  const auto [found, fresh] = places_.try_emplace(at);
  if (fresh) found->second = of(text, role);
  recent = {at, found->second};
  return found->second;
}

}  // namespace sluice::exports
