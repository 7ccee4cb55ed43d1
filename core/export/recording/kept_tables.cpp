#include "core/export/recording/kept_tables.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/trace/model/row_references.hpp"

namespace sluice::exports {
namespace {

using trace::raw;

/// Returns the text roles of a row's members, in the order of the schema.
template <class Row>
const std::vector<text_role>& list_roles() {
  static const std::vector<text_role> roles = [] {
    std::vector<text_role> items(trace::field_count<Row>, text_role::plain);
    for (const query::table& each : query::tables()) {
      if (each.type != trace::type_of_row<Row>) continue;
      for (std::size_t i = 0; i < items.size() && i < each.columns.size(); ++i) items[i] = each.columns[i].role;
    }
    return items;
  }();
  return roles;
}

/// Returns how much a text with this role reveals. A text with several roles is redacted according to its most
/// revealing role.
int weight(text_role role) {
  switch (role) {
    case text_role::source:
      return 5;
    case text_role::arguments:
      return 4;
    case text_role::host:
      return 3;
    case text_role::path:
      return 2;
    case text_role::message:
    case text_role::plain:
      return 1;
    case text_role::code:
      break;
  }
  return 0;
}

}  // namespace

void kept_tables::keep_text(trace::string_id id, text_role role) {
  if (id == trace::string_id::none) return;
  const auto [at, fresh] = texts_.try_emplace(raw(id), role);
  if (!fresh && weight(role) > weight(at->second)) at->second = role;
}

template <class Row>
void kept_tables::keep(const Row& row) {
  Row copy = row;
  std::size_t index = 0;
  trace::for_each_member(copy, [&](auto& member) {
    using type = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<type, trace::string_id>) keep_text(member, list_roles<Row>()[index]);
    if constexpr (std::is_same_v<type, trace::host_id>) hosts_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::process_id>) processes_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::thread_id>) threads_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::device_id>) devices_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::context_id>) contexts_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::stream_id>) streams_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::pool_id>) pools_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::counter_id>) counters_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::stack_id>) stacks_.insert(raw(member));
    if constexpr (std::is_same_v<type, trace::frame_id>) frames_.insert(raw(member));
    ++index;
  });
  if constexpr (std::is_same_v<Row, trace::frame_row>) {
    frame_files_.insert(raw(row.file));
    frame_modules_.insert(raw(row.module));
  }
}

void kept_tables::close() {
  // Repeat until no table has new rows. Few rounds suffice, because only stacks are deep and each row is kept only
  // once.
  bool more = true;
  const auto take = [&](const auto& source, const id_set& wanted, id_set& done) {
    for (const auto& row : source.rows()) {
      if (!wanted.contains(raw(row.id)) || !done.insert(raw(row.id))) continue;
      keep(row);
      more = true;
    }
  };
  // A stack's callers usually have smaller ids, so going from last to first needs one round.
  const auto& stacks = all_.stacks.rows();
  while (more) {
    more = false;
    for (auto row = stacks.rbegin(); row != stacks.rend(); ++row) {
      if (!stacks_.contains(raw(row->id)) || !done_stacks_.insert(raw(row->id))) continue;
      keep(*row);
      more = true;
    }
    take(all_.frames, frames_, done_frames_);
    take(all_.counters, counters_, done_counters_);
    take(all_.pools, pools_, done_pools_);
    take(all_.streams, streams_, done_streams_);
    take(all_.contexts, contexts_, done_contexts_);
    take(all_.threads, threads_, done_threads_);
    take(all_.devices, devices_, done_devices_);
    take(all_.processes, processes_, done_processes_);
    take(all_.hosts, hosts_, done_hosts_);
  }
  for (const auto& row : all_.modules.rows()) {
    if (!frame_modules_.contains(raw(row.path)) || !done_modules_.insert(raw(row.id))) continue;
    keep(row);
  }
  for (const auto& row : all_.sources.rows()) {
    if (!frame_files_.contains(raw(row.file)) || !done_sources_.insert(raw(row.id))) continue;
    keep(row);
  }
}

void kept_tables::write(trace::file_writer& to, redactor& redact) const {
  // Learn the names of machines and users first, because these names must not appear in messages, either.
  std::vector<const trace::string_row*> texts;
  for (const trace::string_row& row : all_.strings.rows()) {
    redact.learn(row.text);
    if (const auto role = texts_.find(raw(row.id)); role != texts_.end()) {
      texts.push_back(&row);
      if (role->second == text_role::host) redact.learn_host(row.text);
    }
  }
  for (const trace::string_row* row : texts) {
    to.add(trace::string_row{row->id, std::string(redact.text(row->text, texts_.at(raw(row->id))))});
  }
  const auto write_table = [&](const auto& source, const id_set& done) {
    for (const auto& row : source.rows()) {
      if (done.contains(raw(row.id))) to.add(row);
    }
  };
  write_table(all_.hosts, done_hosts_);
  write_table(all_.processes, done_processes_);
  write_table(all_.threads, done_threads_);
  write_table(all_.devices, done_devices_);
  write_table(all_.contexts, done_contexts_);
  write_table(all_.streams, done_streams_);
  write_table(all_.pools, done_pools_);
  write_table(all_.counters, done_counters_);
  write_table(all_.frames, done_frames_);
  write_table(all_.stacks, done_stacks_);
  write_table(all_.modules, done_modules_);
  if (!redact.what().sources) write_table(all_.sources, done_sources_);
}

trace::string_id kept_tables::free_string() const {
  std::uint64_t last = 0;
  for (const trace::string_row& row : all_.strings.rows()) last = std::max(last, raw(row.id));
  return trace::string_id{last + 1};
}

#define SLUICE_INSTANTIATE(row, kind) template void kept_tables::keep<trace::row>(const trace::row&);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::exports
