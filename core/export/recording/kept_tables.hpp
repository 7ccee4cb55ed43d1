#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/base/id_set.hpp"
#include "core/export/recording/redact.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Selects the table rows that a part of a trace's events refers to.
namespace sluice::exports {

/// Collects the table rows (devices, streams, stacks, ...) that events refer to, and the rows that these rows refer to.
/// Writes the collected rows with redacted texts.
class kept_tables {
 public:
  explicit kept_tables(const trace::tables& all_tables) : all_(all_tables) {}

  /// Keeps the rows that `row` refers to. Call for each row, of an event or a table, that will be in the file.
  template <class Row>
  void keep(const Row& row);

  /// Keeps the rows that kept rows refer to, such as callers and frames of stacks. Call once, after all events.
  void close();

  /// Writes the kept rows, with unchanged ids.
  void write(trace::file_writer& to, redactor& redact) const;

  /// Returns an id that no text has.
  [[nodiscard]] trace::string_id free_string() const;

 private:
  void keep_text(trace::string_id id, text_role role);

  const trace::tables& all_;
  id_set hosts_, processes_, threads_, devices_, contexts_, streams_, pools_, counters_, stacks_, frames_, modules_,
      sources_;
  id_set done_hosts_, done_processes_, done_threads_, done_devices_, done_contexts_, done_streams_, done_pools_,
      done_counters_, done_stacks_, done_frames_, done_modules_, done_sources_;
  std::unordered_map<std::uint64_t, text_role> texts_;  ///< For each string id, its most revealing role.
  id_set frame_files_, frame_modules_;
};

}  // namespace sluice::exports
